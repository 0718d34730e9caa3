//! The database's clock, in the hands of a story.
//!
//! Every time of Deed is the database's `clock_timestamp()`, named without its schema. The database of a story has a
//! function of that name in a schema that is searched before `pg_catalog`; it reads a table, and the story writes that
//! table. So the time of each call is exact, and no story ever sleeps.

use anyhow::Context;
use deed_core::time::Span;
use tokio_postgres::{Client, NoTls};

use crate::story::engine::BASE;
use crate::support::Database;

/// Searched after `public`, where the tables are made, and before `pg_catalog`, where the real clock is.
const CLOCK: &str = "
    CREATE SCHEMA story;
    CREATE TABLE story.clock (at timestamptz NOT NULL);
    INSERT INTO story.clock VALUES ('epoch');
    CREATE FUNCTION story.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
        AS 'SELECT at FROM story.clock';
";

/// A slow standby: the commit itself, as the last thing before it is done, moves the clock.
const SLOW_COMMIT: &str = "
    CREATE TABLE story.standby (takes interval NOT NULL);
    INSERT INTO story.standby VALUES ('0');
    CREATE FUNCTION story.wait_for_standby() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE story.clock SET at = at + (SELECT takes FROM story.standby);
        RETURN NULL;
    END
    $$;
    CREATE CONSTRAINT TRIGGER story_slow_commit AFTER INSERT OR UPDATE ON actions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION story.wait_for_standby();
";

/// The clock of one database.
#[derive(Debug)]
pub struct Clock {
    client: Client,
    /// Whether commits can be made to take time.
    standby: bool,
}

impl Clock {
    /// Puts it into an empty database. Holds for connections made from now on.
    pub async fn wind(database: &Database) -> anyhow::Result<Self> {
        let (client, connection) = tokio_postgres::connect(&database.url, NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(CLOCK).await?;
        let search = format!(
            "ALTER DATABASE {} SET search_path = public, story, pg_catalog",
            database.name
        );
        client.batch_execute(&search).await?;
        Ok(Self {
            client,
            standby: false,
        })
    }

    /// Sets it, counted from the beginning of stories.
    pub async fn set(&self, time: Span) -> anyhow::Result<()> {
        let at = BASE.plus(time).micros();
        let set = "UPDATE story.clock SET at = timestamptz 'epoch' + $1::bigint * interval '1 microsecond'";
        self.client
            .execute(set, &[&at])
            .await
            .context("cannot set the clock")?;
        Ok(())
    }

    /// Lets it move during every commit.
    pub async fn commits_take(&mut self, time: Span) -> anyhow::Result<()> {
        if !self.standby {
            // Every story begins with a quick one; most never ask for another.
            if time.empty() {
                return Ok(());
            }
            self.client.batch_execute(SLOW_COMMIT).await?;
            self.standby = true;
        }
        let takes = i64::try_from(time.micros())?;
        let set = "UPDATE story.standby SET takes = $1::bigint * interval '1 microsecond'";
        self.client.execute(set, &[&takes]).await?;
        Ok(())
    }
}
