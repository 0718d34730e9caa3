//! Numbers: enums, tokens, versions, counts.

use deed_core::command::Then;
use deed_core::id::{Token, Version};
use deed_proto::v1;

use super::{At, Invalid};

/// An enum by its number. A number that this server does not know is refused: guessing what a newer client meant could
/// double an effect.
pub fn known<E: TryFrom<i32>>(number: i32, field: &str) -> Result<E, Invalid> {
    E::try_from(number)
        .map_err(|_| Invalid::because(format!("is {number}, which this server does not know")))
        .at(field)
}

/// A fencing token.
pub fn token(number: u64) -> Result<Token, Invalid> {
    let refusal = || {
        if number == 0 {
            return Invalid::because("is required: the fencing token of the grant");
        }
        Invalid::because(format!("is {number}; it must be from 1 to {}", Token::MAX))
    };
    Token::new(number).ok_or_else(refusal).at("fencing_token")
}

/// A version that somebody looked at. No stored action has version 0.
pub fn version(number: u64, field: &str) -> Result<Version, Invalid> {
    if number == 0 {
        return Err(Invalid::because(
            "is required: the version of the action that was looked at",
        ))
        .at(field);
    }
    Ok(Version(number))
}

/// What the caller wants next.
pub fn then(number: i32) -> Result<Then, Invalid> {
    Ok(match known(number, "then")? {
        v1::Then::Unspecified | v1::Then::Nothing => Then::Nothing,
        v1::Then::Grant => Then::Grant,
        v1::Then::BegunGrant => Then::BegunGrant,
    })
}

/// How many rows a page may have.
pub fn page_size(number: i32, default: u32) -> Result<u32, Invalid> {
    match u32::try_from(number) {
        Ok(0) => Ok(default),
        Ok(size) if size <= MAX_PAGE => Ok(size),
        _ => {
            let reason = format!("is {number}; it must be from 1 to {MAX_PAGE}, or 0 for {default}");
            Err(Invalid::because(reason)).at("page_size")
        }
    }
}

/// More rows than this are a job for paging.
const MAX_PAGE: u32 = 1_000;
