//! `factum contract explain`: what the engine would decide after something happened to a request, and why, step by step.

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use factum_contract::{Contract, Meanwhile, Outcome, Script, Shown, parse_span};
use factum_core::Span;
use factum_core::evidence::AnswerClass;
use factum_core::promise::Consequence;
use serde_json::json;

use super::{catalogue, full_name, named, rehearse};
use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// PROVIDER.OPERATION
    #[arg(value_name = "OPERATION")]
    operation: String,
    /// What came of the first request
    #[arg(long, value_name = "WHAT")]
    after: After,
    /// How long after the first request the decision is asked for, as in +25h
    #[arg(long, value_name = "TIME", value_parser = later, allow_hyphen_values = true)]
    at: Option<Span>,
    /// As if a duplicate were as bad as this
    #[arg(long, value_name = "WORD", value_parser = ["harmless", "reversible", "costly", "irreversible"])]
    consequence: Option<String>,
    /// What lookups show
    #[arg(long, value_name = "WORD", default_value = "found")]
    shown: Look,
}

/// What can come of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum After {
    NotSent,
    LostAnswer,
    Accepted,
    Rejected,
    Declined,
    InProgress,
    AlreadyExists,
    Mismatch,
    Busy,
    Unknown,
    Done,
}

/// What a lookup can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Look {
    Found,
    Queued,
    Absent,
}

fn later(text: &str) -> Result<Span, String> {
    let text = text.trim_start_matches('+');
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != ' ');
    let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
    parse_span(&format!("{} {unit}", number.trim()))
}

impl After {
    fn outcome(self, contract: &Contract) -> Outcome {
        let stored = contract.refusal_is_stored(self == Self::Declined);
        let why = "refused".to_owned();
        let object = Some("queued".to_owned());
        Outcome::Answered(match self {
            Self::NotSent => return Outcome::NotSent,
            Self::LostAnswer => return Outcome::Lost,
            Self::Accepted => AnswerClass::Accepted { object },
            Self::Rejected => AnswerClass::Rejected { stored, why },
            Self::Declined => AnswerClass::Declined { stored, why },
            Self::InProgress => AnswerClass::InProgress,
            Self::AlreadyExists => AnswerClass::AlreadyExists { ours: false },
            Self::Mismatch => AnswerClass::Mismatch,
            Self::Busy => AnswerClass::Busy,
            Self::Unknown => AnswerClass::Unknown,
            Self::Done => AnswerClass::Done,
        })
    }

    fn words(self) -> &'static str {
        match self {
            Self::NotSent => "it is proven that no byte of the request left",
            Self::LostAnswer => "the request was written and its answer lost",
            Self::Accepted => "the destination took it, and its completion is not confirmed",
            Self::Rejected => "the destination refused it before doing anything",
            Self::Declined => "the destination refused it and recorded that",
            Self::InProgress => "an earlier request under the key is still running",
            Self::AlreadyExists => "something of this name exists, not recognised as ours",
            Self::Mismatch => "the key is bound there to other content",
            Self::Busy => "the destination refused it for now",
            Self::Unknown => "an answer came from which nothing can be concluded",
            Self::Done => "the destination confirmed the effect",
        }
    }
}

pub(crate) fn run(args: &Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let catalogue = catalogue(config)?;
    let contract = named(&catalogue, &args.operation)?;
    let script = Script {
        sends: vec![args.after.outcome(contract)],
        meanwhile: args.at.map(Meanwhile::Pass).into_iter().collect(),
        shown: match args.shown {
            Look::Found => Shown::Found,
            Look::Queued => Shown::Queued,
            Look::Absent => Shown::Absent,
        },
        consequence: args.consequence.as_deref().and_then(consequence),
    };
    let played = contract.rehearse(&script);
    let at = args.at.unwrap_or_default();
    if out.json {
        let mut value = rehearse::value(&played);
        value["operation"] = full_name(contract).into();
        value["after"] = json!(
            args.after
                .to_possible_value()
                .map(|v| v.get_name().to_owned())
        );
        value["asked_at_ms"] = (at.as_micros() / 1_000).into();
        value["consequence"] = played.promises.consequence.name().into();
        out.value(&value);
        return Ok(exit::code(exit::OK));
    }
    out.line(format_args!(
        "{} ({}): {}; asked +{at} after the first send.\n",
        full_name(contract),
        played.promises.consequence.name(),
        args.after.words(),
    ));
    for line in rehearse::lines(&played) {
        out.line(line);
    }
    out.note("Later sends are taken to succeed; lookups show what --shown says. Delays between tries are left out.");
    Ok(exit::code(exit::OK))
}

fn consequence(word: &str) -> Option<Consequence> {
    let mut all = Consequence::ALL.into_iter();
    all.find(|consequence| consequence.name() == word)
}
