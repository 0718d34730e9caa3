//! Sessions against real servers: what is under way when a stream breaks comes about once.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use deed_client::{Deed, v1};
use deed_tests::support::proxy::{Proxy, Weather};
use deed_tests::support::server::Options;
use deed_tests::support::work::{NAMESPACE, Work, request_id};
use tokio::task::JoinSet;
use v1::next_step::Kind;

use crate::{Field, deduplicated, ms, within};

/// As many as make it certain that some are under way whenever something breaks.
const CLAIMS: usize = 400;

fn deed(url: &str) -> anyhow::Result<Deed> {
    let builder = Deed::builder().namespace(NAMESPACE).owner("w1");
    let builder = builder.patience(Duration::from_secs(25)).call_timeout(ms(1_000));
    Ok(builder.connect(url)?)
}

fn claim(work: &Work) -> v1::ClaimRequest {
    v1::ClaimRequest {
        key: Some(work.key.clone()),
        request_id: request_id(),
        specification: Some(work.specification.clone()),
        begin: true,
        ..v1::ClaimRequest::default()
    }
}

fn execute(answer: Option<v1::Answer>) -> anyhow::Result<v1::Execute> {
    match answer
        .and_then(|answer| answer.next_step)
        .and_then(|step| step.kind)
    {
        Some(Kind::Execute(execute)) => Ok(execute),
        other => anyhow::bail!("this is no grant to execute: {other:?}"),
    }
}

/// The first calls go alone, and open the session.
async fn warm(deed: &Deed) -> anyhow::Result<()> {
    for _ in 0..20 {
        deed.calls().claim(claim(&Work::fresh(&deduplicated()))).await?;
    }
    Ok(())
}

type Granted = HashMap<String, u64>;

/// Claims many actions at once; the token of each by its action.
fn claiming(deed: &Deed) -> JoinSet<anyhow::Result<(String, u64)>> {
    let mut claims = JoinSet::new();
    for _ in 0..CLAIMS {
        let (deed, work) = (deed.clone(), Work::fresh(&deduplicated()));
        claims.spawn(async move {
            let answer = deed.calls().claim(claim(&work)).await?.answer;
            Ok((work.id().to_owned(), execute(answer)?.fencing_token))
        });
    }
    claims
}

async fn granted(mut claims: JoinSet<anyhow::Result<(String, u64)>>) -> anyhow::Result<Granted> {
    let mut granted = Granted::new();
    while let Some(claimed) = within("a claim", claims.join_next()).await? {
        let (id, token) = claimed??;
        granted.insert(id, token);
    }
    Ok(granted)
}

/// Every action was granted once, with the token that its caller has.
async fn granted_once(field: &Field, granted: &Granted) -> anyhow::Result<()> {
    ensure!(granted.len() == CLAIMS);
    let screen = field.worker("screen")?.screen();
    for (id, token) in granted {
        let work = Work::new(id, &deduplicated());
        let events = screen.events(&work).await?;
        let grants: Vec<_> = events
            .iter()
            .filter(|event| event.kind() == v1::EventKind::Granted)
            .collect();
        ensure!(
            grants.len() == 1 && grants[0].fencing_token == *token,
            "{id}: {events:#?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn claims_under_way_when_their_connection_is_cut_are_granted_once_under_one_token() -> anyhow::Result<()>
{
    let field = Field::start().await?;
    let proxy = Proxy::start(field.server().address).await?;
    let deed = deed(&proxy.url())?;
    warm(&deed).await?;
    // The claims arrive, their answers do not.
    proxy.weather_for_present(Weather::RepliesLost);
    let claims = claiming(&deed);
    let screen = field.psql().await?;
    deed_tests::support::until(crate::PATIENCE, "some claims are committed", || async {
        let row = screen.query_one("SELECT count(*) FROM actions", &[]).await?;
        Ok(row.get::<_, i64>(0) > 50)
    })
    .await?;
    proxy.weather_for_present(Weather::Cut);
    granted_once(&field, &granted(claims).await?).await
}

#[tokio::test]
async fn claims_under_way_when_the_server_is_killed_are_granted_once_by_the_next() -> anyhow::Result<()> {
    let mut field = Field::start().await?;
    let address = field.server().address;
    let deed = deed(&field.server().url())?;
    warm(&deed).await?;
    let claims = claiming(&deed);
    field.servers[0].kill().await?;
    field.servers.clear();
    field.add(Options::default().on(address)).await?;
    granted_once(&field, &granted(claims).await?).await
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_answers_the_session_and_ends() -> anyhow::Result<()> {
    let mut field = Field::with_servers(2).await?;
    let (first, second) = (field.servers[0].address, field.servers[1].address);
    let proxy = Proxy::among(vec![first, second]).await?;
    let deed = deed(&proxy.url())?;
    warm(&deed).await?;
    let claims = claiming(&deed);
    field.servers[0].terminate()?;
    let ended = within("the server's end", field.servers[0].ended()).await??;
    ensure!(ended.success(), "{ended}");
    let granted = granted(claims).await?;
    field.servers.remove(0);
    granted_once(&field, &granted).await
}

#[tokio::test]
async fn a_batch_is_answered_in_order_and_an_action_twice_in_it_as_two_calls() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let deed = deed(&field.server().url())?;
    let works: Vec<_> = (0..600).map(|_| Work::fresh(&deduplicated())).collect();
    let mut claims = Vec::new();
    for work in &works {
        claims.push(claim(work));
        // The same action, for somebody else.
        claims.push(v1::ClaimRequest {
            owner: "w2".to_owned(),
            ..claim(work)
        });
    }
    claims[3].specification = None;
    let answers = within("the claims", deed.calls().claim_many(claims)).await?;
    let mut reports = Vec::new();
    for (index, (work, pair)) in works.iter().zip(answers.chunks(2)).enumerate() {
        let first = pair[0]
            .as_ref()
            .ok()
            .cloned()
            .context("the first was not judged")?;
        let token = execute(Some(first))?.fencing_token;
        match &pair[1] {
            Err(error) => ensure!(index == 1 && error.reason() == Some("INVALID_FIELD"), "{error}"),
            Ok(second) => {
                let kind = second.next_step.as_ref().and_then(|step| step.kind.as_ref());
                ensure!(
                    matches!(kind, Some(Kind::Held(held)) if held.owner == "w1"),
                    "{second:?}"
                );
            }
        }
        reports.push(v1::ReportRequest {
            key: Some(work.key.clone()),
            request_id: request_id(),
            fencing_token: token,
            receipt: Some(deed_client::Receipt::completed(work.id()).to_wire()),
            ..v1::ReportRequest::default()
        });
    }
    let settled = within("the reports", deed.calls().report_many(reports)).await?;
    for (work, answer) in works.iter().zip(settled) {
        let kind = answer?.next_step.and_then(|step| step.kind);
        ensure!(
            matches!(&kind, Some(Kind::Settled(settled)) if settled.external_id == work.id()),
            "{kind:?}"
        );
    }
    Ok(())
}
