//! Waiting and stopping: long polls, health, reflection, the end of serving.

use std::time::{Duration, Instant};

use deed_proto::v1;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::grpc::testing::sample;
use crate::grpc::testing::server::Running;

/// Far longer than any of these waits may take, far shorter than what they were allowed.
const SOON: Duration = Duration::from_secs(10);

fn wait(until: v1::WaitUntil, timeout: i64) -> v1::WaitActionRequest {
    v1::WaitActionRequest {
        until: until.into(),
        timeout: sample::seconds(timeout),
        ..sample::wait()
    }
}

async fn health(server: &Running, service: &str) -> Option<ServingStatus> {
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    let answer = HealthClient::new(server.channel.clone()).check(request).await;
    Some(answer.ok()?.into_inner().status())
}

#[tokio::test]
async fn a_waiter_is_told_as_soon_as_the_action_changes() {
    let server = Running::start().await;
    server.ownership().plan(sample::plan()).await.unwrap();
    let version = server
        .memory
        .with(|stored| stored.actions.values().next().unwrap().0.version);
    let mut request = wait(v1::WaitUntil::Changed, 60);
    request.known_version = version.0;
    let mut ledger = server.ledger();
    let started = Instant::now();
    let waiting = tokio::spawn(async move { ledger.wait_action(request).await });
    let mut claim = sample::claim();
    claim.request_id = "11111111-1111-4111-8111-111111111111".to_owned();
    server.ownership().claim(claim).await.unwrap();
    let told = waiting.await.unwrap().unwrap().into_inner();
    assert!(!told.timed_out && told.action.unwrap().version > version.0);
    assert!(started.elapsed() < SOON);
}

#[tokio::test]
async fn a_wait_ends_with_its_time_with_the_deadline_and_with_the_server() {
    let server = Running::start().await;
    server.ownership().plan(sample::plan()).await.unwrap();
    let now = server.ledger().wait_action(wait(v1::WaitUntil::Settled, 0)).await;
    assert!(now.unwrap().into_inner().timed_out);

    let mut short = tonic::Request::new(wait(v1::WaitUntil::Settled, 60));
    short
        .metadata_mut()
        .insert("grpc-timeout", "500m".parse().unwrap());
    let short = server.ledger().wait_action(short).await;
    assert!(
        short.unwrap().into_inner().timed_out,
        "answered within the deadline"
    );

    let started = Instant::now();
    let mut ledger = server.ledger();
    let waiting = tokio::spawn(async move { ledger.wait_action(wait(v1::WaitUntil::Settled, 60)).await });
    // The wait has begun once another call on the same connection has been answered.
    server.ledger().get_action(sample::get()).await.unwrap();
    server.stop.cancel();
    let last = waiting.await.unwrap();
    match last {
        Ok(answer) => assert!(answer.into_inner().timed_out),
        Err(status) => assert_eq!(status.code(), Code::Unavailable, "refused as too new"),
    }
    assert!(started.elapsed() < SOON);
}

#[tokio::test]
async fn waiting_for_nobody_is_not_found() {
    let server = Running::start().await;
    let refused = server
        .ledger()
        .wait_action(wait(v1::WaitUntil::Settled, 60))
        .await;
    assert_eq!(refused.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn health_and_reflection_are_there_for_generic_tools() {
    let server = Running::start().await;
    for service in ["", "deed.v1.Ownership", "deed.v1.Ledger", "deed.v1.Operations"] {
        assert_eq!(
            health(&server, service).await,
            Some(ServingStatus::Serving),
            "{service}"
        );
    }
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    let question = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = ServerReflectionClient::new(server.channel.clone())
        .server_reflection_info(tokio_stream::once(question))
        .await
        .unwrap()
        .into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response;
    let Some(MessageResponse::ListServicesResponse(list)) = answer else {
        panic!()
    };
    let names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    for name in ["deed.v1.Ownership", "deed.v1.Ledger", "deed.v1.Operations"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
}

#[tokio::test]
async fn serving_ends_when_it_is_told_to() {
    let server = Running::start().await;
    server.ownership().plan(sample::plan()).await.unwrap();
    server.stop.cancel();
    let ended = tokio::time::timeout(SOON, server.serving).await;
    ended.unwrap().unwrap().unwrap();
}
