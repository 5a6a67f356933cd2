//! A scripted destination: the testbed's wire format, a clock of its own, and lies.

use std::collections::BTreeMap;

use factum_contract::probe::{Came, Do, EffectTry, Probe, Report, RunBy};
use factum_contract::{Contract, HttpAnswer, HttpRequest};
use factum_core::{Span, Timestamp};
use serde_json::{Value, json};

/// What it claims and does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    ShortWindow,
    IgnoresKey,
    IgnoresChangedBody,
    NewEffectOnChangedBody,
    ReplaysErrors,
    ForgetsErrors,
    NoReplayMark,
    ConcurrentPairDoubles,
    LaggingStrongLookup,
    IncompleteLookup,
    WiderScope,
    NarrowerScope,
    CancelDoesNothing,
    /// Answers nothing, and does nothing: no lie, but a network.
    Silent,
    /// Every second effect request is refused for now.
    Busy,
}

struct Kept {
    since: Timestamp,
    body: Value,
    answer: HttpAnswer,
}

struct Row {
    reference: String,
    key: String,
    id: String,
    job: Option<String>,
    at: Timestamp,
    failed: bool,
}

/// The destination.
pub(crate) struct Far {
    lies: Vec<Lie>,
    now: Timestamp,
    has_keys: bool,
    cancels: bool,
    queued: bool,
    lag: Span,
    per_credential: bool,
    stores_refusals: bool,
    compares: bool,
    kept: BTreeMap<(bool, String), Kept>,
    cancelled: Vec<String>,
    rows: Vec<Row>,
    arrivals: u32,
}

impl Far {
    pub(crate) fn new(contract: &Contract, lies: &[Lie]) -> Self {
        let terms = contract.key_terms().and_then(|terms| terms.repeat);
        Self {
            lies: lies.to_vec(),
            now: Timestamp::from_micros(1_800_000_000_000_000),
            has_keys: terms.is_some(),
            cancels: contract.operation().starts_with("cancel"),
            queued: contract.operation().ends_with("queued"),
            lag: if contract.operation().starts_with("lagging") {
                Span::from_secs(2)
            } else {
                Span::ZERO
            },
            per_credential: terms.as_ref().is_some_and(|t| t.scope == ["credential"]),
            stores_refusals: terms.as_ref().is_some_and(|terms| terms.stored[1]),
            compares: terms.as_ref().is_some_and(|t| t.other_content == "refused"),
            kept: BTreeMap::new(),
            cancelled: Vec::new(),
            rows: Vec::new(),
            arrivals: 0,
        }
    }

    pub(crate) fn effects(&self) -> u32 {
        u32::try_from(self.rows.len()).unwrap_or(u32::MAX)
    }

    fn lies(&self, lie: Lie) -> bool {
        self.lies.contains(&lie)
    }

    fn effect(&mut self, request: &HttpRequest, second: bool, running: bool) -> HttpAnswer {
        self.arrivals += 1;
        if self.lies(Lie::Busy) && self.arrivals % 2 == 1 {
            return answer(429, json!({"error": {"code": "busy", "message": "busy"}}));
        }
        let body: Value = serde_json::from_slice(&request.body).expect("an effect's body is JSON");
        let key = key_of(request, &body);
        if request.path_and_query.ends_with("/cancel") {
            return self.cancel(&key);
        }
        if self.cancels && self.cancelled.contains(&key) {
            return answer(
                409,
                json!({"error": {"code": "key_cancelled", "message": "cancelled"}}),
            );
        }
        let apart = match (self.lies(Lie::NarrowerScope), self.lies(Lie::WiderScope)) {
            (true, _) => true,
            (_, true) => false,
            (false, false) => self.per_credential,
        };
        let slot = (apart && second, key.clone());
        let keyed = self.has_keys && !self.lies(Lie::IgnoresKey);
        if keyed && running {
            if !self.lies(Lie::ConcurrentPairDoubles) {
                return answer(
                    409,
                    json!({"error": {"code": "key_in_progress", "message": "running"}}),
                );
            }
            return self.run(&body, key);
        }
        if keyed && let Some(answer) = self.known(&slot, &body) {
            return answer;
        }
        let refused = body["behave"] == "reject";
        let fresh = if refused {
            answer(
                422,
                json!({"error": {"code": "invalid", "message": "invalid"}}),
            )
        } else {
            self.run(&body, key)
        };
        let stores = match (self.lies(Lie::ReplaysErrors), self.lies(Lie::ForgetsErrors)) {
            (true, _) => true,
            (_, true) => false,
            (false, false) => self.stores_refusals,
        };
        if keyed && (!refused || stores) {
            let kept = Kept {
                since: self.now,
                body,
                answer: fresh.clone(),
            };
            self.kept.insert(slot, kept);
        }
        fresh
    }

    /// What a key gets that is known.
    fn known(&self, slot: &(bool, String), body: &Value) -> Option<HttpAnswer> {
        let kept = self.kept.get(slot)?;
        let window = if self.lies(Lie::ShortWindow) {
            Span::from_secs(6 * 3600)
        } else {
            Span::from_secs(24 * 3600)
        };
        if self.now.since(kept.since) >= window {
            return None;
        }
        if kept.body != *body && self.lies(Lie::NewEffectOnChangedBody) {
            return None;
        }
        if kept.body != *body && self.compares && !self.lies(Lie::IgnoresChangedBody) {
            return Some(answer(
                422,
                json!({"error": {"code": "key_reuse", "message": "other"}}),
            ));
        }
        let mut again = kept.answer.clone();
        if !self.lies(Lie::NoReplayMark) {
            let mark = ("idempotent-replayed".to_owned(), "true".to_owned());
            again.headers.push(mark);
        }
        Some(again)
    }

    fn run(&mut self, body: &Value, key: String) -> HttpAnswer {
        let number = self.rows.len() + 1;
        let id = format!("T-{number}");
        let job = self.queued.then(|| format!("J-{number}"));
        let told = match &job {
            Some(job) => answer(202, json!({"ok": true, "job": job})),
            None => answer(201, json!({"ok": true, "id": id})),
        };
        self.rows.push(Row {
            reference: body["reference"].as_str().unwrap_or_default().to_owned(),
            key,
            id,
            job,
            at: self.now,
            failed: false,
        });
        told
    }

    fn cancel(&mut self, key: &str) -> HttpAnswer {
        if !self.lies(Lie::CancelDoesNothing) {
            self.cancelled.push(key.to_owned());
            let rows = self.rows.iter_mut().filter(|row| row.key == key);
            rows.for_each(|row| row.failed = true);
        }
        answer(200, json!({"cancelled": true, "ids": []}))
    }

    pub(crate) fn question(&self, request: &HttpRequest) -> HttpAnswer {
        let path = &request.path_and_query;
        if let Some((_, job)) = path.rsplit_once("/jobs/") {
            let row = self.rows.iter().find(|row| row.job.as_deref() == Some(job));
            return match row {
                Some(row) if row.failed => {
                    answer(200, json!({"status": "failed", "reason": "cancelled"}))
                }
                Some(row) if self.now.since(row.at) < Span::from_millis(300) => {
                    answer(200, json!({"status": "queued"}))
                }
                Some(row) => answer(200, json!({"status": "completed", "id": row.id})),
                None => answer(404, json!({})),
            };
        }
        let wanted = path
            .split(['?', '&'])
            .find_map(|part| part.strip_prefix("reference="));
        let lag = if self.lies(Lie::LaggingStrongLookup) {
            Span::from_secs(5)
        } else {
            self.lag
        };
        let shown = self.rows.iter().enumerate().filter(|(n, row)| {
            let hidden = self.lies(Lie::IncompleteLookup) && n % 2 == 0;
            Some(row.reference.as_str()) == wanted && !hidden && self.now.since(row.at) >= lag
        });
        let items: Vec<Value> = shown
            .map(|(_, row)| {
                let status = if row.job.is_some() {
                    "completed"
                } else {
                    "done"
                };
                json!({"id": row.id, "reference": row.reference, "status": status})
            })
            .collect();
        answer(200, json!({"items": items, "complete": true, "next": null}))
    }

    /// Sends several at once: the second arrives while the first is running.
    fn send(&mut self, tries: &[EffectTry]) -> Vec<Came> {
        let mut came = Vec::new();
        for (n, one) in tries.iter().enumerate() {
            if self.lies(Lie::Silent) {
                came.push(Came::Lost("reset".to_owned()));
                continue;
            }
            let answer = self.effect(&one.request, one.second, n > 0);
            came.push(Came::Answer(answer, self.now));
        }
        self.now = self.now + Span::from_millis(20);
        came
    }
}

fn key_of(request: &HttpRequest, body: &Value) -> String {
    let header = request
        .headers
        .iter()
        .find(|(name, _)| name == "idempotency-key");
    let inside = || {
        ["key", "idempotency_key"]
            .iter()
            .find_map(|name| body[*name].as_str())
    };
    let last = request
        .path_and_query
        .rsplit('/')
        .next()
        .unwrap_or_default();
    header.map_or_else(
        || inside().unwrap_or(last).to_owned(),
        |(_, value)| value.clone(),
    )
}

fn answer(status: u16, body: Value) -> HttpAnswer {
    HttpAnswer {
        status,
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
        truncated: false,
    }
}

/// Drives a probe to its report.
pub(crate) fn drive(probe: &mut Probe<'_>, mut far: Far) -> Report {
    drive_with(probe, &mut far)
}

/// The same; the destination can be looked at afterwards.
pub(crate) fn drive_with(probe: &mut Probe<'_>, far: &mut Far) -> Report {
    // The clock of the caller, which a destination's clock that is moved ahead leaves behind.
    let mut moved = Span::ZERO;
    let began = far.now;
    for _ in 0..20_000 {
        let local = far.now - moved;
        match probe.next(local) {
            Do::Send(tries) => {
                let came = far.send(&tries);
                probe.sent(came);
            }
            Do::Ask(request) => {
                let silent = far.lies(Lie::Silent);
                let answer = if silent {
                    Err("reset".to_owned())
                } else {
                    Ok(far.question(&request))
                };
                far.now = far.now + Span::from_millis(5);
                probe.asked(answer, local);
            }
            Do::Wait(pause) => {
                far.now = far.now + pause.span;
                if pause.by_clock {
                    moved = moved + pause.span;
                }
                probe.waited(far.now - moved, pause.by_clock);
            }
            Do::Nothing => {
                return probe.report(RunBy {
                    destination: "far".to_owned(),
                    base: "http://127.0.0.1:1".to_owned(),
                    account: None,
                    by: "ana".to_owned(),
                    began,
                    ended: far.now,
                });
            }
        }
    }
    panic!("it never ends");
}
