//! The simulated destinations: as unpleasant as their contracts allow, and the only ones who know what really happened.
//!
//! Everything here is told by the instant at which it arrives. Nothing of the engine is known here but the bytes that it sent.

use std::collections::{BTreeMap, BTreeSet};

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_core::{Span, Timestamp};
use serde_json::json;

use super::dice::Dice;
use super::operations::{Behaviour, Keyed};
use super::speech::{self, Wish};

/// How long a destination works on a request at the most, as the contracts say.
pub(super) const PROCESSING: Span = Span::from_secs(2);

/// Which operation of this run.
pub(super) type Op = usize;

/// One effect.
#[derive(Clone, Debug)]
struct Effect {
    id: String,
    key: Option<String>,
    /// When a search shows it; never, where it leaves it out.
    shown_at: Timestamp,
    undone: bool,
}

/// What is remembered under a key.
#[derive(Clone, Debug)]
struct Under {
    first: Timestamp,
    digest: Vec<u8>,
    /// None while the first request runs.
    answer: Option<HttpAnswer>,
}

/// A request that has arrived and is being worked on.
#[derive(Clone, Debug)]
struct Work {
    op: Op,
    behaves: Behaviour,
    wish: Wish,
    /// What is answered and stored in place of the truth.
    error: Option<u16>,
}

/// Work that was accepted.
#[derive(Clone, Debug)]
struct Job {
    op: Op,
    behaves: Behaviour,
    wish: Wish,
    state: JobState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum JobState {
    Queued,
    Completed(String),
    Failed(&'static str),
}

/// What an arrival leads to.
pub(super) enum Arrived {
    /// It is answered at once.
    Answered(HttpAnswer),
    /// It is worked on until then.
    Working(u64, Timestamp),
}

/// What became of work.
pub(super) struct Landed {
    pub(super) business: String,
    pub(super) answer: HttpAnswer,
    /// A job that ends at a time.
    pub(super) job: Option<(String, Timestamp)>,
}

/// All destinations of a run.
#[derive(Default)]
pub(super) struct Place {
    keys: BTreeMap<(Op, String), Under>,
    barred: BTreeSet<(Op, String)>,
    /// When a key of a cancelling destination first arrived.
    named: BTreeMap<(Op, String), Timestamp>,
    effects: BTreeMap<String, Vec<Effect>>,
    /// Whose reference it is.
    references: BTreeMap<(Op, String), String>,
    works: BTreeMap<u64, Work>,
    jobs: BTreeMap<String, Job>,
    /// Whose key it is: two must never share one (law 9).
    owners: BTreeMap<(Op, String), String>,
    crossed: Option<String>,
    made: u64,
}

impl Place {
    /// Effects that exist for an intent.
    pub(super) fn count(&self, business: &str) -> usize {
        let effects = self.effects.get(business).into_iter().flatten();
        effects.filter(|effect| !effect.undone).count()
    }

    /// All effects that exist.
    pub(super) fn total(&self) -> usize {
        let effects = self.effects.values().flatten();
        effects.filter(|effect| !effect.undone).count()
    }

    /// Whether something of this intent is being worked on.
    pub(super) fn working(&self, business: &str) -> bool {
        self.works.values().any(|w| w.wish.business == business)
            || (self.jobs.values())
                .any(|j| j.wish.business == business && j.state == JobState::Queued)
    }

    /// Two intents under one key or reference, if that was ever seen.
    pub(super) fn crossed(&self) -> Option<&str> {
        self.crossed.as_deref()
    }

    /// An effect request arrives. `error` is what is answered in place of the truth, where the destination stores errors.
    pub(super) fn arrive(
        &mut self,
        op: Op,
        behaves: Behaviour,
        (business, request): (&str, &HttpRequest),
        error: Option<u16>,
        now: Timestamp,
        dice: &mut Dice,
    ) -> Arrived {
        let wish = match speech::wish(request, behaves.key_at) {
            // Twins have the same words: whose effect it is, only the simulator knows.
            Ok(wish) => Wish {
                business: business.to_owned(),
                ..wish
            },
            Err(answer) => return Arrived::Answered(answer),
        };
        self.owned(op, &wish);
        if let Some(answer) = self.known_already(op, behaves, &wish, now) {
            return Arrived::Answered(answer);
        }
        if let Some(key) = &wish.key {
            let under = Under {
                first: now,
                digest: request.body.clone(),
                answer: None,
            };
            match behaves.keyed {
                Keyed::For(_) | Keyed::SerialFor(_) => {
                    self.keys.insert((op, key.clone()), under);
                }
                Keyed::CancelForGood | Keyed::CancelFor(_) => {
                    self.named.entry((op, key.clone())).or_insert(now);
                }
                Keyed::No => {}
            }
        }
        self.made += 1;
        let number = self.made;
        let works_for = if dice.chance(60) {
            5_000
        } else {
            dice.micros(PROCESSING.as_micros())
        };
        let error = error.filter(|_| behaves.stores_errors);
        self.works.insert(
            number,
            Work {
                op,
                behaves,
                wish,
                error,
            },
        );
        Arrived::Working(number, now + Span::from_micros(works_for))
    }

    /// Whether something stands under the request's key that is not recognised any more.
    pub(super) fn has_forgotten(
        &self,
        op: Op,
        behaves: Behaviour,
        request: &HttpRequest,
        now: Timestamp,
    ) -> bool {
        let (Keyed::For(window) | Keyed::SerialFor(window)) = behaves.keyed else {
            return false;
        };
        let key = speech::wish(request, behaves.key_at)
            .ok()
            .and_then(|wish| wish.key);
        let under = key.and_then(|key| self.keys.get(&(op, key)));
        under.is_some_and(|under| now >= under.first + window)
    }

    fn owned(&mut self, op: Op, wish: &Wish) {
        for name in wish.key.iter().chain(&wish.reference) {
            let owner = self
                .owners
                .entry((op, name.clone()))
                .or_insert_with(|| wish.business.clone());
            if *owner != wish.business {
                self.crossed = Some(format!("{owner} and {} under {name}", wish.business));
            }
        }
        if let Some(reference) = &wish.reference {
            self.references
                .insert((op, reference.clone()), wish.business.clone());
        }
    }

    /// What a key that is known answers. Keys are forgotten the very instant that is allowed.
    fn known_already(
        &self,
        op: Op,
        behaves: Behaviour,
        wish: &Wish,
        now: Timestamp,
    ) -> Option<HttpAnswer> {
        let under = self.keys.get(&(op, wish.key.clone()?))?;
        let (window, serial) = match behaves.keyed {
            Keyed::For(window) => (window, false),
            Keyed::SerialFor(window) => (window, true),
            Keyed::No | Keyed::CancelForGood | Keyed::CancelFor(_) => return None,
        };
        if now >= under.first + window {
            return None;
        }
        if under.digest != wish.body {
            return Some(speech::error(422, "key_reuse"));
        }
        match &under.answer {
            Some(answer) => Some(speech::replayed(answer)),
            None if serial => None,
            None => Some(speech::error(409, "key_in_progress")),
        }
    }

    /// Work ends: this is the instant at which an effect begins to exist.
    pub(super) fn land(&mut self, number: u64, now: Timestamp, dice: &mut Dice) -> Option<Landed> {
        let work = self.works.remove(&number)?;
        let Work {
            op,
            behaves,
            wish,
            error,
        } = work;
        let business = wish.business.clone();
        let barred = wish
            .key
            .as_ref()
            .is_some_and(|key| self.barred.contains(&(op, key.clone())));
        let mut job = None;
        let mut answer = match wish.behave.as_deref() {
            _ if barred => speech::error(409, "key_cancelled"),
            Some("reject") => speech::error(422, "invalid"),
            Some("ok_false") => {
                speech::answer(200, &json!({"ok": false, "error": "nothing was done"}))
            }
            Some("decline") => speech::error(402, "declined"),
            _ if behaves.queued => {
                self.made += 1;
                let name = format!("J-{}", self.made);
                let waits = Span::from_micros(dice.micros(120_000_000));
                job = Some((name.clone(), now + waits));
                let queued = Job {
                    op,
                    behaves,
                    wish: wish.clone(),
                    state: JobState::Queued,
                };
                self.jobs.insert(name.clone(), queued);
                speech::answer(202, &json!({"ok": true, "job": name, "status": "queued"}))
            }
            _ => {
                let id = self.act(op, behaves, &wish, now, dice);
                speech::answer(
                    201,
                    &json!({"ok": true, "id": id, "reference": wish.reference}),
                )
            }
        };
        if let Some(status) = error {
            answer = speech::server_error(status);
        }
        if let Some(key) = &wish.key
            && let Some(under) = self.keys.get_mut(&(op, key.clone()))
        {
            under.answer = Some(answer.clone());
        }
        Some(Landed {
            business,
            answer,
            job,
        })
    }

    fn act(
        &mut self,
        op: Op,
        behaves: Behaviour,
        wish: &Wish,
        now: Timestamp,
        dice: &mut Dice,
    ) -> String {
        self.made += 1;
        let id = format!("T-{op}-{}", self.made);
        let lag = behaves.search.unwrap_or(Span::ZERO);
        let shown_at = match (behaves.partial, dice.below(10)) {
            (true, 0..=2) => Timestamp::NEVER,
            (true, 3..=5) => now + lag.times(20),
            _ => now + Span::from_micros(dice.micros(lag.as_micros() + 1)),
        };
        let effects = self.effects.entry(wish.business.clone()).or_default();
        if behaves.upsert
            && let Some(first) = effects.first()
        {
            return first.id.clone();
        }
        let (key, undone) = (wish.key.clone(), false);
        effects.push(Effect {
            id: id.clone(),
            key,
            shown_at,
            undone,
        });
        id
    }

    /// Accepted work ends. Whose it was, its name, and what a report of it would say.
    pub(super) fn finish(
        &mut self,
        name: &str,
        now: Timestamp,
        dice: &mut Dice,
    ) -> Option<(String, Result<String, String>)> {
        let job = self
            .jobs
            .get(name)
            .filter(|job| job.state == JobState::Queued)?
            .clone();
        let business = job.wish.business.clone();
        let fails = job.wish.behave.as_deref() == Some("complete_then_fail");
        let (state, said) = if fails {
            let why = "the job failed; nothing was done";
            (JobState::Failed(why), Err(why.to_owned()))
        } else {
            let id = self.act(job.op, job.behaves, &job.wish, now, dice);
            (JobState::Completed(id.clone()), Ok(id))
        };
        if let Some(job) = self.jobs.get_mut(name) {
            job.state = state;
        }
        Some((business, said))
    }

    /// How a job stands.
    pub(super) fn job(&self, request: &HttpRequest) -> HttpAnswer {
        let name = request
            .path_and_query
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let Some(job) = self.jobs.get(name) else {
            return speech::error(404, "no_such_job");
        };
        let (status, id, reason) = match &job.state {
            JobState::Queued => ("queued", None, None),
            JobState::Completed(id) => ("completed", Some(id), None),
            JobState::Failed(why) => ("failed", None, Some(*why)),
        };
        speech::answer(
            200,
            &json!({"job": name, "status": status, "id": id, "reason": reason}),
        )
    }

    /// A page of a search by reference. Some answers take a second page, and what is looked for stands on it.
    pub(super) fn search(
        &self,
        op: Op,
        behaves: Behaviour,
        request: &HttpRequest,
        now: Timestamp,
        dice: &mut Dice,
    ) -> HttpAnswer {
        let query = |name| speech::query(&request.path_and_query, name).unwrap_or_default();
        let (reference, cursor) = (query("reference"), query("cursor"));
        if cursor.is_empty() && dice.chance(25) {
            return speech::answer(200, &json!({"items": [], "next": "s1", "complete": true}));
        }
        let business = self.references.get(&(op, reference.clone()));
        let effects = business
            .and_then(|b| self.effects.get(b))
            .into_iter()
            .flatten();
        let shown = effects.filter(|e| !e.undone && e.shown_at <= now);
        let mut items: Vec<_> = shown
            .map(|e| json!({"id": e.id, "job": null, "reference": reference, "state": "done"}))
            .collect();
        if !behaves.partial {
            let ours = |job: &&(&String, &Job)| {
                Some(&job.1.wish.business) == business && job.1.state == JobState::Queued
            };
            items.extend(self.jobs.iter().collect::<Vec<_>>().iter().filter(ours).map(|(name, _)| {
                json!({"id": null, "job": name, "reference": reference, "state": "queued"})
            }));
        }
        speech::answer(
            200,
            &json!({"items": items, "next": null, "complete": true}),
        )
    }

    /// Withdraws what exists under a key. What is being worked on does not exist yet. Whose effects and jobs were withdrawn.
    pub(super) fn cancel(
        &mut self,
        op: Op,
        behaves: Behaviour,
        request: &HttpRequest,
        now: Timestamp,
    ) -> (HttpAnswer, Option<String>) {
        let Some(key) = speech::member(request, "key") else {
            return (speech::error(400, "malformed"), None);
        };
        let named = (op, key.clone());
        match behaves.keyed {
            Keyed::CancelForGood => {
                self.barred.insert(named.clone());
            }
            Keyed::CancelFor(window) => {
                let known = self
                    .named
                    .get(&named)
                    .is_some_and(|first| now < *first + window);
                if !known {
                    // Nothing of that name is known here any more, which is answered like success.
                    return (
                        speech::answer(200, &json!({"cancelled": true, "ids": []})),
                        None,
                    );
                }
            }
            Keyed::No | Keyed::For(_) | Keyed::SerialFor(_) => {}
        }
        let owner = self.owners.get(&named).cloned();
        let mut ids = Vec::new();
        let effects = owner
            .as_ref()
            .and_then(|o| self.effects.get_mut(o))
            .into_iter()
            .flatten();
        for effect in effects.filter(|e| e.key.as_deref() == Some(&key)) {
            effect.undone = true;
            ids.push(effect.id.clone());
        }
        for (name, job) in &mut self.jobs {
            if job.op == op
                && job.wish.key.as_deref() == Some(&key)
                && job.state == JobState::Queued
            {
                job.state = JobState::Failed("cancelled");
                ids.push(name.clone());
            }
        }
        (
            speech::answer(200, &json!({"cancelled": true, "ids": ids})),
            owner,
        )
    }
}
