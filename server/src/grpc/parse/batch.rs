//! Batches: how many entries, how many bytes. What an entry says is parsed as if it had come alone.

use prost::Message;

use super::text::bounded;
use super::{At, Invalid};

/// As many as go into one transaction or a few; more gain nothing, and hold up the first answers.
const MAX_ENTRIES: usize = 1_000;

/// Half of the largest message: so that the entries are refused by name, and not the message as a whole.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The entries, if they are not too many and not too large in all.
pub fn entries<M: Message>(entries: Vec<M>) -> Result<Vec<M>, Invalid> {
    let checked = || {
        if entries.is_empty() {
            return Err(Invalid::because("is empty: name at least one call"));
        }
        bounded(entries.len(), MAX_ENTRIES)?;
        let bytes: usize = entries.iter().map(Message::encoded_len).sum();
        if bytes > MAX_BYTES {
            let reason = format!("has {bytes} bytes in all; at most {MAX_BYTES} are allowed, in one call");
            return Err(Invalid::because(reason));
        }
        Ok(())
    };
    checked().at("entries")?;
    Ok(entries)
}
