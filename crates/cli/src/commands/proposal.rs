//! `factum propose`, `approve`, `decline`, `proposal`: content that people decide on before anything is sent. All of it goes through a
//! server: who decides is the principal of the token.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::submit::{params, payload};
use crate::access::Access;
use crate::client::{Call, Client, encoded, with_query};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const PROPOSE_HELP: &str = "\
Nothing is sent before it is approved. A repeat with the same key and content finds the same proposal.\n\n\
Examples:\n  \
factum propose helpdesk ticket.create --key order-77/refund --payload @ticket.json --summary 'Refund for order 77'\n  \
factum propose shop refund.create --key order-78/refund --payload '{\"amount\":\"20.00\"}' --expires 2026-12-24T12:00:00Z";

pub(crate) const APPROVE_HELP: &str = "\
The digest is the one that `factum proposal show` prints beside what would be sent: what is approved is exactly that.\n\n\
Examples:\n  \
factum approve pro_06f8t0c3k9sj3b6m1x2z7q4w5n --digest 8a1f… --reason 'the goods came back'\n  \
factum approve pro_06f8t0c3k9sj3b6m1x2z7q4w5n --digest 8a1f… --until 2026-12-01T18:00:00Z";

pub(crate) const DECLINE_HELP: &str = "\
Whoever asked may withdraw their own in the same way.\n\n\
Example:\n  factum decline pro_06f8t0c3k9sj3b6m1x2z7q4w5n --reason 'too much'";

pub(crate) const HELP: &str = "\
Examples:\n  factum proposal list --state pending\n  factum proposal show pro_06f8t0c3k9sj3b6m1x2z7q4w5n\n  \
factum proposal supersede pro_06f8t0c3k9sj3b6m1x2z7q4w5n shop refund.create --payload '{\"amount\":\"30.00\"}'";

/// What is proposed.
#[derive(Debug, clap::Args)]
pub(crate) struct Wish {
    /// The configured account at an outside system
    #[arg(value_name = "DESTINATION")]
    destination: String,
    /// What would be done there
    #[arg(value_name = "OPERATION")]
    operation: String,
    /// Your name for this effect: the same for every repeat, another for a second effect
    #[arg(long)]
    key: Option<String>,
    /// What would be sent: JSON, @FILE, or @- for standard input
    #[arg(long, value_name = "JSON|@FILE")]
    payload: Option<String>,
    /// A value for the contract's templates
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// One line for people, safe to show
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// What it works on at its destination (ticket/77)
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// For whom it would be carried out
    #[arg(long = "for", value_name = "PRINCIPAL")]
    on_behalf_of: Option<String>,
    /// The conversation in which it was asked for
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// The language of whoever asked
    #[arg(long, value_name = "TAG")]
    locale: Option<String>,
    /// No effect request from this instant on (RFC 3339)
    #[arg(long, value_name = "INSTANT")]
    deadline: Option<String>,
    /// No send before this instant (RFC 3339)
    #[arg(long, value_name = "INSTANT")]
    not_before: Option<String>,
    /// It may be decided on before this instant, and nothing is sent from then on (RFC 3339)
    #[arg(long, value_name = "INSTANT")]
    expires: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// The proposal
    #[arg(value_name = "PROPOSAL")]
    id: String,
    /// The digest that was looked at
    #[arg(long)]
    digest: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Nothing is sent from this instant on (RFC 3339)
    #[arg(long, value_name = "INSTANT")]
    until: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DeclineArgs {
    /// The proposal
    #[arg(value_name = "PROPOSAL")]
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Proposals {
    /// Proposals, oldest first
    #[command(after_help = HELP)]
    List {
        /// In this state
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// For this destination
        #[arg(long)]
        destination: Option<String>,
        /// Asked for in this conversation
        #[arg(long, value_name = "ID")]
        conversation: Option<String>,
        /// Continues a listing: `next_after` of the page before
        #[arg(long, value_name = "PROPOSAL")]
        after: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Exactly what would be sent, who asks, and who approved so far
    #[command(after_help = HELP)]
    Show {
        /// The proposal
        #[arg(value_name = "PROPOSAL")]
        id: String,
    },
    /// Put another content in a proposal's place
    #[command(after_help = HELP)]
    Supersede {
        /// The proposal
        #[arg(value_name = "PROPOSAL")]
        id: String,
        #[command(flatten)]
        wish: Box<Wish>,
    },
}

impl Wish {
    /// The body, with payload and parameters as they were written: numbers keep their form.
    fn body(&self) -> Result<String, Failure> {
        let mut members = Vec::new();
        let mut set = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                members.push(format!("{}:{value}", json!(name)));
            }
        };
        let text = |value: &Option<String>| value.as_ref().map(|text| json!(text).to_string());
        set("destination", Some(json!(self.destination).to_string()));
        set("operation", Some(json!(self.operation).to_string()));
        set("key", text(&self.key));
        set("summary", text(&self.summary));
        set("subject", text(&self.subject));
        set("for", text(&self.on_behalf_of));
        set("locale", text(&self.locale));
        set("deadline", text(&self.deadline));
        set("not_before", text(&self.not_before));
        set("expires_at", text(&self.expires));
        let talk = self.conversation.as_ref();
        set(
            "conversation",
            talk.map(|id| json!({ "id": id }).to_string()),
        );
        if !self.params.is_empty() {
            set("params", Some(params(&self.params)?));
        }
        let sent = self.payload.as_deref().map(payload);
        set("payload", sent.transpose()?);
        Ok(format!("{{{}}}", members.join(",")))
    }
}

pub(crate) async fn propose(
    wish: &Wish,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    // A repeat joins, so that a lost answer may be asked for again.
    let call = Call::post("/v1/proposals", wish.body()?).repeatable();
    decided(call, config, out).await
}

pub(crate) async fn approve(
    args: ApproveArgs,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let mut body = json!({"digest": args.digest});
    for (member, text) in [("reason", args.reason), ("until", args.until)] {
        if let Some(text) = text {
            body[member] = text.into();
        }
    }
    let call = Call::post(at(&args.id, "/approve"), body.to_string()).repeatable();
    decided(call, config, out).await
}

pub(crate) async fn decline(
    args: DeclineArgs,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let body = json!({"reason": args.reason}).to_string();
    let call = Call::post(at(&args.id, "/decline"), body).repeatable();
    decided(call, config, out).await
}

impl Proposals {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        match self {
            Self::List {
                state,
                destination,
                conversation,
                after,
                limit,
            } => {
                let query = [
                    ("state", state),
                    ("destination", destination),
                    ("conversation", conversation),
                    ("after", after),
                    ("limit", Some(limit.to_string())),
                ];
                let call = Call::get(with_query("/v1/proposals", &query));
                let found = asked(call, config).await?;
                print(out, &found, |found| out.line(table(out, found)));
            }
            Self::Show { id } => {
                let call = Call::get(with_query(&at(&id, ""), &[("audience", operator())]));
                let found = asked(call, config).await?;
                print(out, &found, |found| shown(out, found));
            }
            Self::Supersede { id, wish } => {
                let call = Call::post(at(&id, "/supersede"), wish.body()?).repeatable();
                return decided(call, config, out).await;
            }
        }
        Ok(exit::code(exit::OK))
    }
}

fn operator() -> Option<String> {
    Some("operator".to_owned())
}

fn at(id: &str, call: &str) -> String {
    format!("/v1/proposals/{}{call}", encoded(id))
}

async fn decided(call: Call, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let found = asked(call, config).await?;
    print(out, &found, |found| {
        shown(out, &found["proposal"]);
        if found["action"].is_object() {
            out.line(render::status(out, &found["action"]));
        }
    });
    Ok(exit::code(exit::OK))
}

fn print(out: Out, found: &Value, people: impl FnOnce(&Value)) {
    if out.json {
        out.value(found);
    } else {
        people(found);
    }
}

async fn asked(call: Call, config: Option<&Path>) -> Result<Value, Failure> {
    let client = Access::server(config, "what is decided is decided through a server").await?;
    ask(&client, call).await
}

async fn ask(client: &Client, call: Call) -> Result<Value, Failure> {
    client.json(call).await
}

fn table(out: Out, found: &Value) -> String {
    let heads = [
        "proposal", "state", "asked by", "what", "summary", "expires",
    ];
    let mut table = render::table(out, &heads);
    for one in found["proposals"].as_array().into_iter().flatten() {
        let what = format!(
            "{} at {}",
            render::text(one, "operation"),
            render::text(one, "destination")
        );
        table.add_row([
            render::text(one, "id").to_owned(),
            render::text(one, "state").to_owned(),
            render::text(one, "asked_by").to_owned(),
            what,
            render::text(one, "summary").to_owned(),
            render::text(one, "expires_at").to_owned(),
        ]);
    }
    table.to_string()
}

fn shown(out: Out, one: &Value) {
    let part = |member: &str| render::text(one, member);
    let (id, state) = (part("id"), part("state"));
    out.line(format_args!("{id}: {state}"));
    let (operation, destination) = (part("operation"), part("destination"));
    let (asked, acts_for, expires) = (part("asked_by"), part("for"), part("expires_at"));
    out.line(format_args!(
        "  {operation} at {destination}, asked by {asked} for {acts_for}, until {expires}"
    ));
    if let Some(summary) = one["summary"].as_str() {
        out.line(format_args!("  {summary}"));
    }
    if let Some(amount) = one["amount"].as_object() {
        let currency = amount["currency"].as_str().unwrap_or_default();
        let number = amount["number"].as_str().unwrap_or_default();
        out.line(format_args!("  amount {number} {currency}"));
    }
    for difference in one["differences"].as_array().into_iter().flatten() {
        let member = render::text(difference, "member");
        out.line(format_args!(
            "  changed {member}: {} -> {}",
            difference["was"], difference["is"]
        ));
    }
    request(out, &one["request"]);
    for approval in one["approvals"].as_array().into_iter().flatten() {
        let by = approval["by"].as_str().unwrap_or("the operation's policy");
        let why = approval["reason"].as_str().unwrap_or_default();
        let at = render::text(approval, "at");
        out.line(format_args!("  approved at {at} by {by}: {why}"));
    }
    if let Some(stale) = one["stale"].as_str() {
        out.note(format_args!("it cannot be approved as it is: {stale}"));
    }
    out.line(format_args!("  digest {}", part("digest")));
}

fn request(out: Out, request: &Value) {
    if !request.is_object() {
        return;
    }
    let part = |member: &str| render::text(request, member);
    out.line(format_args!("  {} {}", part("method"), part("address")));
    for header in request["headers"].as_array().into_iter().flatten() {
        let (name, value) = (render::text(header, "name"), render::text(header, "value"));
        out.line(format_args!("  {name}: {value}"));
    }
    match request["body"].as_str() {
        Some("") => {}
        Some(body) => out.line(format_args!("\n{body}\n")),
        None => out.line(format_args!(
            "  {} bytes that are no text",
            request["body_bytes"]
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        wish: Wish,
    }

    #[test]
    fn flags_become_the_body_and_numbers_keep_their_form() {
        let cli = Cli::parse_from([
            "propose",
            "shop",
            "refund.create",
            "--key",
            "a\"b",
            "--payload",
            "{\"amount\": 10.00}",
            "--expires",
            "2026-12-24T12:00:00Z",
        ]);
        let body = cli.wish.body().unwrap();
        assert!(body.contains("\"payload\":{\"amount\": 10.00}"), "{body}");
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&read["key"], &read["expires_at"]),
            (&json!("a\"b"), &json!("2026-12-24T12:00:00Z"))
        );
    }
}
