//! The database: a primary with a synchronous streaming standby, and what strikes them.
//!
//! Owns that no acknowledged commit is on one node alone when the primary is killed: the primary waits for its standby
//! from the moment on at which [`Database::whole`] has proven it. Between a failover and the next standby the new primary
//! serves alone, as failover managers do; nothing kills it meanwhile but a restart on its own data.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use deed_server::postgres::{Cluster, Options, Port};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::timeout;

use crate::support::proxy::{Proxy, Weather};
use crate::support::psql;

/// What a busy machine needs for any step here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at something that sends no signal.
const LOOK: Duration = Duration::from_millis(10);

/// Where Deed's tables are.
const NAME: &str = "deed";

/// One place in which a Postgres lives, as primary or as standby.
struct Node {
    directory: PathBuf,
    port: u16,
    cluster: Option<Cluster>,
    /// What a standby of this node streams through.
    stream: Proxy,
}

/// Both nodes.
pub struct Database {
    nodes: [Node; 2],
    primary: usize,
}

impl Node {
    async fn new(directory: PathBuf) -> anyhow::Result<Self> {
        let port = free_port()?;
        Ok(Self {
            directory,
            port,
            cluster: None,
            stream: Proxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?,
        })
    }

    fn options(&self) -> Options {
        Options::kept(&self.directory)
            .on(Port::Fixed(self.port))
            // A link that went silent is given up well before the next strike.
            .with("wal_sender_timeout", "3s")
            .with("wal_receiver_timeout", "3s")
            .with("wal_receiver_status_interval", "1s")
            .with("wal_retrieve_retry_interval", "100ms")
            // What a standby that was cut off needs to catch up.
            .with("wal_keep_size", "256MB")
    }

    fn cluster(&self) -> anyhow::Result<&Cluster> {
        self.cluster.as_ref().context("this node is down")
    }

    fn pid(&self) -> anyhow::Result<Pid> {
        Ok(Pid::from_raw(i32::try_from(self.cluster()?.pid())?))
    }
}

impl Database {
    /// A primary with its standby, in two directories below `directory`.
    pub async fn new(directory: &Path) -> anyhow::Result<Self> {
        let nodes = [
            Node::new(directory.join("a")).await?,
            Node::new(directory.join("b")).await?,
        ];
        Ok(Self { nodes, primary: 0 })
    }

    pub async fn start(&mut self) -> anyhow::Result<()> {
        let options = self.nodes[0].options();
        let cluster = self.nodes[0].cluster.insert(Cluster::start(options).await?);
        cluster.create_database(NAME).await?;
        self.follow().await?;
        self.whole().await
    }

    /// Where the nodes listen.
    pub fn addresses(&self) -> [SocketAddr; 2] {
        [0, 1].map(|node| SocketAddr::from((Ipv4Addr::LOCALHOST, self.nodes[node].port)))
    }

    /// The address of whichever node is the primary, through these ways to the nodes.
    pub fn url_through(&self, ways: &[Proxy]) -> anyhow::Result<String> {
        let hosts: Vec<String> = ways.iter().map(|way| way.address.to_string()).collect();
        let url = self.url()?;
        let direct = format!("127.0.0.1:{}", self.nodes[self.primary].port);
        Ok(format!(
            "{}?target_session_attrs=read-write",
            url.replace(&direct, &hosts.join(","))
        ))
    }

    /// The present primary's own address.
    pub fn url(&self) -> anyhow::Result<String> {
        Ok(self.nodes[self.primary].cluster()?.url(NAME))
    }

    /// Ends sessions of the servers, each with the chance of one half; says how many.
    pub async fn terminate(&self) -> anyhow::Result<i64> {
        let client = psql(&self.url()?).await?;
        let statement = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                         WHERE application_name = 'deed-server' AND random() < 0.5";
        Ok(client.query_one(statement, &[]).await?.get(0))
    }

    /// Immediate shutdown: every session is dropped, and the next start recovers from the log.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        let node = &mut self.nodes[self.primary];
        kill(node.pid()?, Signal::SIGQUIT)?;
        node.cluster.take().context("this node is down")?.stop().await?;
        node.cluster = Some(Cluster::start(node.options()).await?);
        Ok(())
    }

    /// The primary's machine dies, and the standby is promoted. For `silence` before it, the standby hears nothing of the
    /// primary any more: what is committed then is on the primary alone, and whoever was told of it was told too much.
    pub async fn fail_over(&mut self, silence: Duration) -> anyhow::Result<()> {
        self.lose_primary(silence).await?;
        self.promote().await
    }

    /// The first half of a failover: until the second, there is a standby that only reads.
    pub async fn lose_primary(&mut self, silence: Duration) -> anyhow::Result<()> {
        let lost = &mut self.nodes[self.primary];
        if !silence.is_zero() {
            lost.stream.weather(Weather::BlackHole);
            tokio::time::sleep(silence).await;
        }
        let pid = lost.pid()?;
        let children = children(pid);
        kill(pid, Signal::SIGKILL)?;
        // SUBTLE: the sessions outlive their postmaster by a moment, and could answer from a primary that is none.
        for child in children {
            // It may have ended by itself.
            let _gone = kill(child, Signal::SIGKILL);
        }
        lost.cluster.take().context("this node is down")?.stop().await?;
        lost.stream.weather_for_present(Weather::Cut);
        lost.stream.weather_for_new(Weather::Fair);
        self.primary = 1 - self.primary;
        Ok(())
    }

    /// The second half.
    pub async fn promote(&self) -> anyhow::Result<()> {
        let client = psql(&self.url()?).await?;
        let promoted: bool = client.query_one("SELECT pg_promote(true, 60)", &[]).await?.get(0);
        ensure!(promoted, "the standby was not promoted");
        Ok(())
    }

    /// Gives the present primary a new standby, where the other node was.
    pub async fn follow(&mut self) -> anyhow::Result<()> {
        let other = 1 - self.primary;
        let options = self.nodes[other].options();
        let directory = &self.nodes[other].directory;
        if directory.exists() {
            fs::remove_dir_all(directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        let primary = &self.nodes[self.primary];
        let port = primary.stream.address.port();
        let standby = primary.cluster()?.start_standby(options, port, "standby").await?;
        self.nodes[other].cluster = Some(standby);
        Ok(())
    }

    /// From here on, every acknowledged commit is on both nodes.
    pub async fn whole(&self) -> anyhow::Result<()> {
        let client = psql(&self.url()?).await?;
        // SUBTLE: a setting that is reloaded holds from some moment on that nobody tells. So the primary first waits for a
        // standby that does not exist: once a commit is seen to wait, all of them do; and when that one is let through by
        // the real standby, everything before it has arrived there.
        wait_for(&client, "nobody").await?;
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'probe'";
        let probing = format!("{}?application_name=probe", self.url()?);
        let mut probe = tokio::spawn(commit(probing.clone()));
        let seen = async {
            while client.query_one(waiting, &[]).await?.get::<_, i64>(0) == 0 {
                if probe.is_finished() {
                    probe = tokio::spawn(commit(probing.clone()));
                }
                tokio::time::sleep(LOOK).await;
            }
            anyhow::Ok(())
        };
        timeout(PATIENCE, seen)
            .await
            .context("no commit waits for a standby")??;
        wait_for(&client, "*").await?;
        timeout(PATIENCE, probe)
            .await
            .context("the standby does not stream")???;
        Ok(())
    }

    /// Ends both nodes.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        let [first, second] = &mut self.nodes;
        // SUBTLE: the primary waits for its standby to get everything, so the standby goes last, and the stream stays.
        for node in if self.primary == 0 {
            [first, second]
        } else {
            [second, first]
        } {
            if let Some(cluster) = node.cluster.take() {
                // What it writes is removed next, or kept for a look; neither needs a checkpoint.
                kill(Pid::from_raw(i32::try_from(cluster.pid())?), Signal::SIGQUIT)?;
                cluster.stop().await?;
            }
        }
        Ok(())
    }
}

/// Which standby commits wait for.
async fn wait_for(client: &tokio_postgres::Client, name: &str) -> anyhow::Result<()> {
    let statement = format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'");
    client.batch_execute(&statement).await?;
    client.batch_execute("SELECT pg_reload_conf()").await?;
    Ok(())
}

/// A transaction of its own that writes something to the log.
async fn commit(url: String) -> anyhow::Result<()> {
    let client = psql(&url).await?;
    client
        .batch_execute("SELECT pg_logical_emit_message(true, 'deed', 'probe')")
        .await?;
    Ok(())
}

fn children(pid: Pid) -> Vec<Pid> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|number| number.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

/// A port that is free now; the servers and nodes that are started again need theirs to stay the same.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
