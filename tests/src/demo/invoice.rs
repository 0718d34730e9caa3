//! The work of the demo: invoices, one JSON object a line, read from any file that has the same shape.
//!
//! Owns what an invoice is and what effect it asks for. Who is offered which one is `plan`'s part.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::receiver::{EffectRequest, LookupRequest};

/// The tool of every action of the demo, and the kind of its effect in the receiver.
pub const TOOL: &str = "create_invoice";

/// One invoice that has to be created in the receiver, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invoice {
    /// Chosen by the business before anybody acts; the action id is made of it.
    pub invoice_id: String,
    pub customer: String,
    pub amount_cents: i64,
    pub currency: String,
    /// For people; no part of the invoice's identity.
    #[serde(default)]
    pub note: String,
}

impl Invoice {
    /// The fields that make two inputs the same; whoever rewords the note still means the same invoice.
    pub const IDENTITY: [&'static str; 4] = ["invoice_id", "customer", "amount_cents", "currency"];

    /// The same for every worker and every try.
    pub fn action_id(&self) -> String {
        format!("{}/create", self.invoice_id)
    }

    pub fn effect(&self) -> EffectRequest {
        EffectRequest {
            business_id: self.invoice_id.clone(),
            kind: TOOL.to_owned(),
            amount: Some(self.amount_cents),
            ..EffectRequest::default()
        }
    }

    pub fn lookup(&self) -> LookupRequest {
        LookupRequest {
            business_id: self.invoice_id.clone(),
            kind: Some(TOOL.to_owned()),
            ..LookupRequest::default()
        }
    }
}

/// Reads at most `limit` invoices.
pub fn read(path: &Path, limit: Option<usize>) -> anyhow::Result<Vec<Invoice>> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the invoices in {}", path.display()))?;
    let mut seen = HashSet::new();
    let mut invoices = Vec::new();
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    for (index, line) in lines.take(limit.unwrap_or(usize::MAX)) {
        let place = || format!("{} line {}", path.display(), index + 1);
        let invoice: Invoice = serde_json::from_str(line).with_context(|| {
            format!(
                "{} is no invoice; it needs invoice_id, customer, amount_cents and currency",
                place()
            )
        })?;
        ensure!(!invoice.invoice_id.is_empty(), "{}: invoice_id is empty", place());
        if !seen.insert(invoice.invoice_id.clone()) {
            // Two lines with one id would be one effect, and the count of what was asked for would be wrong.
            bail!("{}: {} has been there before", place(), invoice.invoice_id);
        }
        invoices.push(invoice);
    }
    ensure!(!invoices.is_empty(), "{} holds no invoice", path.display());
    Ok(invoices)
}

/// Writes one worker's offers for it to read.
pub fn write(path: &Path, invoices: &[Invoice]) -> anyhow::Result<()> {
    let mut text = String::new();
    for invoice in invoices {
        text.push_str(&serde_json::to_string(invoice)?);
        text.push('\n');
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn a_limit_takes_the_first_ones() {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/invoices.jsonl");
        assert_eq!(read(&shipped, None).unwrap().len(), 500);
        let few = read(&shipped, Some(3)).unwrap();
        assert_eq!(few.last().unwrap().invoice_id, "INV-2026-00003");
    }

    #[test]
    fn a_line_that_is_no_invoice_and_an_id_that_comes_twice_are_named_with_their_line() {
        let good = r#"{"invoice_id":"A","customer":"c","amount_cents":1,"currency":"EUR"}"#;
        let broken = file(&format!("{good}\n\n{{\"invoice_id\":\"B\"}}\n"));
        assert!(
            read(broken.path(), None)
                .unwrap_err()
                .to_string()
                .contains("line 3")
        );
        let twice = file(&format!("{good}\n{good}\n"));
        assert!(
            read(twice.path(), None)
                .unwrap_err()
                .to_string()
                .contains("line 2")
        );
        assert!(read(file("").path(), None).is_err());
    }
}
