//! The calls of screens: reading only.

use std::pin::Pin;

use deed_core::id::ActionKey;
use deed_core::reply::Refusal;
use deed_proto::v1;
use deed_proto::v1::ledger_server::Ledger as LedgerService;
use futures::stream::Stream;
use prost::Message;
use tonic::{Request, Response, Status};

use super::edge::{Edge, caller, life};
use super::error::Failure;
use super::parse::query::{self, EventsQuery, ListQuery};
use super::parse::text;
use super::tell::{action, event};
use crate::auth::{Caller, Right, Scope};
use crate::service::Judge;
use crate::service::ledger::{Ledger, ListFilter};

/// 1 MiB of rows on a page: a quarter of what a client takes by default, so that one more row never breaks it (B46).
const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// Rows read at once: a page that its bytes cut short has not read many in vain.
const CHUNK: u32 = 100;

/// Events read at once: fewer, since one may carry a result of 256 KiB.
const EVENT_CHUNK: u32 = 20;

/// Rows of a page as far as its bytes reach; the first always fits.
#[derive(Default)]
struct Rows<T> {
    rows: Vec<T>,
    bytes: usize,
}

impl<T: Message> Rows<T> {
    /// Takes a row, or says that the page is full.
    fn push(&mut self, row: T) -> bool {
        let bytes = row.encoded_len();
        if !self.rows.is_empty() && self.bytes + bytes > MAX_PAGE_BYTES {
            return false;
        }
        self.bytes += bytes;
        self.rows.push(row);
        true
    }

    fn room(&self, limit: u32) -> u32 {
        limit.saturating_sub(u32::try_from(self.rows.len()).unwrap_or(u32::MAX))
    }
}

impl<J: Judge, L: Ledger> Edge<J, L> {
    async fn list(&self, query: ListQuery) -> Result<v1::ListActionsResponse, Failure> {
        let ListQuery {
            filter,
            mut after,
            limit,
            question,
        } = query;
        let mut page = Rows {
            rows: Vec::new(),
            bytes: 0,
        };
        loop {
            let wanted = page.room(limit).min(CHUNK);
            let read = self.ledger.list(&filter, after.as_ref(), wanted).await?;
            let mut full = false;
            let empty = read.actions.is_empty();
            for stored in &read.actions {
                let row = action::action(&self.protocol, stored, read.now, action::Extent::Listed);
                if !page.push(row) {
                    full = true;
                    break;
                }
                after = Some(filter.order.position(stored));
            }
            let more = full || (read.more && !empty);
            if !more || full || page.room(limit) == 0 {
                let next = after.filter(|_| more);
                return Ok(v1::ListActionsResponse {
                    actions: page.rows,
                    next_page_token: next
                        .map(|position| question.after_action(&position))
                        .unwrap_or_default(),
                });
            }
        }
    }

    async fn events(&self, query: EventsQuery) -> Result<v1::ListEventsResponse, Failure> {
        let EventsQuery {
            key,
            mut after,
            limit,
            question,
        } = query;
        let mut teller = event::Teller::default();
        let mut page = Rows {
            rows: Vec::new(),
            bytes: 0,
        };
        loop {
            let wanted = page.room(limit).min(EVENT_CHUNK);
            // One more than wanted tells whether there is another page.
            let mut read = self.ledger.events(&key, after, wanted.saturating_add(1)).await?;
            let more = read.len() > usize::try_from(wanted).unwrap_or(usize::MAX);
            read.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
            if read.is_empty() && page.rows.is_empty() && after == 0 {
                self.must_exist(&key).await?;
            }
            let mut full = false;
            for event in read {
                let sequence = event.sequence;
                if !page.push(teller.event(&key, event)) {
                    full = true;
                    break;
                }
                after = sequence;
            }
            if full || !more || page.room(limit) == 0 {
                let next_page_token = if full || more {
                    question.after_event(after)
                } else {
                    String::new()
                };
                return Ok(v1::ListEventsResponse {
                    events: page.rows,
                    next_page_token,
                });
            }
        }
    }

    /// A history of nothing is told from the history of an action that does not exist.
    async fn must_exist(&self, key: &ActionKey) -> Result<(), Failure> {
        match self.ledger.action(key).await? {
            Some(_) => Ok(()),
            None => Err(Refusal::ActionNotFound.into()),
        }
    }
}

fn may_read(caller: &Caller, key: &ActionKey) -> Result<(), Failure> {
    Ok(caller.may(Right::Read, &key.namespace)?)
}

/// A list that names no namespace shows those that its caller may read.
fn limit_to_readable(caller: &Caller, filter: &mut ListFilter) -> Result<(), Failure> {
    if let Some(namespace) = &filter.namespace {
        return Ok(caller.may(Right::Read, namespace)?);
    }
    filter.readable = match caller.scope(Right::Read)? {
        Scope::Everywhere => None,
        Scope::Within(namespaces) => Some(namespaces),
    };
    Ok(())
}

#[tonic::async_trait]
impl<J: Judge, L: Ledger> LedgerService for Edge<J, L> {
    async fn get_action(
        &self,
        request: Request<v1::GetActionRequest>,
    ) -> Result<Response<v1::Action>, Status> {
        let caller = caller(&request)?;
        let key = text::key(request.into_inner().key).map_err(Failure::from)?;
        may_read(&caller, &key)?;
        Ok(Response::new(self.view(&key).await?))
    }

    async fn list_actions(
        &self,
        request: Request<v1::ListActionsRequest>,
    ) -> Result<Response<v1::ListActionsResponse>, Status> {
        let caller = caller(&request)?;
        let mut query = query::list(request.into_inner()).map_err(Failure::from)?;
        limit_to_readable(&caller, &mut query.filter)?;
        Ok(Response::new(self.list(query).await?))
    }

    async fn list_events(
        &self,
        request: Request<v1::ListEventsRequest>,
    ) -> Result<Response<v1::ListEventsResponse>, Status> {
        let caller = caller(&request)?;
        let query = query::events(request.into_inner()).map_err(Failure::from)?;
        may_read(&caller, &query.key)?;
        Ok(Response::new(self.events(query).await?))
    }

    async fn wait_action(
        &self,
        request: Request<v1::WaitActionRequest>,
    ) -> Result<Response<v1::WaitActionResponse>, Status> {
        let (caller, life) = (caller(&request)?, life(&request));
        let query = query::wait(request.into_inner()).map_err(Failure::from)?;
        may_read(&caller, &query.key)?;
        Ok(Response::new(self.wait(query, life).await?))
    }

    type WatchActionsStream = Pin<Box<dyn Stream<Item = Result<v1::WatchActionsResponse, Status>> + Send>>;

    async fn watch_actions(
        &self,
        _: Request<v1::WatchActionsRequest>,
    ) -> Result<Response<Self::WatchActionsStream>, Status> {
        Err(Failure::NotServed { call: "WatchActions" }.into())
    }

    async fn get_stats(
        &self,
        _: Request<v1::GetStatsRequest>,
    ) -> Result<Response<v1::GetStatsResponse>, Status> {
        Err(Failure::NotServed { call: "GetStats" }.into())
    }
}
