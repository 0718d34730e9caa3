//! Reading: what screens and waiters need of the store, in plain types. Changes nothing, locks nothing, grants nothing.
//!
//! Pages are found by position, not by number: a reader goes on after the last row that it has seen, so that rows which
//! come and go meanwhile are neither skipped nor shown twice.

use std::future::Future;

use deed_core::action::{Action, Flag, State};
use deed_core::event::Event;
use deed_core::id::ActionKey;
use deed_core::spec::Label;
use deed_core::text::{ExternalId, Namespace, Owner, Tool};
use deed_core::time::Timestamp;

use super::Error;

/// Which leases to list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseFilter {
    /// Only live ones.
    Live,
    /// Only those that have lapsed without being given back.
    Lapsed,
}

/// In which order to list. The key breaks ties.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Newest first.
    #[default]
    NewestFirst,
    /// Oldest first.
    OldestFirst,
    /// Longest in its state first.
    LongestInState,
}

/// Which actions to list: all conditions that are set must hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListFilter {
    /// Only this namespace.
    pub namespace: Option<Namespace>,
    /// Only these namespaces, which are what the caller may read; none for all.
    pub readable: Option<Vec<Namespace>>,
    /// Only these states; empty for all.
    pub states: Vec<State>,
    /// Only these tools; empty for all.
    pub tools: Vec<Tool>,
    /// Only actions whose lease is this owner's.
    pub owner: Option<Owner>,
    /// Only actions with all of these labels.
    pub labels: Vec<Label>,
    /// Only live, or only lapsed leases.
    pub lease: Option<LeaseFilter>,
    /// Only actions that wait for a person.
    pub needs_operator: bool,
    /// Only executable actions that nobody has claimed since.
    pub unclaimed_since: Option<Timestamp>,
    /// Only action ids that begin with this; empty for all.
    pub id_prefix: String,
    /// Only actions assigned to this person.
    pub assignee: Option<Owner>,
    /// Only actions that carry one of these marks; empty for all.
    pub flags: Vec<Flag>,
    /// In this order.
    pub order: Order,
}

/// Where a list goes on: after the row with this time and key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The time that the order goes by, of the last row.
    pub at: Timestamp,
    /// Its key.
    pub key: ActionKey,
}

impl Order {
    /// Where a list in this order goes on after `action`.
    pub fn position(self, action: &Action) -> Position {
        let at = match self {
            Self::NewestFirst | Self::OldestFirst => action.created_at,
            Self::LongestInState => action.since,
        };
        Position {
            at,
            key: action.key.clone(),
        }
    }
}

/// Some actions as they are stored.
#[derive(Clone, Debug)]
pub struct Page {
    /// In the order that was asked for, at most as many as were asked for.
    pub actions: Vec<Action>,
    /// Whether there are more.
    pub more: bool,
    /// The database's time when they were read.
    pub now: Timestamp,
}

/// Reads what is stored.
pub trait Ledger: Send + Sync + 'static {
    /// One action with its stored result, and the database's time when it was read.
    fn action(
        &self,
        key: &ActionKey,
    ) -> impl Future<Output = Result<Option<(Action, Timestamp)>, Error>> + Send;

    /// At most `limit` events of one action with a sequence above `after`, oldest first. None for an unknown action.
    fn events(
        &self,
        key: &ActionKey,
        after: u32,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Event>, Error>> + Send;

    /// At most `limit` actions after a position. Stored results may be left out.
    fn list(
        &self,
        filter: &ListFilter,
        after: Option<&Position>,
        limit: u32,
    ) -> impl Future<Output = Result<Page, Error>> + Send;

    /// The action that an external id names, where external ids identify effects.
    fn find_external(
        &self,
        namespace: &Namespace,
        tool: &Tool,
        external_id: &ExternalId,
    ) -> impl Future<Output = Result<Option<ActionKey>, Error>> + Send;
}
