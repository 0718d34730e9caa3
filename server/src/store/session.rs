//! The committer's side of Postgres: one transaction at a time on one connection, two round trips each, or three
//! where history is asked.
//!
//! Every statement is unnamed and every setting ends with its transaction, so that a transaction pooler may stand in
//! between. The statements of a half are sent together and answered together.

use std::time::Duration;

use super::database::Database;
use super::link::Link;
use super::reading::Places;
use super::sqlstate::unconnected;
use super::{Busy, Connect, Error, Lookup, Reading, Transact, Write, reading, writing};

/// Makes sessions.
#[derive(Clone, Debug)]
pub struct Connector {
    database: Database,
}

/// One connection, made when it is needed.
#[derive(Debug)]
pub struct Session {
    database: Database,
    link: Option<Link>,
    /// A transaction may be open. Stays set where a half was given up in the middle.
    open: bool,
    /// Where the rows lie that the open transaction has locked.
    places: Places,
}

impl Connector {
    /// For this database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }
}

impl Connect for Connector {
    type Transact = Session;

    fn connect(&self) -> Session {
        Session {
            database: self.database.clone(),
            link: None,
            open: false,
            places: Places::new(),
        }
    }
}

impl Session {
    /// A connection without a transaction on it.
    async fn ready(&mut self) -> Result<Link, Error> {
        // SUBTLE: taken out, and put back only by whoever came to the end of its half. A half that was dropped in the
        // middle has left the connection in a state that nobody knows: it goes with its link.
        match self
            .link
            .take()
            .filter(|link| !self.open && !link.client().is_closed())
        {
            Some(link) => Ok(link),
            None => Link::open(&self.database).await.map_err(unconnected),
        }
    }
}

impl Transact for Session {
    async fn read(&mut self, lookups: &[Lookup], busy: Busy) -> Result<Reading, Error> {
        let link = self.ready().await?;
        self.open = true;
        match reading::read(link.client(), lookups, busy).await {
            Ok((reading, places)) => {
                self.link = Some(link);
                self.places = places;
                Ok(reading)
            }
            Err(error) => {
                if link.client().batch_execute("ROLLBACK").await.is_ok() {
                    self.link = Some(link);
                    self.open = false;
                }
                Err(error)
            }
        }
    }

    async fn write(&mut self, writes: &[Write<'_>], synchronous: bool) -> Result<Vec<bool>, Error> {
        let link = self
            .link
            .take()
            .filter(|_| self.open)
            .ok_or_else(|| Error::Determinate {
                what: "no transaction is open".to_owned(),
                transient: true,
                source: None,
            })?;
        let outcome = if writes.is_empty() && !synchronous {
            writing::leave(&link).await
        } else {
            writing::write(&link, &self.places, writes, synchronous).await
        };
        if outcome.over {
            self.link = Some(link);
            self.open = false;
        }
        outcome.written
    }
}

/// How long a fresh row may wait for somebody else's insert of the same key, which is over with that one's commit. A
/// batch that waits longer is split, and only the command that waits goes on waiting.
pub(super) const INSERT_WAIT: Duration = Duration::from_millis(100);
