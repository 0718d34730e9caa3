//! What the command line and the environment say. Every option is also a `DEED_*` variable; the command line wins. It
//! checks what can be checked without looking at the machine; `serve` and `dev` find out the rest.

mod doors;
pub(crate) mod length;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use deed_core::Protocol;
use deed_core::time::Span;
use secrecy::SecretString;

pub use doors::{Doors, Wanted};

use crate::committer;

/// The one port that Deed's documents name.
const LISTEN: &str = "127.0.0.1:7717";

/// Decides who may perform an action, and remembers what is known about its effect.
#[derive(Debug, Parser)]
#[command(name = "deed-server", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What to log: levels, by module where wanted, e.g. `info` or `warn,deed_server=debug`.
    #[arg(long, env = "DEED_LOG", default_value = "info", global = true)]
    pub log: String,
    /// How to log, to standard error.
    #[arg(
        long,
        env = "DEED_LOG_FORMAT",
        value_enum,
        default_value = "text",
        global = true
    )]
    pub log_format: LogFormat,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve on a Postgres that is there.
    Serve(Serve),
    /// Bring the tables up to date, and do nothing else.
    Migrate(Database),
    /// Start a private Postgres and serve on it: for a first look, and for development.
    Dev(Dev),
    /// Make a bearer token: prints the token, which is kept nowhere, and the line for the auth file.
    Token,
}

/// How to log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Serve on a Postgres that is there.
#[derive(Debug, Args)]
pub struct Serve {
    /// Where the data is.
    #[command(flatten)]
    pub database: Database,
    /// How to serve.
    #[command(flatten)]
    pub server: Server,
    /// Who may come in.
    #[command(flatten)]
    pub doors: Doors,
    /// Do not bring the tables up to date at the start: somebody else does, before (`deed-server migrate`). Where
    /// they are not, the server does not start.
    #[arg(long, env = "DEED_NO_MIGRATE", value_parser = BoolishValueParser::new())]
    pub no_migrate: bool,
}

/// Where the data is.
#[derive(Debug, Args)]
pub struct Database {
    /// `postgres://user:password@host/database`; several hosts and target_session_attrs are understood. Better set as
    /// DEED_DATABASE_URL: a command line can be read by everybody on the machine.
    #[arg(long, env = "DEED_DATABASE_URL", hide_env_values = true, value_parser = secret)]
    pub database_url: SecretString,
    /// Serve even where Postgres runs with fsync = off, so that a power cut may lose what was acknowledged: only for
    /// tests.
    #[arg(long, env = "DEED_ALLOW_FSYNC_OFF", value_parser = BoolishValueParser::new())]
    pub allow_fsync_off: bool,
}

/// Start a private Postgres and serve on it.
#[derive(Debug, Args)]
pub struct Dev {
    /// Where Postgres keeps its data; it survives a restart.
    #[arg(
        long,
        env = "DEED_DATA",
        default_value = ".deed",
        conflicts_with = "ephemeral"
    )]
    pub data: PathBuf,
    /// Keep nothing: the data goes when the server stops.
    #[arg(long, env = "DEED_EPHEMERAL", value_parser = BoolishValueParser::new())]
    pub ephemeral: bool,
    /// How to serve.
    #[command(flatten)]
    pub server: Server,
}

impl Dev {
    /// Refuses every address that others reach.
    pub fn allow(&self) -> Result<(), Error> {
        let listen = self.server.listen;
        if listen.ip().is_loopback() {
            Ok(())
        } else {
            Err(Error::DevBeyondThisMachine { listen })
        }
    }
}

/// How to serve.
#[derive(Debug, Args)]
pub struct Server {
    /// Address and port; port 0 takes any that is free, and a line of output says which.
    #[arg(long, env = "DEED_LISTEN", default_value = LISTEN)]
    pub listen: SocketAddr,
    /// Lanes that write at the same time; each holds one database connection.
    #[arg(long, env = "DEED_LANES", default_value_t = committer::Options::default().lanes, value_parser = some)]
    pub lanes: usize,
    /// Calls that may wait in one lane; beyond it callers are told to come back.
    #[arg(long, env = "DEED_QUEUE", default_value_t = committer::Options::default().queue, value_parser = some)]
    pub queue: usize,
    /// The largest forward step of the database's clock that is allowed for, e.g. `1s` or `250ms`. The same on every
    /// server of one database.
    #[arg(long, env = "DEED_MAX_CLOCK_STEP", default_value = "1s", value_parser = length::parse)]
    pub max_clock_step: Duration,
}

/// Why these options cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody would be asked who it is.
    #[error(
        "refusing to listen on {listen}: without --auth-file and --tls-certificate whoever reaches that address would be \
         trusted with every action; give both, listen on 127.0.0.1, or name --insecure-listen-anywhere if the network in \
         front of it is trusted as a whole"
    )]
    TrustsAnybody {
        /// The address.
        listen: SocketAddr,
    },
    /// Tokens could be read on the way.
    #[error(
        "refusing to listen on {listen}: without --tls-certificate tokens could be read on their way to that address; \
         give it with --tls-key, listen on 127.0.0.1, or name --insecure-listen-anywhere if the network in front of it \
         is trusted as a whole"
    )]
    PlainText {
        /// The address.
        listen: SocketAddr,
    },
    /// A first look is nobody else's.
    #[error(
        "refusing to listen on {listen}: `dev` asks nobody who it is, so it listens on this machine only; `serve` can \
         listen elsewhere"
    )]
    DevBeyondThisMachine {
        /// The address.
        listen: SocketAddr,
    },
}

impl Server {
    /// The protocol with this deployment's numbers.
    pub fn protocol(&self) -> Protocol {
        let micros = u64::try_from(self.max_clock_step.as_micros()).unwrap_or(u64::MAX);
        Protocol {
            max_clock_step: Span::from_micros(micros),
        }
    }

    /// How to build the committer.
    pub fn committer(&self) -> committer::Options {
        committer::Options {
            lanes: self.lanes,
            queue: self.queue,
            ..committer::Options::default()
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "clap asks parsers for a result")]
fn secret(text: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(SecretString::from(text.to_owned()))
}

fn some(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".into()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("is not a number: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn serve(more: &[&str]) -> Serve {
        let given = [
            "deed-server",
            "serve",
            "--database-url",
            "postgres://u:canary@h/d",
        ];
        match Cli::try_parse_from(given.iter().chain(more)).unwrap().command {
            Command::Serve(serve) => serve,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_sound_and_every_option_is_a_variable() {
        let command = Cli::command();
        command.clone().debug_assert();
        let optional = |arg: &&clap::Arg| !["help", "version"].contains(&arg.get_id().as_str());
        for command in command.get_subcommands().chain([&command]) {
            for arg in command.get_arguments().filter(optional) {
                let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
                assert!(variable.is_some_and(|name| name.starts_with("DEED_")), "{arg}");
            }
        }
    }

    #[test]
    fn other_addresses_than_the_loopback_need_tls_and_authentication_or_to_be_named_insecure() {
        let told = |more: &[&str]| {
            let serve = serve(more);
            serve
                .doors
                .allow(serve.server.listen)
                .map_err(|refused| refused.to_string())
        };
        let anywhere = ["--listen", "0.0.0.0:7717"];
        let tls = ["--tls-certificate", "c.pem", "--tls-key", "k.pem"];
        let auth = ["--auth-file", "auth.toml"];
        assert!(told(&[]).is_ok());
        for (more, lacks) in [
            (anywhere.to_vec(), "--auth-file"),
            ([&anywhere[..], &tls].concat(), "--auth-file"),
            ([&anywhere[..], &auth].concat(), "--tls-certificate"),
        ] {
            let refused = told(&more).unwrap_err();
            assert!(refused.contains(lacks), "{more:?}: {refused}");
            assert!(refused.contains("--insecure-listen-anywhere"), "{refused}");
            assert!(told(&[&more[..], &["--insecure-listen-anywhere"]].concat()).is_ok());
        }
        assert!(told(&[&anywhere[..], &tls, &auth].concat()).is_ok());
    }

    #[test]
    fn dev_listens_on_this_machine_only_and_nothing_names_another() {
        let dev = |more: &[&str]| Cli::try_parse_from(["deed-server", "dev"].iter().chain(more));
        let Command::Dev(here) = dev(&[]).unwrap().command else {
            panic!()
        };
        assert!(here.allow().is_ok());
        let Command::Dev(beyond) = dev(&["--listen", "192.0.2.1:7717"]).unwrap().command else {
            panic!()
        };
        assert!(beyond.allow().is_err());
        assert!(dev(&["--insecure-listen-anywhere"]).is_err());
    }

    #[test]
    fn half_a_door_is_none() {
        for half in [
            &["--tls-certificate", "c.pem"][..],
            &["--tls-key", "k.pem"],
            &["--tls-client-ca", "ca.pem", "--auth-file", "auth.toml"],
            &[
                "--tls-client-ca",
                "ca.pem",
                "--tls-certificate",
                "c.pem",
                "--tls-key",
                "k.pem",
            ],
        ] {
            let given = ["deed-server", "serve", "--database-url", "postgres:///"];
            assert!(Cli::try_parse_from(given.iter().chain(half)).is_err(), "{half:?}");
        }
    }

    #[test]
    fn the_password_is_in_no_debug_output() {
        assert!(!format!("{:?}", serve(&[])).contains("canary"));
    }

    #[test]
    fn lanes_and_clock_step_reach_committer_and_protocol() {
        let server = serve(&["--lanes", "7", "--max-clock-step", "250ms"]).server;
        assert_eq!(server.committer().lanes, 7);
        assert_eq!(server.protocol().max_clock_step, Span::from_millis(250));
        let none = [
            "deed-server",
            "serve",
            "--database-url",
            "postgres:///",
            "--lanes",
            "0",
        ];
        assert!(Cli::try_parse_from(none).is_err());
    }
}
