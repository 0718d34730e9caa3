//! Many calls of one kind in one message. Each is judged as if it had come alone, all of them at once; the answers are in
//! the order of the request.

use std::collections::HashMap;

use deed_core::command::Command;
use deed_core::id::ActionKey;
use deed_proto::v1;
use deed_proto::v1::batch_result::Result as Kind;
use futures::future::join_all;

use super::clock::Life;
use super::edge::{Edge, told};
use super::error::Failure;
use super::parse::calls::Call;
use super::parse::{At, batch};
use crate::auth::Caller;
use crate::service::Judge;
use crate::service::ledger::Ledger;

/// The entries about one action, in their order, each with its place in the request.
type Line = Vec<(usize, Command)>;

impl<J: Judge, L: Ledger> Edge<J, L> {
    /// `BatchClaim` and `BatchReport`.
    pub(super) async fn batch<M: Call>(
        &self,
        caller: &Caller,
        life: Life,
        entries: Vec<M>,
    ) -> Result<Vec<v1::BatchResult>, Failure> {
        let entries = batch::entries(entries)?;
        let mut results = vec![None; entries.len()];
        let mut lines: Vec<Line> = Vec::new();
        let mut line_of: HashMap<ActionKey, usize> = HashMap::new();
        for (index, (entry, result)) in entries.into_iter().zip(&mut results).enumerate() {
            match allowed(caller, entry, index) {
                Ok(command) => {
                    let line = *line_of.entry(command.key.clone()).or_insert(lines.len());
                    if line == lines.len() {
                        lines.push(Line::new());
                    }
                    lines[line].push((index, command));
                }
                Err(failure) => *result = Some(Kind::Error(failure.told().into())),
            }
        }
        let short = life.shortened();
        // SUBTLE: entries about one action wait for one another here. The committer keeps the order of what waits in a
        // lane, but not of what it has to try again or apart, and then a report would be judged before its claim.
        let judged = lines.into_iter().map(|line| async move {
            let mut answers = Vec::with_capacity(line.len());
            for (index, command) in line {
                let answer = self.entry(command, short).await.map(told);
                answers.push((
                    index,
                    answer.map_or_else(|failure| Kind::Error(failure.told().into()), Kind::Answer),
                ));
            }
            answers
        });
        for (index, result) in join_all(judged).await.into_iter().flatten() {
            results[index] = Some(result);
        }
        let results = results.into_iter().map(|result| v1::BatchResult { result });
        Ok(results.collect())
    }
}

fn allowed<M: Call>(caller: &Caller, entry: M, index: usize) -> Result<Command, Failure> {
    let command = entry
        .command(caller.principal().clone())
        .at_entry("entries", index)?;
    caller.may(M::RIGHT, &command.key.namespace)?;
    Ok(command)
}
