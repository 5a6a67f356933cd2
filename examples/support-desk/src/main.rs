//! The application by itself: embeds the engine, sends to a testbed, and prints what the bot says beside what is true.
//!
//! Run it a second time on the same folder: every turn joins, and no ticket is opened again.

mod embedded;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use embedded::Embedded;
use factum::{Config, Factum};

const USAGE: &str = "usage: support-desk TESTBED_URL [FOLDER]";
/// How long tickets are followed.
const PATIENCE: Duration = Duration::from_secs(40);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let testbed = arguments.next().context(USAGE)?;
    let folder = PathBuf::from(
        arguments
            .next()
            .unwrap_or_else(|| "support-desk-data".to_owned()),
    );
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;

    let factum = Factum::sqlite(folder.join("factum.db"))
        .config(config(&testbed)?)
        .start()
        .await?;
    let desk = Embedded::new(factum.clone(), &testbed);
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let patience = || tokio::time::Instant::now() < deadline;
    support_desk::play(&desk, patience, |line| {
        // A reader that went away is no reason to leave a ticket unfollowed.
        let _ = writeln!(std::io::stdout(), "{}", line.print());
    })
    .await?;
    factum.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// The engine's configuration: one destination, and the customer's route while a colleague decides. The limits are short, since
/// a testbed on loopback answers at once.
fn config(testbed: &str) -> anyhow::Result<Config> {
    let text = format!(
        "[contact]\nsay = \"Please call 555-0100.\"\n\n\
         [destinations.helpdesk]\nprovider = \"testbed\"\nbase = \"{testbed}\"\naccount = \"testbed\"\n\
         limits = {{ answer_wait = \"1200 ms\", send_wait = \"2 s\", write = \"5 s\", linger = \"200 ms\", skew = \"100 ms\", \
         pause_margin = \"5 s\", backoff = \"100 ms\", backoff_max = \"2 s\" }}\n"
    );
    Ok(Config::parse("support-desk", &text)?)
}
