//! Hands evidence in: receipts and observations.
//!
//! Owns that none is lost: a report is repeated until it is taken, creates the action again where a failover forgot it, and
//! is handed back to the caller when its deadline is over. What evidence says is `receipt`'s and `observation`'s.

use deed_proto::v1;
use uuid::Uuid;

use crate::error::{Error, Redelivery};
use crate::hold::{Held, Hold};
use crate::observation::Observation;
use crate::receipt::Receipt;
use crate::repeat::Answered;
use crate::worker::{Turn, Worker};

impl Worker {
    /// Hands in the receipt that ends this hold.
    pub async fn report(&self, hold: Hold, receipt: Receipt, then: v1::Then) -> Result<Turn, Error> {
        let worker = self.clone();
        self.detached(async move {
            hold.conclude();
            let then = if worker.stops() { v1::Then::Nothing } else { then };
            let answered = worker.deliver(hold.held(), receipt, then).await?;
            let answered = answered.map(|response| response.answer);
            Ok(worker.turn("Report", &hold.held().action, answered)?)
        })
        .await
    }

    /// Hands in what the lookup of this hold found.
    pub async fn verify(&self, hold: Hold, observation: Observation, then: v1::Then) -> Result<Turn, Error> {
        let worker = self.clone();
        self.detached(async move {
            hold.stop_renewing();
            let held = hold.held();
            let then = if worker.stops() { v1::Then::Nothing } else { then };
            let request = v1::VerifyRequest {
                key: Some(held.action.key.clone()),
                request_id: Uuid::new_v4().to_string(),
                fencing_token: held.token.number(),
                observation: Some(observation.to_wire()),
                then: then.into(),
                ..v1::VerifyRequest::default()
            };
            let limits = worker.limits(worker.settings().report_deadline);
            match worker.calls().verify_within(request.clone(), limits).await {
                Ok(answered) => {
                    held.take();
                    let answered = answered.map(|response| response.answer);
                    Ok(worker.turn("Verify", &held.action, answered)?)
                }
                Err(source) => Err(Error::ObservationUndelivered {
                    observation: Box::new(observation),
                    request: Redelivery::new(v1::VerifyRequest {
                        owner: worker.settings().owner.clone(),
                        request_id: Uuid::new_v4().to_string(),
                        then: v1::Then::Nothing.into(),
                        ..request
                    }),
                    source,
                }),
            }
        })
        .await
    }

    /// Hands in a receipt and asks for nothing.
    pub async fn report_and_leave(&self, held: &Held, receipt: Receipt) -> Result<(), Error> {
        self.deliver(held, receipt, v1::Then::Nothing).await?;
        Ok(())
    }

    /// Repeats a report until it is taken or its deadline is over; then hands the receipt back.
    async fn deliver(
        &self,
        held: &Held,
        receipt: Receipt,
        then: v1::Then,
    ) -> Result<Answered<v1::ReportResponse>, Error> {
        let mut request = v1::ReportRequest {
            key: Some(held.action.key.clone()),
            owner: self.settings().owner.clone(),
            request_id: Uuid::new_v4().to_string(),
            fencing_token: held.token.number(),
            receipt: Some(receipt.to_wire()),
            then: then.into(),
            specification: None,
        };
        let limits = self.limits(self.settings().report_deadline);
        let mut result = self.calls().report_within(request.clone(), limits).await;
        if matches!(&result, Err(refused) if refused.reason() == Some("ACTION_NOT_FOUND")) {
            // A failover lost the action; the specification creates it again (rule 20). Other content, other request id.
            request.specification = Some(held.action.specification.clone());
            request.request_id = Uuid::new_v4().to_string();
            result = self.calls().report_within(request.clone(), limits).await;
        }
        result.map_err(|source| {
            // SUBTLE: whoever hands it in later wants no grant with it, least of all a begun one that nobody would use.
            request.then = v1::Then::Nothing.into();
            request.request_id = Uuid::new_v4().to_string();
            Error::ReportUndelivered {
                receipt,
                request: Redelivery::new(request),
                source,
            }
        })
    }
}
