//! TLS and client certificates over real connections: whom they prove, whom they keep out, and what happens to connections
//! when files change.

use deed_proto::v1;
use tokio::net::TcpStream;
use tonic::Code;
use tonic::transport::Channel;

use crate::auth::Doors;
use crate::auth::refresh::Files;
use crate::auth::testing::{Authority, Issued, Written, principal};
use crate::auth::tls::{ClientCertificate, TlsFiles};
use crate::grpc::testing::guarded::{Client, Guarded, Shows, raw};
use crate::grpc::testing::sample;
use crate::grpc::testing::server::reason;

/// A server with TLS and the files that it stands on.
struct Secured {
    server: Guarded,
    doors: Doors,
    files: Written,
    authority: Authority,
}

const PEOPLE: &str = r#"
    [[principal]]
    name = "w1"
    certificates = ["uri:spiffe://shop/w1", "dns:w1.shop.internal"]
    roles = { shop = ["worker"] }

    [[principal]]
    name = "banker"
    certificates = ["uri:spiffe://bank/banker"]
    roles = { bank = ["worker"] }
"#;

impl Secured {
    async fn start(client_certificate: Option<ClientCertificate>, more: &str) -> Self {
        let (files, authority) = (
            Written::new(&format!("{PEOPLE}{more}")),
            Authority::new("Deed CA"),
        );
        let file = |name: &str| files.path().with_file_name(name);
        let tls = TlsFiles {
            certificate: file("cert.pem"),
            key: file("key.pem"),
            client_ca: client_certificate.map(|wanted| (file("ca.pem"), wanted)),
        };
        write(&files, &authority.server(), &authority);
        let mut doors = Doors::open(Some(&files.path()), Some(&tls)).unwrap();
        let server = Guarded::start(doors.keeper.clone(), doors.tls.take()).await;
        Self {
            server,
            doors,
            files,
            authority,
        }
    }

    fn look(&mut self) {
        self.doors.files.iter_mut().for_each(Files::look);
    }

    async fn connect(&self, client: Option<&Issued>) -> Option<Channel> {
        self.server.secured(&self.authority.pem, client).await
    }

    /// What becomes of a claim by this caller.
    async fn claim(&self, client: Option<&Issued>, shows: &Shows) -> String {
        match self.connect(client).await {
            Some(channel) => claim(&channel, shows).await,
            None => "no connection".to_owned(),
        }
    }
}

fn write(files: &Written, pair: &Issued, authority: &Authority) {
    files.write("cert.pem", pair.certificate.as_bytes());
    files.write("key.pem", pair.key.as_bytes());
    files.write("ca.pem", authority.pem.as_bytes());
}

async fn claim(channel: &Channel, shows: &Shows) -> String {
    let mut client = Client::new(channel, shows);
    match client.ownership.claim(sample::claim()).await {
        Ok(_) => "answered".to_owned(),
        Err(status) if status.code() == Code::Unknown || status.code() == Code::Unavailable => {
            "no connection".to_owned()
        }
        Err(status) => reason(&status),
    }
}

fn nothing() -> Shows {
    Shows::default()
}

#[tokio::test]
async fn a_certificates_name_is_the_principal_in_history() {
    let secured = Secured::start(Some(ClientCertificate::Required), "").await;
    for names in [
        &["uri:spiffe://shop/w1"][..],
        &["dns:W1.shop.internal", "dns:other.internal"],
    ] {
        let issued = secured.authority.client(names);
        let channel = secured.connect(Some(&issued)).await.unwrap();
        let mut client = Client::new(&channel, &nothing());
        client.ownership.claim(sample::claim()).await.unwrap();
        assert_eq!(client.holder().await, "w1");
    }
}

#[tokio::test]
async fn a_certificate_that_is_missing_expired_or_of_another_issuer_makes_no_connection() {
    let secured = Secured::start(Some(ClientCertificate::Required), "").await;
    let name = ["uri:spiffe://shop/w1"];
    assert_eq!(secured.claim(None, &nothing()).await, "no connection");
    for refused in [
        secured.authority.expired(&name),
        Authority::new("Deed CA").client(&name),
        // Right issuer, wrong purpose.
        secured.authority.server(),
    ] {
        assert_eq!(secured.claim(Some(&refused), &nothing()).await, "no connection");
    }
    let good = secured.authority.client(&name);
    assert_eq!(secured.claim(Some(&good), &nothing()).await, "answered");
    assert_eq!(secured.server.memory.with(|stored| stored.judged), 1);
}

#[tokio::test]
async fn a_genuine_certificate_for_another_namespace_or_nobody_is_refused() {
    let secured = Secured::start(Some(ClientCertificate::Required), "").await;
    for (names, expected) in [
        (&["uri:spiffe://bank/banker"][..], "ROLE_MISSING"),
        (&["uri:spiffe://shop/w2"], "CREDENTIALS_REFUSED"),
        (&["uri:spiffe://shop/w1/"], "CREDENTIALS_REFUSED"),
        (&["dns:*.shop.internal"], "CREDENTIALS_REFUSED"),
        (&["uri:dns:w1.shop.internal"], "CREDENTIALS_REFUSED"),
        (&[], "CREDENTIALS_REFUSED"),
        (
            &["uri:spiffe://shop/w1", "uri:spiffe://bank/banker"],
            "CREDENTIALS_REFUSED",
        ),
    ] {
        let issued = secured.authority.client(names);
        assert_eq!(
            secured.claim(Some(&issued), &nothing()).await,
            expected,
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn where_a_certificate_is_optional_a_token_serves_and_a_wrong_one_is_not_made_up_for() {
    let (token, text) = principal("tok", "{ shop = [\"worker\"] }");
    let secured = Secured::start(Some(ClientCertificate::Optional), &text).await;
    let issued = secured.authority.client(&["uri:spiffe://shop/w1"]);
    let wrong = Shows::header("Bearer nonsense");
    assert_eq!(secured.claim(Some(&issued), &wrong).await, "CREDENTIALS_REFUSED");
    assert_eq!(secured.claim(None, &wrong).await, "CREDENTIALS_REFUSED");
    assert_eq!(secured.claim(None, &nothing()).await, "CREDENTIALS_MISSING");
    assert_eq!(secured.claim(None, &Shows::token(&token)).await, "answered");
    let other = Authority::new("Other CA").client(&["uri:spiffe://shop/w1"]);
    assert_eq!(
        secured.claim(Some(&other), &Shows::token(&token)).await,
        "no connection"
    );
    // Of two that hold, the token counts.
    let channel = secured.connect(Some(&issued)).await.unwrap();
    let mut client = Client::new(&channel, &Shows::token(&token));
    assert_eq!(client.holder().await, "tok");
}

#[tokio::test]
async fn plain_text_and_silence_reach_nothing_and_hold_up_nobody() {
    let (token, text) = principal("tok", "{ shop = [\"worker\"] }");
    let secured = Secured::start(None, &text).await;
    let mut silent = Vec::new();
    for _ in 0..64 {
        silent.push(TcpStream::connect(secured.server.address).await.unwrap());
    }
    let plain =
        tonic::transport::Endpoint::from_shared(format!("http://{}", secured.server.address)).unwrap();
    let health = "/grpc.health.v1.Health/Check";
    let reached = raw(&plain.connect_lazy(), &nothing(), health, Vec::new()).await;
    assert!(reached.is_err());
    assert_eq!(secured.claim(None, &Shows::token(&token)).await, "answered");
}

#[tokio::test]
async fn a_new_server_certificate_serves_new_connections_and_the_old_ones_stay() {
    let (token, text) = principal("tok", "{ shop = [\"worker\"] }");
    let mut secured = Secured::start(None, &text).await;
    let shows = Shows::token(&token);
    let before = secured.connect(None).await.unwrap();
    let next = Authority::new("Next CA");
    assert!(secured.server.secured(&next.pem, None).await.is_none());

    secured.files.write("cert.pem", b"broken");
    secured.look();
    assert_eq!(
        secured.claim(None, &shows).await,
        "answered",
        "a broken file changes nothing"
    );

    write(&secured.files, &next.server(), &next);
    secured.look();
    let after = secured.server.secured(&next.pem, None).await.unwrap();
    assert!(secured.connect(None).await.is_none());
    for channel in [&before, &after] {
        assert_eq!(claim(channel, &shows).await, "answered");
    }
}

#[tokio::test]
async fn a_new_client_ca_counts_for_new_connections_and_the_auth_file_for_all() {
    let mut secured = Secured::start(Some(ClientCertificate::Required), "").await;
    let issued = secured.authority.client(&["uri:spiffe://shop/w1"]);
    let channel = secured.connect(Some(&issued)).await.unwrap();
    let next = Authority::new("Next CA");
    secured.files.write("ca.pem", next.pem.as_bytes());
    secured.look();
    assert_eq!(secured.claim(Some(&issued), &nothing()).await, "no connection");
    let renewed = next.client(&["uri:spiffe://shop/w1"]);
    assert_eq!(secured.claim(Some(&renewed), &nothing()).await, "answered");
    assert_eq!(claim(&channel, &nothing()).await, "answered");

    secured.files.write(
        "auth.toml",
        PEOPLE.replace("spiffe://shop/w1", "spiffe://shop/w9").as_bytes(),
    );
    secured.look();
    assert_eq!(claim(&channel, &nothing()).await, "CREDENTIALS_REFUSED");
}

#[tokio::test]
async fn b20_two_tenants_with_one_id_neither_see_nor_disturb_each_other() {
    let secured = Secured::start(Some(ClientCertificate::Required), "").await;
    let [w1, banker] =
        ["uri:spiffe://shop/w1", "uri:spiffe://bank/banker"].map(|name| secured.authority.client(&[name]));
    let [w1, banker] = [
        secured.connect(Some(&w1)).await.unwrap(),
        secured.connect(Some(&banker)).await.unwrap(),
    ];
    let mut ours = Client::new(&w1, &nothing());
    let mut theirs = Client::new(&banker, &nothing());
    let mut at_bank = sample::claim();
    at_bank.key.as_mut().unwrap().namespace = "bank".to_owned();
    let our_token = ours.granted(sample::claim()).await;
    theirs.granted(at_bank).await;

    let mut report = sample::report(sample::receipts().remove(0));
    report.fencing_token = our_token;
    let refused = theirs.ownership.report(report.clone()).await.unwrap_err();
    assert_eq!(
        reason(&refused),
        "ROLE_MISSING",
        "not even proof is taken from another namespace"
    );
    let refused = theirs.ledger.get_action(sample::get()).await.unwrap_err();
    assert_eq!(reason(&refused), "ROLE_MISSING");
    let answer = ours
        .ownership
        .report(report)
        .await
        .unwrap()
        .into_inner()
        .answer
        .unwrap();
    assert_eq!(answer.state(), v1::State::Confirmed);
    let other = secured.server.memory.with(|stored| {
        let mut rows = stored
            .actions
            .iter()
            .filter(|(key, _)| key.namespace.as_str() == "bank");
        rows.next().unwrap().1.0.state
    });
    assert_eq!(other, deed_core::action::State::Sent);
}
