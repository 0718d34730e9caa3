//! Deed by unary calls, as any gRPC client makes them.

use anyhow::{Context, ensure};
use deed_proto::v1;
use deed_proto::v1::next_step::Kind;
use deed_proto::v1::ownership_client::OwnershipClient;
use tonic::transport::Channel;
use uuid::Uuid;

use super::course::Caller;
use super::work;

/// A worker on a connection that it shares with others.
pub struct Unary {
    ownership: OwnershipClient<Channel>,
    owner: String,
    specification: v1::Specification,
    /// Claimed again and again where it is held by somebody else; without it, each act has an action of its own.
    held: Option<String>,
}

/// What a call got. Where it is not what the load expects, the load fails with it.
pub fn step(answer: Option<v1::Answer>) -> anyhow::Result<Kind> {
    let step = answer.and_then(|answer| answer.next_step);
    step.and_then(|step| step.kind)
        .context("an answer without a next step")
}

/// The token of a begun grant to execute.
pub fn token(answer: Option<v1::Answer>) -> anyhow::Result<u64> {
    match step(answer)? {
        Kind::Execute(execute) if execute.begun => Ok(execute.fencing_token),
        other => anyhow::bail!("a fresh action is not granted: {other:?}"),
    }
}

pub fn claim(id: &str, owner: &str, specification: &v1::Specification) -> v1::ClaimRequest {
    v1::ClaimRequest {
        key: Some(work::key(id)),
        owner: owner.to_owned(),
        request_id: Uuid::new_v4().to_string(),
        specification: Some(specification.clone()),
        begin: true,
    }
}

pub fn report(id: &str, owner: &str, fencing_token: u64) -> v1::ReportRequest {
    let completed = v1::receipt::Completed::default();
    v1::ReportRequest {
        key: Some(work::key(id)),
        owner: owner.to_owned(),
        request_id: Uuid::new_v4().to_string(),
        fencing_token,
        receipt: Some(v1::Receipt {
            kind: Some(v1::receipt::Kind::Completed(completed)),
        }),
        then: v1::Then::Nothing.into(),
        specification: None,
    }
}

impl Unary {
    pub fn new(channel: Channel, number: usize, held: Option<String>) -> Self {
        Self {
            ownership: OwnershipClient::new(channel),
            owner: work::owner(number),
            specification: work::specification(),
            held,
        }
    }

    pub async fn claim(&mut self, id: &str) -> anyhow::Result<Option<v1::Answer>> {
        let request = claim(id, &self.owner, &self.specification);
        Ok(self.ownership.claim(request).await?.into_inner().answer)
    }

    async fn report(&mut self, id: &str, token: u64) -> anyhow::Result<()> {
        let request = report(id, &self.owner, token);
        let answer = self.ownership.report(request).await?.into_inner().answer;
        let settled = step(answer)?;
        ensure!(matches!(settled, Kind::Settled(_)), "a report led to {settled:?}");
        Ok(())
    }
}

impl Caller for Unary {
    async fn act(&mut self) -> anyhow::Result<u64> {
        if let Some(id) = self.held.clone() {
            let held = step(self.claim(&id).await?)?;
            ensure!(matches!(held, Kind::Held(_)), "a held action led to {held:?}");
            return Ok(1);
        }
        let id = work::fresh_id();
        let token = token(self.claim(&id).await?)?;
        self.report(&id, token).await?;
        Ok(1)
    }
}
