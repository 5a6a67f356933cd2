//! The two stories, told over the HTTP API against the engine that is being killed: the Release Desk and the Support desk.
//!
//! They are the example applications themselves. Here they only get their engine, and somewhere to print to.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use factum_testbed::{Event, Filter, Kind, LedgerView, Mode};
use release_desk::{
    Channel, Note, Release, ReleaseDesk, Standing as Announcement, approved_notes, status_line,
};
use serde_json::{Value, json};
use support_desk::{Desk, Standing, Ticket, script};
use tokio::time::Instant;

use super::setting::{ANNOUNCEMENTS, HELPDESK};
use super::show::Screen;
use crate::trial::api::{Api, rests, text};
use crate::trial::memory::Memory;

/// The release notes that are announced: this project's own.
const CHANGELOG: &str = include_str!("../../../../CHANGELOG.md");
/// So many of them at the most: the changelog grows, and the story need not.
const NOTES_MAX: usize = 6;
/// How long one wait for news lasts, in seconds.
const MOMENT: u64 = 1;

/// How soon it is looked again whether an intent was picked up.
const PICK_UP: Duration = Duration::from_millis(50);

/// How often the colleague looks after one announcement: what is sent again may lose its answer again.
const LOOKS: usize = 3;

/// What both stories need.
pub(super) struct Stage<'a> {
    pub(super) api: &'a Api,
    pub(super) memory: &'a Memory,
    pub(super) ledger: LedgerView,
    pub(super) screen: &'a Screen,
    /// When they have to end.
    pub(super) deadline: Instant,
}

/// How many actions the stories make.
pub(super) fn actions() -> usize {
    notes().len() + script().len()
}

/// The newest approved notes.
fn notes() -> Vec<Note> {
    let mut notes = approved_notes(CHANGELOG);
    notes.truncate(NOTES_MAX);
    notes
}

/// Makes the Release Desk's file. That has to be before the engine starts, which picks the outbox up from there.
pub(super) fn release_desk(file: &Path) -> anyhow::Result<ReleaseDesk> {
    let channel = Channel {
        destination: ANNOUNCEMENTS.to_owned(),
        operation: "lagging.sync".to_owned(),
    };
    ReleaseDesk::open(file, channel).context("the Release Desk's file cannot be opened")
}

impl Stage<'_> {
    /// Publishes every approved note, and follows its announcement until it rests.
    pub(super) async fn releases(&self, desk: &mut ReleaseDesk) -> anyhow::Result<()> {
        for note in &notes() {
            desk.publish(note)?;
        }
        let releases = desk.releases()?;
        for release in &releases {
            self.memory.expect(&release.key, Kind::Lagging, Mode::Sync);
        }
        for release in releases {
            self.follow(desk, release).await?;
        }
        Ok(())
    }

    async fn follow(&self, desk: &ReleaseDesk, mut release: Release) -> anyhow::Result<()> {
        let mut shown = String::new();
        let mut looked_at = Vec::new();
        loop {
            let releases = desk.releases()?;
            if let Some(now) = releases.into_iter().find(|now| now.key == release.key) {
                release = now;
            }
            let status = self.announcement(&release).await?;
            let standing = status.as_ref().map_or(Announcement::NotPickedUp, known);
            let line = status_line(&release, &standing);
            if line != shown {
                self.tell(&release, &line);
                shown = line;
            }
            let over = Instant::now() >= self.deadline || release.refused.is_some();
            match &status {
                _ if over => return Ok(()),
                // The pick-up happens in another process and announces itself to nobody.
                None => tokio::time::sleep(PICK_UP).await,
                Some(status) if in_review(status) => {
                    let version = status["version"].as_u64();
                    if looked_at.contains(&version) || looked_at.len() >= LOOKS {
                        return Ok(());
                    }
                    looked_at.push(version);
                    self.colleague(&release, status).await?;
                }
                Some(status) if rests(status) => return Ok(()),
                Some(_) => {}
            }
        }
    }

    /// Asked by its identity, and remembered once the engine has it.
    async fn announcement(&self, release: &Release) -> anyhow::Result<Option<Value>> {
        let Some(found) = self.api.by_key(ANNOUNCEMENTS, &release.key).await? else {
            return Ok(None);
        };
        let status = if rests(&found) {
            Some(found)
        } else {
            self.api.status(text(&found, "/id")?, MOMENT).await?
        };
        if let Some(status) = &status {
            self.memory.saw(&release.key, status);
        }
        Ok(status)
    }

    /// The colleague looks into the channel, and says what is there.
    async fn colleague(&self, release: &Release, status: &Value) -> anyhow::Result<()> {
        let rows = self.ledger.rows(&Filter::business(&release.key));
        let seen = rows
            .into_iter()
            .find(|row| row.event == Event::Effect)
            .and_then(|row| row.id);
        let verdict = match &seen {
            Some(reference) => {
                json!({"verdict": "happened", "by": "colleague", "why": "it stands in the channel", "receipt": reference})
            }
            None => {
                json!({"verdict": "send_again", "by": "colleague", "why": "the channel does not show it"})
            }
        };
        if self.api.rule(text(status, "/id")?, &verdict).await? {
            let saw = if seen.is_some() {
                "sees it in the channel"
            } else {
                "does not see it there, and has it sent again"
            };
            self.tell(release, &format!("a colleague looks, and {saw}"));
        }
        Ok(())
    }

    async fn ticket(&self, id: &str, wait: u64) -> anyhow::Result<Standing> {
        let status = self.api.status(id, wait).await?;
        let status = status.with_context(|| format!("the engine knows no action {id} any more"))?;
        self.memory.saw(text(&status, "/key")?, &status);
        standing(&status)
    }

    fn tell(&self, release: &Release, text: &str) {
        self.screen
            .line(&format!("  release desk: {}: {text}", release.name));
    }

    /// Plays the conversation to its end.
    pub(super) async fn tickets(&self) -> anyhow::Result<()> {
        for turn in script() {
            self.memory
                .expect(&turn.ticket.key, Kind::Lookup, Mode::Sync);
        }
        let patience = || Instant::now() < self.deadline;
        support_desk::play(self, patience, |line| {
            for text in line.print().lines() {
                self.screen.line(&format!("  support desk: {text}"));
            }
        })
        .await?;
        Ok(())
    }
}

fn in_review(status: &Value) -> bool {
    status["next"]["do"] == "review"
}

fn known(status: &Value) -> Announcement {
    let member = |pointer: &str| {
        status
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    Announcement::Known {
        state: member("/state").unwrap_or_default(),
        next: member("/next/do").unwrap_or_default(),
        reference: member("/receipt/reference"),
        because: member("/because"),
    }
}

impl Desk for Stage<'_> {
    async fn submit(&self, ticket: &Ticket) -> anyhow::Result<Standing> {
        let status = self
            .api
            .submit(&json!({
                "destination": HELPDESK,
                "operation": "lookup.sync",
                "key": ticket.key,
                "payload": {"business": ticket.key, "subject": ticket.subject},
                "summary": ticket.subject,
                "conversation": {"id": ticket.conversation, "turn": ticket.turn, "asked": ticket.asked},
            }))
            .await?;
        self.memory.saw(&ticket.key, &status);
        standing(&status)
    }

    async fn news(&self, last: &Standing) -> anyhow::Result<Standing> {
        let now = self.ticket(&last.id, 0).await?;
        if now.say == last.say {
            self.ticket(&last.id, MOMENT).await
        } else {
            Ok(now)
        }
    }

    async fn held(&self, key: &str) -> Option<u64> {
        Some(self.ledger.counts(&Filter::business(key)).total_effects)
    }
}

fn standing(status: &Value) -> anyhow::Result<Standing> {
    Ok(Standing {
        id: text(status, "/id")?.to_owned(),
        joined: status["joined"] == true,
        state: text(status, "/state")?.to_owned(),
        say: text(status, "/statement/say")?.to_owned(),
        contact: status
            .pointer("/contact/say")
            .and_then(Value::as_str)
            .map(str::to_owned),
        rests: rests(status),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stories_fit_into_the_smallest_run_that_tells_them() {
        assert!(!notes().is_empty(), "there is something to announce");
        assert!(actions() < super::super::WITH_STORIES);
    }
}
