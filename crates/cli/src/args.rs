//! The words of the command line. Each command's own arguments stand beside its code.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    admin, backup, callbacks, cancel, checkpoint, contract, conversation, destination, doctor,
    events, evidence, explain, list, mcp, proposal, receipt, register, retention, review,
    review_many, serve, shell, status, submit, testbed, transfer, verify, watch, webhook, work,
};
use crate::failure::Failure;
use crate::out::Out;
use crate::{demo, exit};

/// Carry out actions in other people's systems, and always know what can be proved about each.
#[derive(Debug, Parser)]
#[command(name = "factum", version, after_help = after_help(), disable_help_subcommand = false)]
pub(crate) struct Cli {
    /// Print one JSON value on standard output; problems as JSON on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The configuration file [default: ./factum.toml, where there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The authority of an https server's certificate, in PEM [default: FACTUM_CA, else those that this machine trusts]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the engine and its HTTP API until it is told to stop
    #[command(after_help = serve::HELP)]
    Serve(serve::Args),
    /// Run a destination that loses answers on purpose, and read its ledger
    #[command(after_help = testbed::HELP)]
    Testbed(testbed::Args),
    /// Run two stories against a destination that loses answers, and count what really happened
    #[command(after_help = demo::HELP)]
    Demo(demo::DemoArgs),
    /// Add, list and test the accounts at outside systems
    #[command(subcommand, after_help = destination::HELP)]
    Destination(destination::Destination),
    /// Look at what destinations promise: list, show, explain, lint, test
    #[command(subcommand, after_help = contract::HELP)]
    Contract(contract::Command),
    /// Submit one action, or a file of them
    #[command(after_help = submit::HELP)]
    Submit(Box<submit::Args>),
    /// Ask for a decision on one action before anything is sent
    #[command(after_help = proposal::PROPOSE_HELP)]
    Propose(Box<proposal::Wish>),
    /// Approve exactly what a proposal's digest names
    #[command(after_help = proposal::APPROVE_HELP)]
    Approve(proposal::ApproveArgs),
    /// Decline a proposal, or withdraw your own
    #[command(after_help = proposal::DECLINE_HELP)]
    Decline(proposal::DeclineArgs),
    /// Proposals: list, show, supersede
    #[command(subcommand, after_help = proposal::HELP)]
    Proposal(proposal::Proposals),
    /// Show one action as it stands
    #[command(after_help = status::HELP)]
    Status(status::Args),
    /// List actions, newest first
    #[command(after_help = list::HELP)]
    List(list::Args),
    /// Print what changes until it rests
    #[command(after_help = watch::HELP)]
    Watch(watch::Args),
    /// Show the log of an action: every attempt and what came back
    #[command(after_help = evidence::HELP)]
    Evidence(evidence::Args),
    /// What has changed, and what changes
    #[command(after_help = events::HELP)]
    Events(events::Args),
    /// List what destinations reported by themselves
    #[command(after_help = callbacks::HELP)]
    Callbacks(callbacks::Args),
    /// What a conversation asked for, may be told and was told
    #[command(after_help = conversation::HELP)]
    Conversation(conversation::Args),
    /// What waits for a person: list, show, take, release, note, verdict, check-again, match, incident
    #[command(after_help = review_many::HELP)]
    Review(Box<review_many::Args>),
    /// Say what you found out about an action
    #[command(after_help = review::VERDICT_HELP)]
    Verdict(review::VerdictArgs),
    /// Have the destination asked once more
    #[command(after_help = review::CHECK_HELP)]
    CheckAgain(review::CheckArgs),
    /// Stop an action's sends
    #[command(after_help = cancel::HELP)]
    Cancel(cancel::Args),
    /// Serve language models
    #[command(subcommand, after_help = mcp::HELP)]
    Mcp(mcp::Mcp),
    /// Make calls in one's own code: claim, begin, heartbeat, report, return
    #[command(subcommand, after_help = work::HELP)]
    Work(work::Work),
    /// Customers of this installation: add, list, show, suspend, resume, revoke
    #[command(subcommand, after_help = register::TENANT_HELP)]
    Tenant(register::Tenants),
    /// Who asks, or for whom: add, list, show, suspend, resume, revoke
    #[command(subcommand, after_help = register::PRINCIPAL_HELP)]
    Principal(register::Principals),
    /// Delegated authority: add, list, show, suspend, resume, revoke
    #[command(subcommand, after_help = register::GRANT_HELP)]
    Grant(register::Grants),
    /// What callers show: add, list, show, rotate, suspend, resume, revoke
    #[command(subcommand, after_help = register::TOKEN_HELP)]
    Token(register::Tokens),
    /// Addresses that events are posted to: add, list, show, log, test, disable, enable, rotate, replay, remove
    #[command(subcommand, after_help = webhook::HELP)]
    Webhook(webhook::Webhook),
    /// Keep something from being purged or erased: add, remove, list
    #[command(subcommand, after_help = retention::HELP)]
    Hold(retention::Hold),
    /// Hold sends, look after a restore, purge and erase, bind outbox files
    #[command(subcommand, after_help = admin::HELP)]
    Admin(admin::Admin),
    /// Copy the store's file while a server goes on with it
    #[command(after_help = backup::HELP)]
    Backup(backup::Args),
    /// Write the whole store into a file, to move it or to keep it
    #[command(after_help = transfer::EXPORT_HELP)]
    Export(transfer::ExportArgs),
    /// Put an exported store into an empty one
    #[command(after_help = transfer::IMPORT_HELP)]
    Import(transfer::ImportArgs),
    /// Bring the store's schema to the newest version
    #[command(after_help = transfer::MIGRATE_HELP)]
    Migrate(transfer::MigrateArgs),
    /// Signed statements about one action, for somebody who has no access here: export, verify
    #[command(subcommand, after_help = receipt::HELP)]
    Receipt(receipt::Receipt),
    /// What the store holds, signed, to be kept elsewhere: export, verify
    #[command(subcommand, after_help = checkpoint::HELP)]
    Checkpoint(checkpoint::Checkpoint),
    /// Follow the chain of every action's evidence, and name what is not as it was written
    #[command(after_help = verify::HELP)]
    Verify(verify::Args),
    /// Look for what is wrong here, and say what to do about it
    #[command(after_help = doctor::HELP)]
    Doctor(doctor::Args),
    /// Print what a shell completes words with
    #[command(after_help = shell::COMPLETIONS_HELP)]
    Completions(shell::Completions),
    /// Write a manual page for each command into a folder
    #[command(after_help = shell::MAN_HELP)]
    Man(shell::Man),
    /// Explain a problem code, a state, a next step, or the exit codes
    #[command(after_help = explain::HELP)]
    Explain(explain::Args),
    /// Explore small worlds completely, and check every law in each
    #[cfg(feature = "proof")]
    #[command(after_help = crate::commands::model::HELP)]
    Model(crate::commands::model::Args),
    /// Run the engine's own logic under faults from seeds, and check every law in each run
    #[cfg(feature = "proof")]
    #[command(after_help = crate::commands::sim::HELP)]
    Sim(crate::commands::sim::Args),
    /// Kill, stop, put back, break and fill real processes under load, and count what really happened
    #[cfg(feature = "proof")]
    #[command(after_help = crate::torture::HELP)]
    Torture(crate::torture::Args),
}

fn after_help() -> String {
    format!(
        "Where the engine is: FACTUM_URL (http:// or https://) with FACTUM_TOKEN, else the server that holds ./factum-data, else the store \
         itself; while nobody serves, nothing is sent unless `submit --wait` does it.\n\n\
         Exit codes (factum explain exit-codes):\n{}\n\
         Example:\n  factum serve\n  factum explain outcome_unknown",
        exit::table()
    )
}

impl Command {
    /// What is logged unless FACTUM_LOG says otherwise.
    pub(crate) fn logs(&self) -> &'static str {
        match self {
            Self::Serve(_) => "info",
            _ => "warn",
        }
    }

    /// Runs the command.
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        match self {
            Self::Serve(args) => serve::run(args, config, out).await,
            Self::Demo(args) => demo::run(args, out.json).await.map_err(|error| {
                Failure::other(
                    format!("{error:#}"),
                    "see the output above; run it again with --keep to look around",
                )
            }),
            Self::Testbed(args) => testbed::run(args, config, out).await,
            Self::Destination(command) => destination::run(command, config, out).await,
            Self::Contract(command) => contract::run(command, config, out).await,
            Self::Submit(args) => submit::run(*args, config, out).await,
            Self::Propose(wish) => proposal::propose(&wish, config, out).await,
            Self::Approve(args) => proposal::approve(args, config, out).await,
            Self::Decline(args) => proposal::decline(args, config, out).await,
            Self::Proposal(command) => command.run(config, out).await,
            Self::Status(args) => status::run(args, config, out).await,
            Self::List(args) => list::run(args, config, out).await,
            Self::Watch(args) => watch::run(args, config, out).await,
            Self::Evidence(args) => evidence::run(args, config, out).await,
            Self::Callbacks(args) => callbacks::run(args, config, out).await,
            Self::Conversation(args) => conversation::run(args, config, out).await,
            Self::Review(args) => review_many::run(*args, config, out).await,
            Self::Verdict(args) => review::verdict(args, config, out).await,
            Self::CheckAgain(args) => review::check_again(args, config, out).await,
            Self::Cancel(args) => cancel::run(args, config, out).await,
            Self::Mcp(command) => command.run(config).await,
            Self::Work(command) => command.run(config, out).await,
            Self::Tenant(command) => command.run(config, out).await,
            Self::Principal(command) => command.run(config, out).await,
            Self::Grant(command) => command.run(config, out).await,
            Self::Token(command) => command.run(config, out).await,
            Self::Webhook(command) => command.run(config, out).await,
            Self::Events(args) => events::run(args, config, out).await,
            Self::Hold(command) => retention::hold(command, config, out).await,
            Self::Admin(command) => admin::run(command, config, out).await,
            Self::Backup(args) => backup::run(&args, config, out),
            Self::Export(args) => transfer::export(args, config, out).await,
            Self::Import(args) => transfer::import(args, config, out).await,
            Self::Migrate(args) => transfer::migrate(args, config, out).await,
            Self::Receipt(command) => command.run(config, out).await,
            Self::Checkpoint(command) => command.run(config, out).await,
            Self::Verify(args) => verify::run(args, config, out).await,
            Self::Doctor(args) => doctor::run(args, config, out).await,
            Self::Completions(args) => shell::completions(&args, Cli::command(), out),
            Self::Man(args) => shell::man(&args, Cli::command(), out),
            Self::Explain(args) => explain::run(&args, out),
            #[cfg(feature = "proof")]
            Self::Model(args) => crate::commands::model::run(&args, out),
            #[cfg(feature = "proof")]
            Self::Sim(args) => crate::commands::sim::run(&args, out),
            #[cfg(feature = "proof")]
            Self::Torture(args) => crate::torture::run(args, out).await.map_err(|error| {
                Failure::other(
                    format!("{error:#}"),
                    "see the output above, and the engine's log in the folder",
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_consistent_and_every_command_shows_an_example() {
        let mut cli = Cli::command();
        cli.clone().debug_assert();
        cli.build();
        for command in cli
            .get_subcommands()
            .filter(|command| command.get_name() != "help")
        {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.contains(&format!("factum {}", command.get_name())),
                "{}: {help}",
                command.get_name()
            );
        }
    }
}
