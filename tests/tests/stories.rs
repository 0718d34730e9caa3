//! The protocol stories: every script of `tests/stories`, against the core and against a server.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{self, Poll, Waker};

use anyhow::{Context, Result, bail, ensure};
use deed_tests::story::{Memory, Served, Story, Told, Transcript, parse, play};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("stories")
}

fn story(name: &str) -> Result<Story> {
    let path = directory().join(name).with_extension("story");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    parse(name, &text)
}

/// The core waits for nothing, so its future is ready at once.
fn at_once<T>(future: impl Future<Output = T>) -> Result<T> {
    match pin!(future).poll(&mut task::Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => bail!("the core waited for something"),
    }
}

fn in_the_core(name: &str) -> Result<Transcript> {
    let story = story(name)?;
    at_once(play(&story, &mut Memory::default()))?.with_context(|| story.title.clone())
}

async fn on_a_server(name: &str) -> Result<()> {
    let story = story(name)?;
    let mut server = Served::start().await?;
    let told = play(&story, &mut server)
        .await
        .with_context(|| story.title.clone())?;
    let differences = differences(name, &in_the_core(name)?, &told);
    ensure!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

/// One module for every script; a script that is not listed fails `every_script_is_played`.
macro_rules! stories {
    ($($name:ident)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];

        $(mod $name {
            #[test]
            fn holds_in_the_core() -> anyhow::Result<()> {
                super::in_the_core(stringify!($name)).map(drop)
            }
        })*
    };
}

stories! {
    a01_failure_before_the_send
    a02_timeout_after_the_send
    a03_delayed_read
    a04_partial_effect
    a05_two_workers_one_action
    a06_same_id_other_input
    a07_immediate_success
    a08_receivers_limit
    a09_asynchronous
    a10_approval_missing
    a12_right_effect_wrong_place
    a13_job_runs_long_then_fails
    a14_webhook
    a15_odd_text
    b01_lease_shorter_than_the_work
    b03_old_owner_completes
    b04_late_heartbeat
    b08_lease_counted_from_the_grant
    b13_lapse_is_not_nothing
    b15_missing_key
    b16_other_payload
    b19_lost_answers
    b20_tenants_collide
    b23_client_timeout
    b24_same_instant_same_worker
    b26_late_older_event
    b27_late_result_is_kept
    b28_acceptance_is_no_effect
    b29_early_absence
    b30_partial_batch
    b42_worker_name_reused
    c01_resend_does_not_disprove_the_first
    c02_failure_of_an_older_attempt
    c03_slow_commit
    c05_repeated_early_absence
    c06_fenced_late_owner
    c07_operator_before_the_quiet_time
    c08_partial_in_flight
    c09_repeat_after_the_lapse
    c10_lost_grant
    c11_resend_at_the_windows_end
    c12_completed_but_absent
    c13_lookup_in_the_middle_of_the_send
    c14_one_effect_one_action
    c15_delayed_copy_of_a_claim
    c16_operator_under_renewals
    c17_accepted_and_queued
    c18_unknown_before_the_told_lease_end
    c19_unknown_without_begin
    c21_late_completed_before_the_retry
}

#[test]
fn every_script_is_played() {
    let mut scripts: Vec<String> = fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "story"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    scripts.sort();
    assert_eq!(scripts, LISTED);
}

/// The traps that only a store can fall into, each on a server of its own.
macro_rules! on_servers {
    ($($name:ident)*) => {
        $(#[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            super::on_a_server(stringify!($name)).await
        })*
    };
}

mod on_a_server_of_its_own {
    on_servers! {
        b19_lost_answers
        c03_slow_commit
        c05_repeated_early_absence
        c07_operator_before_the_quiet_time
        c09_repeat_after_the_lapse
        c11_resend_at_the_windows_end
        c15_delayed_copy_of_a_claim
        c16_operator_under_renewals
    }
}

/// All stories on one server, one after the other: every field of every answer, of every action at its end and of every
/// event, tokens and times included. The clock is the story's, so the same commands at the same times must be answered
/// alike.
#[tokio::test]
async fn the_servers_answers_equal_the_cores() -> Result<()> {
    let mut server = Served::start().await?;
    let mut found = Vec::new();
    for name in LISTED {
        match play(&story(name)?, &mut server).await {
            Ok(told) => found.extend(differences(name, &in_the_core(name)?, &told)),
            Err(error) => found.push(format!("{name}, {error:#}")),
        }
    }
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

fn differences(name: &str, core: &Transcript, server: &Transcript) -> Vec<String> {
    let lines = core.iter().zip(server);
    let differing = lines.filter(|((_, core), (_, server))| core != server);
    let mut found: Vec<String> = differing
        .map(|((line, core), (_, server))| format!("{name}, {line}\n{}", compared(core, server)))
        .collect();
    if core.len() != server.len() {
        found.push(format!(
            "{name}: {} lines in the core, {} on the server",
            core.len(),
            server.len()
        ));
    }
    found
}

/// What both told, where it differs.
fn compared(core: &[Told], server: &[Told]) -> String {
    let mut lines = String::new();
    for at in 0..core.len().max(server.len()) {
        let (core, server) = (core.get(at), server.get(at));
        if core != server {
            let text = |told: Option<&Told>| told.map_or("nothing".to_owned(), ToString::to_string);
            lines.push_str(&format!("  core:   {}\n  server: {}\n", text(core), text(server)));
        }
    }
    lines
}
