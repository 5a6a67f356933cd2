//! Cleaning up: what was made and can be withdrawn by key is withdrawn at the end.

use super::run::Run;
use super::{Came, Do};

impl Run<'_> {
    pub(super) fn withdrawable(&self) -> Vec<usize> {
        if self.contract.cancel.is_none() {
            return Vec::new();
        }
        let marks = self.marks.iter().enumerate();
        let left = marks.filter(|(_, mark)| mark.may_exist && !mark.withdrawn);
        left.map(|(mark, _)| mark).collect()
    }

    pub(super) fn next_of_cleaning(&mut self) -> Do {
        let due = self
            .cleaning
            .as_ref()
            .and_then(|left| left.first().copied());
        let Some(mark) = due else {
            return Do::Nothing;
        };
        match self.cancel(mark, None, "withdraws what the probe made") {
            Some(requests) => Do::Send(requests),
            None => Do::Nothing,
        }
    }

    pub(super) fn cleaned(&mut self, came: Vec<Came>) {
        let Some(left) = &mut self.cleaning else {
            return;
        };
        if left.is_empty() {
            return;
        }
        let mark = left.remove(0);
        for came in came {
            self.requests += 1;
            let answer = self.read_cancel(came);
            self.note_cancel(mark, &answer);
        }
    }
}
