//! Carrying a probe out: asks the person, orders each request, sends it, asks the destination, lets time pass.

use std::io::BufRead;
use std::sync::Arc;

use factum_contract::Contract;
use factum_contract::probe::{Came, Do, EffectTry, Pause, Probe, Report, RunBy, Second};
use factum_core::{ActionId, Lane, Limits, Promises, Span, Timestamp, WorkerNonce};
use factum_engine::Destination;
use factum_engine::clock::{AnchoredClock, LocalReading, duration};
use factum_engine::ordered::{self, NotOrdered};
use factum_transport::{Asked, Clock, Ended, HttpTransport, Target, Transport};
use tokio::task::JoinSet;

use super::content::SecondCredential;
use super::journal::Journal;
use crate::client::{Call, Client};
use crate::failure::Failure;
use crate::out::Out;

/// How long one question may take.
const ASK: Span = Span::from_secs(20);
/// Bytes of a body that are shown to the person.
const SHOWN_MAX: usize = 4096;

/// What a probe is carried out with.
pub(super) struct Driver<'a> {
    pub(super) destination: &'a Destination,
    pub(super) target: &'a Target,
    pub(super) second: Option<&'a Target>,
    pub(super) limits: Limits,
    pub(super) promises: Promises,
    /// Those of the operation that undoes.
    pub(super) undo: Option<(Limits, Promises)>,
    pub(super) by: String,
    pub(super) asks: bool,
    pub(super) advance: Option<String>,
    pub(super) out: Out,
}

/// Who both credentials belong to, as far as the destination says.
pub(super) struct Accounts {
    first: Option<String>,
    other: Option<String>,
}

impl Accounts {
    /// Nothing is probed at an account that is not the configured one.
    pub(super) fn check(&self, destination: &Destination) -> Result<(), Failure> {
        match (&self.first, &destination.account) {
            (Some(account), Some(pinned)) if account != pinned => Err(Failure::usage(
                format!("we are {account:?} there, and {pinned:?} is configured: nothing was sent"),
                "correct the account, or the secret that belongs to another one",
            )),
            (_, _) => Ok(()),
        }
    }

    /// Whose the second credential is, where both accounts are known.
    pub(super) fn second(&self) -> Option<Second> {
        let (first, other) = (self.first.as_ref()?, self.other.as_ref()?);
        Some(if first == other {
            Second::SameAccount
        } else {
            Second::OtherAccount
        })
    }
}

/// Asks who we are there, by each credential.
pub(super) async fn accounts(
    contract: &Contract,
    target: &Target,
    second: Option<&SecondCredential>,
) -> Accounts {
    let transport = HttpTransport::new(Arc::new(clock()));
    let account = async |target: &Target| {
        let request = contract.whoami_request()?;
        match transport.ask(target, request, ASK).await {
            Asked::Answered(answer) => contract.read_whoami(&answer),
            Asked::Failed { .. } => None,
        }
    };
    let other = match second {
        Some(second) => account(&second.target).await,
        None => None,
    };
    Accounts {
        first: account(target).await,
        other,
    }
}

/// The wall clock, going on evenly: a probe keeps no store whose clock it could follow.
fn clock() -> AnchoredClock {
    let local = LocalReading::take();
    AnchoredClock::new(local, Timestamp::from_micros(local.wall))
}

/// The day, for the name of a report.
pub(super) fn today() -> String {
    let now = jiff::Timestamp::from_microsecond(LocalReading::take().wall).unwrap_or_default();
    now.strftime("%Y-%m-%d").to_string()
}

fn random() -> Result<u64, Failure> {
    getrandom::u64()
        .map_err(|error| Failure::other(format!("there is no randomness: {error}"), "try again"))
}

impl Driver<'_> {
    /// Carries the probe out to its report. Interrupted or failed, it sends nothing more and reports what it saw.
    pub(super) async fn drive(
        &self,
        probe: &mut Probe<'_>,
        mut journal: Journal,
    ) -> Result<(Report, Option<Failure>), Failure> {
        let clock = Arc::new(clock());
        let transport = Arc::new(HttpTransport::new(clock.clone()));
        let worker = WorkerNonce(random()?);
        let began = clock.now();
        let interrupted = tokio::signal::ctrl_c();
        tokio::pin!(interrupted);
        let mut failed = None;
        loop {
            let due = probe.next(clock.now());
            tokio::select! {
                biased;
                _ = &mut interrupted => {
                    failed = Some(Failure::other(
                        "interrupted: nothing more was sent, withdrawn or undone",
                        "see in the report and its journal what was made",
                    ));
                    break;
                }
                goes_on = self.carry(due, probe, &mut journal, &clock, &transport, worker) => {
                    match goes_on {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(failure) => {
                            failed = Some(failure);
                            break;
                        }
                    }
                }
            }
        }
        let report = probe.report(RunBy {
            destination: self.destination.name.clone(),
            base: self.target.base(),
            account: self.destination.account.clone(),
            by: self.by.clone(),
            began,
            ended: clock.now(),
        });
        Ok((report, failed))
    }

    /// Does what is due; false where nothing is.
    async fn carry(
        &self,
        due: Do,
        probe: &mut Probe<'_>,
        journal: &mut Journal,
        clock: &AnchoredClock,
        transport: &Arc<HttpTransport>,
        worker: WorkerNonce,
    ) -> Result<bool, Failure> {
        match due {
            Do::Nothing => return Ok(false),
            Do::Send(tries) => {
                if self.wanted(&tries) {
                    let came = self.send(tries, journal, clock, transport, worker).await?;
                    probe.sent(came);
                } else {
                    probe.declined();
                }
            }
            Do::Ask(request) => {
                let asked_at = clock.now();
                let answer = match transport.ask(self.target, request, ASK).await {
                    Asked::Answered(answer) => Ok(answer),
                    Asked::Failed { detail, .. } => Err(detail),
                };
                probe.asked(answer, asked_at);
            }
            Do::Wait(pause) => {
                let moved = self.let_pass(&pause).await?;
                probe.waited(clock.now(), moved);
            }
        }
        Ok(true)
    }

    async fn send(
        &self,
        tries: Vec<EffectTry>,
        journal: &mut Journal,
        clock: &AnchoredClock,
        transport: &Arc<HttpTransport>,
        worker: WorkerNonce,
    ) -> Result<Vec<Came>, Failure> {
        let mut under_way = JoinSet::new();
        let mut came = vec![Came::NotSent("it was not begun".to_owned()); tries.len()];
        let mut ready = Vec::new();
        for (n, one) in tries.into_iter().enumerate() {
            let target = match (one.second, self.second) {
                (true, Some(second)) => second,
                (_, _) => self.target,
            };
            let now = clock.now();
            let action = ActionId::new(now, Lane(0), random()?);
            let why = one.experiment.map_or("cleaning up", |tried| tried.title());
            let why = format!("probe: {why}: {}", one.why);
            journal
                .intends(action, &one, &target.base())
                .map_err(|error| unwritten(&error))?;
            let (limits, promises) = self.bounds(&one);
            let order = ordered::Order {
                action,
                by: &self.by,
                why: &why,
                limits,
                promises,
                worker,
                now,
            };
            let permission = ordered::order(self.destination, &order, journal);
            ready.push((
                n,
                action,
                permission.map_err(refused)?,
                target.clone(),
                one.request,
            ));
        }
        for (n, action, permission, target, request) in ready {
            let transport = Arc::clone(transport);
            under_way.spawn(async move {
                let ended = transport.send(permission, &target, request, false).await;
                (n, action, ended)
            });
        }
        while let Some(joined) = under_way.join_next().await {
            let (n, action, ended) = joined.map_err(|error| {
                Failure::other(
                    format!("a request's task ended: {error}"),
                    "see the journal",
                )
            })?;
            let (how, detail, one) = match ended {
                Ended::NotSent { detail, .. } => {
                    ("not_sent", detail.clone(), Came::NotSent(detail))
                }
                Ended::Lost { detail, .. } => ("lost", detail.clone(), Came::Lost(detail)),
                Ended::Answered {
                    answer, read_at, ..
                } => (
                    "answered",
                    format!("status {}", answer.status),
                    Came::Answer(answer, read_at),
                ),
            };
            journal
                .ended(action, how, &detail)
                .map_err(|error| unwritten(&error))?;
            came[n] = one;
        }
        Ok(came)
    }

    /// The limits and promises of the operation that the request is of.
    fn bounds(&self, one: &EffectTry) -> (Limits, &Promises) {
        match &self.undo {
            Some((limits, promises)) if one.undoes => (*limits, promises),
            _ => (self.limits, &self.promises),
        }
    }

    /// Shows the requests, and asks unless that was waived. No secret is in them yet.
    fn wanted(&self, tries: &[EffectTry]) -> bool {
        if !self.asks {
            return true;
        }
        for one in tries {
            let request = &one.request;
            let by = if one.second {
                ", by the second credential"
            } else {
                ""
            };
            eprint_line(format_args!("\n{}{by}:", one.why));
            let base = self.target.base();
            eprint_line(format_args!(
                "  {} {base}{}",
                request.method, request.path_and_query
            ));
            for (name, value) in &request.headers {
                eprint_line(format_args!("  {name}: {value}"));
            }
            let body = String::from_utf8_lossy(&request.body);
            let shown: String = body.chars().take(SHOWN_MAX).collect();
            eprint_line(format_args!(
                "  {shown}\n  (authentication is added when it is sent)"
            ));
        }
        eprint_line("Send it? [y/N]");
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    }

    /// Lets time pass; true where the destination's clock was moved instead.
    async fn let_pass(&self, pause: &Pause) -> Result<bool, Failure> {
        let Some(url) = self.advance.as_ref().filter(|_| pause.by_clock) else {
            if pause.by_clock {
                self.out
                    .note(format_args!("waiting {}: {}", pause.span, pause.why));
            }
            tokio::time::sleep(duration(pause.span)).await;
            return Ok(false);
        };
        let millis = pause.span.as_micros() / 1_000 + 1;
        let (client, path) = advancer(url, millis)?;
        let answer = client.call(Call::put(path, "")).await?;
        if answer.status >= 300 {
            let rule = format!(
                "{url} answered {} when its clock was to be moved",
                answer.status
            );
            return Err(Failure::other(
                rule,
                "name a testbed's administration, or an address with {ms}",
            ));
        }
        Ok(true)
    }
}

/// The address that moves the clock: a testbed's administration, or any with `{ms}` where the time goes.
fn advancer(url: &str, millis: i64) -> Result<(Client, String), Failure> {
    if !url.contains("{ms}") {
        let client = Client::new(url, "none".to_owned())?;
        return Ok((client, format!("/clock?advance_ms={millis}")));
    }
    let url = url.replace("{ms}", &millis.to_string());
    let after = url.find("://").map_or(0, |at| at + 3);
    let path = url[after..].find('/').map_or(url.len(), |at| after + at);
    let client = Client::new(&url[..path], "none".to_owned())?;
    Ok((client, url[path..].to_owned()))
}

fn eprint_line(text: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn unwritten(error: &std::io::Error) -> Failure {
    Failure::other(
        format!("the journal cannot be written: {error}; nothing more is sent"),
        "make room or the place writable, and see in the journal what was sent",
    )
}

fn refused(error: NotOrdered) -> Failure {
    let why = match &error {
        NotOrdered::Journal(error) => return unwritten(error),
        NotOrdered::NoSandbox | NotOrdered::Refused(_) => error.to_string(),
    };
    Failure::other(format!("{why}: nothing more is sent"), "see docs/probe.md")
}
