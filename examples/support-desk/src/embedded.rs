//! The bot's desk over the embedded library, and a look into the testbed's ledger beside it.

use std::time::Duration;

use factum::view::StatusView;
use factum::{ActionId, Factum};
use serde_json::{Value, json};
use support_desk::{Desk, Standing, Ticket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long one wait for news lasts.
const MOMENT: Duration = Duration::from_millis(200);

/// The library, embedded.
pub(crate) struct Embedded {
    factum: Factum,
    testbed: String,
}

impl Embedded {
    pub(crate) fn new(factum: Factum, testbed: &str) -> Self {
        Self {
            factum,
            testbed: testbed.trim_start_matches("http://").to_owned(),
        }
    }
}

impl Desk for Embedded {
    async fn submit(&self, ticket: &Ticket) -> anyhow::Result<Standing> {
        let action = self
            .factum
            .action("helpdesk", "lookup.sync")
            .key(&ticket.key);
        let submitted = action
            .payload(json!({"business": ticket.key, "subject": ticket.subject}))
            .summary(&ticket.subject)
            .conversation(&ticket.conversation, ticket.turn, &ticket.asked)
            .submit()
            .await?;
        Ok(standing(submitted.status))
    }

    async fn news(&self, last: &Standing) -> anyhow::Result<Standing> {
        let id: ActionId = last.id.parse()?;
        // Listen first and look then, so that no change falls between the two.
        let mut changes = self.factum.engine().changes();
        let now = standing(self.factum.status(id).await?);
        if now.say != last.say {
            return Ok(now);
        }
        let changed =
            async { while changes.recv().await.is_ok_and(|change| change.action != id) {} };
        // Without a change within the moment it stands as before.
        let _ = tokio::time::timeout(MOMENT, changed).await;
        Ok(standing(self.factum.status(id).await?))
    }

    async fn held(&self, key: &str) -> Option<u64> {
        let counts = get(
            &self.testbed,
            &format!("/ledger/counts?business={}", key.replace('/', "%2F")),
        )
        .await
        .ok()?;
        counts["total_effects"].as_u64()
    }
}

fn standing(status: StatusView) -> Standing {
    Standing {
        rests: status.rests(),
        id: status.id,
        joined: status.joined,
        state: status.state.to_owned(),
        say: status.statement.say,
        contact: status.contact.map(|contact| contact.say),
    }
}

/// One GET from the testbed, whose answers have a length and end with the connection.
async fn get(host: &str, target: &str) -> anyhow::Result<Value> {
    let mut stream = TcpStream::connect(host).await?;
    stream
        .write_all(
            format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
        .await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| anyhow::anyhow!("no answer"))?;
    Ok(serde_json::from_str(body)?)
}
