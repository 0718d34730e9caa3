//! Ten thousand sessions that do nothing, each on a connection of its own, as a fleet's processes have them.

use anyhow::{Context, ensure};
use deed_proto::v1;
use deed_proto::v1::ownership_client::OwnershipClient;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::future::try_join_all;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tonic::Streaming;
use tonic::transport::Endpoint;

/// Opened at a time: fewer than a listener's backlog.
const AT_A_TIME: usize = 64;

/// A process has other files open, too.
const OTHERS: u64 = 256;

/// A session that stays open until dropped.
pub struct Idle {
    _requests: UnboundedSender<v1::SessionRequest>,
    _answers: Streaming<v1::SessionResponse>,
}

/// Before the server is started, which inherits it: room for so many connections.
pub fn make_room(sessions: usize) -> anyhow::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = sessions as u64 + OTHERS;
    ensure!(
        hard >= wanted,
        "{sessions} sessions need {wanted} open files, and this account may have {hard} (ulimit -Hn)"
    );
    if soft < wanted {
        setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)?;
    }
    Ok(())
}

/// Opens so many.
pub async fn open(url: &str, sessions: usize) -> anyhow::Result<Vec<Idle>> {
    let endpoint = Endpoint::from_shared(url.to_owned())?;
    let mut all = Vec::with_capacity(sessions);
    while all.len() < sessions {
        let few = (0..AT_A_TIME.min(sessions - all.len())).map(|_| async {
            let channel = endpoint.connect().await?;
            let (requests, sent) = unbounded();
            let answers = OwnershipClient::new(channel).session(sent).await?.into_inner();
            anyhow::Ok(Idle {
                _requests: requests,
                _answers: answers,
            })
        });
        all.extend(try_join_all(few).await.context("a session could not be opened")?);
    }
    Ok(all)
}
