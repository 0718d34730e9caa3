//! Counts statements by Postgres's own counter, where it is installed. Only during the warm-up, so that counting costs
//! the measured time nothing.

use tokio_postgres::Client;

/// Loaded with Postgres. What to count is not said here: the command line would win over what is said later.
pub const SETTINGS: [(&str, &str); 1] = [("shared_preload_libraries", "pg_stat_statements")];

const TRACK: &str = "ALTER SYSTEM SET pg_stat_statements.track = 'top'";
const REST: &str = "ALTER SYSTEM SET pg_stat_statements.track = 'none'";

/// Counts, or cannot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    Installed,
    Missing,
}

impl Counter {
    pub async fn install(admin: &Client) -> anyhow::Result<()> {
        admin.batch_execute("CREATE EXTENSION pg_stat_statements").await?;
        Self::Installed.stop(admin).await
    }

    /// From zero, in all sessions that begin from now on.
    pub async fn start(self, admin: &Client) -> anyhow::Result<()> {
        if self == Self::Installed {
            admin.batch_execute(TRACK).await?;
            admin.query("SELECT pg_reload_conf()", &[]).await?;
        }
        Ok(())
    }

    /// How many statements on the database so far; none where they cannot be counted.
    pub async fn read(self, admin: &Client, database: &str) -> anyhow::Result<Option<i64>> {
        if self == Self::Missing {
            return Ok(None);
        }
        let row = admin
            .query_one(
                "SELECT coalesce(sum(s.calls), 0)::int8
                   FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid WHERE d.datname = $1",
                &[&database],
            )
            .await?;
        Ok(Some(row.try_get(0)?))
    }

    pub async fn stop(self, admin: &Client) -> anyhow::Result<()> {
        if self == Self::Installed {
            admin.batch_execute(REST).await?;
            admin.query("SELECT pg_reload_conf()", &[]).await?;
        }
        Ok(())
    }
}
