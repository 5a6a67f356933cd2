//! Words and signs that several pages have: states, times, lengths of time, and what a permission or an operation is called.

use factum::Record;
use factum::core::evidence::PermissionKind;
use factum::core::promise::Consequence;
use factum::core::{Span, State, Timestamp};
use factum::signs::Sign;
use factum::view::rfc3339;

/// A state as a page shows it: colour, icon and word.
pub(super) struct Chip {
    pub(super) tone: &'static str,
    pub(super) path: &'static str,
    pub(super) word: String,
}

impl Chip {
    pub(super) fn of(state: State) -> Self {
        let sign = Sign::of(state);
        Self {
            tone: sign.tone.name(),
            path: sign.path,
            word: sign.word.replace('_', " "),
        }
    }
}

/// An instant: exactly, and to be read. A script shows it in the reader's own zone.
#[derive(Clone, Debug)]
pub(super) struct When {
    pub(super) exact: String,
    pub(super) shown: String,
}

impl When {
    pub(super) fn of(at: Timestamp) -> Self {
        Self::of_text(&rfc3339(at))
    }

    /// Of an instant as RFC 3339 has it.
    pub(super) fn of_text(exact: &str) -> Self {
        let (day, time) = exact.split_once('T').unwrap_or((exact, ""));
        let seconds = time.get(..8).unwrap_or(time);
        Self {
            exact: exact.to_owned(),
            shown: format!("{day} {seconds} UTC"),
        }
    }
}

/// What an action is called on a page: by its summary, its subject, or else its key.
pub(super) fn title_of(record: &Record) -> String {
    let content = &record.action.content;
    let own = content.summary.as_ref().or(content.subject.as_ref());
    own.map_or_else(|| key_of(record), Clone::clone)
}

/// The caller's own name for an action.
pub(super) fn key_of(record: &Record) -> String {
    factum::identity_text(&record.action.identity)
}

/// The clock time of an instant, in UTC: `14:02:11`.
pub(super) fn clock(at: Timestamp) -> String {
    let exact = rfc3339(at);
    exact.get(11..19).unwrap_or(&exact).to_owned()
}

/// A length of time in its two largest units: `4 h 12 min`.
pub(super) fn length(span: Span) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let micros = span.as_micros().max(0);
    let seconds = micros / 1_000_000;
    if seconds == 0 {
        return format!("{} ms", micros / 1_000);
    }
    let mut left = seconds;
    let parts = UNITS.iter().filter_map(|(size, name)| {
        let count = left / size;
        left %= size;
        (count > 0).then(|| format!("{count} {name}"))
    });
    parts.take(2).collect::<Vec<_>>().join(" ")
}

/// Why a request was let out, as a sentence goes on after "because".
pub(super) fn permission(kind: PermissionKind) -> &'static str {
    match kind {
        PermissionKind::First => "nothing had been sent before",
        PermissionKind::ProvenNotSent => "it was proven that nothing had happened so far",
        PermissionKind::SameKey => {
            "the destination knows the key, so a repeat makes no second effect"
        }
        PermissionKind::ProvenAbsent => "the destination was asked, and had nothing of ours",
        PermissionKind::Harmless => "a repeat has no further effect",
        PermissionKind::Ordered(_) => "a person or a policy accepted the risk of a second effect",
    }
}

/// The same in two or three words, for the picture.
pub(super) fn permission_short(kind: PermissionKind) -> &'static str {
    match kind {
        PermissionKind::First => "nothing sent before",
        PermissionKind::ProvenNotSent => "proven not sent",
        PermissionKind::SameKey => "same key: safe",
        PermissionKind::ProvenAbsent => "proven absent",
        PermissionKind::Harmless => "harmless repeat",
        PermissionKind::Ordered(_) => "risk accepted",
    }
}

/// How bad a second effect would be, in a person's words.
pub(super) fn consequence(consequence: Consequence) -> &'static str {
    match consequence {
        Consequence::Harmless => "a second one would change nothing",
        Consequence::Reversible => "a second one could be undone cheaply",
        Consequence::Costly => "a second one would cost money, trust or work",
        Consequence::Irreversible => "a second one could not be undone at all",
    }
}

/// The past participle of what an operation does: `ticket.create` → created.
pub(super) fn done_word(operation: &str) -> &'static str {
    let verb = operation.rsplit('.').next().unwrap_or(operation);
    match verb.split('_').next().unwrap_or(verb) {
        "create" | "open" | "new" => "created",
        "send" => "sent",
        "add" => "added",
        "update" | "set" | "change" | "edit" => "changed",
        "delete" | "remove" => "deleted",
        "post" => "posted",
        "publish" => "published",
        "comment" | "reply" => "written",
        "charge" | "capture" => "charged",
        "refund" => "refunded",
        "close" => "closed",
        "merge" => "merged",
        _ => "carried out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_told_in_two_units() {
        for (seconds, said) in [
            (1, "1 s"),
            (61, "1 min 1 s"),
            (15_120, "4 h 12 min"),
            (90_061, "1 d 1 h"),
            (86_400, "1 d"),
            (-5, "0 ms"),
        ] {
            assert_eq!(length(Span::from_secs(seconds)), said);
        }
        assert_eq!(length(Span::from_millis(412)), "412 ms");
    }

    #[test]
    fn an_instant_is_shown_without_its_fraction() {
        let when = When::of_text("2026-11-29T14:02:11.123456Z");
        assert_eq!(when.shown, "2026-11-29 14:02:11 UTC");
        assert_eq!(when.exact, "2026-11-29T14:02:11.123456Z");
    }
}
