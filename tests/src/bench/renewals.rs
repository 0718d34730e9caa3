//! Renewals: thousands of leases held, and prolonged in batches as the client library does it.

use std::sync::Arc;

use anyhow::{Context, ensure};
use deed_proto::v1;
use deed_proto::v1::ownership_client::OwnershipClient;
use tonic::transport::Channel;
use uuid::Uuid;

use super::course::Caller;
use super::unary;
use super::work;

/// Leases in one call; the most that one may carry.
pub const BATCH: usize = 1_000;

/// Leases of one owner that are renewed together.
pub struct Renewer {
    ownership: OwnershipClient<Channel>,
    owner: String,
    leases: Arc<[v1::RenewEntry]>,
}

impl Renewer {
    /// Claims so many fresh actions in one call.
    pub async fn claim(channel: Channel, number: usize, count: usize) -> anyhow::Result<Self> {
        let (owner, specification) = (work::owner(number), work::specification());
        let ids: Vec<String> = (0..count).map(|_| work::fresh_id()).collect();
        let entries = ids.iter().map(|id| unary::claim(id, &owner, &specification));
        let request = v1::BatchClaimRequest {
            entries: entries.collect(),
        };
        let mut ownership = OwnershipClient::new(channel);
        let results = ownership.batch_claim(request).await?.into_inner().results;
        ensure!(results.len() == count, "{} answers to {count} claims", results.len());
        let lease = |(id, result): (&String, v1::BatchResult)| {
            let answer = match result.result {
                Some(v1::batch_result::Result::Answer(answer)) => answer,
                other => anyhow::bail!("a claim was answered by {other:?}"),
            };
            Ok(v1::RenewEntry {
                key: Some(work::key(id)),
                fencing_token: unary::token(Some(answer))?,
            })
        };
        let leases = ids.iter().zip(results).map(lease);
        Ok(Self {
            ownership,
            owner,
            leases: leases.collect::<anyhow::Result<_>>()?,
        })
    }

    /// The same leases in groups of so many, each renewed by a caller of its own.
    pub fn split(self, size: usize) -> Vec<Self> {
        let group = |leases: &[v1::RenewEntry]| Self {
            ownership: self.ownership.clone(),
            owner: self.owner.clone(),
            leases: leases.into(),
        };
        self.leases.chunks(size).map(group).collect()
    }

    /// Renews all of them; each must go on.
    pub async fn renew(&mut self) -> anyhow::Result<()> {
        let request = v1::RenewRequest {
            owner: self.owner.clone(),
            request_id: Uuid::new_v4().to_string(),
            leases: self.leases.to_vec(),
        };
        let results = self.ownership.renew(request).await?.into_inner().results;
        ensure!(results.len() == self.leases.len(), "a lease has no answer");
        let renewed = |result: &v1::RenewResult| matches!(result.result, Some(v1::renew_result::Result::Renewed(_)));
        let lost = results.iter().find(|result| !renewed(result));
        ensure!(lost.is_none(), "a lease was not renewed: {lost:?}");
        Ok(())
    }

    pub fn size(&self) -> usize {
        self.leases.len()
    }
}

impl Caller for Renewer {
    async fn act(&mut self) -> anyhow::Result<u64> {
        self.renew().await?;
        u64::try_from(self.size()).context("too many leases")
    }
}
