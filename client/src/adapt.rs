//! From what tools answer to receipts, for the adapters that everybody writes: HTTP statuses and agent tool results.
//!
//! Owns the mapping that never flatters: an error body, an `isError`, an exception do not become *completed*. Whether a
//! good answer means that the effect is there is known to the adapter's author alone, so that is passed in.

use std::fmt::Display;
use std::time::Duration;

use crate::receipt::{NotSentReason, Receipt};

impl Receipt {
    /// For a receiver that speaks HTTP and answered with `status`. A status of 200 to 299 becomes `success`, which says
    /// what such an answer proves: [`Receipt::completed`], [`Receipt::accepted`], or *unknown* where the body holds an
    /// error.
    ///
    /// 429, and 503 with a `retry_after`, are *not applied*; 408 and 409 (which many receivers answer for "your first
    /// request is still under way") and every other status but 4xx are *unknown*, ended; 4xx is *rejected*.
    /// A receiver that applies a part before it answers 4xx needs a mapping of its own.
    pub fn from_http(
        status: u16,
        retry_after: Option<Duration>,
        detail: impl Display,
        success: impl FnOnce() -> Receipt,
    ) -> Receipt {
        match (status, retry_after) {
            (200..=299, _) => success(),
            (429, after) => Receipt::not_applied(after.unwrap_or_default(), answered(status, detail)),
            (503, Some(after)) => Receipt::not_applied(after, answered(status, detail)),
            (408 | 409, _) => Receipt::unknown(answered(status, detail)).ended(),
            (400..=499, _) => Receipt::rejected(answered(status, detail)),
            _ => Receipt::unknown(answered(status, detail)).ended(),
        }
    }

    /// For a receiver to which no connection came about. Only where the HTTP library proves it (`is_connect` in reqwest):
    /// a connection that was lost is [`Receipt::unknown`].
    pub fn not_connected(error: impl Display) -> Receipt {
        Receipt::not_sent(NotSentReason::ConnectionNotEstablished, error)
    }

    /// For the result of an agent's tool, as the Model Context Protocol knows it. A result with `isError` says that
    /// something went wrong, not that nothing happened: *unknown*, ended. A good one becomes `success`.
    pub fn from_tool(is_error: bool, detail: impl Display, success: impl FnOnce() -> Receipt) -> Receipt {
        if is_error {
            return Receipt::unknown(format_args!("the tool answered with an error: {detail}")).ended();
        }
        success()
    }
}

fn answered(status: u16, detail: impl Display) -> String {
    format!("the receiver answered {status}: {detail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(status: u16, retry_after: Option<Duration>) -> &'static str {
        Receipt::from_http(status, retry_after, "x", || Receipt::completed("id")).name()
    }

    #[test]
    fn a11_only_a_good_status_can_become_completed() {
        for status in (100..200).chain(300..700) {
            assert_ne!(name(status, None), "COMPLETED", "{status}");
            assert_ne!(
                name(status, Some(Duration::from_secs(1))),
                "COMPLETED",
                "{status}"
            );
        }
    }

    #[test]
    fn a11_a_200_with_an_error_body_is_what_the_adapter_makes_of_it() {
        let receipt = Receipt::from_http(200, None, "", || {
            Receipt::unknown("the body holds an error").ended()
        });
        assert_eq!(receipt.name(), "UNKNOWN");
    }

    #[test]
    fn a11_a_tool_result_with_is_error_is_unknown() {
        let receipt = Receipt::from_tool(true, "card declined?", || Receipt::completed("id"));
        assert_eq!(
            receipt,
            Receipt::unknown("the tool answered with an error: card declined?").ended()
        );
        assert_eq!(
            Receipt::from_tool(false, "", || Receipt::completed("id")).name(),
            "COMPLETED"
        );
    }

    #[test]
    fn a11_an_error_of_the_executor_is_unknown_and_not_ended() {
        let receipt = Receipt::from(Err::<Receipt, _>("boom"));
        assert_eq!(receipt, Receipt::unknown("the executor failed: boom"));
    }

    #[test]
    fn limits_and_refusals_of_a_receiver_are_told_apart() {
        let after = Some(Duration::from_secs(7));
        assert_eq!(
            (name(429, None), name(429, after)),
            ("NOT_APPLIED", "NOT_APPLIED")
        );
        assert_eq!((name(503, None), name(503, after)), ("UNKNOWN", "NOT_APPLIED"));
        assert_eq!(
            (name(422, None), name(409, None), name(500, None)),
            ("REJECTED", "UNKNOWN", "UNKNOWN")
        );
        assert_eq!(Receipt::not_connected("refused").name(), "NOT_SENT");
    }
}
