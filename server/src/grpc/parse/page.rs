//! Page tokens: where a list goes on, in a form that callers hand back and do not read.
//!
//! A token belongs to one question. It is no secret and grants nothing: whoever forges one gets a page of what it may
//! read anyway. The checksum is there to tell a damaged token from an empty page.

use std::fmt::Write as _;

use deed_core::id::ActionKey;
use deed_core::text::{ActionId, Namespace};
use deed_core::time::Timestamp;
use prost::Message;
use sha2::{Digest, Sha256};

use super::time::plausible;
use super::{At, Invalid};
use crate::service::ledger::Position;

/// The form of the bytes below. A server that changes it changes this, so that a token of the day before is refused and
/// not misread.
const FORM: u8 = 1;

/// Bytes of the question's digest, and of the checksum: enough against accidents.
const DIGEST: usize = 8;

/// The question that a token belongs to: the request without its page size and token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question([u8; DIGEST]);

impl Question {
    /// Digests a request from which page size and token have been taken out.
    pub fn of(request: &impl Message) -> Self {
        Self(digest(&request.encode_to_vec()))
    }

    /// A token that goes on at `place`.
    fn token(self, place: &[u8]) -> String {
        let mut bytes = vec![FORM];
        bytes.extend_from_slice(&self.0);
        bytes.extend_from_slice(place);
        let check = digest(&bytes);
        bytes.extend_from_slice(&check);
        hex(&bytes)
    }

    /// The place of a token; None for the first page.
    fn place(self, token: &str) -> Result<Option<Vec<u8>>, Invalid> {
        if token.is_empty() {
            return Ok(None);
        }
        let damaged = || Invalid::because("is damaged: use next_page_token as it came").placed("page_token");
        let mut bytes = unhex(token).ok_or_else(damaged)?;
        let body = bytes.len().checked_sub(DIGEST).ok_or_else(damaged)?;
        let check = bytes.split_off(body);
        if body <= DIGEST || digest(&bytes)[..] != check[..] || bytes[0] != FORM {
            return Err(damaged());
        }
        let place = bytes.split_off(1 + DIGEST);
        if bytes[1..] != self.0[..] {
            let reason = "belongs to another request: only page_size may change from page to page";
            return Err(Invalid::because(reason)).at("page_token");
        }
        Ok(Some(place))
    }

    /// A token that goes on after a position in a list of actions.
    pub fn after_action(self, position: &Position) -> String {
        let namespace = position.key.namespace.as_str();
        let mut place = position.at.micros().to_be_bytes().to_vec();
        // A namespace has at most 128 bytes, so one byte holds its length.
        place.push(u8::try_from(namespace.len()).unwrap_or(u8::MAX));
        place.extend_from_slice(namespace.as_bytes());
        place.extend_from_slice(position.key.action_id.as_str().as_bytes());
        self.token(&place)
    }

    /// The position of a token of [`Self::after_action`].
    pub fn action_after(self, token: &str) -> Result<Option<Position>, Invalid> {
        let Some(place) = self.place(token)? else {
            return Ok(None);
        };
        let read = read_position(&place).ok_or_else(|| Invalid::because("names no position"));
        read.map(Some).at("page_token")
    }

    /// A token that goes on after an event.
    pub fn after_event(self, sequence: u32) -> String {
        self.token(&sequence.to_be_bytes())
    }

    /// The sequence of a token of [`Self::after_event`]; zero for the first page.
    pub fn event_after(self, token: &str) -> Result<u32, Invalid> {
        let Some(place) = self.place(token)? else {
            return Ok(0);
        };
        let read = place.try_into().map(u32::from_be_bytes);
        read.map_err(|_| Invalid::because("names no position"))
            .at("page_token")
    }
}

fn read_position(place: &[u8]) -> Option<Position> {
    let (at, rest) = place.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first()?;
    let (namespace, action_id) = rest.split_at_checked(usize::from(*length))?;
    let micros = i64::from_be_bytes(*at);
    plausible(micros).then_some(())?;
    Some(Position {
        at: Timestamp::from_micros(micros),
        key: ActionKey {
            namespace: Namespace::new(std::str::from_utf8(namespace).ok()?).ok()?,
            action_id: ActionId::new(std::str::from_utf8(action_id).ok()?).ok()?,
        },
    })
}

fn digest(bytes: &[u8]) -> [u8; DIGEST] {
    let mut first = [0; DIGEST];
    first.copy_from_slice(&Sha256::digest(bytes)[..DIGEST]);
    first
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position() -> Position {
        Position {
            at: Timestamp::from_micros(-5),
            key: ActionKey {
                namespace: Namespace::new("tenant").unwrap(),
                action_id: ActionId::new("order-4821/charge ü").unwrap(),
            },
        }
    }

    #[test]
    fn a_token_leads_back_to_its_position() {
        let question = Question([7; DIGEST]);
        let token = question.after_action(&position());
        assert_eq!(question.action_after(&token), Ok(Some(position())));
        assert_eq!(question.event_after(&question.after_event(70_000)), Ok(70_000));
        assert_eq!(question.action_after(""), Ok(None));
        assert_eq!(question.event_after(""), Ok(0));
    }

    #[test]
    fn a_token_that_somebody_touched_is_refused() {
        let question = Question([7; DIGEST]);
        let token = question.after_action(&position());
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            let touched = String::from_utf8(bytes).unwrap();
            assert!(question.action_after(&touched).is_err(), "{at}");
        }
        for odd in ["x", "00", "zz", "é", &token[2..], &token[..token.len() - 2]] {
            assert_eq!(question.action_after(odd).unwrap_err().field, "page_token");
        }
    }

    #[test]
    fn a_token_of_another_question_is_refused() {
        let token = Question([7; DIGEST]).after_event(3);
        assert!(Question([8; DIGEST]).event_after(&token).is_err());
        assert!(Question([7; DIGEST]).action_after(&token).is_err());
    }
}
