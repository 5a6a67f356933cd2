//! Which row of a destination's export belongs to which action that waits for a person: by our mark, then by a reference, then by
//! subject and time. It proposes, with its reasons; a person decides, row by row.

use std::collections::{BTreeMap, BTreeSet};

use factum_core::{ActionId, Span, Timestamp};

use super::export::Row;

/// The shortest text that is taken for a mark or a reference: shorter ones meet by chance.
const NAME_MIN: usize = 4;

/// An action that waits for a person, by what it can be known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// Which.
    pub action: ActionId,
    /// What we have written there, and nobody else has: the reference, the keys of all epochs.
    pub marks: Vec<String>,
    /// What it is called by others: receipts and queued work that were seen, and the caller's own name for it.
    pub names: Vec<String>,
    /// What it is about: subject and summary.
    pub subjects: Vec<String>,
    /// From when on it can have arrived there.
    pub from: Timestamp,
    /// Until when; unbounded where nothing says so.
    pub until: Timestamp,
}

/// By what a row was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// Our own mark stands in it.
    Mark,
    /// It bears a name that the action is known by.
    Reference,
    /// It is about the same, and was made when the action was sent.
    SubjectAndTime,
}

impl By {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Reference => "reference",
            Self::SubjectAndTime => "subject_and_time",
        }
    }
}

/// That a row is an action's effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The action.
    pub action: ActionId,
    /// The row's number.
    pub row: usize,
    /// The destination's own reference in it.
    pub receipt: Option<String>,
    /// By what it was found.
    pub by: By,
    /// Why, for the person who decides.
    pub reasons: Vec<String>,
}

/// Several rows, or several actions, that cannot be told apart: nothing is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unclear {
    /// The actions.
    pub actions: Vec<ActionId>,
    /// The rows.
    pub rows: Vec<usize>,
    /// By what they were found.
    pub by: By,
    /// Why it is unclear.
    pub why: &'static str,
}

/// What an export says about what waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// One row for one action.
    pub proposals: Vec<Proposal>,
    /// What a person has to tell apart.
    pub unclear: Vec<Unclear>,
    /// Actions that no row belongs to.
    pub not_found: Vec<ActionId>,
    /// Rows that belong to no action.
    pub rows_left: Vec<usize>,
}

/// Which row belongs to which action. `within`: how far the destination's clock and ours, and its idea of when something was made, may lie
/// apart.
#[must_use]
pub fn matched(open: &[Open], rows: &[Row], within: Span) -> Matched {
    let mut all = Matching {
        actions: open.iter().map(|one| (one.action, one)).collect(),
        rows: rows.iter().map(|row| (row.no, row)).collect(),
        found: Matched::default(),
    };
    all.pass(By::Mark, |one, row| {
        let marked = one.marks.iter().filter(|mark| mark.len() >= NAME_MIN);
        let mut marked = marked.filter(|mark| row.cells.iter().any(|cell| cell.contains(*mark)));
        marked
            .next()
            .map(|mark| vec![format!("it bears our mark {mark}")])
    });
    all.pass(By::Reference, |one, row| {
        let own = [("reference", &row.reference), ("receipt", &row.receipt)];
        let own = own
            .into_iter()
            .filter_map(|(column, text)| Some((column, text.as_ref()?)));
        let mut same = own.filter(|(_, text)| text.len() >= NAME_MIN && one.names.contains(text));
        let (column, text) = same.next()?;
        Some(vec![format!("its {column} {text} is a name of the action")])
    });
    all.pass(By::SubjectAndTime, |one, row| {
        let (about, at) = (plain(row.subject.as_ref()?), row.at?);
        let same = one
            .subjects
            .iter()
            .any(|own| !about.is_empty() && plain(own) == about);
        let then = at >= one.from - within && at <= later(one.until, within);
        (same && then).then(|| {
            vec![
                "it is about the same".to_owned(),
                "it was made when the action was under way".to_owned(),
            ]
        })
    });
    all.found.not_found = all.actions.into_keys().collect();
    all.found.rows_left = all.rows.into_keys().collect();
    all.found.proposals.sort_by_key(|proposal| proposal.row);
    all.found
}

struct Matching<'a> {
    actions: BTreeMap<ActionId, &'a Open>,
    rows: BTreeMap<usize, &'a Row>,
    found: Matched,
}

impl Matching<'_> {
    /// Takes out what belongs together by one thing. What is connected and not one to one is unclear as a whole.
    fn pass(&mut self, by: By, fits: impl Fn(&Open, &Row) -> Option<Vec<String>>) {
        let mut of_action: BTreeMap<ActionId, BTreeMap<usize, Vec<String>>> = BTreeMap::new();
        let mut of_row: BTreeMap<usize, BTreeSet<ActionId>> = BTreeMap::new();
        for (action, one) in &self.actions {
            for (no, row) in &self.rows {
                if let Some(reasons) = fits(one, row) {
                    of_action.entry(*action).or_default().insert(*no, reasons);
                    of_row.entry(*no).or_default().insert(*action);
                }
            }
        }
        while let Some((action, _)) = of_action.first_key_value() {
            let (actions, rows) = connected(*action, &of_action, &of_row);
            let mut reasons = BTreeMap::new();
            for action in &actions {
                self.actions.remove(action);
                reasons.extend(of_action.remove(action).unwrap_or_default());
            }
            let receipts = rows
                .iter()
                .filter_map(|no| Some((*no, self.rows.remove(no)?)));
            let receipts: BTreeMap<_, _> = receipts.collect();
            match (actions.as_slice(), rows.as_slice()) {
                ([action], [row]) => self.found.proposals.push(Proposal {
                    action: *action,
                    row: *row,
                    receipt: receipts.get(row).and_then(|row| row.receipt.clone()),
                    by,
                    reasons: reasons.remove(row).unwrap_or_default(),
                }),
                ([_], _) => self.unclear(
                    actions,
                    rows,
                    by,
                    "several rows are found for one action: a duplicate, perhaps",
                ),
                (_, [_]) => self.unclear(actions, rows, by, "one row is found for several actions"),
                (_, _) => self.unclear(
                    actions,
                    rows,
                    by,
                    "several rows are found for several actions",
                ),
            }
        }
    }

    fn unclear(&mut self, actions: Vec<ActionId>, rows: Vec<usize>, by: By, why: &'static str) {
        self.found.unclear.push(Unclear {
            actions,
            rows,
            by,
            why,
        });
    }
}

/// Everything that hangs together with an action.
fn connected(
    action: ActionId,
    of_action: &BTreeMap<ActionId, BTreeMap<usize, Vec<String>>>,
    of_row: &BTreeMap<usize, BTreeSet<ActionId>>,
) -> (Vec<ActionId>, Vec<usize>) {
    let (mut actions, mut rows) = (BTreeSet::from([action]), BTreeSet::new());
    let mut look_at = vec![action];
    while let Some(action) = look_at.pop() {
        for row in of_action
            .get(&action)
            .into_iter()
            .flatten()
            .map(|(row, _)| *row)
        {
            if rows.insert(row) {
                let others = of_row.get(&row).into_iter().flatten().copied();
                look_at.extend(others.filter(|other| actions.insert(*other)));
            }
        }
    }
    (actions.into_iter().collect(), rows.into_iter().collect())
}

/// Without what differs by typing: case, and runs of white space.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

fn later(at: Timestamp, span: Span) -> Timestamp {
    if at == Timestamp::NEVER {
        at
    } else {
        at + span
    }
}

#[cfg(test)]
mod tests {
    use factum_core::Lane;

    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn id(n: u64) -> ActionId {
        ActionId::new(START, Lane(0), n)
    }

    fn at(seconds: i64) -> Timestamp {
        let span = Span::from_secs(seconds.abs());
        if seconds < 0 {
            START - span
        } else {
            START + span
        }
    }

    /// An action that was under way for its first minute.
    fn open(n: u64, mark: &str, name: &str, subject: &str) -> Open {
        Open {
            action: id(n),
            marks: vec![mark.to_owned()],
            names: vec![name.to_owned()],
            subjects: vec![subject.to_owned()],
            from: START,
            until: at(60),
        }
    }

    fn row(no: usize, cell: &str, reference: &str, subject: &str, made: Option<i64>) -> Row {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Row {
            no,
            cells: vec![cell.to_owned(), format!("T-{no}")],
            receipt: Some(format!("T-{no}")),
            reference: some(reference),
            subject: some(subject),
            at: made.map(at),
        }
    }

    fn shown(found: &Matched) -> Vec<(ActionId, usize, By)> {
        found
            .proposals
            .iter()
            .map(|one| (one.action, one.row, one.by))
            .collect()
    }

    const WITHIN: Span = Span::from_secs(10);

    #[test]
    fn a_mark_counts_before_a_reference_and_that_before_subject_and_time() {
        let actions = [
            open(1, "mark-1", "order-1", "Refund for 1"),
            open(2, "mark-2", "order-2", "Refund for 2"),
            open(3, "mark-3", "order-3", "Refund for 3"),
            open(4, "mark-4", "order-4", "Refund for 4"),
        ];
        let rows = [
            // Its mark says one thing, its reference another: the mark counts.
            row(1, "note: mark-1.", "order-2", "", None),
            row(2, "", "order-2", "Refund for 3", Some(5)),
            row(3, "", "", "refund  FOR 3 ", Some(70)),
            row(4, "", "", "Refund for 4", Some(71)),
            row(5, "", "", "Refund for 4", None),
        ];
        let found = matched(&actions, &rows, WITHIN);
        assert_eq!(
            shown(&found),
            [
                (id(1), 1, By::Mark),
                (id(2), 2, By::Reference),
                (id(3), 3, By::SubjectAndTime)
            ]
        );
        assert_eq!(found.proposals[0].receipt.as_deref(), Some("T-1"));
        assert_eq!(
            (found.not_found, found.rows_left),
            (vec![id(4)], vec![4, 5])
        );
        assert!(found.unclear.is_empty());
    }

    #[test]
    fn what_is_not_one_to_one_is_left_to_a_person() {
        let twice = [open(1, "mark-1", "", "")];
        let found = matched(
            &twice,
            &[
                row(1, "mark-1", "", "", None),
                row(2, "mark-1", "", "", None),
            ],
            WITHIN,
        );
        assert!(found.proposals.is_empty() && found.not_found.is_empty());
        assert_eq!(
            (&found.unclear[0].actions, &found.unclear[0].rows),
            (&vec![id(1)], &vec![1, 2])
        );

        let same = [open(1, "m-11", "", "Refund"), open(2, "m-22", "", "Refund")];
        let rows = [
            row(1, "", "", "Refund", Some(1)),
            row(2, "", "", "Refund", Some(2)),
        ];
        let found = matched(&same, &rows, WITHIN);
        assert!(shown(&found).is_empty());
        assert_eq!(found.unclear[0].actions.len(), 2);
        // A mark on one of them settles that one, and with it the other.
        let rows = [
            row(1, "m-11", "", "Refund", Some(1)),
            row(2, "", "", "Refund", Some(2)),
        ];
        let found = matched(&same, &rows, WITHIN);
        assert_eq!(
            shown(&found),
            [(id(1), 1, By::Mark), (id(2), 2, By::SubjectAndTime)]
        );
    }

    #[test]
    fn short_names_empty_subjects_and_other_times_meet_nothing() {
        let actions = [
            open(1, "m", "17", ""),
            open(2, "mark-2", "order-2", "Refund"),
        ];
        let rows = [
            row(1, "m", "17", "", Some(1)),
            row(2, "", "", " ", Some(1)),
            row(3, "", "", "Refund", Some(-11)),
            row(4, "", "", "Refund", Some(71)),
        ];
        let found = matched(&actions, &rows, WITHIN);
        assert!(shown(&found).is_empty() && found.unclear.is_empty());
        assert_eq!(found.not_found.len(), 2);
        let unbounded = [Open {
            until: Timestamp::NEVER,
            ..actions[1].clone()
        }];
        assert_eq!(shown(&matched(&unbounded, &rows[3..], WITHIN)).len(), 1);
    }
}
