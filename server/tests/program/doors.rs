//! Who may come in, as the program is run: tokens that it makes, files that change while it serves, mistakes at the start.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::process::Command;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request};

use deed_proto::v1;
use deed_proto::v1::ledger_client::LedgerClient;

use crate::database::Database;
use crate::process::{Server, refused};

/// Files are looked at every two seconds; only a failing test waits for this.
const NOTICED: Duration = Duration::from_secs(30);

/// A token and the lines of its principal.
async fn principal(name: &str) -> (String, String) {
    let made = Command::new(env!("CARGO_BIN_EXE_deed-server"))
        .arg("token")
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    assert!(made.status.success());
    let said = String::from_utf8(made.stdout).unwrap();
    let (token, line) = said.trim().split_once('\n').unwrap();
    assert!(!String::from_utf8(made.stderr).unwrap().contains(token));
    let roles = "roles = { shop = [\"viewer\"] }";
    (
        token.to_owned(),
        format!("[[principal]]\nname = \"{name}\"\n{line}\n{roles}\n"),
    )
}

/// What a reader of an action that does not exist is told.
async fn told(channel: &Channel, token: &str) -> Code {
    let mut request = Request::new(v1::GetActionRequest {
        key: Some(v1::ActionKey {
            namespace: "shop".to_owned(),
            action_id: "order-1".to_owned(),
        }),
    });
    request.set_timeout(Duration::from_secs(20));
    let header = format!("Bearer {token}").parse().unwrap();
    request.metadata_mut().insert("authorization", header);
    LedgerClient::new(channel.clone())
        .get_action(request)
        .await
        .unwrap_err()
        .code()
}

async fn until(channel: &Channel, token: &str, expected: Code) {
    let waiting = async {
        while told(channel, token).await != expected {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(NOTICED, waiting).await.unwrap();
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn tokens_and_certificates_are_exchanged_while_connections_stay() {
    let database = Database::empty().await;
    let files = Files::new();
    let ((first, one), (second, two)) = (principal("w1").await, principal("w2").await);
    let names = || vec!["localhost".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names()).unwrap();
    let auth = files.write("auth.toml", &one);
    let certificate = files.write("cert.pem", &cert.pem());
    let key = files.write("key.pem", &signing_key.serialize_pem());
    let server = Server::start(&[
        "serve",
        "--database-url",
        &database.url,
        "--auth-file",
        text(&auth),
        "--tls-certificate",
        text(&certificate),
        "--tls-key",
        text(&key),
    ])
    .await;
    let connect = async |ca: String| {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(ca))
            .domain_name("localhost");
        let endpoint = Endpoint::from_shared(format!("https://{}", server.address)).unwrap();
        endpoint.tls_config(tls).unwrap().connect().await
    };
    let channel = connect(cert.pem()).await.unwrap();
    assert_eq!(told(&channel, &first).await, Code::NotFound);
    assert_eq!(told(&channel, &second).await, Code::Unauthenticated);

    files.write("auth.toml", &format!("{one}{two}"));
    until(&channel, &second, Code::NotFound).await;
    files.write("auth.toml", &two);
    until(&channel, &first, Code::Unauthenticated).await;
    files.write("auth.toml", "broken");

    let next = generate_simple_self_signed(names()).unwrap();
    files.write("key.pem", &next.signing_key.serialize_pem());
    files.write("cert.pem", &next.cert.pem());
    let renewed = async {
        loop {
            match connect(next.cert.pem()).await {
                Ok(channel) => return channel,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let renewed = tokio::time::timeout(NOTICED, renewed).await.unwrap();
    for channel in [&channel, &renewed] {
        assert_eq!(
            told(channel, &second).await,
            Code::NotFound,
            "also after a broken auth file"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn a_door_that_cannot_be_built_is_named_before_anything_is_touched() {
    let files = Files::new();
    let (_, good) = principal("w1").await;
    let auth = files.write("auth.toml", &good.replace("sha256:", "canary"));
    let good = files.write("good.toml", &good);
    let nothing = files.write("nothing.pem", "");
    // Nobody listens on port 1.
    let database = ["serve", "--database-url", "postgres://u:canary@127.0.0.1:1/d"];
    let tls = ["--tls-certificate", text(&nothing), "--tls-key", text(&nothing)];
    let anywhere = ["--listen", "0.0.0.0:0"];
    for (more, names) in [
        (vec!["--auth-file", text(&auth)], "auth.toml:3:"),
        (tls.to_vec(), "nothing.pem"),
        (
            [&anywhere[..], &["--auth-file", text(&good)]].concat(),
            "--tls-certificate",
        ),
        ([&anywhere[..], &tls].concat(), "--auth-file"),
    ] {
        let refusal = refused(&[&database[..], &more].concat()).await;
        assert_eq!(refusal.status.code(), Some(1));
        assert!(refusal.said.contains(names), "{names}: {}", refusal.said);
        assert!(!refusal.said.contains("canary"), "{}", refusal.said);
    }
}

#[tokio::test]
async fn dev_does_not_listen_beyond_this_machine_whatever_it_is_told() {
    let refusal = refused(&["dev", "--ephemeral", "--listen", "0.0.0.0:0"]).await;
    assert_eq!(refusal.status.code(), Some(1));
    assert!(refusal.said.contains("this machine only"), "{}", refusal.said);
    let refusal = refused(&["dev", "--ephemeral", "--insecure-listen-anywhere"]).await;
    assert_eq!(refusal.status.code(), Some(2), "it has no such option");
}
