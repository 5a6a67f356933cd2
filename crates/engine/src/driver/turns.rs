//! Lines that are served in turns, so that a long one keeps nobody in another one waiting for its end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use factum_core::{ActionId, Timestamp};

/// Who waits in one line, by the time of asking.
pub(super) type Line = BTreeSet<(Timestamp, ActionId)>;

/// Something that hands out one after the other.
pub(super) trait Serve {
    /// The next one.
    fn serve(&mut self) -> Option<(Timestamp, ActionId)>;
    /// Whether nobody waits.
    fn is_empty(&self) -> bool;
}

impl Serve for Line {
    fn serve(&mut self) -> Option<(Timestamp, ActionId)> {
        self.pop_first()
    }

    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

/// Named lines, each of which is served once before one is served again.
#[derive(Debug)]
pub(super) struct Turns<L> {
    lines: BTreeMap<String, L>,
    /// Who was served last.
    last: Option<String>,
}

impl<L> Default for Turns<L> {
    fn default() -> Self {
        Self {
            lines: BTreeMap::new(),
            last: None,
        }
    }
}

impl<L: Serve + Default> Turns<L> {
    /// The line of this name, made where there is none.
    pub(super) fn line(&mut self, name: &str) -> &mut L {
        self.lines.entry(name.to_owned()).or_default()
    }

    /// Changes the line of this name, and forgets it once it is empty.
    pub(super) fn within<T>(&mut self, name: &str, change: impl FnOnce(&mut L) -> T) -> Option<T> {
        let line = self.lines.get_mut(name)?;
        let changed = change(line);
        if line.is_empty() {
            self.lines.remove(name);
        }
        Some(changed)
    }
}

impl<L: Serve + Default> Serve for Turns<L> {
    fn serve(&mut self) -> Option<(Timestamp, ActionId)> {
        let behind = self.last.as_ref().and_then(|last| {
            let behind = (Excluded(last.as_str()), Unbounded);
            self.lines.range::<str, _>(behind).next()
        });
        let name = behind
            .or_else(|| self.lines.first_key_value())
            .map(|(name, _)| name.clone())?;
        let served = self.within(&name, L::serve).flatten();
        self.last = Some(name);
        served
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use factum_core::Lane;

    use super::*;

    fn one(n: u64) -> (Timestamp, ActionId) {
        let at = Timestamp::from_micros(i64::try_from(n).unwrap());
        (at, ActionId::new(at, Lane(0), n))
    }

    #[test]
    fn every_line_has_its_turn_and_keeps_its_order() {
        let mut turns: Turns<Line> = Turns::default();
        for (name, n) in [("a", 1), ("a", 2), ("a", 3), ("c", 4), ("b", 5), ("b", 6)] {
            turns.line(name).insert(one(n));
        }
        let served: Vec<_> = std::iter::from_fn(|| turns.serve()).collect();
        assert_eq!(served, [1, 5, 4, 2, 6, 3].map(one));
        assert!(turns.is_empty());
    }

    #[test]
    fn a_line_that_comes_back_does_not_come_first() {
        let mut turns: Turns<Line> = Turns::default();
        turns.line("a").insert(one(1));
        turns.line("b").insert(one(2));
        assert_eq!(turns.serve(), Some(one(1)));
        turns.line("a").insert(one(3));
        assert_eq!(turns.serve(), Some(one(2)));
        assert_eq!(turns.serve(), Some(one(3)));
    }
}
