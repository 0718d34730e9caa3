//! Stopping.

use std::time::Duration;

use deed_proto::v1::next_step::Kind;
use nix::sys::signal::Signal;

use crate::database::Database;
use crate::process::Server;
use crate::rows::{hold, waiting_for_locks};
use crate::worker::Worker;

#[tokio::test]
async fn a_stop_answers_open_calls_and_refuses_new_ones() {
    let database = Database::empty().await;
    let server = Server::on(&database.url).await;
    let worker = Worker::at(&server).await;
    let token = worker.execute("stuck").await.fencing_token;
    let held = hold(&database, "stuck").await;
    let open = tokio::spawn({
        let worker = worker.clone();
        async move { worker.complete("stuck", token).await }
    });
    waiting_for_locks(&database, 1).await;

    server.signal(Signal::SIGTERM);
    let refused = loop {
        match worker.claim("new").await {
            Err(status) => break status,
            Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    assert_eq!(refused.code(), tonic::Code::Unavailable, "{refused:?}");
    drop(held);
    let settled = open.await.unwrap().unwrap();
    assert!(matches!(settled, Kind::Settled(_)), "{settled:?}");
    assert!(server.ended().await.success());
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_row_that_stays_stuck() {
    let database = Database::empty().await;
    let server = Server::on(&database.url).await;
    let worker = Worker::at(&server).await;
    worker.execute("stuck").await;
    let _held = hold(&database, "stuck").await;
    let open = tokio::spawn(async move { worker.claim("stuck").await });
    waiting_for_locks(&database, 1).await;
    server.stop().await;
    let told = open.await.unwrap();
    assert!(told.is_err(), "{told:?}");
}

#[tokio::test]
async fn a_second_signal_ends_a_server_at_once() {
    let database = Database::empty().await;
    let server = Server::on(&database.url).await;
    let worker = Worker::at(&server).await;
    worker.execute("stuck").await;
    let _held = hold(&database, "stuck").await;
    let _open = tokio::spawn(async move { worker.claim("stuck").await });
    waiting_for_locks(&database, 1).await;
    server.signal(Signal::SIGINT);
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.signal(Signal::SIGINT);
    let status = tokio::time::timeout(Duration::from_secs(3), server.ended())
        .await
        .unwrap();
    assert_eq!(status.code(), Some(1));
}
