//! The whole experiment: one arm after the other, each with a fresh receiver, and the count at the end of each.
//!
//! Owns whatever servers run at the moment, so that they can be ended politely after success, failure or Ctrl-C alike.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::arm::{self, Ran, Way};
use super::beliefs;
use super::invoice::Invoice;
use super::plan::{LATE, Plan};
use super::report::Report;
use super::servers::Deed;
use super::tally::{Tally, Word, believed};
use crate::support::outside::Receiver;
use crate::support::process::Programs;

/// What the experiment runs on.
#[derive(Debug)]
pub struct Stage {
    directory: PathBuf,
    programs: Programs,
    receiver: Option<Receiver>,
    deed: Option<Deed>,
}

impl Stage {
    /// `directory` is there and empty.
    pub fn new(directory: &Path, programs: Programs) -> Self {
        Self {
            directory: directory.to_owned(),
            programs,
            receiver: None,
            deed: None,
        }
    }

    /// Both arms. Call [`Stage::end`] after it, also where it failed or was cancelled.
    pub async fn run(&mut self, invoices: &[Invoice], plan: &Plan) -> anyhow::Result<Report> {
        let ran = self.arm(Way::Blind, plan).await?;
        let without = self.count(invoices, &believed(&ran), &ran).await?;
        self.end().await?;

        let ran = self.arm(Way::Guarded, plan).await?;
        let deed = self.deed.as_ref().context("the Deed server is gone")?;
        let beliefs = beliefs::ask(deed.url()).await?;
        let with = self.count(invoices, &beliefs.words, &ran).await?;
        self.end().await?;
        Ok(Report {
            without,
            with,
            explanations: beliefs.explanations,
        })
    }

    /// Ends what runs.
    pub async fn end(&mut self) -> anyhow::Result<()> {
        // SUBTLE: taken out before anything can fail; the one that does must not keep the other running.
        let (receiver, deed) = (self.receiver.take(), self.deed.take());
        let deed = match deed {
            Some(deed) => deed.stop().await,
            None => Ok(()),
        };
        if let Some(receiver) = receiver {
            receiver.stop().await?;
        }
        deed
    }

    async fn arm(&mut self, way: Way, plan: &Plan) -> anyhow::Result<Ran> {
        let directory = arm::directory(&self.directory, way)?;
        if way == Way::Guarded {
            let deed = self
                .deed
                .insert(Deed::start(&self.programs.deed_server, &directory)?);
            deed.ready().await.context("cannot start the Deed server")?;
        }
        let receiver = Receiver::start(
            &self.programs.receiver,
            &directory.join("receiver.log"),
            &plan.dials,
        )
        .await
        .context("cannot start the receiver")?;
        let receiver = self.receiver.insert(receiver);
        let crew = self.programs.worker.clone();
        arm::run(way, plan, crew, &directory, receiver, self.deed.as_mut()).await
    }

    async fn count(
        &self,
        invoices: &[Invoice],
        words: &HashMap<String, Word>,
        ran: &Ran,
    ) -> anyhow::Result<Tally> {
        // SUBTLE: the last worker may have been killed in the middle of a send. Nobody is told when its effect lands, but
        // the dials say when it has at the latest.
        tokio::time::sleep(LATE * 2).await;
        let receiver = self.receiver.as_ref().context("the receiver is gone")?.client()?;
        let ledger = receiver
            .ledger()
            .await
            .context("the receiver does not show its ledger")?;
        Ok(Tally::count(invoices, &ledger, words, ran))
    }
}
