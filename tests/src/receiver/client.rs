//! The worker's HTTP client for the receiver: one call, one request, no retries, and an answer that keeps apart what a
//! receipt must keep apart (`call` says what).

use std::time::Duration;

use reqwest::StatusCode;
use serde::de::DeserializeOwned;

use super::call::{Applied, Call, Seen, read, unreadable};
use super::dials::{Dials, Queued};
use super::ledger::{Application, Summary};
use super::messages::{EffectAnswer, EffectRequest, ErrorAnswer, LookupRequest};

/// Talks to one receiver.
#[derive(Clone, Debug)]
pub struct ReceiverClient {
    base: String,
    http: reqwest::Client,
}

impl ReceiverClient {
    /// `address` is `host:port`; `timeout` covers each call from its start to the end of its answer.
    pub fn new(address: impl std::fmt::Display, timeout: Duration) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .timeout(timeout)
            // SUBTLE: no connection is used twice. On a reused one, a request that meets a closing peer is sent again
            // by the HTTP library, or fails in a way that does not say whether it was sent.
            .pool_max_idle_per_host(0)
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self {
            base: format!("http://{address}"),
            http,
        })
    }

    /// Asks for one effect.
    pub async fn apply(&self, request: &EffectRequest) -> Call<Applied> {
        let sent = self
            .http
            .post(format!("{}/effects", self.base))
            .json(request)
            .send()
            .await;
        let (status, retry_after, body) = match read(sent).await {
            Ok(answer) => answer,
            Err(call) => return call,
        };
        if status.is_success()
            && let Ok(EffectAnswer {
                external_id,
                applied,
                replayed,
                ..
            }) = serde_json::from_slice(&body)
        {
            return Call::Answered(if status == StatusCode::ACCEPTED {
                Applied::Accepted {
                    external_id,
                    retry_after,
                    replayed,
                }
            } else {
                Applied::Done {
                    external_id,
                    applied,
                    replayed,
                }
            });
        }
        let Ok(ErrorAnswer { error }) = serde_json::from_slice(&body) else {
            return unreadable(status);
        };
        let number = status.as_u16();
        Call::Answered(match number {
            429 | 503 => Applied::NotNow {
                status: number,
                retry_after,
                error,
            },
            409 if error.code == "key_in_progress" => Applied::KeyInProgress,
            400..=499 => Applied::Refused {
                status: number,
                error,
            },
            _ => Applied::Failed {
                status: number,
                error,
            },
        })
    }

    /// Looks at what the receiver shows for one business id.
    pub async fn look_up(&self, lookup: &LookupRequest) -> Call<Seen> {
        let sent = self
            .http
            .get(format!("{}/effects", self.base))
            .query(lookup)
            .send()
            .await;
        let (status, _, body) = match read(sent).await {
            Ok(answer) => answer,
            Err(call) => return call,
        };
        if status.is_success() {
            return serde_json::from_slice(&body)
                .map_or_else(|_| unreadable(status), |found| Call::Answered(Seen::Found(found)));
        }
        match serde_json::from_slice(&body) {
            Ok(ErrorAnswer { error }) => Call::Answered(Seen::Refused {
                status: status.as_u16(),
                error,
            }),
            Err(_) => unreadable(status),
        }
    }

    /// The whole truth, for counting.
    pub async fn ledger(&self) -> Result<Vec<Application>, reqwest::Error> {
        self.fetch("ledger").await
    }

    pub async fn summary(&self) -> Result<Summary, reqwest::Error> {
        self.fetch("ledger/summary").await
    }

    /// Forgets everything but the dials.
    pub async fn reset(&self) -> Result<(), reqwest::Error> {
        self.command(self.http.delete(format!("{}/ledger", self.base)))
            .await
    }

    /// Replaces the standing behaviour.
    pub async fn turn(&self, dials: &Dials) -> Result<(), reqwest::Error> {
        self.command(self.http.put(format!("{}/dials", self.base)).json(dials))
            .await
    }

    /// Replaces the faults queued for one business id, which must be fit for a URL's path.
    pub async fn queue(&self, business_id: &str, queued: &Queued) -> Result<(), reqwest::Error> {
        self.command(
            self.http
                .put(format!("{}/dials/{business_id}", self.base))
                .json(queued),
        )
        .await
    }

    /// Ends the delays under way for one business id and shows what is hidden of it.
    pub async fn release(&self, business_id: &str) -> Result<(), reqwest::Error> {
        self.command(self.http.post(format!("{}/release/{business_id}", self.base)))
            .await
    }

    async fn fetch<T: DeserializeOwned>(&self, path: &str) -> Result<T, reqwest::Error> {
        self.http
            .get(format!("{}/{path}", self.base))
            .send()
            .await?
            .error_for_status()?
            .json()
            .await
    }

    async fn command(&self, request: reqwest::RequestBuilder) -> Result<(), reqwest::Error> {
        request.send().await?.error_for_status().map(drop)
    }
}
