//! Renewals: thousands of leases held, and prolonged in batches as the client library does it.

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

/// Callers that renew at a time: more than one transaction's worth waits, and less than a lane's queue.
pub const RENEWERS: usize = 2;

/// Leases of one owner, renewed group by group.
pub struct Renewer {
    ownership: OwnershipClient<Channel>,
    owner: String,
    groups: Vec<Vec<v1::RenewEntry>>,
    next: usize,
}

impl Renewer {
    /// Claims so many fresh actions, and will renew them in groups of this size.
    pub async fn claim(channel: Channel, number: usize, count: usize, group: usize) -> anyhow::Result<Self> {
        let mut renewer = Self {
            ownership: OwnershipClient::new(channel),
            owner: work::owner(number),
            groups: Vec::new(),
            next: 0,
        };
        let mut leases = Vec::with_capacity(count);
        while leases.len() < count {
            leases.extend(renewer.claim_some(BATCH.min(count - leases.len())).await?);
        }
        renewer.groups = leases.chunks(group).map(<[_]>::to_vec).collect();
        Ok(renewer)
    }

    async fn claim_some(&mut self, count: usize) -> anyhow::Result<Vec<v1::RenewEntry>> {
        let specification = work::specification();
        let ids: Vec<String> = (0..count).map(|_| work::fresh_id()).collect();
        let entries = ids.iter().map(|id| unary::claim(id, &self.owner, &specification));
        let request = v1::BatchClaimRequest {
            entries: entries.collect(),
        };
        let results = self.ownership.batch_claim(request).await?.into_inner().results;
        ensure!(
            results.len() == count,
            "{} answers to {count} claims",
            results.len()
        );
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
        ids.iter().zip(results).map(lease).collect()
    }
}

impl Caller for Renewer {
    /// Renews the next group; each of its leases must go on.
    async fn act(&mut self) -> anyhow::Result<u64> {
        let group = self
            .groups
            .get(self.next % self.groups.len().max(1))
            .context("no leases are held")?;
        let request = v1::RenewRequest {
            owner: self.owner.clone(),
            request_id: Uuid::new_v4().to_string(),
            leases: group.clone(),
        };
        let count = group.len();
        let results = self.ownership.renew(request).await?.into_inner().results;
        ensure!(results.len() == count, "a lease has no answer");
        let renewed =
            |result: &v1::RenewResult| matches!(result.result, Some(v1::renew_result::Result::Renewed(_)));
        let lost = results.iter().find(|result| !renewed(result));
        ensure!(lost.is_none(), "a lease was not renewed: {lost:?}");
        self.next += 1;
        Ok(u64::try_from(count)?)
    }
}
