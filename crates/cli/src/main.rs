//! The `factum` command: the one binary, where everything is put together. It decides nothing about actions itself.
//!
//! Read `args.rs` for the words, `access.rs` for how a command reaches the engine, `commands/` for each of them.

mod access;
mod args;
mod client;
mod commands;
mod demo;
mod exit;
mod failure;
mod held;
mod local;
mod logging;
mod mcp;
mod out;
mod place;
mod render;
#[cfg(feature = "proof")]
mod torture;
mod traces;
mod trial;
mod wait;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::args::Cli;
use crate::failure::Failure;
use crate::out::Out;

/// For how long threads that are still busy are waited for at the end.
const LINGERS: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    let out = Out::new(cli.json);
    if let Some(ca) = cli.ca {
        place::trust(ca);
    }
    let traces = match logging::start(&cli.command, cli.config.as_deref()) {
        Ok(traces) => traces,
        Err(failure) => {
            out.failure(&failure);
            return exit::code(failure.exit);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let rule = format!("the runtime cannot be started: {error}");
            out.failure(&Failure::other(rule, "let this process start threads"));
            return exit::code(exit::FINDINGS);
        }
    };
    let done = runtime.block_on(async {
        let exporting = traces.map(|(collector, rows)| collector.start(rows));
        let done = cli.command.run(cli.config.as_deref(), out).await;
        if let Some(exporting) = exporting {
            exporting.finish().await;
        }
        done
    });
    // Whatever had to be finished was waited for. A thread that still reads standard input, which nobody closes, holds nothing up.
    runtime.shutdown_timeout(LINGERS);
    match done {
        Ok(code) => code,
        Err(failure) => {
            out.failure(&failure);
            exit::code(failure.exit)
        }
    }
}

/// Help and versions as clap writes them; errors as JSON where the caller wants JSON.
fn misused(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    if !error.use_stderr() || !wants_json {
        let _ = error.print();
        return exit::code(if error.use_stderr() {
            exit::USAGE
        } else {
            exit::OK
        });
    }
    let rule = first_paragraph(&error.to_string());
    Out::new(true).failure(&Failure::usage(rule, "see factum --help"));
    exit::code(exit::USAGE)
}

/// What clap says before its usage, on one line: the arguments that it names stand on lines of their own.
fn first_paragraph(text: &str) -> String {
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}
