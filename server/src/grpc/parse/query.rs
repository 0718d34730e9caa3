//! The questions of screens: which actions, which page, how long to wait.

use std::time::Duration;

use deed_core::action::State;
use deed_core::id::{ActionKey, Version};
use deed_core::spec::Specification;
use deed_core::text::{ActionId, Namespace, Owner};
use deed_core::time::Span;
use deed_proto::v1;

use super::number::{known, page_size, version};
use super::page::Question;
use super::text::{bounded, key, labels, optional_key_text, tools};
use super::time::{span_within, timestamp};
use super::{At, Invalid, decisions};
use crate::service::ledger::{LeaseFilter, ListFilter, Order, Position};

/// A page of actions that fits a screen.
const ACTIONS: u32 = 50;

/// A page of events that holds the whole history of almost every action.
const EVENTS: u32 = 100;

/// What is asked for at most, however often it is repeated: every state and every flag once.
const MAX_CHOICES: usize = 16;

/// A page of a list of actions.
#[derive(Debug)]
pub struct ListQuery {
    /// Which.
    pub filter: ListFilter,
    /// Where the page begins.
    pub after: Option<Position>,
    /// How many at most.
    pub limit: u32,
    /// What the next page's token belongs to.
    pub question: Question,
}

/// Parses `ListActions`.
pub fn list(mut message: v1::ListActionsRequest) -> Result<ListQuery, Invalid> {
    let limit = page_size(std::mem::take(&mut message.page_size), ACTIONS)?;
    let token = std::mem::take(&mut message.page_token);
    let question = Question::of(&message);
    Ok(ListQuery {
        after: question.action_after(&token)?,
        filter: filter(message)?,
        limit,
        question,
    })
}

fn filter(message: v1::ListActionsRequest) -> Result<ListFilter, Invalid> {
    bounded(message.states.len(), MAX_CHOICES).at("states")?;
    bounded(message.flags.len(), MAX_CHOICES).at("flags")?;
    bounded(message.labels.len(), Specification::MAX_LABELS).at("labels")?;
    let states = message.states.iter().enumerate();
    let states = states.map(|(index, number)| state(*number).at_entry("states", index));
    let flags = message.flags.iter().enumerate();
    let flags = flags.map(|(index, number)| {
        let flag = decisions::flag(*number, "").at_entry("flags", index)?;
        flag.ok_or_else(Invalid::missing).at_entry("flags", index)
    });
    Ok(ListFilter {
        namespace: optional_key_text(message.namespace, Namespace::new, "namespace")?,
        // What the caller may read is not in its message.
        readable: None,
        states: states.collect::<Result<_, _>>()?,
        tools: tools(message.tools)?,
        owner: optional_key_text(message.owner, Owner::new, "owner")?,
        labels: labels(message.labels)?,
        lease: match known(message.lease, "lease")? {
            v1::LeaseFilter::Unspecified => None,
            v1::LeaseFilter::Live => Some(LeaseFilter::Live),
            v1::LeaseFilter::Lapsed => Some(LeaseFilter::Lapsed),
        },
        needs_operator: message.needs_operator,
        unclaimed_since: timestamp(message.unclaimed_since, "unclaimed_since")?,
        id_prefix: id_prefix(message.action_id_prefix)?,
        assignee: optional_key_text(message.assignee, Owner::new, "assignee")?,
        flags: flags.collect::<Result<_, _>>()?,
        order: match known(message.order_by, "order_by")? {
            v1::ActionOrder::Unspecified | v1::ActionOrder::CreatedDesc => Order::NewestFirst,
            v1::ActionOrder::CreatedAsc => Order::OldestFirst,
            v1::ActionOrder::StateSinceAsc => Order::LongestInState,
        },
    })
}

/// A prefix may end in a space that a whole key may not end in, so it is checked with something after it.
fn id_prefix(text: String) -> Result<String, Invalid> {
    if text.len() > ActionId::MAX_BYTES {
        let reason = format!(
            "has {} bytes; at most {} are allowed",
            text.len(),
            ActionId::MAX_BYTES
        );
        return Err(Invalid::because(reason)).at("action_id_prefix");
    }
    match text.char_indices().find(|(_, found)| found.is_control()) {
        Some((at, found)) => {
            let reason = format!(
                "has the control character U+{:04X} at byte {at}",
                u32::from(found)
            );
            Err(Invalid::because(reason)).at("action_id_prefix")
        }
        None => Ok(text),
    }
}

fn state(number: i32) -> Result<State, Invalid> {
    Ok(match known(number, "")? {
        v1::State::Unspecified => return Err(Invalid::missing()),
        v1::State::AwaitingApproval => State::AwaitingApproval,
        v1::State::Planned => State::Planned,
        v1::State::Sent => State::Sent,
        v1::State::Accepted => State::Accepted,
        v1::State::Partial => State::Partial,
        v1::State::Unknown => State::Unknown,
        v1::State::NotFound => State::NotFound,
        v1::State::Confirmed => State::Confirmed,
        v1::State::Rejected => State::Rejected,
        v1::State::Abandoned => State::Abandoned,
    })
}

/// A page of one action's history.
#[derive(Debug)]
pub struct EventsQuery {
    /// Whose.
    pub key: ActionKey,
    /// The last event of the page before; zero for none.
    pub after: u32,
    /// How many at most.
    pub limit: u32,
    /// What the next page's token belongs to.
    pub question: Question,
}

/// Parses `ListEvents`.
pub fn events(mut message: v1::ListEventsRequest) -> Result<EventsQuery, Invalid> {
    let limit = page_size(std::mem::take(&mut message.page_size), EVENTS)?;
    let token = std::mem::take(&mut message.page_token);
    let question = Question::of(&message);
    Ok(EventsQuery {
        key: key(message.key)?,
        after: question.event_after(&token)?,
        limit,
        question,
    })
}

/// What to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// A final state.
    Settled,
    /// Another version than this.
    Changed(Version),
}

/// Whom to wait for, and how long.
#[derive(Debug)]
pub struct WaitQuery {
    /// Which action.
    pub key: ActionKey,
    /// What to wait for.
    pub until: Until,
    /// How long.
    pub timeout: Duration,
}

/// Parses `WaitAction`.
pub fn wait(message: v1::WaitActionRequest) -> Result<WaitQuery, Invalid> {
    let longest = Span::from_secs(60);
    let timeout = span_within(message.timeout, Span::ZERO..=longest, "timeout")?;
    let until = match known(message.until, "until")? {
        v1::WaitUntil::Unspecified | v1::WaitUntil::Settled => Until::Settled,
        v1::WaitUntil::Changed => Until::Changed(version(message.known_version, "known_version")?),
    };
    Ok(WaitQuery {
        key: key(message.key)?,
        until,
        timeout: Duration::from_micros(timeout.unwrap_or(Span::from_secs(30)).micros()),
    })
}
