//! A worker: the fewest messages that claim, report and ask.

use std::time::Duration;

use deed_proto::v1;
use deed_proto::v1::next_step::Kind;
use deed_proto::v1::ownership_client::OwnershipClient;
use tonic::transport::Channel;
use tonic::{Request, Status};
use uuid::Uuid;

use crate::process::Server;

#[derive(Clone)]
pub struct Worker {
    client: OwnershipClient<Channel>,
    owner: String,
}

impl Worker {
    pub async fn at(server: &Server) -> Self {
        Self {
            client: OwnershipClient::connect(format!("http://{}", server.address))
                .await
                .unwrap(),
            owner: "w1".into(),
        }
    }

    pub fn named(&self, owner: &str) -> Self {
        Self {
            owner: owner.into(),
            ..self.clone()
        }
    }

    pub fn claim_request(&self, action_id: &str) -> v1::ClaimRequest {
        v1::ClaimRequest {
            key: key(action_id),
            owner: self.owner.clone(),
            request_id: Uuid::new_v4().to_string(),
            specification: Some(specification()),
            begin: true,
        }
    }

    pub async fn send(&self, claim: v1::ClaimRequest) -> Result<Kind, Status> {
        let mut request = Request::new(claim);
        request.set_timeout(Duration::from_secs(20));
        let response = self.client.clone().claim(request).await?.into_inner();
        Ok(kind(response.answer))
    }

    pub async fn claim(&self, action_id: &str) -> Result<Kind, Status> {
        self.send(self.claim_request(action_id)).await
    }

    pub async fn execute(&self, action_id: &str) -> v1::Execute {
        match self.claim(action_id).await {
            Ok(Kind::Execute(execute)) => execute,
            other => panic!("expected Execute, got {other:?}"),
        }
    }

    pub async fn complete(&self, action_id: &str, fencing_token: u64) -> Result<Kind, Status> {
        let completed = v1::receipt::Completed {
            external_id: format!("ch_{action_id}"),
            result: Some(b"42".to_vec()),
        };
        let report = v1::ReportRequest {
            key: key(action_id),
            owner: self.owner.clone(),
            request_id: Uuid::new_v4().to_string(),
            fencing_token,
            receipt: Some(v1::Receipt {
                kind: Some(v1::receipt::Kind::Completed(completed)),
            }),
            then: v1::Then::Nothing.into(),
            specification: None,
        };
        let response = self.client.clone().report(report).await?.into_inner();
        Ok(kind(response.answer))
    }
}

fn kind(answer: Option<v1::Answer>) -> Kind {
    answer.unwrap().next_step.unwrap().kind.unwrap()
}

fn key(action_id: &str) -> Option<v1::ActionKey> {
    Some(v1::ActionKey {
        namespace: "shop".into(),
        action_id: action_id.into(),
    })
}

fn specification() -> v1::Specification {
    v1::Specification {
        tool: "charge_card".into(),
        input_hash: Some(v1::InputHash {
            scheme: "raw-sha256".into(),
            digest: vec![7; 32],
        }),
        expected_effect: None,
        contract: Some(v1::Contract {
            effect_class: v1::EffectClass::Reversible.into(),
            ..v1::Contract::default()
        }),
        labels: Vec::new(),
    }
}
