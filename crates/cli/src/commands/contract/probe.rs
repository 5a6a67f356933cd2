//! `factum contract probe`: tries a contract's claims against a sandbox, and writes down what held.
//!
//! The plan and the verdicts are the contract crate's. Here the person is asked, the requests go out, and the report is written.
//! Every effect request is ordered by the person, recorded before its first byte, and bounded in number; a destination that the
//! configuration does not mark as a sandbox is not touched, not even by a question.

mod content;
mod drive;
mod journal;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use factum::setup;
use factum_contract::Contract;
use factum_contract::probe::{PlanRow, Probe, Report, Verdict};
use factum_core::Limits;
use factum_engine::{Destination, Reach};
use factum_transport::Target;
use serde_json::json;

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;
use crate::place::{self, Place};
use crate::wait;

pub(super) const HELP: &str = "\
The destination has to be marked `sandbox = true` in the configuration; no other is touched. How many effects there will be is \
said before the first, each is shown and asked for unless --yes is given, what can be withdrawn by key or undone by another \
operation is so at the end, and what is left behind is listed. Exits with 1 if a claim did not hold.\n\n\
What is sent is taken from the contract's examples where it is not given. In a payload {unique} stands for a word that \
differs from key to key.\n\n\
Examples:\n  \
factum contract probe sandbox ticket.create\n  \
factum contract probe sandbox ticket.create --payload @ticket.json --refused-payload @bad.json --wait 2h --yes\n  \
factum contract probe bed key.sync --payload '{\"business\":\"b\"}' --advance-url http://127.0.0.1:7431 --yes";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A destination that is marked as a sandbox
    #[arg(value_name = "DESTINATION")]
    destination: String,
    /// The operation whose claims are tried
    #[arg(value_name = "OPERATION")]
    operation: String,
    /// What is sent: JSON, @FILE or @- [default: from the contract's examples]
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// A parameter: NAME=VALUE
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Other content of the same shape [default: from the examples, or one value changed]
    #[arg(long, value_name = "JSON")]
    other_payload: Option<String>,
    /// Content that the destination refuses [default: from the examples]
    #[arg(long, value_name = "JSON")]
    refused_payload: Option<String>,
    /// Content at which the destination fails with an error of its own
    #[arg(long, value_name = "JSON")]
    failing_payload: Option<String>,
    /// Repeat a key after this long; without it (and without --advance-url) that is not tried
    #[arg(long, value_name = "TIME", value_parser = wait::parse)]
    wait: Option<Duration>,
    /// Where the destination's clock can be moved: a testbed's administration, or an address with {ms}
    #[arg(long, value_name = "URL")]
    advance_url: Option<String>,
    /// A second credential, by reference, for the scope of keys
    #[arg(long, value_name = "REF")]
    second_credential: Option<String>,
    /// Whose it is, where the destination cannot be asked
    #[arg(long, value_enum, default_value_t = content::Whose::SameAccount)]
    second_is: content::Whose,
    /// Effects whose way into the lookup is timed
    #[arg(long, value_name = "N", default_value_t = 5)]
    samples: u32,
    /// Pairs of requests that are sent at once
    #[arg(long, value_name = "N", default_value_t = 3)]
    pairs: u32,
    /// How long one lookup or poll is read again and again
    #[arg(long, value_name = "TIME", value_parser = wait::parse, default_value = "20s")]
    patience: Duration,
    /// Between two reads
    #[arg(long, value_name = "TIME", value_parser = wait::parse, default_value = "250ms")]
    read_every: Duration,
    /// The report's file, which must not exist; a page for people is written beside it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Do not ask before each effect
    #[arg(long)]
    yes: bool,
}

/// Where things are written.
struct Files {
    report: PathBuf,
    page: PathBuf,
    journal: PathBuf,
}

pub(super) async fn run(args: &Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let place = Place::read(config)?;
    let destinations = setup::destinations(&place.config, &setup::catalogue(&place.config)?)?;
    let destination = sandbox(&destinations, &args.destination, &place)?;
    let (contract, target) = subject(destination, &args.operation)?;
    let mut second = content::second(args, target)?;
    let who = drive::accounts(contract, target, second.as_ref()).await;
    who.check(destination)?;
    if let (Some(second), Some(whose)) = (&mut second, who.second()) {
        second.whose = whose;
    }
    let setup = content::setup(args, contract, second.as_ref().map(|second| second.whose))?;
    let mut probe = Probe::new(contract, setup).map_err(|error| {
        Failure::usage(
            format!("the submission does not build: {error}"),
            "give --payload and --param so that it does",
        )
    })?;
    let undo = undoing(destination, contract);
    if let Some((_, contract)) = undo {
        probe = probe.undo_by(contract);
    }
    if probe.plan().iter().all(|row| row.skipped.is_some()) {
        return Err(Failure::usage(
            "the contract claims nothing that can be tried here: no key, no lookup, no cancel",
            "see `factum contract show`; nothing was sent",
        ));
    }
    let files = Files::new(args, contract, out)?;
    announce(&probe, destination, &files, out);
    let driver = drive::Driver {
        destination,
        target,
        second: second.as_ref().map(|second| &second.target),
        limits: destination.operations[&args.operation].limits,
        promises: contract.promises(),
        undo: undo.map(|(limits, contract)| (limits, contract.promises())),
        by: place::user(),
        asks: !args.yes,
        advance: args.advance_url.clone(),
        out,
    };
    let journal = journal::Journal::create(&files.journal)?;
    let (report, failed) = driver.drive(&mut probe, journal).await?;
    write(&files.report, &report.to_toml())?;
    write(&files.page, &report.to_markdown())?;
    if let Some(failure) = failed {
        out.note(format_args!(
            "what was seen until then: {}",
            files.page.display()
        ));
        return Err(failure);
    }
    tell(&report, &files, out);
    let broken = report.with(Verdict::DidNotHold).count();
    Ok(exit::code(if broken == 0 {
        exit::OK
    } else {
        exit::FINDINGS
    }))
}

/// The destination, if it may be touched.
fn sandbox<'a>(
    destinations: &'a std::collections::BTreeMap<String, Destination>,
    name: &str,
    place: &Place,
) -> Result<&'a Destination, Failure> {
    let file = place.file.display();
    let Some(destination) = destinations.get(name) else {
        let known: Vec<&str> = destinations.keys().map(String::as_str).collect();
        return Err(Failure::not_found(
            format!("no destination {name:?} is configured in {file}"),
            &format!("use one of: {}; or add it", known.join(", ")),
        ));
    };
    if !destination.sandbox {
        let rule = format!(
            "{name} is not marked as a sandbox in {file}, and a probe makes effects: nothing was sent"
        );
        let remedy = format!(
            "only if effects there count for nothing, write `sandbox = true` in [destinations.{name}]"
        );
        return Err(Failure::usage(rule, &remedy).about(&format!("/destinations/{name}/sandbox")));
    }
    Ok(destination)
}

/// What is tried, and where requests go.
fn subject<'a>(
    destination: &'a Destination,
    operation: &str,
) -> Result<(&'a Contract, &'a Target), Failure> {
    let Reach::Http(target) = &destination.reach else {
        return Err(Failure::not_found(
            "an application carries it in its own code",
            "probe a destination that is reached over HTTP",
        ));
    };
    let found = destination.operations.get(operation);
    let contract = found.and_then(|operation| operation.contract.as_ref());
    let Some(contract) = contract else {
        let known: Vec<&str> = destination.operations.keys().map(String::as_str).collect();
        return Err(Failure::not_found(
            format!("{} has no operation {operation:?}", destination.provider),
            &format!("use one of: {}", known.join(", ")),
        ));
    };
    Ok((&contract.contract, target))
}

/// The operation that undoes an effect of this one, where the contract says what it is submitted with.
fn undoing<'a>(
    destination: &'a Destination,
    contract: &Contract,
) -> Option<(Limits, &'a Contract)> {
    let operation = destination.operations.get(contract.undone_by()?)?;
    let undoes = operation.contract.as_ref()?;
    Some((operation.limits, &undoes.contract))
}

impl Files {
    fn new(args: &Args, contract: &Contract, out: Out) -> Result<Self, Failure> {
        let report = args.report.clone().unwrap_or_else(|| {
            let name = super::full_name(contract);
            format!("{name}.{}.probe.toml", drive::today()).into()
        });
        let name = report.display().to_string();
        let Some(stem) = name.strip_suffix(".toml") else {
            let rule = format!("{name} does not end in .toml");
            return Err(Failure::usage(rule, "write --report NAME.probe.toml"));
        };
        let files = Self {
            page: format!("{stem}.md").into(),
            journal: format!("{stem}.journal").into(),
            report,
        };
        for path in [&files.report, &files.page, &files.journal] {
            if path.exists() {
                let rule = format!("{} is there already", path.display());
                return Err(Failure::usage(rule, "name another file with --report"));
            }
        }
        out.note(format_args!("report: {}", files.report.display()));
        Ok(files)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        Failure::other(
            format!("cannot write {}: {error}", path.display()),
            "what was sent stands in the journal beside it; make the place writable",
        )
    })
}

/// What will be tried, and the bound, before the first request.
fn announce(probe: &Probe<'_>, destination: &Destination, files: &Files, out: Out) {
    out.note(format_args!(
        "At {} at most {} effects are made, by at most {} effect requests (withdrawals and undoing among them):",
        destination.name,
        probe.effects_max(),
        probe.requests_max()
    ));
    for PlanRow {
        experiment,
        effects_max,
        skipped,
    } in probe.plan()
    {
        let title = experiment.title();
        match skipped {
            Some(why) => out.note(format_args!("  not tried  {title}: {why}")),
            None => out.note(format_args!("  {effects_max:>2} effects {title}")),
        }
    }
    out.note(format_args!(
        "Each is written down before it is sent: {}",
        files.journal.display()
    ));
}

fn tell(report: &Report, files: &Files, out: Out) {
    if out.json {
        out.value(&json!({
            "report": report, "file": files.report, "page": files.page, "journal": files.journal,
            "held": report.with(Verdict::Held).count(),
            "did_not_hold": report.with(Verdict::DidNotHold).count(),
            "could_not_be_told": report.with(Verdict::CouldNotBeTold).count(),
        }));
        return;
    }
    for verdict in [Verdict::DidNotHold, Verdict::Held, Verdict::CouldNotBeTold] {
        for claim in report.with(verdict) {
            out.line(format_args!("{:<17}  {}", verdict.words(), claim.says));
            out.line(format_args!("{:<17}  {}: {}", "", claim.about, claim.why));
        }
    }
    if let Some(lag) = &report.lookup {
        out.line(format_args!(
            "shown in the lookup after {} ms at the least, {} ms in the middle, {} ms at the most ({} effects)",
            lag.min_ms, lag.median_ms, lag.max_ms, lag.samples
        ));
    }
    out.line(format_args!(
        "{} effect requests, {} effects, {} withdrawn, {} undone",
        report.requests,
        report.effects,
        report.withdrawn,
        report.undone.len()
    ));
    for undone in &report.undone {
        out.line(format_args!("undone: {} by {}", undone.receipt, undone.by));
    }
    for left in &report.left {
        let doubt = if left.exists { "" } else { "perhaps " };
        let names = left.names.join(", ");
        let key = left.key.as_deref();
        let key = key.map_or(String::new(), |key| format!(", key {key}"));
        let why = left.why.as_deref();
        let why = why.map_or(String::new(), |why| format!(": {why}"));
        out.line(format_args!(
            "left behind: {doubt}{names} (reference {}{key}){why}",
            left.reference
        ));
    }
    out.line(format_args!("for people: {}", files.page.display()));
}
