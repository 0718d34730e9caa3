//! One connection, driven by a task of its own that listens to what the server remarks.
//!
//! A remark matters during COMMIT: when the wait for the standby is cancelled, Postgres warns and then says that all is
//! well. The driver of the client library would only log it.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::database::Database;

/// A connection. Dropping it closes it, and the server rolls back what was open.
#[derive(Debug)]
pub struct Link {
    client: Client,
    warnings: Arc<Mutex<Option<String>>>,
}

impl Link {
    /// Connects to the first host that will have it.
    pub async fn open(database: &Database) -> Result<Self, tokio_postgres::Error> {
        let (client, mut connection) = database.config().connect(NoTls).await?;
        let warnings = Arc::new(Mutex::new(None));
        let heard = Arc::clone(&warnings);
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notice(notice) = message
                    && warns(&notice)
                {
                    let text = format!("{}: {}", notice.code().code(), notice.message());
                    tracing::warn!(notice = %text, "Postgres warns");
                    *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                }
            }
        });
        Ok(Self { client, warnings })
    }

    /// The connection's client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Takes the last warning since it was taken before.
    pub fn take_warning(&self) -> Option<String> {
        self.warnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// By the field that is not translated.
fn warns(notice: &DbError) -> bool {
    matches!(notice.parsed_severity(), Some(Severity::Warning) | None)
}
