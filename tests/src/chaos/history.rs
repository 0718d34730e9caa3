//! Reads what is left: ledgers from the receivers, history from the tables, and how actions stand from a server.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::Value;

use super::fleet::{Fleet, NAMESPACE};
use super::record::{Effect, Event, Standing};
use crate::receiver::Application;
use crate::support::psql;
use crate::support::standing::{list, next, reason, state};

/// All effects, by action.
pub fn effects(ledgers: Vec<Vec<Application>>) -> BTreeMap<String, Vec<Effect>> {
    let mut effects: BTreeMap<String, Vec<Effect>> = BTreeMap::new();
    for application in ledgers.into_iter().flatten() {
        let visible = application.applied_at_ms.max(application.hidden_until_ms);
        effects.entry(application.business_id).or_default().push(Effect {
            token: application.fencing_token.map(|token| token.0),
            visible_at_ms: i64::try_from(visible).unwrap_or(i64::MAX),
        });
    }
    effects
}

/// The whole history, by action.
pub async fn history(url: &str) -> anyhow::Result<BTreeMap<String, Vec<Event>>> {
    let statement = "SELECT action_id, sequence, (extract(epoch FROM at) * 1000)::bigint AS at_ms, kind, token, by_owner, \
                     request_id IS NOT NULL AS called, state, body FROM events WHERE namespace = $1 ORDER BY 1, 2";
    let rows = psql(url).await?.query(statement, &[&NAMESPACE]).await?;
    let mut history: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for row in rows {
        let body: Value = row.try_get("body")?;
        let text = |path: &str| body.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let flag = |path: &str| body.pointer(path).and_then(Value::as_bool).unwrap_or_default();
        let token: Option<i64> = row.try_get("token")?;
        let receipt = text("/receipt/kind");
        let over = matches!(receipt.as_deref(), Some("COMPLETED" | "ACCEPTED"));
        let action: String = row.try_get("action_id")?;
        history.entry(action).or_default().push(Event {
            sequence: row.try_get("sequence")?,
            at_ms: row.try_get("at_ms")?,
            kind: row.try_get("kind")?,
            token: token.map(u64::try_from).transpose()?,
            owner: row.try_get("by_owner")?,
            called: row.try_get("called")?,
            state: row.try_get("state")?,
            grant: text("/grant"),
            expires_at_ms: body
                .get("expires_at")
                .and_then(Value::as_i64)
                .map(|micros| micros / 1_000),
            begun: flag("/begun"),
            ended: over || flag("/receipt/ended"),
            evidence: receipt.or_else(|| text("/observation/verdict/kind")),
            counted: flag("/counted"),
        });
    }
    Ok(history)
}

/// How every action stands.
pub async fn actions(server: String) -> anyhow::Result<BTreeMap<String, Standing>> {
    let listed = list(server, NAMESPACE)
        .await
        .context("Deed does not say how its actions stand")?;
    let known = listed.into_iter().filter_map(|action| {
        let id = action.key.as_ref()?.action_id.clone();
        Fleet::of(&id)?;
        let standing = Standing {
            state: state(&action).to_owned(),
            effect_id: action.effect_id.clone(),
            reason: reason(&action),
            next: next(&action),
        };
        Some((id, standing))
    });
    Ok(known.collect())
}
