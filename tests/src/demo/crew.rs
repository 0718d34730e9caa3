//! The worker processes of one arm: started, heard, killed and at once started again.
//!
//! Owns their lives. When to kill is the arm's part, what they do is `blind`'s and `guarded`'s.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::ensure;
use tokio::sync::mpsc;

use super::said::Finished;
use crate::support::process::{Process, Program};

/// The workers of one arm.
#[derive(Debug)]
pub struct Crew {
    program: Program,
    workers: Vec<Worker>,
    words: mpsc::UnboundedReceiver<Word>,
    /// For the readers of workers that are started later.
    mouth: mpsc::UnboundedSender<Word>,
}

/// How to start one worker.
#[derive(Clone, Debug)]
pub struct Post {
    pub name: String,
    pub arguments: Vec<OsString>,
    pub log: PathBuf,
}

#[derive(Debug)]
struct Worker {
    post: Post,
    /// None once it has ended by itself.
    process: Option<Process>,
    /// How many times it was started.
    life: u32,
}

/// A line of a worker, or its end.
#[derive(Debug)]
pub struct Word {
    worker: usize,
    life: u32,
    /// None at the end of its output.
    line: Option<String>,
}

impl Crew {
    pub fn start(program: Program, posts: Vec<Post>) -> anyhow::Result<Self> {
        let (mouth, words) = mpsc::unbounded_channel();
        let mut crew = Self {
            program,
            workers: Vec::new(),
            words,
            mouth,
        };
        for post in posts {
            crew.workers.push(Worker {
                post,
                process: None,
                life: 0,
            });
            crew.launch(crew.workers.len() - 1)?;
        }
        Ok(crew)
    }

    /// What came next from a worker; nothing once all have ended by themselves. Safe to cancel, so what it returns must go
    /// to [`Crew::take_in`].
    pub async fn listen(&mut self) -> Option<Word> {
        self.running().next()?;
        self.words.recv().await
    }

    /// What a word says; nothing where it is the end of a worker.
    pub async fn take_in(&mut self, word: Word) -> anyhow::Result<Option<(usize, Finished)>> {
        let Word { worker, life, line } = word;
        match line {
            // A worker that was killed since has said it all the same: it was finished.
            Some(line) => Ok(Finished::heard(&line).map(|finished| (worker, finished))),
            None if self.workers[worker].life == life => self.end(worker).await.map(|()| None),
            // The end of one that was killed.
            None => Ok(None),
        }
    }

    /// Kills a running worker and starts it again; says whether there was one.
    pub async fn strike(&mut self, number: u32) -> anyhow::Result<bool> {
        let running: Vec<usize> = self.running().collect();
        if running.is_empty() {
            return Ok(false);
        }
        let worker = running[usize::try_from(number)? % running.len()];
        if let Some(process) = &mut self.workers[worker].process {
            process.kill().await?;
        }
        self.launch(worker)?;
        Ok(true)
    }

    /// The names of those that are still at work.
    pub fn at_work(&self) -> Vec<&str> {
        self.running()
            .map(|worker| self.workers[worker].post.name.as_str())
            .collect()
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        let workers = self.workers.iter().enumerate();
        workers
            .filter(|(_, worker)| worker.process.is_some())
            .map(|(number, _)| number)
    }

    async fn end(&mut self, worker: usize) -> anyhow::Result<()> {
        if let Some(mut process) = self.workers[worker].process.take() {
            let status = process.ended().await?;
            ensure!(
                status.success(),
                "{} ended by itself with {status}; {}",
                self.workers[worker].post.name,
                process.last_words()
            );
        }
        Ok(())
    }

    fn launch(&mut self, number: usize) -> anyhow::Result<()> {
        let worker = &mut self.workers[number];
        let (process, mut lines) =
            self.program
                .start(&worker.post.name, &worker.post.arguments, &worker.post.log)?;
        worker.process = Some(process);
        worker.life += 1;
        let (life, mouth) = (worker.life, self.mouth.clone());
        tokio::spawn(async move {
            loop {
                // An output that cannot be read has ended as far as anybody can tell.
                let line = lines.next_line().await.ok().flatten();
                let end = line.is_none();
                let told = mouth.send(Word {
                    worker: number,
                    life,
                    line,
                });
                if end || told.is_err() {
                    return;
                }
            }
        });
        Ok(())
    }
}
