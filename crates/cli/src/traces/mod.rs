//! Traces by OTLP: the engine's spans ([`factum_engine::trail`]) as a collector takes them, over HTTP and as JSON.
//!
//! [`layer`] turns spans into rows, [`otlp`] writes rows down, [`export`] posts them. A collector that is slow or away costs
//! spans and nothing else: rows wait in a bounded queue, and what has no room there is dropped and counted.

pub(crate) mod export;
pub(crate) mod layer;
mod otlp;

use factum_core::ActionId;

/// One finished span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: &'static str,
    /// When it began and ended, in microseconds.
    pub(crate) times: (i64, i64),
    /// What it says, by name.
    pub(crate) fields: Vec<(&'static str, String)>,
    /// Drawn for it, where its action does not name it.
    pub(crate) drawn: (u64, u64, u64),
}

/// Where a span stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// 32 hex digits.
    pub(crate) trace: String,
    /// 16 hex digits.
    pub(crate) span: String,
    /// 16 hex digits; none for the first of a trace.
    pub(crate) parent: Option<String>,
}

impl Row {
    fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Where it stands: everything about an action lies below the action's submission, whoever did it and whenever.
    pub(crate) fn place(&self) -> Place {
        let drawn = format!("{:016x}", self.drawn.2);
        let Some(action) = self.field("action").and_then(|id| id.parse().ok()) else {
            return Place {
                trace: format!("{:016x}{:016x}", self.drawn.0, self.drawn.1),
                span: drawn,
                parent: None,
            };
        };
        let (trace, first, caller) = named(action, self.field("trace"));
        if self.name == "submit" {
            return Place {
                trace,
                span: first,
                parent: caller,
            };
        }
        Place {
            trace,
            span: drawn,
            parent: Some(first),
        }
    }

    /// The trace and the span that it leads to.
    pub(crate) fn link(&self) -> Option<(String, String)> {
        let action = self.field("link_action")?.parse().ok()?;
        let (trace, first, _) = named(action, self.field("link_trace"));
        Some((trace, first))
    }

    /// Whether the caller wants it: a caller's context says so, and without one all are wanted.
    pub(crate) fn is_sampled(&self) -> bool {
        let flags = self
            .field("trace")
            .and_then(|trace| trace.rsplit('-').next());
        flags.is_none_or(|flags| u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1))
    }
}

/// The trace of an action, the span of its submission, and the caller's span.
fn named(action: ActionId, context: Option<&str>) -> (String, String, Option<String>) {
    let bytes: String = action
        .to_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let first = bytes.get(16..).unwrap_or_default().to_owned();
    let mut parts = context.unwrap_or_default().split('-').skip(1);
    match (parts.next(), parts.next()) {
        (Some(trace), Some(caller)) => (trace.to_owned(), first, Some(caller.to_owned())),
        _ => (bytes, first, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn row(name: &'static str, fields: &[(&'static str, &str)]) -> Row {
        let fields = fields
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        Row {
            name,
            fields: fields.collect(),
            drawn: (1, 2, 3),
            ..Row::default()
        }
    }

    #[test]
    fn what_is_done_about_an_action_lies_below_its_submission_in_the_callers_trace() {
        let id = ActionId::from_bytes([7; 16]).to_string();
        let submit = row("submit", &[("action", &id), ("trace", CONTEXT)]).place();
        assert_eq!(submit.trace, "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(submit.parent.as_deref(), Some("00f067aa0ba902b7"));
        let send = row("send", &[("action", &id), ("trace", CONTEXT)]).place();
        assert_eq!(
            (&send.trace, send.parent.as_ref()),
            (&submit.trace, Some(&submit.span))
        );
        assert_ne!(send.span, submit.span);
    }

    #[test]
    fn without_a_caller_the_action_names_the_trace() {
        let id = ActionId::from_bytes([7; 16]).to_string();
        let submit = row("submit", &[("action", &id), ("trace", "")]).place();
        let settle = row("settle", &[("action", &id), ("trace", "")]).place();
        assert_eq!(
            (submit.trace.len(), submit.span.len(), submit.parent),
            (32, 16, None)
        );
        assert_eq!(
            (settle.trace, settle.parent),
            (submit.trace, Some(submit.span))
        );
    }

    #[test]
    fn late_evidence_has_a_trace_of_its_own_and_leads_to_the_actions() {
        let id = ActionId::from_bytes([7; 16]).to_string();
        let late = row(
            "late_evidence",
            &[("link_action", &id), ("link_trace", CONTEXT)],
        );
        let submit = row("submit", &[("action", &id), ("trace", CONTEXT)]).place();
        assert_eq!(late.link(), Some((submit.trace.clone(), submit.span)));
        assert_ne!(late.place().trace, submit.trace);
        assert_eq!(late.place().parent, None);
    }

    #[test]
    fn a_caller_that_does_not_sample_is_heeded() {
        let quiet = CONTEXT.replace("-01", "-00");
        for (context, sampled) in [(CONTEXT, true), (quiet.as_str(), false), ("", true)] {
            assert_eq!(
                row("send", &[("trace", context)]).is_sampled(),
                sampled,
                "{context}"
            );
        }
    }
}
