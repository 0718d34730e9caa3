//! An empty database for each test: on the run's shared Postgres, or on one of its own.

use std::env;

use deed_server::postgres::{Cluster, Options};
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

/// Address of a Postgres that is shared by a whole run.
const SHARED: &str = "DEED_TEST_POSTGRES";

pub struct Database {
    pub url: String,
    _own: Option<Cluster>,
}

impl Database {
    pub async fn empty() -> Self {
        let name = format!("program_{}", Uuid::new_v4().simple());
        match env::var(SHARED) {
            Ok(admin) if !admin.is_empty() => {
                let client = connect(&admin).await;
                let make = format!("CREATE DATABASE {name}");
                client.batch_execute(&make).await.unwrap();
                let server = admin.rsplit_once('/').unwrap().0;
                let url = format!("{server}/{name}");
                Self { url, _own: None }
            }
            Ok(_) | Err(_) => Self::own(&name, Options::ephemeral()).await,
        }
    }

    /// On a Postgres that nobody else uses.
    pub async fn own(name: &str, options: Options) -> Self {
        let cluster = Cluster::start(options).await.unwrap();
        cluster.create_database(name).await.unwrap();
        Self {
            url: cluster.url(name),
            _own: Some(cluster),
        }
    }

    /// A session of somebody else's.
    pub async fn psql(&self) -> Client {
        connect(&self.url).await
    }
}

pub async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
