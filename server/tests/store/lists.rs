//! Lists, pages, and what the sweeper finds.

use std::collections::BTreeSet;

use deed_core::action::{Flag, State};
use deed_core::command::{Ask, Decision};
use deed_core::id::ActionKey;
use deed_core::spec::Label;
use deed_core::text::{LabelKey, LabelValue, Namespace, Note, Owner};
use deed_server::service::ledger::{LeaseFilter, Ledger, ListFilter, Order};
use deed_server::store::{Reader, Session};
use deed_server::sweeper::Upkeep;

use crate::fixture::{Fixture, claim, command, completed, done, key, report, specification};

async fn pages(reader: &Reader, filter: &ListFilter, limit: u32) -> Vec<ActionKey> {
    let mut after = None;
    let mut keys = Vec::new();
    loop {
        let page = reader.list(filter, after.as_ref(), limit).await.unwrap();
        assert!(page.actions.len() <= usize::try_from(limit).unwrap());
        keys.extend(page.actions.iter().map(|action| action.key.clone()));
        if !page.more {
            return keys;
        }
        after = page.actions.last().map(|action| filter.order.position(action));
    }
}

async fn plan(session: &mut Session, id: &str) {
    let spec = Box::new(specification());
    done(session, &command(id, "w1", Ask::Plan { spec })).await;
}

#[tokio::test]
async fn every_row_is_on_exactly_one_page_in_every_order() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    for n in 0..23 {
        plan(&mut session, &format!("order-{n}")).await;
    }
    let reader = Reader::new(fixture.database.clone());
    let mut orders = Vec::new();
    for order in [Order::NewestFirst, Order::OldestFirst, Order::LongestInState] {
        let filter = ListFilter {
            order,
            ..ListFilter::default()
        };
        let keys = pages(&reader, &filter, 5).await;
        assert_eq!(keys.len(), 23);
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 23, "{order:?}");
        orders.push(keys);
    }
    orders[0].reverse();
    assert_eq!(orders[0], orders[1]);
    assert_eq!(orders[1][0], key("order-0"));
}

#[tokio::test]
async fn filters_find_what_they_name_and_nothing_else() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    plan(&mut session, "planned").await;
    done(&mut session, &claim("sent", "w2")).await;
    let held = done(&mut session, &claim("settled", "w1")).await.grant.unwrap();
    done(
        &mut session,
        &report("settled", "w1", held.token, completed("INV-1", b"x")),
    )
    .await;
    let assigned = done(&mut session, &claim("assigned_", "w3")).await;
    let assign = Ask::Decide {
        version: assigned.version,
        note: Note::none(),
        decision: Decision::Assign {
            assignee: Some(Owner::new("ann").unwrap()),
        },
    };
    done(&mut session, &command("assigned_", "operator", assign)).await;

    let reader = Reader::new(fixture.database.clone());
    let all = ListFilter {
        order: Order::OldestFirst,
        ..ListFilter::default()
    };
    let label = |value: &str| Label {
        key: LabelKey::new("run").unwrap(),
        value: LabelValue::new(value).unwrap(),
    };
    let kept = label("'; DROP TABLE actions; \u{200f}");
    let now = reader.now().await.unwrap();
    for (filter, expected) in [
        (all.clone(), vec!["planned", "sent", "settled", "assigned_"]),
        (
            ListFilter {
                states: vec![State::Sent],
                ..all.clone()
            },
            vec!["sent", "assigned_"],
        ),
        (
            ListFilter {
                tools: vec![specification().tool],
                id_prefix: "s".into(),
                ..all.clone()
            },
            vec!["sent", "settled"],
        ),
        (
            ListFilter {
                tools: vec![deed_core::text::Tool::new("other").unwrap()],
                ..all.clone()
            },
            vec![],
        ),
        (
            ListFilter {
                owner: Some(Owner::new("w2").unwrap()),
                ..all.clone()
            },
            vec!["sent"],
        ),
        (
            ListFilter {
                owner: Some(Owner::new("w1").unwrap()),
                ..all.clone()
            },
            vec![],
        ),
        (
            ListFilter {
                labels: vec![kept],
                states: vec![State::Planned],
                ..all.clone()
            },
            vec!["planned"],
        ),
        (
            ListFilter {
                labels: vec![label("other")],
                ..all.clone()
            },
            vec![],
        ),
        (
            ListFilter {
                lease: Some(LeaseFilter::Live),
                ..all.clone()
            },
            vec!["sent", "assigned_"],
        ),
        (
            ListFilter {
                lease: Some(LeaseFilter::Lapsed),
                ..all.clone()
            },
            vec![],
        ),
        (
            ListFilter {
                unclaimed_since: Some(now),
                ..all.clone()
            },
            vec!["planned"],
        ),
        (
            ListFilter {
                id_prefix: "assigned_".into(),
                ..all.clone()
            },
            vec!["assigned_"],
        ),
        (
            ListFilter {
                id_prefix: "%".into(),
                ..all.clone()
            },
            vec![],
        ),
        (
            ListFilter {
                assignee: Some(Owner::new("ann").unwrap()),
                ..all.clone()
            },
            vec!["assigned_"],
        ),
        (
            ListFilter {
                flags: vec![Flag::Ungated],
                ..all.clone()
            },
            vec![],
        ),
        (
            ListFilter {
                needs_operator: true,
                ..all.clone()
            },
            vec![],
        ),
    ] {
        let found = pages(&reader, &filter, 2).await;
        let found: Vec<_> = found.iter().map(|key| key.action_id.as_str()).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

#[tokio::test]
async fn the_sweeper_finds_what_time_has_decided_and_nothing_else() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let reader = Reader::new(fixture.database.clone());
    done(&mut session, &claim("live", "w1")).await;
    done(&mut session, &claim("lapsed", "w1")).await;
    plan(&mut session, "planned").await;
    assert_eq!(reader.lapsed(10).await.unwrap(), []);

    let psql = fixture.psql().await;
    psql.batch_execute("UPDATE actions SET lease_expires_at = lease_granted_at WHERE action_id = 'lapsed'")
        .await
        .unwrap();
    assert_eq!(reader.lapsed(10).await.unwrap(), [key("lapsed")]);
    let lapsed = ListFilter {
        lease: Some(LeaseFilter::Lapsed),
        ..ListFilter::default()
    };
    assert_eq!(pages(&reader, &lapsed, 10).await, [key("lapsed")]);

    let swept = done(&mut session, &command("lapsed", "sweeper", Ask::Sweep)).await;
    assert_eq!(swept.state, State::Unknown);
    assert_eq!(reader.lapsed(10).await.unwrap(), []);
    assert_eq!(
        pages(&reader, &lapsed, 10).await,
        [key("lapsed")],
        "written down, and still nobody's"
    );
}

#[tokio::test]
async fn an_action_is_read_with_its_result_and_the_time() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let reader = Reader::new(fixture.database.clone());
    assert!(reader.action(&key("order-1")).await.unwrap().is_none());
    let held = done(&mut session, &claim("order-1", "w1")).await.grant.unwrap();
    let settled = done(
        &mut session,
        &report("order-1", "w1", held.token, completed("INV-1", b"x")),
    )
    .await;
    let (read, now) = reader.action(&key("order-1")).await.unwrap().unwrap();
    assert!(now >= settled.since);
    assert_eq!(read, settled);
}

#[tokio::test]
async fn a_list_is_limited_to_what_its_caller_may_read() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    for namespace in ["bank", "farm", "shop"] {
        let spec = Box::new(specification());
        let mut plan = command("order-1", "w1", Ask::Plan { spec });
        plan.key.namespace = Namespace::new(namespace).unwrap();
        done(&mut session, &plan).await;
    }
    let reader = Reader::new(fixture.database.clone());
    for (readable, expected) in [
        (None, &["shop", "farm", "bank"][..]),
        (Some(&["shop", "bank", "elsewhere"][..]), &["shop", "bank"]),
        (Some(&[]), &[]),
    ] {
        let names = readable.map(|names| names.iter().map(|name| Namespace::new(*name).unwrap()).collect());
        let filter = ListFilter {
            readable: names,
            ..ListFilter::default()
        };
        let keys = pages(&reader, &filter, 1).await;
        let found: Vec<_> = keys.iter().map(|key| key.namespace.as_str()).collect();
        assert_eq!(found, expected);
    }
}
