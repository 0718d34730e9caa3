//! What a failure means: did it happen, and may it go better soon. One table, from allow-lists.

use tokio_postgres::error::{DbError, Severity, SqlState};

use super::Error;

/// Where a failure found the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// COMMIT has not been sent: whatever is wrong, the transaction ends with a rollback.
    BeforeCommit,
    /// An earlier statement failed, with COMMIT already on its way behind it.
    CommitFollows,
    /// The answer to COMMIT itself.
    Commit,
}

/// Classes (the first two characters) and codes after which the same transaction may succeed soon. What is in neither
/// list is taken for the fault of one command, which splitting the batch then finds.
const TRANSIENT_CLASSES: [&str; 3] = [
    "08", // the connection
    "53", // disk, memory, connections used up
    "57", // cancelled, shutting down, starting up
];
const TRANSIENT_CODES: [SqlState; 4] = [
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
    // A primary that has become a standby, or one set read-only for a while.
    SqlState::READ_ONLY_SQL_TRANSACTION,
    // A frozen server's transaction was ended for it.
    SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
];

/// What Postgres answers to COMMIT only when it has rolled back. Everything else is indeterminate until somebody has
/// argued about it.
const COMMIT_REFUSED: [SqlState; 3] = [
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::IN_FAILED_SQL_TRANSACTION,
];

/// No connection could be made. Nothing is wrong with any command, whatever the server says: a password that is being
/// changed, a database that is being restored.
pub fn unconnected(error: tokio_postgres::Error) -> Error {
    let what = error.code().map_or_else(
        || "no connection could be made".to_owned(),
        |code| code.code().to_owned(),
    );
    Error::Determinate {
        what,
        transient: true,
        source: Some(error),
    }
}

/// The failure in the store's words.
pub fn classify(error: tokio_postgres::Error, stage: Stage) -> Error {
    let found = error
        .as_db_error()
        .map(|found| (found.code().clone(), only_this_statement(found)));
    match found {
        Some((code, plain)) if code == SqlState::LOCK_NOT_AVAILABLE && happened_not(&code, plain, stage) => {
            Error::Busy
        }
        Some((code, plain)) => {
            let what = code.code().to_owned();
            let not = happened_not(&code, plain, stage);
            if not && code == SqlState::LOCK_NOT_AVAILABLE {
                Error::Busy
            } else if not {
                Error::Determinate {
                    transient: transient(&code),
                    what,
                    source: Some(error),
                }
            } else {
                Error::Indeterminate {
                    what,
                    source: Some(error),
                }
            }
        }
        None if stage == Stage::BeforeCommit => Error::Determinate {
            what: "the connection failed".to_owned(),
            transient: true,
            source: Some(error),
        },
        None => Error::Indeterminate {
            what: "the connection was lost during COMMIT".to_owned(),
            source: Some(error),
        },
    }
}

/// An ERROR ends its statement and dooms its transaction. FATAL and PANIC end the session, and may come from a pooler
/// that does not know how far the server got.
fn only_this_statement(found: &DbError) -> bool {
    found.parsed_severity() == Some(Severity::Error)
}

fn happened_not(code: &SqlState, plain: bool, stage: Stage) -> bool {
    match stage {
        Stage::BeforeCommit => true,
        // SUBTLE: a statement that failed makes the COMMIT behind it a ROLLBACK, whatever becomes of its answer.
        Stage::CommitFollows => plain,
        Stage::Commit => plain && (COMMIT_REFUSED.contains(code) || code.code().starts_with("23")),
    }
}

fn transient(code: &SqlState) -> bool {
    TRANSIENT_CODES.contains(code)
        || TRANSIENT_CLASSES
            .iter()
            .any(|class| code.code().starts_with(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> SqlState {
        SqlState::from_code(text)
    }

    #[test]
    fn nothing_has_happened_before_commit_was_sent() {
        for text in ["23505", "40001", "57P01", "XX000", "08006", "99999"] {
            assert!(happened_not(&code(text), false, Stage::BeforeCommit), "{text}");
        }
    }

    #[test]
    fn a_statement_that_failed_turns_the_commit_behind_it_into_a_rollback() {
        assert!(happened_not(&code("23505"), true, Stage::CommitFollows));
        assert!(happened_not(&code("XX000"), true, Stage::CommitFollows));
    }

    #[test]
    fn a_session_that_ended_with_a_commit_on_its_way_leaves_doubt() {
        for text in ["57P01", "08P01", "57P02", "25P03"] {
            assert!(!happened_not(&code(text), false, Stage::CommitFollows), "{text}");
        }
    }

    #[test]
    fn only_argued_codes_say_that_a_commit_did_not_happen() {
        for (text, not) in [
            ("40001", true),
            ("40P01", true),
            ("23505", true),
            ("25P02", true),
            ("57014", false),
            ("57P01", false),
            ("58030", false),
            ("XX000", false),
            ("99999", false),
        ] {
            assert_eq!(happened_not(&code(text), true, Stage::Commit), not, "{text}");
        }
        assert!(!happened_not(&code("40001"), false, Stage::Commit));
    }

    #[test]
    fn a_broken_constraint_is_not_tried_again_and_a_full_server_is() {
        for (text, again) in [
            ("23505", false),
            ("23514", false),
            ("22P02", false),
            ("XX000", false),
            ("40001", true),
            ("40P01", true),
            ("53300", true),
            ("57P03", true),
            ("25006", true),
            ("08006", true),
        ] {
            assert_eq!(transient(&code(text)), again, "{text}");
        }
    }
}
