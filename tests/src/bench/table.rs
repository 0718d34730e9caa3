//! The table: one line for each row, medians, and for the rate also the least and the most of the rounds.

use std::fmt::Write;

use super::results::{DatabaseCost, Results, Row, Sample};

const HEAD: &str = "| row | a second (least–most) | p50 ms | p99 ms | p99.9 ms | µs client | µs server | µs Postgres | \
                    WAL bytes | transactions | statements | fsyncs | server MB |\n\
                    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";

type Figure = fn(&Sample) -> f64;
type Cost = fn(&DatabaseCost) -> Option<f64>;

/// The whole table as Markdown.
pub fn markdown(results: &Results) -> anyhow::Result<String> {
    let mut text = HEAD.to_owned();
    for row in &results.rows {
        line(&mut text, row)?;
    }
    for missing in &results.missing {
        writeln!(text, "\nNot measured: {missing}.")?;
    }
    Ok(text)
}

fn line(text: &mut String, row: &Row) -> anyhow::Result<()> {
    let busy =
        |figure: fn(&Sample) -> f64| move |sample: &Sample| (sample.per_second > 0.0).then(|| figure(sample));
    let rate = row.spread(busy(|sample| sample.per_second));
    let rate = rate.map(|rate| format!("{:.0} ({:.0}–{:.0})", rate.median, rate.least, rate.most));
    write!(text, "| `{}` | {}", row.name, shown(rate))?;
    let figures: [(Figure, usize); 6] = [
        (|sample| sample.p50, 2),
        (|sample| sample.p99, 2),
        (|sample| sample.p999, 2),
        (|sample| sample.client, 1),
        (|sample| sample.server, 1),
        (|sample| sample.postgres, 1),
    ];
    for (figure, digits) in figures {
        number(text, row.spread(busy(figure)).map(|spread| spread.median), digits)?;
    }
    let costs: [(Cost, usize); 4] = [
        (|cost| Some(cost.wal_bytes), 0),
        (|cost| Some(cost.transactions), 3),
        (|cost| cost.statements, 3),
        (|cost| Some(cost.syncs), 3),
    ];
    for (cost, digits) in costs {
        let spread = row.spread(|sample| cost(sample.database.as_ref()?));
        number(text, spread.map(|spread| spread.median), digits)?;
    }
    number(
        text,
        row.spread(|sample| sample.server_memory)
            .map(|spread| spread.most),
        0,
    )?;
    writeln!(text, " |")?;
    Ok(())
}

fn number(text: &mut String, value: Option<f64>, digits: usize) -> anyhow::Result<()> {
    write!(
        text,
        " | {}",
        shown(value.map(|value| format!("{value:.digits$}")))
    )?;
    Ok(())
}

fn shown(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}
