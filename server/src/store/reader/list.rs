//! Lists of actions: one statement, three orders, pages by position.

use deed_core::action::{Action, Flag};
use deed_core::reply::NextStep;
use deed_core::text::{Namespace, Owner, Tool};
use deed_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{Json, ToSql, Type};

use super::{Reader, first};
use crate::service::ledger::{LeaseFilter, ListFilter, Order, Page, Position};
use crate::store::Error;
use crate::store::row::{At, Of, Word, read_action};

/// How many rows are looked at at once where the core has to say which of them wait for a person. Most undecided actions
/// do not, so a page takes several looks; each is a short statement.
const LOOK: i64 = 500;

impl Order {
    /// "After the position" and "in this order", on the columns of `actions`.
    fn sql(self) -> (&'static str, &'static str) {
        match self {
            Self::NewestFirst => (
                "(a.created_at, a.namespace, a.action_id) < ($15, $16::text, $17::text)",
                "a.created_at DESC, a.namespace DESC, a.action_id DESC",
            ),
            Self::OldestFirst => (
                "(a.created_at, a.namespace, a.action_id) > ($15, $16::text, $17::text)",
                "a.created_at, a.namespace, a.action_id",
            ),
            Self::LongestInState => (
                "(a.state_since, a.namespace, a.action_id) > ($15, $16::text, $17::text)",
                "a.state_since, a.namespace, a.action_id",
            ),
        }
    }
}

/// At most `limit` actions after a position.
pub async fn list(
    reader: &Reader,
    filter: &ListFilter,
    after: Option<&Position>,
    limit: u32,
) -> Result<Page, Error> {
    let room = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut after = after.cloned();
    let mut page = Page {
        actions: Vec::new(),
        more: false,
        now: Timestamp::from_micros(0),
    };
    loop {
        // One more than wanted tells whether there is another page.
        let wanted = if filter.needs_operator {
            LOOK
        } else {
            i64::from(limit).saturating_add(1)
        };
        let rows = read(reader, filter, after.as_ref(), wanted).await?;
        if rows.is_empty() {
            page.now = reader.now().await?;
            return Ok(page);
        }
        page.now = first::<At>(&rows, "now")?.0;
        let last_rows = i64::try_from(rows.len()).unwrap_or(i64::MAX) < wanted;
        for row in &rows {
            let action = read_action(row)?;
            after = Some(filter.order.position(&action));
            if filter.needs_operator && !waits_for_a_person(reader, &action, page.now) {
                continue;
            }
            if page.actions.len() == room {
                page.more = true;
                return Ok(page);
            }
            page.actions.push(action);
        }
        if last_rows {
            return Ok(page);
        }
    }
}

/// Blocked, awaiting approval, or marked: the core says which.
fn waits_for_a_person(reader: &Reader, action: &Action, now: Timestamp) -> bool {
    if action.flags.set().next().is_some() {
        return true;
    }
    let (seen, answer) = reader.protocol.look(action, now);
    seen.state == deed_core::action::State::AwaitingApproval
        || matches!(answer.step, NextStep::Blocked { .. })
}

async fn read(
    reader: &Reader,
    filter: &ListFilter,
    after: Option<&Position>,
    limit: i64,
) -> Result<Vec<Row>, Error> {
    let (condition, order) = filter.order.sql();
    let statement = include_str!("../sql/list.sql")
        .replace("{after}", condition)
        .replace("{order}", order);
    let namespace = filter.namespace.as_ref().map(Namespace::as_str);
    let readable: Option<Vec<_>> = filter
        .readable
        .as_ref()
        .map(|names| names.iter().map(Namespace::as_str).collect());
    let states: Vec<_> = filter.states.iter().map(Word::word).collect();
    let tools: Vec<_> = filter.tools.iter().map(Tool::as_str).collect();
    let owner = filter.owner.as_ref().map(Owner::as_str);
    let labels = (!filter.labels.is_empty()).then(|| Json(Of(filter.labels.clone())));
    let lease = filter.lease.map(|lease| match lease {
        LeaseFilter::Live => "LIVE",
        LeaseFilter::Lapsed => "LAPSED",
    });
    let unclaimed = filter.unclaimed_since.map(At);
    let prefix = filter.id_prefix.as_str();
    let assignee = filter.assignee.as_ref().map(Owner::as_str);
    let flagged = !filter.flags.is_empty();
    let [duplicate, contradicted, ungated] = [Flag::DuplicateSuspected, Flag::Contradicted, Flag::Ungated]
        .map(|flag| filter.flags.contains(&flag));
    let at = after.map(|position| At(position.at));
    let at_namespace = after.map(|position| position.key.namespace.as_str());
    let at_id = after.map(|position| position.key.action_id.as_str());
    let parameters: [(&(dyn ToSql + Sync), Type); 19] = [
        (&namespace, Type::TEXT),
        (&states, Type::TEXT_ARRAY),
        (&tools, Type::TEXT_ARRAY),
        (&owner, Type::TEXT),
        (&labels, Type::JSONB),
        (&lease, Type::TEXT),
        (&unclaimed, Type::TIMESTAMPTZ),
        (&prefix, Type::TEXT),
        (&assignee, Type::TEXT),
        (&flagged, Type::BOOL),
        (&duplicate, Type::BOOL),
        (&contradicted, Type::BOOL),
        (&ungated, Type::BOOL),
        (&filter.needs_operator, Type::BOOL),
        (&at, Type::TIMESTAMPTZ),
        (&at_namespace, Type::TEXT),
        (&at_id, Type::TEXT),
        (&limit, Type::INT8),
        (&readable, Type::TEXT_ARRAY),
    ];
    reader.ask(&statement, &parameters).await
}
