//! How far an arm is: a bar on a terminal, a plain line now and then where there is none.

use std::io::{IsTerminal, stdout};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Without a terminal a line is written for every such part of the work.
const PLAIN_LINES: usize = 5;

/// Shows one arm's way through its offers.
#[derive(Debug)]
pub struct Progress {
    title: &'static str,
    total: usize,
    /// None without a terminal.
    bar: Option<ProgressBar>,
    lines: usize,
}

impl Progress {
    pub fn start(title: &'static str, total: usize) -> anyhow::Result<Self> {
        let bar = if stdout().is_terminal() {
            let length = u64::try_from(total)?;
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stdout());
            bar.set_style(ProgressStyle::with_template(
                "{prefix:>13} [{bar:40}] {pos}/{len} offers, {elapsed}{msg}",
            )?);
            bar.set_prefix(title);
            Some(bar)
        } else {
            println!("{title}: {total} offers");
            None
        };
        Ok(Self {
            title,
            total,
            bar,
            lines: 0,
        })
    }

    /// So many offers are finished.
    pub fn reached(&mut self, finished: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(u64::try_from(finished).unwrap_or(u64::MAX));
            return;
        }
        let lines = finished * PLAIN_LINES / self.total.max(1);
        if lines > self.lines {
            self.lines = lines;
            println!("{}: {finished} of {} offers finished", self.title, self.total);
        }
    }

    /// Something happened that is worth a word.
    pub fn note(&self, note: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(format!(", {note}")),
            None => println!("{}: {note}", self.title),
        }
    }

    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish();
        }
    }
}
