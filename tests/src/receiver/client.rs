//! The worker's HTTP client for the receiver: one call, one request, no retries, and an answer that keeps apart what a
//! receipt must keep apart.
//!
//! It turns nothing into a receipt: adapters do, since only they know their tool.

use std::time::Duration;

use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;

use super::dials::{Dials, Queued};
use super::ledger::{Application, Summary};
use super::messages::{EffectAnswer, EffectRequest, ErrorAnswer, ErrorBody, LookupAnswer, LookupRequest};

/// What is known after a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Call<T> {
    /// Nothing left this process.
    NotSent { reason: String },
    /// The receiver answered, one way or another.
    Answered(T),
    /// The request may have arrived; nobody knows what became of it.
    Unknown { reason: Doubt, detail: String },
}

/// Why the outcome of a call is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// No answer within the call's timeout: the receiver may still be at work.
    TimedOut,
    /// The connection ended before the whole answer was there.
    ConnectionLost,
    /// An answer of success came that is not what the receiver promises to answer.
    Unreadable,
}

/// An answer to [`ReceiverClient::apply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// 201: the effect is there, as far as `applied` names it.
    Done {
        external_id: String,
        applied: Vec<String>,
        replayed: bool,
    },
    /// 202: it will be done, or fail, later.
    Accepted {
        external_id: String,
        retry_after: Duration,
        replayed: bool,
    },
    /// 429 or 503: the receiver did nothing now.
    NotNow {
        status: u16,
        retry_after: Duration,
        error: ErrorBody,
    },
    /// 409 `key_in_progress`: an earlier request with this key is under way; its effect may come.
    KeyInProgress,
    /// Any other 4xx: refused before any effect of this request.
    Refused { status: u16, error: ErrorBody },
    /// A success or a 5xx whose body tells of an error: the effect may be there.
    Failed { status: u16, error: ErrorBody },
}

/// An answer to [`ReceiverClient::look_up`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Found(LookupAnswer),
    /// The receiver would not say.
    Refused {
        status: u16,
        error: ErrorBody,
    },
}

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

/// The whole answer, or what is known without it.
async fn read<T>(sent: reqwest::Result<Response>) -> Result<(StatusCode, Duration, Vec<u8>), Call<T>> {
    let response = sent.map_err(doubt)?;
    let status = response.status();
    let retry_after = response.headers().get(reqwest::header::RETRY_AFTER);
    let seconds = retry_after
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse().ok());
    let body = response.bytes().await.map_err(doubt)?.to_vec();
    // The body knows milliseconds, the header whole seconds.
    let exact = serde_json::from_slice::<serde_json::Value>(&body)
        .ok()
        .and_then(|body| {
            body.get("retry_after_ms")
                .or_else(|| body.get("error")?.get("retry_after_ms"))?
                .as_u64()
        });
    let retry_after = exact
        .map(Duration::from_millis)
        .or(seconds.map(Duration::from_secs))
        .unwrap_or_default();
    Ok((status, retry_after, body))
}

// SUBTLE: only an error of connecting proves that nothing was sent. A timeout does not, whatever it happened in: the
// library's overall timeout does not say how far the call had come.
fn doubt<T>(error: reqwest::Error) -> Call<T> {
    if error.is_builder() || error.is_connect() && !error.is_timeout() {
        return Call::NotSent {
            reason: format!("{error:?}"),
        };
    }
    let reason = if error.is_timeout() {
        Doubt::TimedOut
    } else {
        Doubt::ConnectionLost
    };
    Call::Unknown {
        reason,
        detail: format!("{error:?}"),
    }
}

fn unreadable<T>(status: StatusCode) -> Call<T> {
    Call::Unknown {
        reason: Doubt::Unreadable,
        detail: format!("status {status} with a body that is no answer"),
    }
}
