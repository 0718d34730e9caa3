//! Bearer tokens: made here, kept nowhere. The file has their hashes.
//!
//! A token is 256 random bits, so one SHA-256 is enough to keep it by: salt and slow hashing protect secrets that can be
//! guessed, and this one cannot. That holds only for tokens that were made like this, so nothing else is accepted as one,
//! whatever hash somebody wrote into the file.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::rand;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::Member;

/// What a token begins with, so that people and secret scanners know what they have found.
const MARK: &str = "deed_";

/// What a hash begins with in the file.
const SCHEME: &str = "sha256:";

/// The random part of a token: 256 bits.
const RANDOM_BYTES: usize = 32;

/// How many bytes of a hash are looked up in a table. They are compared without care for the time that it takes: whoever
/// measures it learns something about a hash, and cannot choose tokens by their hashes. The whole is compared with care.
const LOOKED_UP: usize = 8;

/// No random numbers can be had from the operating system.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no random numbers; no token was made")]
pub struct NoRandom;

/// What a token is kept by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a token.
    pub fn of(token: &SecretString) -> Self {
        Self(Sha256::digest(token.expose_secret()).into())
    }

    /// Reads `sha256:` and 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(SCHEME)?.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
        }
        Some(Self(hash))
    }

    fn looked_up(&self) -> [u8; LOOKED_UP] {
        let mut first = [0; LOOKED_UP];
        first.copy_from_slice(&self.0[..LOOKED_UP]);
        first
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// Makes a token.
pub fn generate() -> Result<SecretString, NoRandom> {
    let mut random = [0; RANDOM_BYTES];
    rand::fill(&mut random).map_err(|_unspecified| NoRandom)?;
    let mut token = String::from(MARK);
    for byte in random {
        token.push_str(&format!("{byte:02x}"));
    }
    Ok(SecretString::from(token))
}

/// Whether this was made by [`generate`], by its looks.
pub fn well_formed(token: &SecretString) -> bool {
    token.expose_secret().strip_prefix(MARK).is_some_and(|digits| {
        digits.len() == 2 * RANDOM_BYTES && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whose each token is.
#[derive(Debug, Default)]
pub struct Tokens(HashMap<[u8; LOOKED_UP], Vec<(TokenHash, Arc<Member>)>>);

impl Tokens {
    /// Adds one. False where it is somebody's already.
    pub fn add(&mut self, hash: TokenHash, member: &Arc<Member>) -> bool {
        let same = self.0.entry(hash.looked_up()).or_default();
        let fresh = same.iter().all(|(known, _)| *known != hash);
        if fresh {
            same.push((hash, Arc::clone(member)));
        }
        fresh
    }

    /// Whose it is.
    pub fn owner(&self, token: &SecretString) -> Option<&Arc<Member>> {
        if !well_formed(token) {
            return None;
        }
        let presented = TokenHash::of(token);
        let mut alike = self.0.get(&presented.looked_up())?.iter();
        let found = alike.find(|(known, _)| verify_slices_are_equal(&known.0, &presented.0).is_ok());
        found.map(|(_, member)| member)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use deed_core::text::Principal;

    use super::*;
    use crate::auth::Rights;

    fn member(name: &str) -> Arc<Member> {
        let name = Principal::new(name).unwrap();
        Arc::new(Member::new(name, Rights::default(), HashMap::new()))
    }

    #[test]
    fn tokens_are_random_and_known_by_their_hash_alone() {
        let (first, second) = (generate().unwrap(), generate().unwrap());
        assert_ne!(first.expose_secret(), second.expose_secret());
        let line = TokenHash::of(&first).to_string();
        assert!(!line.contains(&first.expose_secret()[MARK.len()..]));
        let mut tokens = Tokens::default();
        assert!(tokens.add(TokenHash::parse(&line).unwrap(), &member("w1")));
        assert!(
            !tokens.add(TokenHash::of(&first), &member("w2")),
            "one token, one principal"
        );
        assert_eq!(tokens.owner(&first).unwrap().name.as_str(), "w1");
        assert!(tokens.owner(&second).is_none());
    }

    #[test]
    fn what_can_be_guessed_is_no_token_even_where_the_file_has_its_hash() {
        let weak = SecretString::from("hunter2".to_owned());
        let mut tokens = Tokens::default();
        tokens.add(TokenHash::of(&weak), &member("w1"));
        assert!(tokens.owner(&weak).is_none());
    }

    #[test]
    fn a_hash_that_agrees_in_the_looked_up_part_only_is_another_one() {
        let token = generate().unwrap();
        let mut near = TokenHash::of(&token);
        near.0[31] ^= 1;
        let mut tokens = Tokens::default();
        tokens.add(near, &member("w1"));
        assert!(tokens.owner(&token).is_none());
    }

    #[test]
    fn malformed_hashes_are_none() {
        let good = TokenHash::of(&generate().unwrap()).to_string();
        assert!(TokenHash::parse(&good).is_some());
        let short = &good[..good.len() - 1];
        let (other, odd) = (good.replace("sha256", "md5"), format!("{short}g"));
        for wrong in ["", "sha256:", short, &other, &odd, &format!("{good}00")] {
            assert!(TokenHash::parse(wrong).is_none(), "{wrong}");
        }
    }
}
