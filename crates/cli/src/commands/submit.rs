//! `factum submit`: one action from flags, or a file of them. Repeating a submission joins; it never makes a second effect.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::status::NOBODY_SERVES;
use super::submit_file;
use crate::access::{Access, Purpose, rests};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render, wait};

pub(crate) const HELP: &str = "\
--payload and --param values that are JSON are taken as JSON; a --param that is not is taken as text. \
A file holds one submission per line, as in the body of POST /v1/actions. Refused lines are named and do not stop the \
others; a line whose answer was lost is submitted again, and joins.\n\n\
Examples:\n  \
factum submit helpdesk ticket.create --key order-77/refund --payload '{\"ticket\":{\"subject\":\"Refund\"}}' --wait 4s\n  \
factum submit helpdesk ticket.create --key order-78/refund --payload @ticket.json --param brand=acme\n  \
factum submit --file actions.jsonl --json\n  \
factum submit --cloudevent order-paid.json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The configured account at an outside system
    #[arg(
        value_name = "DESTINATION",
        required_unless_present_any = ["file", "cloudevent"],
        conflicts_with_all = ["file", "cloudevent"]
    )]
    destination: Option<String>,
    /// What is to be done there
    #[arg(
        value_name = "OPERATION",
        required_unless_present_any = ["file", "cloudevent"],
        conflicts_with_all = ["file", "cloudevent"]
    )]
    operation: Option<String>,
    /// Your name for this effect: the same for every repeat, another for a second effect
    #[arg(long, conflicts_with_all = ["file", "cloudevent"])]
    key: Option<String>,
    /// The event that causes it, with --event-id and --effect, in place of a key
    #[arg(
        long,
        value_name = "SOURCE",
        requires = "event_id",
        conflicts_with_all = ["key", "file", "cloudevent"]
    )]
    event_source: Option<String>,
    /// The event's name at its source
    #[arg(
        long,
        value_name = "ID",
        requires = "event_source",
        conflicts_with_all = ["key", "file", "cloudevent"]
    )]
    event_id: Option<String>,
    /// Which of the event's effects
    #[arg(
        long,
        value_name = "NAME",
        requires = "event_source",
        conflicts_with_all = ["key", "file", "cloudevent"]
    )]
    effect: Option<String>,
    /// What is sent: JSON, @FILE, or @- for standard input
    #[arg(long, value_name = "JSON|@FILE", conflicts_with_all = ["file", "cloudevent"])]
    payload: Option<String>,
    /// A value for the contract's templates
    #[arg(long = "param", value_name = "NAME=VALUE", conflicts_with_all = ["file", "cloudevent"])]
    params: Vec<String>,
    /// One line for people, safe to show
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["file", "cloudevent"])]
    summary: Option<String>,
    /// What it works on at its destination, the same in every action on it (ticket/77)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "cloudevent"])]
    subject: Option<String>,
    /// A second effect of equal content is meant: overrides the operation's twin guard
    #[arg(long, conflicts_with = "file")]
    another: bool,
    /// For whom it is carried out
    #[arg(long = "for", value_name = "PRINCIPAL", conflicts_with_all = ["file", "cloudevent"])]
    on_behalf_of: Option<String>,
    /// The conversation in which it was asked for
    #[arg(long, value_name = "ID", conflicts_with_all = ["file", "cloudevent"])]
    conversation: Option<String>,
    /// The language of whoever asked, as in `de` or `pt-BR`: statements about it are worded in it
    #[arg(long, value_name = "TAG", conflicts_with = "cloudevent")]
    locale: Option<String>,
    /// No effect request from this instant on (RFC 3339)
    #[arg(long, value_name = "INSTANT", conflicts_with_all = ["file", "cloudevent"])]
    deadline: Option<String>,
    /// No send before this instant (RFC 3339)
    #[arg(long, value_name = "INSTANT", conflicts_with_all = ["file", "cloudevent"])]
    not_before: Option<String>,
    /// When the intent was formed (RFC 3339)
    #[arg(long, value_name = "INSTANT", conflicts_with_all = ["file", "cloudevent"])]
    intent_at: Option<String>,
    /// W3C trace context
    #[arg(long, value_name = "TRACEPARENT", conflicts_with_all = ["file", "cloudevent"])]
    trace: Option<String>,
    /// Submissions, one JSON object per line; - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A CloudEvent in its JSON format, whose data is the submission; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    cloudevent: Option<PathBuf>,
    /// Wait until it is settled or a person is needed, for so long at the most
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = wait::parse)]
    wait: Duration,
    /// Lines under way at once
    #[arg(long, value_name = "N", default_value_t = 16, requires = "file", value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// How long to submit again while nobody takes it [default: 5s, with --file 1min]
    #[arg(long, value_name = "TIME", value_parser = wait::parse)]
    retry_for: Option<Duration>,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let purpose = if args.wait.is_zero() {
        Purpose::Record
    } else {
        Purpose::CarryOut
    };
    if let Some(file) = &args.file {
        let options = submit_file::Options {
            file: file.clone(),
            wait: args.wait,
            concurrency: usize::from(args.concurrency),
            retry_for: args.retry_for.unwrap_or(Duration::from_secs(60)),
        };
        let access = Access::open(config, purpose).await?;
        return submit_file::run(access, options, out).await;
    }
    let body = match &args.cloudevent {
        Some(file) => of_event(file)?,
        None => body(&args)?,
    };
    let retry_for = args.retry_for.unwrap_or(Duration::from_secs(5));
    let access = Access::open(config, purpose).await?;
    let local = access.is_local();
    let status = patiently(&access, body.as_bytes(), args.wait, retry_for).await;
    access.close().await?;
    let status = status?;
    if out.json {
        out.value(&status);
    } else {
        out.line(render::status(out, &status));
        if status["joined"].as_bool() == Some(true) {
            out.note("joined: this intent was submitted before; nothing was sent for it again");
        }
    }
    if local && !rests(&status) {
        out.note(NOBODY_SERVES);
    }
    Ok(exit::code(exit::OK))
}

/// Submits; while nobody takes it, submits again with the same identity, which joins.
pub(crate) async fn patiently(
    access: &Access,
    body: &[u8],
    wait: Duration,
    retry_for: Duration,
) -> Result<Value, Failure> {
    const LONGEST: Duration = Duration::from_secs(5);
    let deadline = tokio::time::Instant::now() + retry_for;
    let mut pause = Duration::from_millis(100);
    loop {
        let failure = match access.submit(body, wait).await {
            Ok(status) => return Ok(status),
            Err(failure) => failure,
        };
        let Some(after) = failure.passing() else {
            return Err(failure);
        };
        let again = tokio::time::Instant::now() + after.max(pause).min(LONGEST);
        if again >= deadline {
            return Err(failure);
        }
        tokio::time::sleep_until(again).await;
        pause = (pause * 2).min(LONGEST);
    }
}

/// The submission that an event carries.
fn of_event(file: &Path) -> Result<String, Failure> {
    let path = file.display().to_string();
    let text = if path == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(|error| unreadable(&path, &error))?;
    let submission = factum::cloud_event::of_json(&text)?;
    serde_json::to_string(&submission)
        .map_err(|error| Failure::usage(error.to_string(), "send the event over HTTP"))
}

/// The body of the submission, with payload and parameters as they were written: numbers keep their form.
fn body(args: &Args) -> Result<String, Failure> {
    let mut members = Map::new();
    let mut set = |name: &str, value: &Option<String>| {
        if let Some(value) = value {
            members.insert(name.to_owned(), value.as_str().into());
        }
    };
    set("destination", &args.destination);
    set("operation", &args.operation);
    set("key", &args.key);
    set("effect", &args.effect);
    set("summary", &args.summary);
    set("subject", &args.subject);
    set("for", &args.on_behalf_of);
    set("deadline", &args.deadline);
    set("not_before", &args.not_before);
    set("intent_at", &args.intent_at);
    set("trace", &args.trace);
    if let (Some(source), Some(id)) = (&args.event_source, &args.event_id) {
        members.insert("event".to_owned(), json!({"source": source, "id": id}));
    }
    if let Some(locale) = &args.locale {
        members.insert("locale".to_owned(), json!(locale));
    }
    if args.another {
        members.insert("another".to_owned(), true.into());
    }
    if let Some(id) = &args.conversation {
        members.insert("conversation".to_owned(), json!({"id": id}));
    }
    let mut body = Value::Object(members).to_string();
    let mut append = |name: &str, value: String| {
        body.pop();
        body.push_str(&format!(",\"{name}\":{value}}}"));
    };
    if !args.params.is_empty() {
        append("params", params(&args.params)?);
    }
    if let Some(payload) = &args.payload {
        append("payload", self::payload(payload)?);
    }
    Ok(body)
}

pub(crate) fn params(given: &[String]) -> Result<String, Failure> {
    let mut members: Vec<String> = Vec::new();
    let mut names = Vec::new();
    for pair in given {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage(
                format!("{pair:?} is no parameter"),
                "write --param NAME=VALUE",
            ));
        };
        if names.contains(&name) {
            return Err(Failure::usage(
                format!("the parameter {name:?} is given twice"),
                "give it once",
            ));
        }
        names.push(name);
        let value = match serde_json::from_str::<&RawValue>(value) {
            Ok(raw) => raw.get().to_owned(),
            Err(_) => Value::from(value).to_string(),
        };
        members.push(format!("{}:{value}", Value::from(name)));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

pub(crate) fn payload(given: &str) -> Result<String, Failure> {
    let text = match given.strip_prefix('@') {
        None => given.to_owned(),
        Some("-") => std::io::read_to_string(std::io::stdin())
            .map_err(|error| unreadable("standard input", &error))?,
        Some(path) => std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?,
    };
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(raw) => Ok(raw.get().to_owned()),
        Err(error) => Err(Failure::usage(
            format!("the payload is no JSON: {error}"),
            "write one JSON value; text needs quotes of its own",
        )),
    }
}

/// A file that the caller named cannot be read.
pub(crate) fn unreadable(path: &str, error: &std::io::Error) -> Failure {
    Failure::usage(
        format!("cannot read {path}: {error}"),
        "name a file that can be read",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn body_of(words: &[&str]) -> Result<String, Failure> {
        body(&Cli::parse_from([&["submit"], words].concat()).args)
    }

    #[test]
    fn flags_become_the_body_and_numbers_keep_their_form() {
        let body = body_of(&[
            "crm",
            "note.add",
            "--key",
            "k{}",
            "--payload",
            "{\"amount\": 10.00}",
            "--param",
            "brand=acme",
            "--param",
            "n=7",
        ])
        .unwrap();
        assert!(
            body.contains("\"payload\":{\"amount\": 10.00}")
                && body.contains("\"params\":{\"brand\":\"acme\",\"n\":7}"),
            "{body}"
        );
        let parsed: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(parsed["key"], "k{}");
        assert_eq!(parsed["destination"], "crm");
        let bare = body_of(&["crm", "note.add", "--conversation", "c1"]).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&bare).unwrap()["conversation"]["id"],
            "c1"
        );
    }

    #[test]
    fn an_event_becomes_the_submission_that_it_carries() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("event.json");
        let event = "{\"specversion\":\"1.0\",\"id\":\"e\",\"source\":\"shop\",\"type\":\"paid\",\"data\":{\"destination\":\"crm\",\
                     \"operation\":\"note.add\",\"effect\":\"note\",\"payload\":{\"amount\":10.00}}}";
        std::fs::write(&file, event).unwrap();
        let body = of_event(&file).unwrap();
        assert!(body.contains("\"payload\":{\"amount\":10.00}"), "{body}");
        let parsed: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(parsed["event"], json!({"source": "shop", "id": "e"}));
        assert_eq!(parsed["effect"], "note");
        std::fs::write(&file, event.replace("\"id\":\"e\",", "")).unwrap();
        assert!(of_event(&file).is_err());
        for words in [["crm", "note.add"], ["--file", "x"]] {
            let words = [&["submit", "--cloudevent", "e.json"][..], &words].concat();
            assert!(Cli::try_parse_from(words).is_err());
        }
    }

    #[test]
    fn what_is_no_json_and_no_pair_is_refused_before_anything_is_sent() {
        for words in [
            ["--payload", "{"],
            ["--payload", "hello"],
            ["--param", "x"],
            ["--param", "=1"],
        ] {
            let failure = body_of(&[["crm", "note.add"], words].concat()).unwrap_err();
            assert_eq!(failure.exit, exit::USAGE, "{words:?}");
        }
        assert!(body_of(&["crm", "note.add", "--param", "a=1", "--param", "a=2"]).is_err());
    }
}
