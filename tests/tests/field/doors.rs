//! The client at a server that asks who calls: certificates and tokens, tokens that change under an open session, and
//! namespaces that keep each other out (B20).

use std::future::ready;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use deed_client::{Builder, Deed, Receipt};
use deed_proto::v1;
use deed_tests::support::server::{Options, Server, program};
use deed_tests::support::{Database, database};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use tokio::process::Command;

use crate::{deduplicated, ms, within};

/// A server with TLS, client certificates where there are any, and an auth file.
struct Guarded {
    files: tempfile::TempDir,
    server: Server,
    _database: Database,
}

/// A certificate in PEM, and its key.
struct Issued(String, String);

fn issue(ca: &Issuer<'_, KeyPair>, name: SanType) -> anyhow::Result<Issued> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.subject_alt_names = vec![name];
    let key = KeyPair::generate()?;
    Ok(Issued(params.signed_by(&key, ca)?.pem(), key.serialize_pem()))
}

impl Guarded {
    async fn start(auth: &str) -> anyhow::Result<Self> {
        let files = tempfile::tempdir()?;
        let path = |name: &str| files.path().join(name).display().to_string();
        let write = |name: &str, text: &str| std::fs::write(path(name), text);
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        write("ca.pem", &params.self_signed(&key)?.pem())?;
        let ca = Issuer::new(params, key);
        let served = issue(&ca, SanType::IpAddress([127, 0, 0, 1].into()))?;
        let worker = issue(&ca, SanType::URI("spiffe://shop/w1".try_into()?))?;
        for (name, Issued(certificate, key)) in [("server", served), ("w1", worker)] {
            write(&format!("{name}.pem"), &certificate)?;
            write(&format!("{name}.key"), &key)?;
        }
        write("auth.toml", auth)?;
        let options = Options::default().with(&[
            "--auth-file",
            &path("auth.toml"),
            "--tls-certificate",
            &path("server.pem"),
            "--tls-key",
            &path("server.key"),
            "--tls-client-ca",
            &path("ca.pem"),
            "--tls-client-certificate",
            "optional",
        ]);
        let database = database().await;
        let server = Server::start_with(&database.url, options).await?;
        Ok(Self {
            server,
            files,
            _database: database,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.path(name), text)?)
    }

    fn client(&self, namespace: &str) -> Builder {
        let builder = Deed::builder()
            .namespace(namespace)
            .patience(Duration::from_secs(20));
        builder.ca_file(self.path("ca.pem"))
    }

    fn connect(&self, builder: Builder) -> anyhow::Result<Deed> {
        Ok(builder.connect(&format!("https://{}", self.server.address))?)
    }
}

/// A token, and the line of the auth file that stands for it.
async fn token() -> anyhow::Result<(String, String)> {
    let mut command = Command::new(program("deed-server")?);
    let made = command.arg("token").stdin(Stdio::null()).output().await?;
    let said = String::from_utf8(made.stdout)?;
    let (token, line) = said.trim().split_once('\n').context("two lines")?;
    Ok((token.to_owned(), line.to_owned()))
}

fn principal(name: &str, proof: &str, roles: &str) -> String {
    format!("[[principal]]\nname = \"{name}\"\n{proof}\nroles = {roles}\n")
}

async fn perform(deed: &Deed, id: &str) -> anyhow::Result<bool> {
    let action = deed
        .action(id)
        .tool("charge_card")
        .input(&id)?
        .contract(deduplicated());
    // The action's id is the effect's as well: one effect proves one action.
    let outcome = action.perform_without_verify(|_| ready(Receipt::completed(id)));
    Ok(within("perform", outcome).await??.confirmed())
}

fn get(namespace: &str, id: &str) -> v1::ListEventsRequest {
    v1::ListEventsRequest {
        key: Some(v1::ActionKey {
            namespace: namespace.to_owned(),
            action_id: id.to_owned(),
        }),
        ..Default::default()
    }
}

#[tokio::test]
async fn an_action_is_performed_over_mutual_tls_and_another_with_a_token() -> anyhow::Result<()> {
    let (token, line) = token().await?;
    let by_certificate = principal(
        "w1",
        "certificates = [\"uri:spiffe://shop/w1\"]",
        "{ shop = [\"worker\"] }",
    );
    let by_token = principal("w2", &line, "{ shop = [\"worker\"] }");
    let guarded = Guarded::start(&format!("{by_certificate}{by_token}")).await?;
    let certificate = guarded
        .client("shop")
        .client_certificate(guarded.path("w1.pem"), guarded.path("w1.key"));
    for (builder, name) in [(certificate, "w1"), (guarded.client("shop").token(token), "w2")] {
        let deed = guarded.connect(builder)?;
        ensure!(perform(&deed, name).await?);
        let events = deed.calls().list_events(get("shop", name)).await?.events;
        ensure!(
            !events.is_empty() && events.iter().all(|event| event.principal == name),
            "{events:?}"
        );
        deed.shutdown().await;
    }
    let stranger = guarded.connect(guarded.client("shop"))?;
    let refused = stranger
        .calls()
        .list_events(get("shop", "w1"))
        .await
        .err()
        .context("let in")?;
    ensure!(refused.reason() == Some("CREDENTIALS_MISSING"), "{refused}");
    Ok(())
}

#[tokio::test]
async fn b20_clients_of_two_namespaces_neither_see_nor_disturb_each_other() -> anyhow::Result<()> {
    let ((ours, one), (theirs, two)) = (token().await?, token().await?);
    let auth =
        principal("w1", &one, "{ shop = [\"worker\"] }") + &principal("w2", &two, "{ bank = [\"worker\"] }");
    let guarded = Guarded::start(&auth).await?;
    let shop = guarded.connect(guarded.client("shop").token(ours))?;
    let bank = guarded.connect(guarded.client("bank").token(theirs.clone()))?;
    ensure!(perform(&shop, "order-1").await? && perform(&bank, "order-1").await?);
    let trespasser = guarded.connect(guarded.client("shop").token(theirs))?;
    for id in ["order-1", "order-2"] {
        let action = trespasser
            .action(id)
            .tool("charge_card")
            .input(&id)?
            .contract(deduplicated());
        let refused = action
            .perform_without_verify(|_| ready(Receipt::completed("ch-2")))
            .await;
        let refused = refused.err().context("let in")?;
        ensure!(refused.reason() == Some("ROLE_MISSING"), "{id}: {refused}");
        let refused = bank
            .calls()
            .list_events(get("shop", id))
            .await
            .err()
            .context("seen")?;
        ensure!(refused.reason() == Some("ROLE_MISSING"), "{id}: {refused}");
    }
    let seen = bank
        .calls()
        .list_actions(v1::ListActionsRequest::default())
        .await?
        .actions;
    let namespaces: Vec<_> = seen.into_iter().filter_map(|action| action.key).collect();
    ensure!(
        namespaces.len() == 1 && namespaces[0].namespace == "bank",
        "{namespaces:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_token_that_is_exchanged_under_an_open_session_costs_no_call() -> anyhow::Result<()> {
    let ((first, one), (second, two)) = (token().await?, token().await?);
    let roles = "{ shop = [\"worker\"] }";
    let guarded = Guarded::start(&principal("w1", &one, roles)).await?;
    guarded.write("token", &first)?;
    let deed = guarded.connect(guarded.client("shop").token_file(guarded.path("token")))?;
    // Several, so that some of them travel on the session.
    for id in 0..5 {
        ensure!(perform(&deed, &format!("before-{id}")).await?);
    }
    guarded.write("token", &second)?;
    guarded.write("auth.toml", &principal("w1", &two, roles))?;
    let old = guarded.connect(guarded.client("shop").token(first))?;
    let taken_back = async {
        while old.calls().list_events(get("shop", "before-0")).await.is_ok() {
            tokio::time::sleep(ms(50)).await;
        }
    };
    within("the new auth file", taken_back).await?;
    // The client looks at its file every second.
    tokio::time::sleep(ms(1_000)).await;
    for id in 0..5 {
        ensure!(perform(&deed, &format!("after-{id}")).await?);
    }
    Ok(())
}
