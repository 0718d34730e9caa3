//! Those who were let in once and stay: every entry of a session needs its right by the policy of that moment.

use deed_proto::v1::session_request::Call;
use deed_proto::v1::session_response::Outcome;
use deed_proto::v1::{self, batch_result, renew_result};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Streaming};

use crate::auth::testing::{Written, principal};
use crate::auth::{Keeper, load};
use crate::grpc::testing::guarded::{Client, Guarded, Shows};
use crate::grpc::testing::sample;

/// A session from the caller's side, one entry at a time.
struct Entries {
    requests: mpsc::UnboundedSender<v1::SessionRequest>,
    answers: Streaming<v1::SessionResponse>,
}

impl Entries {
    async fn open(server: &Guarded, token: &SecretString) -> Self {
        let (requests, behind) = mpsc::unbounded_channel();
        let mut client = Client::new(&server.plain().await, &Shows::token(token));
        let stream = UnboundedReceiverStream::new(behind);
        let answers = client.ownership.session(stream).await.unwrap().into_inner();
        Self { requests, answers }
    }

    async fn outcome(&mut self, call: Call) -> Outcome {
        let request = v1::SessionRequest {
            correlation_id: 1,
            timeout: None,
            call: Some(call),
        };
        self.requests.send(request).unwrap();
        let answer = self.answers.message().await.unwrap().unwrap();
        answer.outcome.unwrap()
    }

    /// The error of an entry, or of the one entry within it.
    async fn refused(&mut self, call: Call) -> Option<(Code, String)> {
        let error = match self.outcome(call).await {
            Outcome::Error(error) => Some(error),
            Outcome::Renew(mut answer) => match answer.results.remove(0).result {
                Some(renew_result::Result::Error(error)) => Some(error),
                _ => None,
            },
            Outcome::BatchClaim(v1::BatchClaimResponse { mut results })
            | Outcome::BatchReport(v1::BatchReportResponse { mut results }) => match results.remove(0).result
            {
                Some(batch_result::Result::Error(error)) => Some(error),
                _ => None,
            },
            _ => None,
        };
        error.map(|error| (Code::from_i32(error.code), error.reason))
    }
}

fn calls() -> Vec<Call> {
    let report = || sample::report(sample::receipts().remove(0));
    let batch = v1::BatchClaimRequest {
        entries: vec![sample::claim()],
    };
    let reports = v1::BatchReportRequest {
        entries: vec![report()],
    };
    vec![
        Call::Plan(sample::plan()),
        Call::Claim(sample::claim()),
        Call::Begin(sample::begin()),
        Call::Report(report()),
        Call::Verify(sample::verify(sample::observations().remove(0))),
        Call::Renew(sample::renew()),
        Call::Release(sample::release()),
        Call::Observe(sample::observes().remove(0)),
        Call::BatchClaim(batch),
        Call::BatchReport(reports),
    ]
}

fn role_missing() -> Option<(Code, String)> {
    Some((Code::PermissionDenied, "ROLE_MISSING".to_owned()))
}

#[tokio::test]
async fn every_entry_needs_its_own_right_in_its_own_namespace() {
    let (worker, first) = principal("w1", "{ shop = [\"worker\"] }");
    let (hook, second) = principal("hook", "{ shop = [\"witness\"] }");
    let (banker, third) = principal("banker", "{ bank = [\"admin\"] }");
    let server = Guarded::start(Written::new(&format!("{first}{second}{third}")).keeper(), None).await;
    let mut worker = Entries::open(&server, &worker).await;
    let mut hook = Entries::open(&server, &hook).await;
    let mut banker = Entries::open(&server, &banker).await;
    for call in calls() {
        assert_eq!(banker.refused(call.clone()).await, role_missing(), "{call:?}");
        let observes = matches!(call, Call::Observe(_));
        let told = hook.refused(call.clone()).await;
        assert_eq!(told == role_missing(), !observes, "{call:?}: {told:?}");
        assert_ne!(worker.refused(call).await, role_missing());
    }
}

#[tokio::test]
async fn what_is_taken_back_is_noticed_in_the_middle_of_a_stream() {
    let (token, text) = principal("w1", "{ shop = [\"worker\"] }");
    let written = Written::new(&text);
    let keeper: Keeper = written.keeper();
    let server = Guarded::start(keeper.clone(), None).await;
    let mut session = Entries::open(&server, &token).await;
    let enact = |text: &str| {
        written.write("auth.toml", text.as_bytes());
        keeper.enact(load(&written.path()).0.unwrap());
    };
    assert_eq!(session.refused(Call::Claim(sample::claim())).await, None);
    enact(&text.replace("worker", "viewer"));
    for call in calls() {
        assert_eq!(session.refused(call).await, role_missing());
    }
    enact("");
    for call in calls() {
        let Outcome::Error(whole) = session.outcome(call).await else {
            panic!("the whole entry is refused, not a part of it")
        };
        assert_eq!(
            (Code::from_i32(whole.code), whole.reason.as_str()),
            (Code::Unauthenticated, "CREDENTIALS_REFUSED")
        );
    }
    enact(&text);
    let again = session.outcome(Call::Claim(sample::claim())).await;
    assert!(matches!(again, Outcome::Answer(_)), "{again:?}");
}
