//! Charges one order, once, however often this runs and however many run at a time. Needs a server: `deed-server dev`.
//! Its receiver is a directory that honours idempotency keys: one file for each charge.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use deed_client::{Contract, Deed, Observation, Outcome, Receipt, hours, seconds};
use serde::Serialize;

#[derive(Serialize)]
struct Charge {
    order: &'static str,
    cents: u64,
}

/// The receiver does it, or answers a second time as it did the first.
async fn send(file: PathBuf, charge: &Charge) -> io::Result<Receipt> {
    match fs::File::create_new(&file) {
        Ok(ledger) => serde_json::to_writer(ledger, charge)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(Receipt::completed(name(&file)).with_result("charged"))
}

/// Did it happen?
async fn look_up(file: PathBuf) -> io::Result<Observation> {
    Ok(match fs::exists(&file)? {
        true => Observation::confirmed(name(&file)),
        false => Observation::not_found(),
    })
}

fn name(file: &Path) -> String {
    file.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::var("DEED_URL").unwrap_or_else(|_| "http://127.0.0.1:7717".to_owned());
    let receiver = env::temp_dir().join("deed-example-charges");
    fs::create_dir_all(&receiver)?;

    // DEED_TOKEN, DEED_CA_FILE and their like, where the server asks who calls.
    let deed = Deed::builder().credentials_from_env().connect(&url)?;
    let charge = Charge {
        order: "4821",
        cents: 3_000,
    };
    let outcome = deed
        .action("order-4821/charge")
        .tool("charge_card")
        .input(&charge)?
        .contract(Contract::idempotency_key(hours(24)).verified(seconds(0)))
        .perform(
            |grant| send(receiver.join(grant.outward_key()), &charge),
            |lookup| look_up(receiver.join(lookup.outward_key())),
        )
        .await?;
    match outcome {
        Outcome::Settled(settled) => println!("{:?}, charge {}", settled.state, settled.external_id),
        Outcome::Blocked(blocked) => println!("a person is needed: {:?}, {}", blocked.reason, blocked.detail),
        Outcome::Pending(pending) => println!("not decided yet: {pending:?}"),
    }
    deed.shutdown().await;
    Ok(())
}
