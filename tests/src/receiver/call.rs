//! What a worker knows after a call to the receiver: typed so that an adapter can make an honest receipt of it.
//!
//! Keeps apart *not sent*, *answered* and *unknown*. Turns nothing into a receipt: adapters do, since only they know
//! their tool.

use std::time::Duration;

use reqwest::{Response, StatusCode};

use super::messages::{ErrorBody, LookupAnswer};

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

/// An answer to [`ReceiverClient::apply`](super::ReceiverClient::apply).
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

/// An answer to [`ReceiverClient::look_up`](super::ReceiverClient::look_up).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Found(LookupAnswer),
    /// The receiver would not say.
    Refused {
        status: u16,
        error: ErrorBody,
    },
}

/// The whole answer, or what is known without it.
pub(super) async fn read<T>(
    sent: reqwest::Result<Response>,
) -> Result<(StatusCode, Duration, Vec<u8>), Call<T>> {
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

pub(super) fn unreadable<T>(status: StatusCode) -> Call<T> {
    Call::Unknown {
        reason: Doubt::Unreadable,
        detail: format!("status {status} with a body that is no answer"),
    }
}
