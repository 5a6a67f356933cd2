//! The application by itself: publishes the approved sections of a changelog and shows what became of each announcement.
//!
//! It embeds the engine and sends to a testbed. Run it a second time on the same folder or database: nothing is announced again.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use factum::view::StatusView;
use factum::{Config, Factum, Filter};
use release_desk::{
    Channel, Note, PostgresDesk, Release, ReleaseDesk, Standing, approved_notes, status_line,
};

const USAGE: &str = "usage: release-desk TESTBED_URL CHANGELOG.md [FOLDER [DATABASE_URL]]";
/// How long announcements are followed before the lines are printed for the last time.
const PATIENCE: Duration = Duration::from_secs(40);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let testbed = arguments.next().context(USAGE)?;
    let changelog = PathBuf::from(arguments.next().context(USAGE)?);
    let folder = PathBuf::from(
        arguments
            .next()
            .unwrap_or_else(|| "release-desk-data".to_owned()),
    );
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;

    let (factum, mut desk) = match arguments.next() {
        Some(url) => Desk::on_postgres(&url, &testbed, &folder).await?,
        None => Desk::on_sqlite(&testbed, &folder).await?,
    };

    let text = std::fs::read_to_string(&changelog)
        .with_context(|| format!("cannot read {}", changelog.display()))?;
    for note in approved_notes(&text) {
        desk.publish(&note).await?;
    }
    follow(&factum, &desk).await?;
    factum.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// The application on either database.
enum Desk {
    Sqlite(ReleaseDesk),
    Postgres(PostgresDesk),
}

impl Desk {
    async fn on_sqlite(testbed: &str, folder: &Path) -> anyhow::Result<(Factum, Self)> {
        let app = folder.join("app.db");
        let desk = ReleaseDesk::open(&app, channel())?;
        let factum = Factum::sqlite(folder.join("factum.db"))
            .config(config(testbed, folder)?)
            .start()
            .await?;
        factum.outbox(&app).await?;
        Ok((factum, Self::Sqlite(desk)))
    }

    /// The engine's schema is in the application's database; the folder holds its keys.
    async fn on_postgres(
        url: &str,
        testbed: &str,
        folder: &Path,
    ) -> anyhow::Result<(Factum, Self)> {
        let factum = Factum::postgres(url)
            .config(config(testbed, folder)?)
            .start()
            .await?;
        let desk = PostgresDesk::open(url, channel()).await?;
        Ok((factum, Self::Postgres(desk)))
    }

    async fn publish(&mut self, note: &Note) -> anyhow::Result<bool> {
        Ok(match self {
            Self::Sqlite(desk) => desk.publish(note)?,
            Self::Postgres(desk) => desk.publish(note).await?,
        })
    }

    async fn releases(&self) -> anyhow::Result<Vec<Release>> {
        Ok(match self {
            Self::Sqlite(desk) => desk.releases()?,
            Self::Postgres(desk) => desk.releases().await?,
        })
    }
}

fn channel() -> Channel {
    Channel {
        destination: "announcements".to_owned(),
        operation: "lagging.sync".to_owned(),
    }
}

/// The engine's configuration: one destination. The limits are short, since a testbed on loopback answers at once.
fn config(testbed: &str, folder: &Path) -> anyhow::Result<Config> {
    let text = format!(
        "[store]\nfolder = {folder:?}\n[destinations.announcements]\nprovider = \"testbed\"\nbase = \"{testbed}\"\naccount = \"testbed\"\n\
         limits = {{ answer_wait = \"1200 ms\", send_wait = \"2 s\", write = \"5 s\", linger = \"200 ms\", skew = \"100 ms\", \
         pause_margin = \"5 s\", backoff = \"100 ms\", backoff_max = \"2 s\" }}\n"
    );
    Ok(Config::parse("release-desk", &text)?)
}

/// Prints a line whenever one changes, until every announcement rests or the patience is over.
async fn follow(factum: &Factum, desk: &Desk) -> anyhow::Result<()> {
    let mut changes = factum.engine().changes();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut shown = Vec::new();
    loop {
        let (lines, resting) = lines(factum, desk).await?;
        for line in lines.iter().filter(|line| !shown.contains(*line)) {
            writeln!(std::io::stdout(), "{line}")?;
        }
        shown = lines;
        if resting
            || tokio::time::timeout_at(deadline, changes.recv())
                .await
                .is_err()
        {
            return Ok(());
        }
    }
}

async fn lines(factum: &Factum, desk: &Desk) -> anyhow::Result<(Vec<String>, bool)> {
    let mut lines = Vec::new();
    let mut resting = true;
    for release in desk.releases().await? {
        let status = status(factum, &release).await?;
        resting &= release.refused.is_some() || status.as_ref().is_some_and(StatusView::rests);
        let standing = status.map_or(Standing::NotPickedUp, |status| Standing::Known {
            state: status.state.to_owned(),
            next: status.next.step.to_owned(),
            reference: status.receipt.map(|receipt| receipt.reference),
            because: status.because,
        });
        lines.push(format!(
            "{}: {}",
            release.name,
            status_line(&release, &standing)
        ));
    }
    Ok((lines, resting))
}

/// The engine is asked by the identity, not by what the outbox row says: the row may not have heard of it yet.
async fn status(factum: &Factum, release: &Release) -> anyhow::Result<Option<StatusView>> {
    let filter = Filter {
        key: Some(release.key.clone()),
        destination: Some(channel().destination),
        limit: 1,
        ..Filter::default()
    };
    Ok(factum.list(filter).await?.pop())
}
