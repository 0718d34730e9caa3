//! What is to be said when the work does not end: which actions are open for whom, and what the database is doing.

use super::log::{Line, now_ms};
use crate::support::psql;

/// So many lines of each kind; the rest are mostly the same again.
const NAMED: usize = 8;

/// Actions whose last word in a worker's log is not final there.
pub fn open(logs: &[Vec<Line>]) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, log) in logs.iter().enumerate() {
        let mut last = std::collections::BTreeMap::new();
        for line in log {
            match line {
                Line::Sending { action, .. }
                | Line::Sent { action, .. }
                | Line::Looked { action, .. }
                | Line::Ended { action, .. } => drop(last.insert(action, line)),
                Line::Started { .. } => {}
            }
        }
        let open = last.values().filter(|line| match line {
            Line::Ended { end, .. } => !end.final_here(),
            _ => true,
        });
        lines.extend(
            open.take(NAMED)
                .map(|line| format!("worker-{}: {line:?}", number + 1)),
        );
    }
    lines.push(format!("it is {}", now_ms()));
    lines
}

/// The sessions that are at something, and the standby.
pub async fn database(url: &str) -> anyhow::Result<Vec<String>> {
    let statement = "SELECT concat_ws(' ', pid, state, wait_event_type, wait_event, \
                     (clock_timestamp() - state_change)::text, pg_blocking_pids(pid)::text, left(query, 120)) \
                     FROM pg_stat_activity WHERE datname IS NOT NULL AND state <> 'idle' AND pid <> pg_backend_pid() \
                     UNION ALL SELECT concat_ws(' ', 'standby', state, sync_state, sent_lsn, flush_lsn) \
                     FROM pg_stat_replication \
                     UNION ALL SELECT 'waits for ' || current_setting('synchronous_standby_names')";
    let rows = psql(url).await?.query(statement, &[]).await?;
    Ok(rows.iter().take(NAMED * 4).map(|row| row.get(0)).collect())
}
