//! What a conversation was told about one action, and what of it the evidence no longer supports. No I/O.

use factum_core::Timestamp;
use factum_core::statement::{Correction, StatementKey};
use factum_core::status::Status;
use factum_engine::{Code, Problem};
use factum_store::Entry;
use serde::{Deserialize, Serialize};

/// What is kept of one action in one conversation at the most.
const TOLD_MAX: usize = 100;

/// The version of the encoding.
const VERSION: u32 = 1;

/// Everything that was told, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    v: u32,
    pub(super) told: Vec<Told>,
}

/// One statement that was passed on, or counts as passed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Told {
    /// The version of the status that was read.
    pub(super) version: u64,
    /// Which statement it was.
    #[serde(with = "key")]
    pub(super) statement: StatementKey,
    /// What its words claimed, where that was more than the statement does.
    #[serde(default, with = "maybe_key", skip_serializing_if = "Option::is_none")]
    pub(super) counts_as: Option<StatementKey>,
    /// The destination's reference in it.
    pub(super) reference: Option<String>,
    pub(super) locale: String,
    /// The words.
    pub(super) say: String,
    pub(super) how: How,
    #[serde(with = "instant")]
    pub(super) at: Timestamp,
    pub(super) by: String,
    /// What followed was told too, so that nothing is to be put right about it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) settled: bool,
}

/// How it is known that something was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    /// It was handed out for the conversation, and nobody said that it was not passed on.
    HandedOut,
    /// Somebody said that it was passed on.
    Told,
    /// Somebody said that it was not.
    Denied,
}

/// What the evidence supports now.
#[derive(Clone, Debug)]
pub(super) struct Now {
    pub(super) statement: StatementKey,
    pub(super) reference: Option<String>,
    /// The version of the correction that is kept as due.
    pub(super) correction: Option<u64>,
}

/// What has to be put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due<'a> {
    pub(super) kind: Correction,
    pub(super) told: &'a Told,
}

impl Now {
    pub(super) fn of(statement: StatementKey, status: &Status, correction: Option<u64>) -> Self {
        Self {
            statement,
            reference: status
                .receipt
                .as_ref()
                .map(|receipt| receipt.reference.clone()),
            correction,
        }
    }
}

impl Told {
    fn claims(&self) -> StatementKey {
        self.counts_as.unwrap_or(self.statement)
    }

    /// What the conversation has to hear after this.
    fn correction(&self, now: &Now) -> Option<Correction> {
        if self.settled || self.how == How::Denied {
            return None;
        }
        let other_reference = || {
            let named = self.reference.as_ref().zip(now.reference.as_ref());
            let differ = named.is_some_and(|(told, now)| told != now);
            (differ && self.claims().claims_done()).then_some(Correction::Contradicted)
        };
        self.claims()
            .corrected_by(now.statement)
            .or_else(other_reference)
    }

    fn says_the_same(&self, other: &Self) -> bool {
        (self.statement, self.counts_as, &self.reference)
            == (other.statement, other.counts_as, &other.reference)
    }
}

impl Log {
    /// Of an entry, or of none.
    pub(super) fn of(entry: Option<&Entry>) -> Result<Self, Problem> {
        let Some(entry) = entry else {
            return Ok(Self {
                v: VERSION,
                told: Vec::new(),
            });
        };
        let read: Result<Self, _> = serde_json::from_str(&entry.body);
        match read {
            Ok(log) if log.v == VERSION => Ok(log),
            Ok(log) => {
                let rule = format!(
                    "what a conversation was told has version {} of its form",
                    log.v
                );
                Err(Problem::new(
                    Code::StoreTooNew,
                    "",
                    rule,
                    "run the newer program",
                ))
            }
            Err(error) => {
                let rule = format!("what a conversation was told cannot be read: {error}");
                Err(Problem::new(
                    Code::StoreDamaged,
                    "",
                    rule,
                    "run `factum doctor`",
                ))
            }
        }
    }

    pub(super) fn text(&self) -> String {
        written(self)
    }

    /// Adds what is handed out, unless it was just before. Gives whether anything changed.
    pub(super) fn hand_out(&mut self, told: Told) -> bool {
        let standing = self
            .told
            .iter()
            .rev()
            .find(|earlier| earlier.how != How::Denied);
        let denied_since = self
            .told
            .last()
            .is_some_and(|last| last.how == How::Denied && last.says_the_same(&told));
        if !denied_since && standing.is_some_and(|earlier| earlier.says_the_same(&told)) {
            return false;
        }
        self.push(told);
        true
    }

    /// Adds what was passed on. Whoever heard how it stands now needs no news of it; a claim that was wrong still has to be put
    /// right expressly.
    pub(super) fn tell(&mut self, told: Told, now: &Now) -> bool {
        let same = |earlier: &Told| {
            earlier.how == How::Told
                && earlier.version == told.version
                && earlier.says_the_same(&told)
                && (&earlier.say, &earlier.locale) == (&told.say, &told.locale)
        };
        // Repeated after a lost answer, it is kept once.
        if self.told.iter().any(same) {
            return false;
        }
        if told.correction(now).is_none() {
            for earlier in &mut self.told {
                earlier.settled |= earlier.correction(now) == Some(Correction::News);
            }
        }
        let handed_out = self.told.iter().position(|earlier| {
            earlier.how == How::HandedOut
                && earlier.version == told.version
                && earlier.statement == told.statement
        });
        match handed_out {
            Some(at) => {
                let settled = self.told[at].settled;
                self.told[at] = Told { settled, ..told };
            }
            None => self.push(told),
        }
        true
    }

    /// Keeps that what was handed out at a version was not passed on.
    pub(super) fn deny(
        &mut self,
        version: u64,
        statement: Option<StatementKey>,
    ) -> Result<bool, Problem> {
        let fits = |told: &Told| {
            told.version == version && statement.is_none_or(|statement| statement == told.statement)
        };
        let (mut found, mut changed) = (false, false);
        for told in self.told.iter_mut().filter(|told| fits(told)) {
            match told.how {
                How::HandedOut => (told.how, changed) = (How::Denied, true),
                How::Denied => {}
                How::Told => continue,
            }
            found = true;
        }
        if found {
            return Ok(changed);
        }
        let rule =
            format!("nothing of version {version} was handed out here without being confirmed");
        let remedy =
            "deny the version that was handed out; what was passed on can only be put right";
        Err(Problem::new(Code::DoesNotApply, "/version", rule, remedy))
    }

    /// The last that was handed out or told at a version.
    pub(super) fn handed_out(
        &self,
        version: u64,
        statement: Option<StatementKey>,
    ) -> Option<&Told> {
        self.told.iter().rev().find(|told| {
            told.version == version && statement.is_none_or(|statement| statement == told.statement)
        })
    }

    /// What has to be put right: a wrong claim before mere news, the latest first.
    pub(super) fn due(&self, now: &Now) -> Option<Due<'_>> {
        let due = |wanted| {
            let mut latest = self.told.iter().rev();
            latest.find(|told| told.correction(now) == Some(wanted))
        };
        [Correction::Contradicted, Correction::News]
            .into_iter()
            .find_map(|kind| {
                Some(Due {
                    kind,
                    told: due(kind)?,
                })
            })
    }

    /// The correction was passed on, in these words.
    pub(super) fn put_right(&mut self, told: Told, now: &Now) {
        for earlier in &mut self.told {
            earlier.settled |= earlier.correction(now).is_some();
        }
        self.push(told);
    }

    fn push(&mut self, told: Told) {
        if self.told.len() == TOLD_MAX {
            let settled = self
                .told
                .iter()
                .position(|told| told.settled || told.how == How::Denied);
            self.told.remove(settled.unwrap_or(0));
        }
        self.told.push(told);
    }
}

impl Due<'_> {
    /// What is kept of it: a change in it is a new version of the correction.
    pub(super) fn text(&self, now: &Now) -> String {
        #[derive(Serialize)]
        struct Body<'a> {
            v: u32,
            kind: &'static str,
            told: &'a Told,
            now: &'static str,
            reference: Option<&'a str>,
        }
        written(&Body {
            v: VERSION,
            kind: self.kind.name(),
            told: self.told,
            now: now.statement.name(),
            reference: now.reference.as_deref(),
        })
    }
}

fn written(value: &impl Serialize) -> String {
    // Texts, numbers and lists can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

mod key {
    use factum_core::statement::StatementKey;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(key: &StatementKey, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(key.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<StatementKey, D::Error> {
        let name = String::deserialize(from)?;
        StatementKey::from_name(&name)
            .ok_or_else(|| D::Error::custom(format!("no statement is called {name:?}")))
    }
}

mod maybe_key {
    use factum_core::statement::StatementKey;
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    struct Named(#[serde(with = "super::key")] StatementKey);

    pub(super) fn serialize<S: Serializer>(
        key: &Option<StatementKey>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match key {
            Some(key) => out.serialize_str(key.name()),
            None => out.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<StatementKey>, D::Error> {
        Ok(Option::<Named>::deserialize(from)?.map(|named| named.0))
    }
}

mod instant {
    use factum_core::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_i64(at.as_micros())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use StatementKey::{Done, DoneAfterAll, NotDone, Recorded, UnknownBeingChecked};

    use super::*;

    fn told(version: u64, statement: StatementKey, how: How) -> Told {
        Told {
            version,
            statement,
            counts_as: None,
            reference: statement.claims_done().then(|| "T-1".to_owned()),
            locale: "en".to_owned(),
            say: statement.name().to_owned(),
            how,
            at: Timestamp::from_micros(1),
            by: "ana".to_owned(),
            settled: false,
        }
    }

    fn now(statement: StatementKey) -> Now {
        Now {
            statement,
            reference: statement.claims_done().then(|| "T-1".to_owned()),
            correction: None,
        }
    }

    fn log() -> Log {
        Log::of(None).unwrap()
    }

    fn kind(log: &Log, at: StatementKey) -> Option<Correction> {
        log.due(&now(at)).map(|due| due.kind)
    }

    #[test]
    fn what_was_handed_out_counts_until_it_is_denied() {
        let mut log = log();
        assert!(log.hand_out(told(3, UnknownBeingChecked, How::HandedOut)));
        assert!(
            !log.hand_out(told(4, UnknownBeingChecked, How::HandedOut)),
            "once"
        );
        assert_eq!(kind(&log, Done), Some(Correction::News));
        assert!(log.deny(4, None).is_err(), "nothing was handed out at 4");
        assert_eq!(log.deny(3, None).ok(), Some(true));
        assert_eq!(
            log.deny(3, None).ok(),
            Some(false),
            "a repeat changes nothing"
        );
        assert_eq!(kind(&log, Done), None);
        assert!(
            log.hand_out(told(4, UnknownBeingChecked, How::HandedOut)),
            "anew"
        );
        assert_eq!(kind(&log, Done), Some(Correction::News));
    }

    #[test]
    fn a_wrong_claim_is_put_right_expressly_and_news_by_being_told() {
        let mut log = log();
        log.tell(told(2, NotDone, How::Told), &now(NotDone));
        assert_eq!(kind(&log, DoneAfterAll), Some(Correction::Contradicted));
        log.tell(told(5, DoneAfterAll, How::Told), &now(DoneAfterAll));
        assert_eq!(kind(&log, DoneAfterAll), Some(Correction::Contradicted));
        log.put_right(told(5, DoneAfterAll, How::Told), &now(DoneAfterAll));
        assert_eq!(kind(&log, DoneAfterAll), None);
        assert_eq!(
            kind(&log, UnknownBeingChecked),
            Some(Correction::Contradicted),
            "and back"
        );

        let mut log = self::log();
        log.hand_out(told(1, Recorded, How::HandedOut));
        log.tell(
            told(2, UnknownBeingChecked, How::Told),
            &now(UnknownBeingChecked),
        );
        assert_eq!(kind(&log, Done), Some(Correction::News));
        log.hand_out(told(5, Done, How::HandedOut));
        assert_eq!(
            kind(&log, Done),
            Some(Correction::News),
            "handed out is not yet said"
        );
        log.tell(told(5, Done, How::Told), &now(Done));
        assert_eq!(kind(&log, Done), None);
        assert_eq!(log.told.len(), 3, "confirmed in its place: {log:?}");
    }

    #[test]
    fn another_reference_is_another_claim() {
        let mut log = log();
        log.tell(told(2, Done, How::Told), &now(Done));
        let other = Now {
            reference: Some("T-2".to_owned()),
            ..now(Done)
        };
        assert_eq!(
            log.due(&other).map(|due| due.kind),
            Some(Correction::Contradicted)
        );
    }

    #[test]
    fn words_that_claim_more_count_as_what_they_claim() {
        let mut log = log();
        let overdone = Told {
            counts_as: Some(Done),
            ..told(2, UnknownBeingChecked, How::Told)
        };
        log.tell(overdone, &now(UnknownBeingChecked));
        assert_eq!(
            kind(&log, UnknownBeingChecked),
            Some(Correction::Contradicted)
        );
        assert_eq!(kind(&log, Done), None);
    }

    #[test]
    fn what_is_kept_is_read_back_and_bounded() {
        let mut log = log();
        for version in 0..150 {
            let mut one = told(version, Recorded, How::Told);
            one.counts_as = (version % 2 == 0).then_some(NotDone);
            log.tell(one, &now(Recorded));
        }
        assert_eq!(log.told.len(), TOLD_MAX);
        let entry = |body: &str| Entry {
            key: factum_store::EntryKey::new(factum_store::Kind::Told, "t", "x"),
            version: 1,
            body: body.to_owned(),
            label: None,
            due: None,
            changed: factum_store::Changed {
                at: Timestamp::from_micros(1),
                by: "x".to_owned(),
                why: "y".to_owned(),
            },
        };
        assert_eq!(Log::of(Some(&entry(&log.text()))).unwrap(), log);
        let newer = log.text().replacen("\"v\":1", "\"v\":2", 1);
        assert_eq!(
            Log::of(Some(&entry(&newer))).unwrap_err().code,
            Code::StoreTooNew
        );
        assert_eq!(
            Log::of(Some(&entry("{}"))).unwrap_err().code,
            Code::StoreDamaged
        );
    }
}
