//! Whether a store's evidence is what was written: what is found, and how one action's chain is followed.
//!
//! Both backends read their rows and follow chains with this. Nothing here reads a file or a database, and nothing is repaired.

use factum_core::ActionId;

use crate::chain::{Chains, Link, RawRecord};
use crate::head::{Census, Head};
use crate::record::Record;

/// What a look at every row came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Actions that were read.
    pub actions: u64,
    /// Pieces of evidence that were read, in actions that are not damaged.
    pub records: u64,
    /// Actions whose written state is not what their evidence says today, because another version wrote it. Nothing is lost;
    /// listings by state show the old one until the next record or decision.
    pub outdated: Vec<ActionId>,
    /// Actions that a checkpoint lists and that retention has taken away since.
    pub taken_away: u64,
    /// Actions that a checkpoint lists, and that are forgotten with their identities since.
    pub forgotten: u64,
    /// What is not as it was written, and how: at most [`FINDINGS_MAX`] of it.
    pub findings: Vec<Finding>,
    /// How much more was found than is told.
    pub untold: u64,
}

/// Findings that are told at the most.
pub const FINDINGS_MAX: usize = 1_000;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about, for people.
    pub what: String,
    /// The action that it is about, where it is about one.
    pub action: Option<ActionId>,
    /// The number of the first record of the action's evidence that does not fit, where one is known.
    pub record: Option<u64>,
    /// What is wrong, for people.
    pub how: String,
}

impl Finding {
    /// About an action, and maybe about one record of its evidence.
    pub(crate) fn of_action(action: ActionId, broken: Broken) -> Self {
        Self {
            what: format!("action {action}"),
            action: Some(action),
            record: broken.record,
            how: broken.how,
        }
    }
}

impl From<(String, String)> for Finding {
    fn from((what, how): (String, String)) -> Self {
        Self {
            what,
            action: None,
            record: None,
            how,
        }
    }
}

impl Verified {
    /// Whether everything is as it was written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding, while there is room for it.
    pub(crate) fn found(&mut self, finding: impl Into<Finding>) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding.into());
        } else {
            self.untold += 1;
        }
    }

    /// Adds findings about rows that belong to no action.
    pub(crate) fn found_all(&mut self, rows: impl IntoIterator<Item = (String, String)>) {
        rows.into_iter().for_each(|row| self.found(row));
    }
}

/// How an action's evidence is not what its chain says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The number of the record that does not fit.
    pub(crate) record: Option<u64>,
    pub(crate) how: String,
}

impl Broken {
    /// The action as a whole.
    pub(crate) fn whole(how: impl Into<String>) -> Self {
        Self {
            record: None,
            how: how.into(),
        }
    }

    /// From this record on.
    pub(crate) fn at(record: u64, how: &str) -> Self {
        Self {
            record: Some(record),
            how: format!("record {record} of its evidence {how}"),
        }
    }
}

/// What a checkpoint lists: what has to be in the store, unless retention has taken it away.
pub struct Listed {
    census: Census,
    heads: std::iter::Peekable<Heads>,
}

/// Heads in the order of their actions, or why they cannot be read.
type Heads = Box<dyn Iterator<Item = Result<Head, String>> + Send>;

impl Listed {
    /// A checkpoint's own words about the store, and its heads in the order of their actions. They are read one after the other.
    #[must_use]
    pub fn new(
        census: Census,
        heads: impl Iterator<Item = Result<Head, String>> + Send + 'static,
    ) -> Self {
        let heads: Heads = Box::new(heads);
        Self {
            census,
            heads: heads.peekable(),
        }
    }

    /// The next head before this action, or of all that are left: nothing of it was met in the store.
    pub(crate) fn not_met(&mut self, before: Option<ActionId>) -> Option<Result<Head, String>> {
        self.heads.next_if(|next| match next {
            Ok(head) => before.is_none_or(|id| head.action < id),
            Err(_) => true,
        })
    }

    /// The head of this action, if it is the next one.
    pub(crate) fn met(&mut self, id: ActionId) -> Option<Head> {
        let next = self.heads.next_if(|next| match next {
            Ok(head) => head.action == id,
            Err(_) => false,
        });
        next.and_then(Result::ok)
    }

    /// How the store as a whole is not the one that is listed.
    pub(crate) fn differs(&self, now: Census) -> Option<(String, String)> {
        let how = if now.store != self.census.store {
            "it speaks of another store: this one was made anew, or imported".to_owned()
        } else if now.taken_away < self.census.taken_away {
            format!(
                "{} actions are known to have been taken away where it counts {}",
                now.taken_away, self.census.taken_away
            )
        } else {
            return None;
        };
        Some(("the checkpoint".to_owned(), how))
    }
}

/// A listed action that is neither there nor taken away.
pub(crate) fn lost(head: &Head) -> Finding {
    let how = format!(
        "it is gone with its {} records of evidence, which the checkpoint lists, and no tombstone says that it was purged",
        head.records
    );
    Finding::of_action(head.action, Broken::whole(how))
}

/// Follows an action's chain over its log, as it was read in the order of its numbers, and past the head that a checkpoint lists. Each
/// row may be one that this store wrote, and they still not belong together.
pub(crate) fn follow(
    chains: &Chains,
    record: &Record,
    log: &[RawRecord],
    listed: Option<&Head>,
) -> Result<(), Broken> {
    let Some(end) = record.chain else {
        return Err(Broken::whole(
            "it has no chain: a version of the program without chains wrote it, or its chain was taken out",
        ));
    };
    let mut link: Link = chains.begin(&record.action);
    passes(listed, 0, &link)?;
    for (one, count) in log.iter().zip(1..) {
        link = chains.next_raw(&link, one);
        if one.link != Some(link) {
            let how = "does not follow on the one before: one of the two was changed or moved, or one between them was taken out";
            return Err(Broken::at(one.no, how));
        }
        passes(listed, count, &link)?;
    }
    let found = u64::try_from(log.len()).unwrap_or(u64::MAX);
    let wanted = listed.map_or(0, |head| head.records);
    if found < wanted {
        return Err(Broken::whole(format!(
            "it has {found} records of evidence where the checkpoint lists {wanted}: those at its end were taken out"
        )));
    }
    if link == end {
        return Ok(());
    }
    Err(Broken::whole(
        "its evidence does not end where its chain does: records at its end were changed, taken out or added",
    ))
}

/// Whether the chain goes through what is listed, once it is as long.
fn passes(listed: Option<&Head>, count: u64, link: &Link) -> Result<(), Broken> {
    match listed {
        Some(head) if head.records == count && head.link.is_some_and(|listed| listed != *link) => {
            let how = "is another one than the checkpoint lists";
            Err(if count == 0 {
                Broken::whole("it is another action than the checkpoint lists under its id")
            } else {
                Broken::at(count, how)
            })
        }
        _ => Ok(()),
    }
}
