//! How actions stand, as `ListActions` shows it, in words for people.

use deed_proto::v1::ledger_client::LedgerClient;
use deed_proto::v1::next_step::Kind;
use deed_proto::v1::{Action, ListActionsRequest};

/// Every action of a namespace.
pub async fn list(url: String, namespace: &str) -> anyhow::Result<Vec<Action>> {
    let mut ledger = LedgerClient::connect(url).await?;
    let mut request = ListActionsRequest {
        namespace: namespace.to_owned(),
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

/// The state's name.
pub fn state(action: &Action) -> &'static str {
    action.state().as_str_name().trim_start_matches("STATE_")
}

/// Why it is as it is; empty where nothing is to be said.
pub fn reason(action: &Action) -> String {
    let words = [&action.reason, &action.reason_detail];
    let said: Vec<&str> = words
        .into_iter()
        .map(String::as_str)
        .filter(|word| !word.is_empty())
        .collect();
    said.join(", ")
}

/// What [`next`] answers where nothing is told.
pub const NONE_TOLD: &str = "none is told";

/// What comes next; "none is told" where the action says nothing of it.
pub fn next(action: &Action) -> String {
    match action.next_step.as_ref().and_then(|step| step.kind.as_ref()) {
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
        Some(Kind::Execute(_) | Kind::VerifyEffect(_) | Kind::Settled(_)) | None => NONE_TOLD.to_owned(),
    }
}
