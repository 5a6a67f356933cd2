//! `factum review …`: take, give back, note, ask many again, match an export, settle an incident. These talk to a server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::review::{CheckArgs, ReviewArgs, VerdictArgs};
use crate::access::{Access, VerdictWord};
use crate::client::{Call, Client, encoded, with_query};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, place, render};

pub(crate) const HELP: &str = "\
Examples:\n  factum review\n  factum review list --order urgent --destination helpdesk\n  factum review take act_06f8t0c3k9sj3b6m1x2z7q4w5n\n  \
factum review match --destination helpdesk --export tickets.csv --receipt id --reference external_id\n  \
factum review match --destination helpdesk --export tickets.csv --receipt id --complete --confirm --why \"their export of today\"\n  \
factum review incident --destination helpdesk --from 2026-11-30T09:00:00Z --until 2026-11-30T09:20:00Z did_not_happen --why \"their incident 4711\"";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: ReviewArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// What waits for a person
    #[command(after_help = HELP)]
    List(ReviewArgs),
    /// One item, with its log
    #[command(after_help = HELP)]
    Show {
        /// The action
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Take an item: nobody else touches it, the machine included
    #[command(after_help = HELP)]
    Take(CheckArgs),
    /// Give an item back
    #[command(after_help = HELP)]
    Release(CheckArgs),
    /// Keep a note in its log
    #[command(after_help = HELP)]
    Note {
        /// The action
        #[arg(value_name = "ID")]
        id: String,
        /// What is worth keeping
        #[arg(value_name = "TEXT")]
        text: String,
        /// Who says it [default: the user of this terminal]
        #[arg(long)]
        by: Option<String>,
    },
    /// Say what you found out about an action
    #[command(after_help = super::review::VERDICT_HELP)]
    Verdict(VerdictArgs),
    /// Have the destination asked once more, about these or about all that wait
    #[command(after_help = HELP)]
    CheckAgain(CheckManyArgs),
    /// Match an export of the destination with what waits
    #[command(after_help = HELP)]
    Match(Box<MatchArgs>),
    /// One verdict on everything that an incident left: shows the list, and with --confirm rules on it
    #[command(after_help = HELP)]
    Incident(Box<IncidentArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckManyArgs {
    /// The actions; all that wait where none is named
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Only at this destination
    #[arg(long, value_name = "NAME")]
    destination: Option<String>,
    /// Only of this operation
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// Who wants to know [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MatchArgs {
    /// The destination
    #[arg(long, value_name = "NAME")]
    destination: String,
    /// Only this operation
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// The export: CSV, or JSON where its name ends so
    #[arg(long, value_name = "FILE")]
    export: PathBuf,
    /// The column with the destination's own reference
    #[arg(long, value_name = "COLUMN")]
    receipt: Option<String>,
    /// The column with somebody else's reference
    #[arg(long, value_name = "COLUMN")]
    reference: Option<String>,
    /// The column that says what it is about
    #[arg(long, value_name = "COLUMN")]
    subject: Option<String>,
    /// The column that says when it was made
    #[arg(long, value_name = "COLUMN")]
    at: Option<String>,
    /// Only actions with a request from then on
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// And before then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The export leaves nothing out: what is not in it did not happen
    #[arg(long)]
    complete: bool,
    /// Give each proposal as a verdict; one by subject and time only where --only names it
    #[arg(long, requires = "why")]
    confirm: bool,
    /// Only the proposals of these actions
    #[arg(long = "only", value_name = "ID")]
    only: Vec<String>,
    /// What the verdicts rest on
    #[arg(long)]
    why: Option<String>,
    /// Who says it [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct IncidentArgs {
    /// The destination
    #[arg(long, value_name = "NAME")]
    destination: String,
    /// Only this operation
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// Actions with a request from then on
    #[arg(long, value_name = "TIME")]
    from: String,
    /// And before then
    #[arg(long, value_name = "TIME")]
    until: String,
    /// What you found out
    #[arg(value_enum)]
    verdict: VerdictWord,
    /// How you know
    #[arg(long)]
    why: String,
    /// The digest of the list that was shown: rule on it
    #[arg(long, value_name = "DIGEST")]
    confirm: Option<String>,
    /// Who says it [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let command = match args.command {
        None => return super::review::list(args.list, config, out).await,
        Some(Command::List(list)) => return super::review::list(list, config, out).await,
        Some(Command::Verdict(verdict)) => {
            return super::review::verdict(verdict, config, out).await;
        }
        Some(command) => command,
    };
    let client = Access::server(config, "several people review at a running server").await?;
    let found = command.ask(&client).await?;
    if out.json {
        out.value(&found);
    } else {
        command.show(&found, out);
    }
    Ok(exit::code(exit::OK))
}

fn by(given: Option<&String>) -> String {
    given.cloned().unwrap_or_else(place::user)
}

fn put(body: &mut Value, members: &[(&str, Option<&String>)]) {
    for (name, text) in members {
        if let Some(text) = text {
            body[*name] = text.as_str().into();
        }
    }
}

impl Command {
    async fn ask(&self, client: &Client) -> Result<Value, Failure> {
        let at = |id: &str, what: &str| format!("/v1/review/{}/{what}", encoded(id));
        let post = |path: String, body: Value| client.json(Call::post(path, body.to_string()));
        match self {
            Self::Take(args) => post(at(args.id(), "take"), json!({"by": args.person()})).await,
            Self::Release(args) => {
                post(at(args.id(), "release"), json!({"by": args.person()})).await
            }
            Self::Note { id, text, by: own } => {
                let body = json!({"text": text, "by": by(own.as_ref())});
                post(at(id, "note"), body).await
            }
            Self::Show { id } => {
                let path = format!("/v1/actions/{}?audience=operator", encoded(id));
                let status = client.json(Call::get(path)).await?;
                let path = format!("/v1/actions/{}/evidence", encoded(id));
                let mut log = client.json(Call::get(path)).await?;
                Ok(json!({"action": status, "evidence": log["evidence"].take()}))
            }
            Self::CheckAgain(args) => {
                let mut body = json!({"actions": args.ids, "by": by(args.by.as_ref())});
                put(
                    &mut body,
                    &[
                        ("destination", args.destination.as_ref()),
                        ("operation", args.operation.as_ref()),
                    ],
                );
                post("/v1/review/check-again".to_owned(), body).await
            }
            Self::Match(args) => args.ask(client).await,
            Self::Incident(args) => post("/v1/review/incident".to_owned(), args.body()).await,
            Self::List(_) | Self::Verdict(_) => Ok(Value::Null),
        }
    }

    fn show(&self, found: &Value, out: Out) {
        match self {
            Self::Take(_) | Self::Release(_) | Self::Note { .. } => {
                out.line(render::status_for_operators(out, found));
            }
            Self::Show { .. } => {
                out.line(render::status_for_operators(out, &found["action"]));
                for one in found["evidence"].as_array().into_iter().flatten() {
                    out.line(format!(
                        "{} {} {}",
                        one["id"],
                        render::text(one, "at"),
                        render::text(one, "says")
                    ));
                }
            }
            Self::CheckAgain(_) => results(found, out),
            Self::Match(_) => matched(found, out),
            Self::Incident(args) => incident(args, found, out),
            Self::List(_) | Self::Verdict(_) => {}
        }
    }
}

fn results(found: &Value, out: Out) {
    for one in found["results"].as_array().into_iter().flatten() {
        let said = match one["problem"]["rule"].as_str() {
            Some(rule) => format!("refused: {rule}"),
            None => one["state"].as_str().unwrap_or("asked").to_owned(),
        };
        out.line(format!("{} {said}", render::text(one, "action")));
    }
}

fn matched(found: &Value, out: Out) {
    for one in found["proposals"].as_array().into_iter().flatten() {
        out.line(format!(
            "{} {} {} by {}: {}",
            render::text(one, "action"),
            render::text(one, "verdict"),
            one["receipt"].as_str().unwrap_or("-"),
            render::text(one, "by"),
            render::text(one, "why"),
        ));
    }
    for one in found["unclear"].as_array().into_iter().flatten() {
        out.line(format!(
            "unclear: {}: actions {}, rows {}",
            render::text(one, "why"),
            one["actions"],
            one["rows"]
        ));
    }
    let missing = found["not_found"].as_array().map_or(0, Vec::len);
    out.note(format!("{missing} are in no row"));
    results(found, out);
}

fn incident(args: &IncidentArgs, found: &Value, out: Out) {
    if found["confirmed"] == true {
        results(found, out);
        return;
    }
    for one in found["items"].as_array().into_iter().flatten() {
        out.line(format!(
            "{} {} {}",
            render::text(one, "action"),
            render::text(one, "operation"),
            one["summary"].as_str().unwrap_or_default()
        ));
    }
    out.note(format!(
        "nothing is recorded yet; to rule {} on all of these, add --confirm {}",
        args.verdict.name(),
        render::text(found, "digest")
    ));
}

impl MatchArgs {
    async fn ask(&self, client: &Client) -> Result<Value, Failure> {
        let name = self.export.display();
        let text = std::fs::read_to_string(&self.export).map_err(|error| {
            Failure::usage(
                format!("cannot read {name}: {error}"),
                "name a file in UTF-8",
            )
        })?;
        let is_json = self.export.extension().is_some_and(|end| end == "json");
        let mut columns = json!({});
        put(
            &mut columns,
            &[
                ("receipt", self.receipt.as_ref()),
                ("reference", self.reference.as_ref()),
                ("subject", self.subject.as_ref()),
                ("at", self.at.as_ref()),
            ],
        );
        let mut body = json!({
            "destination": self.destination, "form": if is_json { "json" } else { "csv" }, "export": text, "columns": columns,
            "complete": self.complete,
        });
        put(
            &mut body,
            &[
                ("operation", self.operation.as_ref()),
                ("from", self.from.as_ref()),
                ("until", self.until.as_ref()),
            ],
        );
        let call = Call::post("/v1/review/match", body.to_string());
        let mut found = client.json(call.repeatable()).await?;
        if self.confirm {
            found["results"] = self.confirm(client, &found).await?;
        }
        Ok(found)
    }

    /// Gives the proposals as verdicts, as many at once as one call takes.
    async fn confirm(&self, client: &Client, found: &Value) -> Result<Value, Failure> {
        const AT_ONCE: usize = 200;
        let all = found["proposals"].as_array().cloned().unwrap_or_default();
        let wanted = |one: &Value| {
            let id = render::text(one, "action");
            // Content that is alike is nobody's mark: such a row is confirmed by name (B98).
            let alike = one["by"] == "subject_and_time";
            self.only.iter().any(|own| own == id) || (self.only.is_empty() && !alike)
        };
        let all: Vec<Value> = all.into_iter().filter(wanted).collect();
        let mut results = Vec::new();
        for some in all.chunks(AT_ONCE) {
            let verdicts = some.iter().map(|one| {
                json!({"action": one["action"], "verdict": one["verdict"], "receipt": one["receipt"], "why": one["why"]})
            });
            let body = json!({
                "verdicts": verdicts.collect::<Vec<_>>(), "why": self.why, "by": by(self.by.as_ref()),
            });
            let call = Call::post("/v1/review/verdicts", body.to_string());
            let ruled = client.json(call).await?;
            results.extend(ruled["results"].as_array().cloned().unwrap_or_default());
        }
        Ok(results.into())
    }
}

impl IncidentArgs {
    fn body(&self) -> Value {
        let mut body = json!({
            "destination": self.destination, "from": self.from, "until": self.until, "verdict": self.verdict.name(), "why": self.why,
            "by": by(self.by.as_ref()),
        });
        put(
            &mut body,
            &[
                ("operation", self.operation.as_ref()),
                ("confirm", self.confirm.as_ref()),
            ],
        );
        body
    }
}

/// The address of the listing.
pub(crate) fn list_path(limit: u16, order: Option<&str>, destination: Option<&str>) -> String {
    with_query(
        "/v1/review",
        &[
            ("limit", Some(limit.to_string())),
            ("order", order.map(str::to_owned)),
            ("destination", destination.map(str::to_owned)),
        ],
    )
}
