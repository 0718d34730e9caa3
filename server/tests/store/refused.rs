//! A COMMIT that Postgres refuses.

use std::collections::HashSet;

use deed_server::store::{Error, Session};
use tokio_postgres::Client;

use crate::fixture::{Fixture, carry, claim, done, look};

/// Makes every COMMIT of a new action named `order-refused` fail. The check waits for the COMMIT, as nothing of Deed does.
const REFUSE: &str = "
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = TG_ARGV[0]; END $$;
    CREATE CONSTRAINT TRIGGER refuse_constraint AFTER INSERT ON actions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.action_id = 'refused') EXECUTE FUNCTION refuse('23514');
    CREATE CONSTRAINT TRIGGER refuse_oddly AFTER INSERT ON actions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.action_id = 'odd') EXECUTE FUNCTION refuse('P0001');
";

/// The store's connections to this database.
async fn connections(psql: &Client) -> HashSet<i32> {
    let pids = "SELECT pid FROM pg_stat_activity
                WHERE application_name = 'deed-server' AND datname = current_database()";
    let rows = psql.query(pids, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn refused(session: &mut Session, action_id: &str) -> Error {
    carry(session, &claim(action_id, "w1")).await.unwrap_err()
}

#[tokio::test]
async fn a_refused_commit_keeps_its_connection_and_one_in_doubt_does_not() {
    let fixture = Fixture::migrated().await;
    let psql = fixture.psql().await;
    psql.batch_execute(REFUSE).await.unwrap();
    let mut session = fixture.session();
    done(&mut session, &claim("first", "w1")).await;
    let before = connections(&psql).await;

    let error = refused(&mut session, "refused").await;
    assert!(
        matches!(error, Error::Determinate { transient: false, .. }),
        "{error:?}"
    );
    done(&mut session, &claim("second", "w1")).await;
    assert_eq!(connections(&psql).await, before, "the same one goes on");
    assert_eq!(look(&mut session, "refused").await.0, None, "nothing was written");

    // Nobody has argued about this code at COMMIT.
    let error = refused(&mut session, "odd").await;
    assert!(matches!(error, Error::Indeterminate { .. }), "{error:?}");
    done(&mut session, &claim("third", "w1")).await;
    assert!(connections(&psql).await.is_disjoint(&before), "a new one");
}
