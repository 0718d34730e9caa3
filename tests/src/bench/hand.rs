//! The column *hand-written*: what a careful team builds without Deed. One transaction per step, one connection per caller,
//! prepared statements, and no round trip more than the step needs: BEGIN goes with the read, COMMIT with the writes.

use anyhow::{Context, ensure};
use futures::{join, try_join};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};
use uuid::Uuid;

use super::course::Caller;
use super::work;

/// The tables.
pub const SCHEMA: &str = include_str!("hand.sql");

/// The lock yields the row as it is now; whoever holds the lease is judged by the database's clock.
const LOCK: &str = "SELECT state, version, sequence, token, lease_owner,
           lease_expires_at > clock_timestamp() AS live, tool, input_digest
      FROM actions WHERE namespace = $1 AND action_id = $2 FOR UPDATE";

const INSERT: &str = "INSERT INTO actions (namespace, action_id, created_at, tool, input_digest, state, version, sequence, token,
           attempts, lease_owner, lease_expires_at, begun_at)
    VALUES ($1, $2, clock_timestamp(), $3, $4, 'SENT', 1, 1, $5, 1, $6, clock_timestamp() + interval '5 min',
           clock_timestamp())";

const UPDATE: &str = "UPDATE actions
       SET state = 'CONFIRMED', version = version + 1, sequence = sequence + 1,
           lease_owner = NULL, lease_expires_at = NULL, effect_id = $4
     WHERE namespace = $1 AND action_id = $2 AND version = $3";

const HISTORY: &str =
    "INSERT INTO events (namespace, action_id, sequence, at, kind, token, owner, request_id)
    VALUES ($1, $2, $3, clock_timestamp(), $4, $5, $6, $7)";

/// What a statement is given.
type Values<'a, const N: usize> = [&'a (dyn ToSql + Sync); N];

/// A worker with a connection of its own.
pub struct Hand {
    client: Client,
    owner: String,
    lock: Statement,
    insert: Statement,
    update: Statement,
    history: Statement,
    /// Claimed again and again where it is held by somebody else; without it, each act has an action of its own.
    held: Option<String>,
}

/// What the row said.
struct Row {
    state: String,
    version: i64,
    sequence: i64,
    token: i64,
    owner: Option<String>,
    live: bool,
}

impl Hand {
    pub async fn connect(url: &str, number: usize, held: Option<String>) -> anyhow::Result<Self> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        let (lock, insert, update, history) = try_join!(
            client.prepare(LOCK),
            client.prepare(INSERT),
            client.prepare(UPDATE),
            client.prepare(HISTORY),
        )?;
        Ok(Self {
            client,
            owner: work::owner(number),
            lock,
            insert,
            update,
            history,
            held,
        })
    }

    /// Opens the transaction and locks the row, in one round trip.
    async fn locked(&self, id: &str) -> anyhow::Result<Option<Row>> {
        let key: Values<'_, 2> = [&work::NAMESPACE, &id];
        let (begun, row) = join!(
            self.client.batch_execute("BEGIN"),
            self.client.query_opt(&self.lock, &key)
        );
        begun?;
        let Some(row) = row? else { return Ok(None) };
        ensure!(
            row.try_get::<_, &str>("tool")? == work::TOOL
                && row.try_get::<_, &[u8]>("input_digest")? == work::DIGEST,
            "another action has this id"
        );
        Ok(Some(Row {
            state: row.try_get("state")?,
            version: row.try_get("version")?,
            sequence: row.try_get("sequence")?,
            token: row.try_get("token")?,
            owner: row.try_get("lease_owner")?,
            live: row.try_get::<_, Option<bool>>("live")?.unwrap_or(false),
        }))
    }

    /// The token, or nothing where somebody else holds the action.
    pub async fn claim(&self, id: &str) -> anyhow::Result<Option<i64>> {
        if let Some(row) = self.locked(id).await? {
            // Nothing was written, so there is nothing to make durable.
            self.client.batch_execute("ROLLBACK").await?;
            ensure!(row.live, "an action of this load is {} and not held", row.state);
            return Ok(None);
        }
        let token = 1_i64;
        let row: Values<'_, 6> = [
            &work::NAMESPACE,
            &id,
            &work::TOOL,
            &&work::DIGEST[..],
            &token,
            &self.owner,
        ];
        let request = Uuid::new_v4();
        let event: Values<'_, 7> = [
            &work::NAMESPACE,
            &id,
            &1_i64,
            &"GRANTED",
            &token,
            &self.owner,
            &request,
        ];
        let (inserted, appended, committed) = join!(
            self.client.execute(&self.insert, &row),
            self.client.execute(&self.history, &event),
            self.client.batch_execute("COMMIT"),
        );
        inserted?;
        appended?;
        committed?;
        Ok(Some(token))
    }

    async fn report(&self, id: &str, token: i64) -> anyhow::Result<()> {
        let row = self.locked(id).await?.context("the action is gone")?;
        ensure!(
            row.token == token && row.state == "SENT" && row.owner.as_deref() == Some(&self.owner),
            "the lease is lost"
        );
        let request = Uuid::new_v4();
        let change: Values<'_, 4> = [&work::NAMESPACE, &id, &row.version, &request];
        let sequence = row.sequence + 1;
        let event: Values<'_, 7> = [
            &work::NAMESPACE,
            &id,
            &sequence,
            &"REPORTED",
            &token,
            &self.owner,
            &request,
        ];
        let (updated, appended, committed) = join!(
            self.client.execute(&self.update, &change),
            self.client.execute(&self.history, &event),
            self.client.batch_execute("COMMIT"),
        );
        appended?;
        committed?;
        ensure!(updated? == 1, "the row has moved since");
        Ok(())
    }
}

impl Caller for Hand {
    async fn act(&mut self) -> anyhow::Result<u64> {
        if let Some(id) = &self.held {
            ensure!(self.claim(id).await?.is_none(), "a held action was granted again");
            return Ok(1);
        }
        let id = work::fresh_id();
        let token = self.claim(&id).await?.context("a fresh action is held")?;
        self.report(&id, token).await?;
        Ok(1)
    }
}
