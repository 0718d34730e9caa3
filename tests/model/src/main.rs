//! `model` explores the protocol's small worlds whole and prints what it found: the worlds in which every claim must hold,
//! and the traps in which a rule or a premise is missing and the checker must find it. It ends with a failure if a claim is
//! broken, a sight that a world owes is missing, or a trap finds nothing.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use deed_model::run::{Explored, Sprung, explore, spring};
use deed_model::{traps, worlds};

/// Explores small worlds of the protocol whole.
#[derive(Debug, Parser)]
struct Arguments {
    /// How much: quick takes seconds, full some minutes, deep as long as it takes.
    #[arg(long, value_enum, default_value_t = Size::Full)]
    size: Size,

    /// Only worlds and traps whose name has this in it.
    #[arg(long, default_value = "")]
    only: String,

    /// Print the way to what a trap finds.
    #[arg(long)]
    ways: bool,

    /// Threads of the checker; without it, one for each processor.
    #[arg(long)]
    threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Size {
    Quick,
    Full,
    Deep,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let began = Instant::now();
    let threads = match arguments.threads {
        Some(threads) => threads,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let size = match arguments.size {
        Size::Quick => worlds::Size::Quick,
        Size::Full => worlds::Size::Full,
        Size::Deep => worlds::Size::Deep,
    };
    let wanted = |name: &str| name.contains(&arguments.only);
    let (mut states, mut steps, mut failures) = (0, 0, 0);
    println!(
        "{:52}{:>12}{:>12}{:>7}{:>10}",
        "world", "states", "steps", "depth", "seconds"
    );
    for setting in worlds::all(size).iter().filter(|setting| wanted(setting.name)) {
        let explored = explore(setting, threads)?;
        (states, steps) = (states + explored.states, steps + explored.steps);
        failures += usize::from(!held(&explored));
    }
    println!();
    println!(
        "{:9}{:53}{:>12}{:>12}   claim that breaks, after so many steps",
        "trap", "what is taken out", "states with", "without"
    );
    let traps = [traps::rules(), traps::premises()].concat();
    for trap in traps
        .iter()
        .filter(|trap| wanted(trap.id) || wanted(trap.broken_by))
    {
        let sprung = spring(trap, threads)?;
        states += sprung.with.states + sprung.without.states;
        steps += sprung.with.steps + sprung.without.steps;
        failures += usize::from(!found(&sprung, arguments.ways));
    }
    println!();
    println!(
        "{states} states, {steps} steps, {:.1} s on {threads} threads; {failures} failures",
        began.elapsed().as_secs_f64()
    );
    Ok(if failures == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn held(explored: &Explored) -> bool {
    println!(
        "{:52}{:>12}{:>12}{:>7}{:>10.1}",
        explored.name,
        explored.states,
        explored.steps,
        explored.depth,
        explored.took.as_secs_f64()
    );
    if let Some((claim, way)) = &explored.broken {
        println!("  BROKEN: {claim}");
        print_way(way);
    }
    for sight in &explored.missing {
        println!("  NEVER SEEN: {sight:?}");
    }
    explored.broken.is_none() && explored.missing.is_empty()
}

fn found(sprung: &Sprung, ways: bool) -> bool {
    let outcome = match &sprung.without.broken {
        Some((claim, way)) => format!("{claim}, {}", way.len()),
        None => format!("NOT FOUND: {}", sprung.claim.name()),
    };
    println!(
        "{:9}{:53}{:>12}{:>12}   {outcome}",
        sprung.id, sprung.broken_by, sprung.with.states, sprung.without.states
    );
    if let Some((_, way)) = &sprung.with.broken {
        println!("  BROKEN ALSO WITH IT:");
        print_way(way);
    }
    if let (true, Some((_, way))) = (ways, &sprung.without.broken) {
        print_way(way);
    }
    sprung.shown()
}

fn print_way(way: &[String]) {
    for step in way {
        println!("      {step}");
    }
}
