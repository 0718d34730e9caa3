//! What an error says besides its code: exactly one ErrorInfo of the domain `deed`, and when to come back.

use std::time::Duration;

use anyhow::{Context, ensure};
use tonic::Status;
use tonic_types::{ErrorDetail, ErrorDetails, StatusExt};

pub fn details(status: &Status) -> anyhow::Result<ErrorDetails> {
    let infos = status.get_error_details_vec();
    let infos = infos
        .iter()
        .filter(|detail| matches!(detail, ErrorDetail::ErrorInfo(info) if info.domain == "deed"));
    ensure!(infos.count() == 1, "not one ErrorInfo: {status:?}");
    Ok(status.get_error_details())
}

pub fn reason(status: &Status) -> anyhow::Result<String> {
    let details = details(status)?;
    Ok(details.error_info().context("no ErrorInfo")?.reason.clone())
}

/// The field that it names.
pub fn field(status: &Status) -> anyhow::Result<String> {
    let details = details(status)?;
    let info = details.error_info().context("no ErrorInfo")?;
    let field = info.metadata.get("field");
    field
        .cloned()
        .with_context(|| format!("no field is named: {status:?}"))
}

pub fn retry_after(status: &Status) -> anyhow::Result<Duration> {
    let details = details(status)?;
    let retry = details.retry_info().and_then(|info| info.retry_delay);
    retry.with_context(|| format!("no RetryInfo: {status:?}"))
}
