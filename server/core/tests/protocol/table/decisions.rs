//! Every state with every decision of a person in charge.

use deed_core::action::State;
use deed_core::command::{Decision, Resolution};

use super::in_state;
use crate::world::*;

#[test]
fn every_decision_is_allowed_and_refused_where_the_protocol_says() {
    use State::{
        Abandoned, Accepted, AwaitingApproval, Confirmed, NotFound, Partial, Planned, Rejected, Sent, Unknown,
    };
    let compensated = Resolution::Compensated {
        by: key("order-1-refund").action_id,
    };
    let table: [(Decision, &[(State, State)]); 8] = [
        (approve(), &[(AwaitingApproval, Planned)]),
        (Decision::Deny, &[(AwaitingApproval, Rejected)]),
        (
            resolve(Resolution::Confirmed { external_id: None }),
            &[
                (AwaitingApproval, Confirmed),
                (Planned, Confirmed),
                (Sent, Confirmed),
                (Accepted, Confirmed),
                (Partial, Confirmed),
                (Unknown, Confirmed),
                (NotFound, Confirmed),
                (Rejected, Confirmed),
                (Abandoned, Confirmed),
            ],
        ),
        (
            resolve(Resolution::Absent),
            &[(Accepted, NotFound), (Partial, NotFound), (Unknown, NotFound)],
        ),
        (
            resolve(Resolution::Rejected),
            &[
                (AwaitingApproval, Rejected),
                (Planned, Rejected),
                (Sent, Rejected),
                (Accepted, Rejected),
                (Partial, Rejected),
                (Unknown, Rejected),
                (NotFound, Rejected),
            ],
        ),
        (
            resolve(Resolution::Abandoned),
            &[
                (AwaitingApproval, Abandoned),
                (Planned, Abandoned),
                (Sent, Abandoned),
                (Accepted, Abandoned),
                (Partial, Abandoned),
                (Unknown, Abandoned),
                (NotFound, Abandoned),
            ],
        ),
        (
            resolve(compensated),
            &[
                (AwaitingApproval, Abandoned),
                (Planned, Abandoned),
                (Accepted, Abandoned),
                (Partial, Abandoned),
                (Unknown, Abandoned),
                (NotFound, Abandoned),
            ],
        ),
        // An abandoned action keeps its undisproved attempt.
        (
            reopen(),
            &[(Partial, Unknown), (Rejected, Planned), (Abandoned, Unknown)],
        ),
    ];
    for (decision, allowed) in table {
        for state in State::ALL {
            let (mut w, _) = in_state(state);
            let before = w.action().token;
            let told = w.decide(decision.clone());
            let expected = allowed.iter().find(|(from, _)| *from == state).map(|(_, to)| *to);
            assert_eq!(
                told.0.is_ok(),
                expected.is_some(),
                "{state:?} and {decision:?}: {told:?}"
            );
            assert_eq!(w.state(), expected.unwrap_or(state), "{state:?} and {decision:?}");
            assert_eq!(
                w.action().token > before,
                expected.is_some(),
                "a decision moves the token"
            );
        }
    }
}
