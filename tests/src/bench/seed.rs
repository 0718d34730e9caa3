//! Fills a database with settled actions, fast: one is made by a real server, and the database copies it under other ids.
//!
//! It names no column but the id, so it copies whatever the tables have. Ids are random like those of the load, so that
//! new ones fall between old ones in every index; they are inserted in order, which is what makes it fast.

use anyhow::{Context, ensure};
use tokio_postgres::Client;

use super::cast;
use super::course::Caller;
use super::meter;
use super::unary::Unary;
use crate::support::psql;
use crate::support::work::channel;

/// In one statement: seconds of work, so that a stop is not far away.
const AT_A_TIME: u64 = 500_000;

/// Tables with a row for an action, partitions left to their parents.
const TABLES: &str = "SELECT c.relname::text FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND a.attname = 'action_id' ORDER BY c.relname";

/// The columns to copy: the database makes those that are generated.
const COLUMNS: &str = "SELECT quote_ident(attname::text) FROM pg_attribute
     WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum";

/// Adds so many settled actions to the database, whose tables it makes where they are missing.
pub async fn fill(url: &str, count: u64) -> anyhow::Result<()> {
    if count == 0 {
        return Ok(());
    }
    let id = template(url).await?;
    let client = psql(url).await?;
    let before = meter::confirmed(&client).await?;
    // What is seeded can be seeded again.
    client.batch_execute("SET synchronous_commit = off").await?;
    client
        .batch_execute("CREATE TEMPORARY TABLE ids (id text COLLATE \"C\" PRIMARY KEY)")
        .await?;
    let tables: Vec<String> = strings(&client, TABLES, None).await?;
    let mut left = count - 1;
    while left > 0 {
        let now = left.min(AT_A_TIME);
        client
            .batch_execute(&format!(
                "TRUNCATE ids;
                 INSERT INTO ids SELECT 'order-' || replace(gen_random_uuid()::text, '-', '')
                   FROM generate_series(1, {now}) ORDER BY 1"
            ))
            .await?;
        for table in &tables {
            copy(&client, table, &id).await?;
        }
        left -= now;
    }
    client.batch_execute("ANALYZE").await?;
    let filled = meter::confirmed(&client).await?;
    // The template is one of them.
    let wanted = before + count - 1;
    ensure!(
        filled == wanted,
        "{wanted} settled actions were wanted, and there are {filled}"
    );
    Ok(())
}

/// One action, settled by a server.
async fn template(url: &str) -> anyhow::Result<String> {
    let mut server = cast::serve(url).await?;
    Unary::new(channel(&server.url())?, 0, None).act().await?;
    server.terminate()?;
    server.ended().await?;
    let newest = "SELECT action_id FROM actions ORDER BY created_at DESC LIMIT 1";
    let ids = strings(&psql(url).await?, newest, None).await?;
    ids.into_iter().next().context("the server left no action")
}

async fn copy(client: &Client, table: &str, id: &str) -> anyhow::Result<()> {
    let columns = strings(client, COLUMNS, Some(table)).await?;
    ensure!(!columns.is_empty(), "{table} has no columns");
    let values = columns.iter().map(|column| match column.as_str() {
        "action_id" => "ids.id".to_owned(),
        other => format!("t.{other}"),
    });
    let (columns, values) = (columns.join(", "), values.collect::<Vec<_>>().join(", "));
    let statement = format!(
        "INSERT INTO {table} ({columns}) SELECT {values} FROM (SELECT id FROM ids ORDER BY id) AS ids
           CROSS JOIN LATERAL (SELECT * FROM {table} WHERE action_id = '{id}') AS t"
    );
    client
        .batch_execute(&statement)
        .await
        .with_context(|| format!("cannot fill {table}"))
}

async fn strings(client: &Client, statement: &str, parameter: Option<&str>) -> anyhow::Result<Vec<String>> {
    let rows = match &parameter {
        Some(parameter) => client.query(statement, &[parameter]).await?,
        None => client.query(statement, &[]).await?,
    };
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}
