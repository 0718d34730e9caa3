//! A session from the fake service's side, in the hands of a test.

use std::pin::Pin;

use deed_client::v1;
use deed_proto::v1::session_request::Call;
use deed_proto::v1::session_response::{Draining, Outcome};
use futures::Stream;
use futures::stream::poll_fn;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use crate::fake;

pub type Answers = Pin<Box<dyn Stream<Item = Result<v1::SessionResponse, Status>> + Send>>;

/// An open session. Dropped, it ends.
pub struct Opened {
    requests: Streaming<v1::SessionRequest>,
    answers: mpsc::UnboundedSender<Result<v1::SessionResponse, Status>>,
    service: fake::Service,
}

impl Opened {
    pub fn new(requests: Streaming<v1::SessionRequest>, service: fake::Service) -> (Self, Answers) {
        let (answers, mut behind) = mpsc::unbounded_channel();
        let opened = Self {
            requests,
            answers,
            service,
        };
        (opened, Box::pin(poll_fn(move |cx| behind.poll_recv(cx))))
    }

    /// The next call; none once the client has closed its side.
    pub async fn next(&mut self) -> Option<v1::SessionRequest> {
        self.requests.message().await.ok().flatten()
    }

    pub fn tell(&self, correlation_id: u64, outcome: Outcome) {
        let answer = v1::SessionResponse {
            correlation_id,
            outcome: Some(outcome),
        };
        // The client may have gone.
        let _gone = self.answers.send(Ok(answer));
    }

    pub fn drain(&self) {
        self.tell(0, Outcome::Draining(Draining {}));
    }

    /// Answers a claim or a report by the script.
    pub async fn answer(&self, request: v1::SessionRequest) {
        let call = match request.call.unwrap() {
            Call::Claim(claim) => fake::Call::Claim(claim),
            Call::Report(report) => fake::Call::Report(report),
            Call::Plan(_) => fake::Call::Plan,
            other => panic!("nothing is scripted for {other:?}"),
        };
        let answer = self.service.answer(call).await.unwrap().unwrap();
        self.tell(request.correlation_id, Outcome::Answer(answer));
    }

    /// Answers everything by the script until the client closes its side.
    pub async fn serve(mut self) {
        while let Some(request) = self.next().await {
            self.answer(request).await;
        }
    }
}
