//! What Deed believes at the end: every action of the demo as `ListActions` shows it.
//!
//! Owns the question and what is told of undecided actions. It asks like any screen does, over gRPC.

use std::collections::HashMap;

use anyhow::Context;
use deed_proto::v1::ledger_client::LedgerClient;
use deed_proto::v1::next_step::Kind;
use deed_proto::v1::{Action, ListActionsRequest, NextStep, State};

use super::guarded::NAMESPACE;
use super::tally::Word;

/// So many undecided actions are explained, and one more line says how many are left; more would push the table off the
/// screen.
const EXPLAINED: usize = 9;

/// Deed's side of the tally.
#[derive(Debug)]
pub struct Beliefs {
    /// By invoice id.
    pub words: HashMap<String, Word>,
    /// One line for each undecided action, and one that says how many were left out.
    pub explanations: Vec<String>,
}

/// Asks the server for everything it knows of the demo.
pub async fn ask(url: String) -> anyhow::Result<Beliefs> {
    let actions = list(url)
        .await
        .context("Deed does not say how its actions stand")?;
    let mut words = HashMap::new();
    let mut explanations = Vec::new();
    let mut undecided = 0_usize;
    for action in &actions {
        let action_id = action.key.as_ref().map_or("", |key| key.action_id.as_str());
        let invoice_id = action_id.split('/').next().unwrap_or(action_id);
        let word = match action.state() {
            State::Confirmed => Word::Done,
            State::Rejected | State::Abandoned => Word::NotDone,
            State::Unspecified
            | State::AwaitingApproval
            | State::Planned
            | State::Sent
            | State::Accepted
            | State::Partial
            | State::Unknown
            | State::NotFound => Word::Undecided,
        };
        words.insert(invoice_id.to_owned(), word);
        if word == Word::Undecided {
            undecided += 1;
            if undecided <= EXPLAINED {
                explanations.push(explain(action_id, action));
            }
        }
    }
    if undecided > EXPLAINED {
        explanations.push(format!("and {} more", undecided - EXPLAINED));
    }
    Ok(Beliefs { words, explanations })
}

async fn list(url: String) -> anyhow::Result<Vec<Action>> {
    let mut ledger = LedgerClient::connect(url).await?;
    let mut request = ListActionsRequest {
        namespace: NAMESPACE.to_owned(),
        page_size: 1_000,
        ..ListActionsRequest::default()
    };
    let mut actions = Vec::new();
    loop {
        let page = ledger.list_actions(request.clone()).await?.into_inner();
        actions.extend(page.actions);
        if page.next_page_token.is_empty() {
            return Ok(actions);
        }
        request.page_token = page.next_page_token;
    }
}

fn explain(action_id: &str, action: &Action) -> String {
    let state = action.state().as_str_name().trim_start_matches("STATE_");
    let mut line = format!("{action_id}: {state}");
    for word in [&action.reason, &action.reason_detail] {
        if !word.is_empty() {
            line.push_str(&format!(", {word}"));
        }
    }
    format!("{line}; next step: {}", next(action.next_step.as_ref()))
}

fn next(step: Option<&NextStep>) -> String {
    match step.and_then(|step| step.kind.as_ref()) {
        Some(Kind::Claimable(claimable)) => {
            let kind = claimable.kind().as_str_name().trim_start_matches("GRANT_KIND_");
            format!("any claim gets {kind}")
        }
        Some(Kind::Wait(wait)) => {
            let reason = wait.reason().as_str_name().trim_start_matches("WAIT_REASON_");
            format!("wait, {reason}")
        }
        Some(Kind::Held(held)) => format!("{} holds the lease", held.owner),
        Some(Kind::Blocked(blocked)) => {
            let reason = blocked
                .reason()
                .as_str_name()
                .trim_start_matches("BLOCKED_REASON_");
            format!("a person is needed, {reason}: {}", blocked.detail)
        }
        Some(Kind::Execute(_) | Kind::VerifyEffect(_) | Kind::Settled(_)) | None => "none is told".to_owned(),
    }
}
