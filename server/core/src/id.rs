//! Numbers and ids, each a type of its own so that none can stand in for another.

use std::fmt;

use uuid::Uuid;

use crate::text::{ActionId, Namespace, Owner, Principal};
use crate::time::Timestamp;

/// Identity of an action: chosen from the business intent, the same for every attempt.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActionKey {
    /// The tenant.
    pub namespace: Namespace,
    /// The action within it.
    pub action_id: ActionId,
}

/// A fencing token: what receivers check. It only grows for one action; grants and operator decisions move it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(u64);

impl Token {
    /// The largest token: what a Postgres `bigint` holds.
    pub const MAX: u64 = i64::MAX as u64;

    /// A token that somebody presents. Zero was never issued and stands for "none was sent".
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 || number > Self::MAX {
            None
        } else {
            Some(Self(number))
        }
    }

    /// The number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The token after `previous`: `max(previous + 1, database time in ms)`, so that it also grows past tokens that a
    /// failover lost or retention forgot.
    #[must_use]
    pub fn after(previous: Option<Self>, now: Timestamp) -> Self {
        let counted = previous.map_or(1, |token| token.0 + 1);
        Self(counted.max(now.millis()).min(Self::MAX))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The guard of the row: every decision that writes history moves it by one. Not a fencing token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version(pub u64);

/// Names one call of one caller, the same for every repeat of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub Uuid);

/// Names one piece of evidence of an action: the request id of the call that brought it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EvidenceId(pub Uuid);

/// A digest of everything a call says, so that a request id that comes back with other content is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint(pub [u8; 16]);

/// A worker instance together with the principal that it authenticated as.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    /// As it calls itself.
    pub owner: Owner,
    /// As the edge knows it.
    pub principal: Principal,
}

/// What the holder hands to the receiver as idempotency key: 32 characters `[a-z0-9]`, the same for every attempt under
/// one key generation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutwardKey(String);

impl OutwardKey {
    /// The name space of Deed's derived keys. Any fixed UUID serves; changing it would change every outward key.
    const DERIVATION: Uuid = Uuid::from_u128(0x6d1f_5c0a_83b4_4e7e_9b52_2f0c_7d3e_a941);

    /// Derives the key. Parts are length-prefixed, so that ("ab", "c") and ("a", "bc") differ.
    pub fn derive(key: &ActionKey, generation: u32) -> Self {
        let namespace = key.namespace.as_str();
        let action_id = key.action_id.as_str();
        let name = format!(
            "{}:{namespace}{}:{action_id}{generation}",
            namespace.len(),
            action_id.len()
        );
        Self(
            Uuid::new_v5(&Self::DERIVATION, name.as_bytes())
                .simple()
                .to_string(),
        )
    }

    /// The 32 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(namespace: &str, action_id: &str) -> ActionKey {
        ActionKey {
            namespace: Namespace::new(namespace).unwrap(),
            action_id: ActionId::new(action_id).unwrap(),
        }
    }

    #[test]
    fn tokens_outgrow_both_the_last_one_and_the_clock() {
        let now = Timestamp::from_micros(5_000_000);
        assert_eq!(Token::after(None, now).number(), 5_000);
        assert_eq!(Token::after(Token::new(9_000), now).number(), 9_001);
        assert_eq!(Token::after(Token::new(3), now).number(), 5_000);
    }

    #[test]
    fn outward_keys_are_32_lower_case_characters_and_differ_by_every_part() {
        let keys = [key("ab", "c"), key("a", "bc"), key("a", "b")].map(|key| OutwardKey::derive(&key, 0));
        for outward in &keys {
            assert_eq!(outward.as_str().len(), 32);
            assert!(
                outward
                    .as_str()
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            );
        }
        assert!(keys[0] != keys[1] && keys[1] != keys[2]);
        assert_ne!(
            OutwardKey::derive(&key("a", "b"), 0),
            OutwardKey::derive(&key("a", "b"), 1)
        );
        assert_eq!(
            OutwardKey::derive(&key("a", "b"), 1),
            OutwardKey::derive(&key("a", "b"), 1)
        );
    }
}
