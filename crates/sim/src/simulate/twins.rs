//! Twins: callers who submit what another one has submitted, under an identity of their own, and the guard against that (R16).

use factum_core::{Span, State};
use factum_store::Record;
use serde_json::{Value, json};

use super::callers::Intent;
use super::dice::Dice;
use super::options::{Options, Trouble};
use super::world::{World, ready, store_now};
use factum_store::Store;

/// For how long every operation of a run holds twins off, where any does.
pub(super) fn guard(options: &Options) -> Option<Span> {
    let mut dice = Dice::new(options.seed, "twin guard");
    let within = Span::from_secs(dice.one_of(&[60, 600, 3_600]));
    options.has(Trouble::Twins).then_some(within)
}

impl World {
    /// Some intents take the words of an earlier one, and some come at the same moment.
    pub(super) fn make_twins(&mut self, times: &mut [i64]) {
        if !self.options.has(Trouble::Twins) {
            return;
        }
        for n in 1..self.intents.len() {
            if !self.dice.twins.chance(50) {
                continue;
            }
            let first = self.dice.twins.index(n);
            let another = self.dice.twins.chance(25);
            let content = self.intents[first].content;
            self.intents[n] = twin_of(&self.intents[first], n, content, another);
            if self.dice.twins.chance(50) {
                times[n] = times[first] + self.dice.twins.micros(300);
            }
        }
    }

    /// A caller is told that an action of the same content is there.
    pub(super) fn held_off(&mut self, n: usize, first: &Record) {
        self.sometimes("a twin is held off");
        self.note(|world| format!("a{n} is held off by {}", world.called(first.id())));
        let same = self.ids.get(&first.id()).is_some_and(|m| {
            self.intents[*m].content == self.intents[n].content
                && self.intents[*m].tenant == self.intents[n].tenant
        });
        if !same {
            self.breaks(9, || format!("a{n} is held off by other content"));
        }
        // It takes that one for its own, or comes again later.
        if self.calm || self.dice.twins.chance(50) {
            self.intents[n].given_up = true;
        } else {
            self.again(n);
        }
    }

    /// R16, at the instant at which an action is recorded: no other one of its content may be the same intent, unless another was
    /// meant.
    pub(super) fn recorded_beside_its_twins(&mut self, n: usize) {
        let Some(within) = guard(&self.options) else {
            return;
        };
        let intent = &self.intents[n];
        let (content, tenant) = (intent.content, intent.tenant);
        let now = store_now(&self.store);
        let twins: Vec<(usize, Record)> = self
            .ids
            .iter()
            .filter(|(_, m)| **m != n)
            .filter(|(_, m)| {
                self.intents[**m].content == content && self.intents[**m].tenant == tenant
            })
            .filter_map(|(id, m)| Some((*m, ready(self.store.load(*id)).ok()??)))
            .collect();
        if !twins.is_empty() {
            self.sometimes("a twin is recorded");
        }
        if self.intents[n].another {
            return;
        }
        for (m, record) in twins {
            let status = record.status();
            let open = !status.is_settled() || status.closed.is_some();
            let recent = status.state == State::Succeeded
                && now < record.action.intent.submitted_at + within;
            if open || recent {
                let state = status.state.name();
                self.breaks(2, || {
                    format!(
                        "a{n} is recorded beside a{m}, which has its content and is {state} (R16)"
                    )
                });
            }
        }
    }
}

/// The same words under another identity.
fn twin_of(first: &Intent, n: usize, content: usize, another: bool) -> Intent {
    let text = |text: &str| {
        let mut body: Value = serde_json::from_str(text).unwrap_or_default();
        if let Some(members) = body.as_object_mut() {
            for name in ["event", "effect", "another"] {
                members.remove(name);
            }
        }
        body["key"] = json!(format!("twin-{n}"));
        if another {
            body["another"] = json!(true);
        }
        body
    };
    let mut other = text(&first.text);
    other["payload"]["order"] = json!(n + 1_000);
    Intent {
        text: text(&first.text).to_string(),
        other: other.to_string(),
        content,
        another,
        ..first.clone()
    }
}
