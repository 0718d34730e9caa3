//! Around every call: its deadline, and the errors that the transport makes by itself.
//!
//! What the transport refuses (a message that does not decode, one that is too large, a call that does not exist) has
//! not passed the error table. It gets its ErrorInfo here, so that a caller finds one in every error.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderMap, Request, Response};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::MAX_MESSAGE_BYTES;
use super::clock::Life;
use super::error::Told;

/// Wraps a service.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnvelopeLayer;

impl<S> Layer<S> for EnvelopeLayer {
    type Service = Envelope<S>;

    fn layer(&self, inner: S) -> Envelope<S> {
        Envelope { inner }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Envelope<S> {
    inner: S,
}

impl<S> Service<Request<Body>> for Envelope<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let life = Life::of(request.uri().path(), request.headers());
        request.extensions_mut().insert(life);
        // SUBTLE: the transport starts a timer of its own for the same time and answers an error without details. Ours
        // counts from the arrival, which was read before, and is asked first: so the caller gets the one with details.
        let late = tokio::time::sleep_until(life.deadline.into());
        let answer = self.inner.call(request);
        Box::pin(async move {
            tokio::select! {
                biased;
                response = answer => Ok(explained(response?)),
                () = late => Ok(Status::from(Told::too_late()).into_http()),
            }
        })
    }
}

/// The same response, with details if it is an error that has none.
fn explained(response: Response<Body>) -> Response<Body> {
    match bare_error(response.headers()) {
        Some(status) => Status::from(told(&status)).into_http(),
        None => response,
    }
}

/// An error that did not pass the error table. An error without a body is told in the headers.
fn bare_error(headers: &HeaderMap) -> Option<Status> {
    Status::from_header_map(headers).filter(|status| status.code() != Code::Ok && status.details().is_empty())
}

/// What the transport refused, as the error table would have told it.
pub fn told(status: &Status) -> Told {
    match status.code() {
        Code::Unimplemented if !status.message().is_empty() => {
            Told::new(Code::Unimplemented, "ENCODING_NOT_SUPPORTED", status.message())
        }
        Code::Unimplemented => Told::new(
            Code::Unimplemented,
            "CALL_UNKNOWN",
            "this server knows no such call; reflection lists those it knows",
        ),
        Code::OutOfRange => Told::too_large(MAX_MESSAGE_BYTES),
        // The table knows no INTERNAL, so this one says that the request could not be read: the caller's to mend.
        Code::Internal => unreadable(status.message()),
        Code::Cancelled | Code::DeadlineExceeded => Told::too_late(),
        code => Told::new(code, "TRANSPORT", status.message()),
    }
}

/// The oneofs of the API's requests. The decoder names them instead of the alternative that was sent.
const CHOICES: [&str; 4] = ["kind", "verdict", "target", "resolution"];

/// The field of an alternative, by its message: `not_applied` by `NotApplied`.
fn alternative(message: &str) -> String {
    if message == "ActionKey" {
        return "key".to_owned();
    }
    let mut name = String::new();
    for letter in message.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// A message that does not decode. The decoder names the fields from the inside out, as
/// `Inner.field: Outer.field: what`.
fn unreadable(message: &str) -> Told {
    const DECODER: &str = "failed to decode Protobuf message: ";
    let Some(trail) = message.strip_prefix(DECODER) else {
        return Told::malformed(format!("the message cannot be read: {message}"));
    };
    let mut path: Vec<String> = Vec::new();
    let mut inner = "";
    let mut rest = trail;
    while let Some((step, after)) = rest.split_once(": ")
        && let Some((message, field)) = step.split_once('.')
        && !step.contains(' ')
    {
        path.push(if CHOICES.contains(&field) {
            alternative(inner)
        } else {
            field.to_owned()
        });
        (inner, rest) = (message, after);
    }
    if path.is_empty() {
        return Told::malformed(format!("the message cannot be read: {rest}"));
    }
    path.reverse();
    let field = path.join(".");
    let message = format!("{field} cannot be read: {rest}");
    Told::field(&field, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decoders_trail_becomes_the_path_of_the_field() {
        let message = "failed to decode Protobuf message: ActionKey.namespace: ClaimRequest.key: invalid string value: \
                       data is not UTF-8 encoded";
        let told = unreadable(message);
        assert_eq!((told.code, told.reason), (Code::InvalidArgument, "INVALID_FIELD"));
        assert_eq!(told.metadata, [("field", "key.namespace".to_owned())]);
    }

    #[test]
    fn what_names_no_field_is_malformed_as_a_whole() {
        for message in [
            "failed to decode Protobuf message: unexpected end group tag",
            "failed to decode Protobuf message: invalid wire type value: 7",
            "protocol error: received message with invalid compression flag: 9",
            "Missing request message.",
        ] {
            let told = unreadable(message);
            assert_eq!(
                (told.code, told.reason),
                (Code::InvalidArgument, "MALFORMED_MESSAGE")
            );
        }
    }
}
