//! The column *Redis*: what people pick instead. Lua scripts with `appendfsync always`, so that an answer is durable; no
//! history, and nothing refuses a broken row.
//!
//! All callers share one multiplexed connection, which pipelines by itself: so one write to the log serves many.

use std::env;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use redis::aio::MultiplexedConnection;
use redis::{Client, Script};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::course::Caller;
use super::work;
use crate::support::until;

/// A start takes milliseconds; only a failing one waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers the token, or nothing where somebody holds the lease by Redis's own clock.
const CLAIM: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local row = redis.call('HMGET', KEYS[1], 'state', 'token', 'expires', 'tool', 'digest')
if row[1] then
    if row[4] ~= ARGV[3] or row[5] ~= ARGV[4] then return redis.error_reply('another action has this id') end
    return false
end
local token = now
redis.call('HSET', KEYS[1], 'state', 'SENT', 'token', token, 'owner', ARGV[1], 'expires', now + ARGV[2],
    'tool', ARGV[3], 'digest', ARGV[4], 'attempts', 1, 'request', ARGV[5])
return token";

const REPORT: &str = "
local row = redis.call('HMGET', KEYS[1], 'state', 'token', 'owner')
if row[1] ~= 'SENT' or row[2] ~= ARGV[1] or row[3] ~= ARGV[2] then
    return redis.error_reply('the lease is lost')
end
redis.call('HSET', KEYS[1], 'state', 'CONFIRMED', 'effect', ARGV[3])
redis.call('HDEL', KEYS[1], 'owner', 'expires')
return 1";

const COUNT: &str = "
local count, cursor = 0, '0'
repeat
    local page = redis.call('SCAN', cursor, 'COUNT', 1000)
    cursor = page[1]
    for _, key in ipairs(page[2]) do
        if redis.call('HGET', key, 'state') == 'CONFIRMED' then count = count + 1 end
    end
until cursor == '0'
return count";

/// Where it is; none where it is not installed.
pub fn installed() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|directory| directory.join("redis-server"))
        .find(|program| program.is_file())
}

/// A private Redis; killed when dropped.
pub struct Redis {
    client: Client,
    child: Child,
    _directory: TempDir,
}

impl Redis {
    pub async fn start() -> anyhow::Result<Self> {
        let program = installed().context("redis-server is not installed")?;
        let directory = tempfile::tempdir()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let log = File::create(directory.path().join("redis.log"))?;
        let child = Command::new(program)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""])
            // As with Postgres's checkpoints: none hits one cell and spares the next.
            .args(["--auto-aof-rewrite-percentage", "0"])
            .arg("--dir")
            .arg(directory.path())
            .stdin(Stdio::null())
            .stdout(log)
            .kill_on_drop(true)
            .spawn()
            .context("cannot run redis-server")?;
        let client = Client::open(format!("redis://127.0.0.1:{port}"))?;
        until(PATIENCE, "redis answers", || async {
            Ok(client.get_multiplexed_async_connection().await.is_ok())
        })
        .await?;
        Ok(Self {
            client,
            child,
            _directory: directory,
        })
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    pub async fn callers(&self, count: usize) -> anyhow::Result<Vec<Scripted>> {
        let connection = self.client.get_multiplexed_async_connection().await?;
        let scripted = |number| Scripted {
            connection: connection.clone(),
            owner: work::owner(number),
            claim: Script::new(CLAIM),
            report: Script::new(REPORT),
        };
        Ok((0..count).map(scripted).collect())
    }

    /// Fails where it knows fewer or more confirmed actions than the callers were told.
    pub async fn settled(&self, told: u64) -> anyhow::Result<()> {
        let mut connection = self.client.get_multiplexed_async_connection().await?;
        connection.set_response_timeout(PATIENCE);
        let confirmed: u64 = Script::new(COUNT).invoke_async(&mut connection).await?;
        ensure!(
            confirmed == told,
            "callers were told of {told} actions, but Redis has {confirmed} confirmed ones"
        );
        Ok(())
    }
}

/// One caller.
pub struct Scripted {
    connection: MultiplexedConnection,
    owner: String,
    claim: Script,
    report: Script,
}

impl Caller for Scripted {
    async fn act(&mut self) -> anyhow::Result<u64> {
        let id = work::fresh_id();
        let token: Option<u64> = self
            .claim
            .key(&id)
            .arg(&self.owner)
            .arg(work::LEASE.as_millis())
            .arg(work::TOOL)
            .arg(&work::DIGEST[..])
            .arg(work::fresh_id())
            .invoke_async(&mut self.connection)
            .await?;
        let token = token.context("a fresh action is held")?;
        let _done: u64 = self
            .report
            .key(&id)
            .arg(token)
            .arg(&self.owner)
            .arg(work::fresh_id())
            .invoke_async(&mut self.connection)
            .await?;
        Ok(1)
    }
}
