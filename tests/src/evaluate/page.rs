//! The page that tells the results, and the verdict: what makes a run worth nothing, or Deed's promise broken.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::choices;
use super::rows;
use super::run::{FIRST_SEED, Results, Scope, WORKERS_LEVEL};
use super::setting::{Arm, Cell, Keys, Lateness, Level, Trouble};
use super::tally::Tally;
use super::task::Task;

/// Why the run has failed; empty where it has not.
pub fn failures(results: &Results) -> Vec<String> {
    let mut failures = Vec::new();
    for level in results.scope.levels.iter().filter(|level| **level != Level::Calm) {
        let doubled = Task::ALL.iter().any(|&task| {
            let tally = results.tally(&rows::faults_cell(task, *level, Arm::Blind));
            tally.is_ok_and(|tally| tally.duplicated.hits > 0)
        });
        if !doubled {
            let level = level.name();
            failures.push(format!(
                "blind retry doubled nothing at the level {level}: the faults did not strike, so nothing was tested"
            ));
        }
    }
    for (cell, tally) in of_deed(results) {
        let (doubled, mistaken) = (tally.duplicated.hits, tally.mistaken.hits);
        match premise(cell) {
            Premise::Kept if doubled > 0 => {
                failures.push(format!("{doubled} episode(s) with a duplicate: {cell}"));
            }
            Premise::Kept if mistaken > 0 => {
                failures.push(format!("{mistaken} episode(s) believed wrongly: {cell}"));
            }
            Premise::Broken if doubled == 0 => {
                failures.push(format!(
                    "a broken premise showed no duplicate, so it was not broken: {cell}"
                ));
            }
            Premise::Kept | Premise::Broken => {}
        }
    }
    failures
}

/// Whether the receiver does what Deed was told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Premise {
    Kept,
    Broken,
}

fn premise(cell: &Cell) -> Premise {
    match cell.trouble {
        Trouble::LateCommits(Keys::Ignored, Lateness::BeyondWindow) => Premise::Broken,
        Trouble::Faults(_)
        | Trouble::LateCommits(Keys::Honoured, _)
        | Trouble::LateCommits(Keys::Ignored, Lateness::InWindow) => Premise::Kept,
    }
}

fn of_deed(results: &Results) -> impl Iterator<Item = (&Cell, &Tally)> {
    results.cells.iter().filter(|(cell, _)| cell.arm == Arm::Deed)
}

/// The tables alone, for a terminal.
pub fn tables(results: &Results) -> anyhow::Result<String> {
    let mut text = String::new();
    for task in Task::ALL {
        writeln!(
            text,
            "\n### `{}`\n\n{}",
            task.name(),
            rows::faults(results, task)?
        )?;
    }
    writeln!(
        text,
        "## Several workers at once\n\nThe level {}, which the paper tries with one worker only.\n\n{}",
        WORKERS_LEVEL.name(),
        rows::workers(results)?
    )?;
    writeln!(
        text,
        "## Commits that come late\n\nNot in the paper: the answer is not lost, the effect itself is late.\n\n{}",
        rows::late_commits(results)?
    )?;
    Ok(text)
}

/// The whole page; the plot lies beside it under `plot`.
pub fn page(results: &Results, command: &str, plot: &str) -> anyhow::Result<String> {
    let scope = &results.scope;
    let mut page = format!(
        "# The published experiment, with a third arm\n\n\
         *Written by `{command}`; do not edit.*\n\n\
         \"Verified Tool Calls Improve LLM Agent Reliability Under Non-Atomic Failures\" (arXiv 2608.02645) simulates agents \
         whose tool calls fail in four ways, and counts duplicated effects with and without a wrapper that looks before it \
         retries. Here a scripted agent does the same two tasks against a real HTTP receiver: with blind retry, with such a \
         wrapper, and with Deed (a real server on a private Postgres, the real client). The column *reported* quotes the \
         paper, as far as public readings of it agree; everything else was measured by the command above.\n\n\
         Seeds {FIRST_SEED} to {}: {} episodes in each cell of the first two tables; {} with several workers, {} with late \
         commits. Brackets are 95 % intervals (Wilson). *Added* is the median time beyond that of a blind agent to which \
         nothing happens. A debug build on a machine that may do other work: compare times with each other, not with \
         yours.\n\n\
         ![Duplicates, success, undecided and added latency for each arm and level]({plot})\n\n\
         ## The four faults\n",
        FIRST_SEED + scope.seeds.saturating_sub(1),
        scope.seeds,
        worker_seeds(scope),
        scope.late_seeds,
    );
    page.push_str(&tables(results)?);
    page.push_str("## Where Deed's number is not 0\n\n");
    page.push_str(&explained(results)?);
    page.push_str("\n## What the sources do not state, and we chose\n\n");
    for choice in choices::ours(&results.scope.scale) {
        writeln!(page, "- {choice}")?;
    }
    let (strays, sends) = strays(results);
    write!(
        page,
        "\n## What is repeatable\n\n\
         The seed decides every fault and when each worker starts. It does not decide how concurrent workers race (who \
         sends first, and so who meets which fault), nor how long anything takes: on a machine that stops for longer than \
         the margins above, a good answer may count as a timeout. With one worker the shares are the same in every run \
         but for that; the tables of several workers vary in the arms without Deed. In this run {strays} of {sends} sends timed out although \
         no fault struck them.\n",
    )?;
    Ok(page)
}

/// As people say it: 25, or 10 to 25.
fn worker_seeds(scope: &Scope) -> String {
    let seeds = || scope.workers.iter().map(|(_, seeds)| *seeds);
    match (
        seeds().min().unwrap_or_default(),
        seeds().max().unwrap_or_default(),
    ) {
        (least, most) if least == most => most.to_string(),
        (least, most) => format!("{least} to {most}"),
    }
}

/// Timeouts without a fault, and all sends, where that can be told.
fn strays(results: &Results) -> (u64, u64) {
    let told = results
        .cells
        .iter()
        .filter(|(cell, _)| cell.trouble.keys() == Keys::Ignored);
    told.fold((0, 0), |(strays, sends), (_, tally)| {
        (strays + tally.stray_timeouts, sends + tally.sends)
    })
}

fn explained(results: &Results) -> anyhow::Result<String> {
    let mut text = String::new();
    let broken: Vec<_> = of_deed(results)
        .filter(|(cell, _)| premise(cell) == Premise::Broken)
        .collect();
    let kept = of_deed(results).filter(|(cell, _)| premise(cell) == Premise::Kept);
    let doubled: Vec<_> = kept.filter(|(_, tally)| tally.duplicated.hits > 0).collect();
    if doubled.is_empty() {
        text.push_str(
            "**Duplicates** are 0 in every cell in which the receiver does what Deed was told of it.\n",
        );
    }
    for (cell, tally) in doubled {
        writeln!(
            text,
            "**Unexplained, and the run failed by it**: duplicates {} in {cell}.\n",
            rows::percent(tally.duplicated)
        )?;
    }
    if !broken.is_empty() {
        let shares = broken.iter();
        let shares = shares
            .map(|(cell, tally)| format!("{} in `{}`", rows::percent(tally.duplicated), cell.task.name()));
        writeln!(
            text,
            "\n**Duplicates are {} where commits come beyond the settle window and keys are ignored.** Deed looks when the \
             declared window is over, sees nothing, believes it and allows the retry; then the first effect arrives after \
             all. This is the one premise of `SERIALIZED`, and no service can replace it: the remedy is a settle window that \
             is true, or a receiver that honours keys (the same lateness doubles nothing there).",
            shares.collect::<Vec<_>>().join(" and ")
        )?;
    }
    let mut reasons: BTreeMap<(bool, &str), BTreeMap<&str, u32>> = BTreeMap::new();
    for (cell, tally) in of_deed(results) {
        for ((tool, why), count) in &tally.why_undecided {
            *reasons
                .entry((too_late(cell), why))
                .or_default()
                .entry(tool)
                .or_default() += count;
        }
    }
    for ((too_late, why), tools) in reasons {
        let count: u32 = tools.values().sum();
        let tools = tools.iter().map(|(tool, count)| format!("`{tool}` {count}"));
        let tools = tools.collect::<Vec<_>>().join(", ");
        let episodes = if too_late {
            " with commits beyond the settle window"
        } else {
            ""
        };
        writeln!(
            text,
            "\n**Undecided, `{why}`: {count} episode(s){episodes}** ({tools}). {}",
            meaning(too_late, why)
        )?;
    }
    text.push_str(
        "\n**Added latency** is the price of not guessing: an absence counts only after the settle window, so a step whose \
         first lookup finds nothing waits for it once. A step whose effect is seen at once waits for nothing.\n",
    );
    Ok(text)
}

fn too_late(cell: &Cell) -> bool {
    matches!(cell.trouble, Trouble::LateCommits(_, Lateness::BeyondWindow))
}

fn meaning(too_late: bool, why: &str) -> &'static str {
    match (too_late, why) {
        (true, "ATTEMPTS_EXHAUSTED") => {
            "Both attempts were looked for when their effect could not be seen yet, and both were believed absent by a settle \
             window that is not true. Nothing is sent a third time; a person finds the effect. Where keys are honoured it is \
             there once."
        }
        (_, "ATTEMPTS_EXHAUSTED") => {
            "Both sends are used up, and what they left is known: nothing. A conflict struck twice, or one send met a conflict \
             and the other was lost. More attempts in the contract would go on by themselves."
        }
        (_, "PARTIAL") => {
            "One part of the step is there, the other is not. The contract of a step that cannot be taken back stops then: \
             whether to send the rest is a person's decision (the wrapper just sends it). A step that can be taken back is \
             completed, unless both of its sends were used up before."
        }
        (_, "CONTRADICTION") => "Evidence contradicts itself, and Deed does not choose between the two.",
        (_, _) => "The action says why, and a person is needed.",
    }
}
