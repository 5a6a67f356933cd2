//! `factum contract`: what destinations promise. It reads contracts and asks the core; all but `probe` send nothing and change no file.

mod explain;
mod files;
mod lint;
mod list;
mod new;
mod probe;
mod rehearse;
mod schema;
mod show;
mod test;

use std::path::Path;
use std::process::ExitCode;

use factum::setup;
use factum_contract::{Catalogue, Contract};

use crate::failure::Failure;
use crate::out::Out;
use crate::place::Place;

pub(crate) const HELP: &str = "\
The catalogue is built in; the folder that `contracts` names in factum.toml lies over it.\n\n\
Examples:\n  \
factum contract list --class A\n  \
factum contract show zendesk.ticket.create\n  \
factum contract explain zendesk.ticket.create --after lost-answer --at +25h\n  \
factum contract new acme ticket.create > contracts/acme/ticket.create.toml\n  \
factum contract lint contracts\n  factum contract test contracts/acme\n  factum contract probe sandbox ticket.create";

const LINT_HELP: &str = "\
Exits with 1 if there is an error; warnings alone are shown and are no error.\n\n\
Examples:\n  factum contract lint contracts\n  factum contract lint contracts/acme/ticket.create.toml --json";

const TEST_HELP: &str = "\
Replays the examples of each contract through its request builder and its readers. Exits with 1 on any finding.\n\n\
Examples:\n  factum contract test contracts/acme\n  factum contract test zendesk\n  factum contract test zendesk.ticket.create";

const LIST_HELP: &str = "\
Classes, by what a lost answer comes to:\n  \
A  repeated within a published window   B  recognised, by no window that can be counted on\n  \
C  a repeat meets what is there         D  looked up   E  sent once; a person settles what is unknown\n\n\
Examples:\n  factum contract list --class D\n  factum contract list --provider stripe --json";

const SHOW_HELP: &str = "Example:\n  factum contract show zendesk.ticket.create";

const EXPLAIN_HELP: &str = "\
The decisions are the engine's own, on an intent and evidence that are made up for this. Times count from the first send; \
delays between tries are left out.\n\n\
Examples:\n  \
factum contract explain zendesk.ticket.create --after lost-answer\n  \
factum contract explain zendesk.ticket.create --after lost-answer --at +25h --shown absent\n  \
factum contract explain redmine.issue.create --after rejected --consequence irreversible";

const SCHEMA_HELP: &str = "Example:\n  factum contract schema > contract.schema.json";

const NEW_HELP: &str = "\
Example:\n  factum contract new acme ticket.create > contracts/acme/ticket.create.toml";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Find what is wrong in contract files, each with its line, column and remedy
    #[command(after_help = LINT_HELP)]
    Lint(lint::Args),
    /// Replay the examples of contracts
    #[command(after_help = TEST_HELP)]
    Test(test::Args),
    /// List the operations of the catalogue
    #[command(after_help = LIST_HELP)]
    List(list::Args),
    /// Show what an operation promises, and what that means after a lost answer
    #[command(after_help = SHOW_HELP)]
    Show(show::Args),
    /// Play what would be decided after something happened to a request
    #[command(after_help = EXPLAIN_HELP)]
    Explain(explain::Args),
    /// Print the JSON Schema of contract files, for editors
    #[command(after_help = SCHEMA_HELP)]
    Schema(schema::Args),
    /// Try a contract's claims against a sandbox, and report what held
    #[command(after_help = probe::HELP)]
    Probe(Box<probe::Args>),
    /// Print a commented contract to start from
    #[command(after_help = NEW_HELP)]
    New(new::Args),
}

pub(crate) async fn run(
    command: Command,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    match command {
        Command::Lint(args) => lint::run(&args, out),
        Command::Test(args) => test::run(&args, config, out),
        Command::List(args) => list::run(&args, config, out),
        Command::Show(args) => show::run(&args, config, out),
        Command::Explain(args) => explain::run(&args, config, out),
        Command::Schema(args) => schema::run(&args, out),
        Command::New(args) => new::run(&args, out),
        Command::Probe(args) => probe::run(&args, config, out).await,
    }
}

/// The catalogue that the configuration makes.
pub(crate) fn catalogue(config: Option<&Path>) -> Result<Catalogue, Failure> {
    Ok(setup::catalogue(&Place::read(config)?.config)?)
}

/// Every contract, by provider and operation.
fn contracts(catalogue: &Catalogue) -> impl Iterator<Item = &Contract> {
    let providers = catalogue.providers();
    providers.flat_map(|provider| catalogue.operations(provider))
}

/// An operation by the name that is shown for it: `zendesk.ticket.create`.
pub(crate) fn named<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Contract, Failure> {
    let found = name
        .split_once('.')
        .and_then(|(provider, operation)| catalogue.get(provider, operation));
    found.ok_or_else(|| {
        let provider = name.split('.').next().unwrap_or(name);
        let beside: Vec<_> = catalogue.operations(provider).map(full_name).collect();
        let remedy = if beside.is_empty() {
            "write PROVIDER.OPERATION; `factum contract list` names them".to_owned()
        } else {
            format!("use one of: {}", beside.join(", "))
        };
        Failure::not_found(format!("no contract is named {name:?}"), &remedy)
    })
}

/// `zendesk.ticket.create`
fn full_name(contract: &Contract) -> String {
    format!("{}.{}", contract.provider(), contract.operation())
}
