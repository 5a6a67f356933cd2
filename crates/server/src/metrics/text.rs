//! Metrics in the text form that Prometheus reads (version 0.0.4).

use std::fmt::Write;

use factum::metrics::{Counter, Observed, Tally};

/// What the form is called.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Microseconds are shown as seconds.
const SECOND: u64 = 1_000_000;

/// Labels of one line.
pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

/// A page of metrics that is being written.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

/// What a histogram's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Microseconds, shown as seconds.
    Micros,
    /// As they are.
    Plain,
}

impl Page {
    /// Begins a family; its lines follow.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// One value.
    pub(crate) fn value(&mut self, name: &str, labels: Labels<'_>, value: u64) {
        let labels = written(labels, None);
        self.line(format_args!("{name}{labels} {value}"));
    }

    /// A span of microseconds, as seconds.
    pub(crate) fn seconds(&mut self, name: &str, labels: Labels<'_>, micros: u64) {
        let labels = written(labels, None);
        self.line(format_args!("{name}{labels} {}", in_seconds(micros)));
    }

    /// A family of one value without labels.
    pub(crate) fn alone(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "gauge", help);
        self.value(name, &[], value);
    }

    /// The words of a tally, each under `label`.
    pub(crate) fn tally(&mut self, name: &str, labels: Labels<'_>, label: &str, tally: &Tally) {
        for (word, count) in tally.each() {
            let line = written(labels, Some((label, word)));
            self.line(format_args!("{name}{line} {count}"));
        }
    }

    /// A counter.
    pub(crate) fn counter(&mut self, name: &str, labels: Labels<'_>, counter: &Counter) {
        self.value(name, labels, counter.get());
    }

    /// A histogram.
    pub(crate) fn histogram(
        &mut self,
        name: &str,
        labels: Labels<'_>,
        unit: Unit,
        read: &Observed,
    ) {
        let shown = |value: u64| match unit {
            Unit::Micros => in_seconds(value),
            Unit::Plain => value.to_string(),
        };
        for (end, count) in &read.up_to {
            let labels = written(labels, Some(("le", &shown(*end))));
            self.line(format_args!("{name}_bucket{labels} {count}"));
        }
        let infinite = written(labels, Some(("le", "+Inf")));
        self.line(format_args!("{name}_bucket{infinite} {}", read.count));
        let labels = written(labels, None);
        self.line(format_args!("{name}_sum{labels} {}", shown(read.sum)));
        self.line(format_args!("{name}_count{labels} {}", read.count));
    }

    /// The page.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{line}");
    }
}

/// Seconds, without zeros behind them.
fn in_seconds(micros: u64) -> String {
    let (whole, rest) = (micros / SECOND, micros % SECOND);
    if rest == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{rest:06}");
    text.trim_end_matches('0').to_owned()
}

fn written(labels: Labels<'_>, last: Option<(&str, &str)>) -> String {
    let each = labels.iter().copied().chain(last);
    let parts: Vec<String> = each
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("{{{}}}", parts.join(","))
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_escaped_and_a_span_is_in_seconds() {
        let mut page = Page::default();
        page.value("a", &[("b", "x\"\\\ny")], 3);
        page.seconds("c", &[], 1_250_000);
        page.seconds("c", &[], 5_000);
        page.seconds("c", &[], 60_000_000);
        let expected = "a{b=\"x\\\"\\\\\\ny\"} 3\nc 1.25\nc 0.005\nc 60\n";
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn a_histogram_ends_with_everything() {
        let mut page = Page::default();
        let read = Observed {
            up_to: vec![(5_000, 1), (1_000_000, 2)],
            count: 3,
            sum: 2_500_000,
        };
        page.histogram("t", &[("d", "desk")], Unit::Micros, &read);
        let expected = "t_bucket{d=\"desk\",le=\"0.005\"} 1\nt_bucket{d=\"desk\",le=\"1\"} 2\n\
                        t_bucket{d=\"desk\",le=\"+Inf\"} 3\nt_sum{d=\"desk\"} 2.5\nt_count{d=\"desk\"} 3\n";
        assert_eq!(page.into_text(), expected);
    }
}
