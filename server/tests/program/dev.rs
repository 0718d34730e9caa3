//! `deed-server dev`.

use std::path::Path;

use deed_proto::v1::next_step::Kind;

use crate::process::Server;
use crate::worker::Worker;

#[tokio::test]
async fn dev_serves_a_claim_and_a_report_and_leaves_nothing_behind() {
    let server = Server::start(&["dev", "--ephemeral"]).await;
    let worker = Worker::at(&server).await;
    let execute = worker.execute("order-1").await;
    assert!(execute.begun);
    let settled = worker.complete("order-1", execute.fencing_token).await.unwrap();
    assert!(matches!(settled, Kind::Settled(_)), "{settled:?}");
    let again = worker.named("w2").claim("order-1").await.unwrap();
    let Kind::Settled(settled) = again else {
        panic!("{again:?}")
    };
    assert_eq!(settled.result.as_deref(), Some(&b"42"[..]));

    let directory = directory(&server);
    assert!(Path::new(&directory).is_dir(), "{directory}");
    server.stop().await;
    assert!(!Path::new(&directory).exists());
}

#[tokio::test]
async fn what_dev_acknowledged_survives_a_kill_of_the_server() {
    let data = tempfile::tempdir().unwrap();
    // Postgres may run as another account than the one that made the directory.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(data.path(), open).unwrap();
    let arguments = ["dev", "--data", data.path().to_str().unwrap()];
    let server = Server::start(&arguments).await;
    let token = Worker::at(&server).await.execute("order-1").await.fencing_token;
    server.kill().await;

    let server = Server::start(&arguments).await;
    let worker = Worker::at(&server).await;
    let held = worker.named("w2").claim("order-1").await.unwrap();
    assert!(matches!(held, Kind::Held(_)), "{held:?}");
    let settled = worker.complete("order-1", token).await.unwrap();
    assert!(matches!(settled, Kind::Settled(_)), "{settled:?}");
    server.stop().await;
}

/// As the server introduces it: "private Postgres on ADDRESS in DIRECTORY (…".
fn directory(server: &Server) -> String {
    let line = server
        .said
        .iter()
        .find(|line| line.contains("private Postgres"))
        .unwrap();
    let (_, rest) = line.split_once(" in ").unwrap();
    rest.split_once(" (").unwrap().0.to_owned()
}
