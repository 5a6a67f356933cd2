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
mod mcp;
mod out;
mod place;
mod render;
#[cfg(feature = "proof")]
mod torture;
mod trial;
mod wait;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::args::Cli;
use crate::failure::Failure;
use crate::out::Out;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    let out = Out::new(cli.json);
    if let Err(failure) = log(cli.command.logs()) {
        out.failure(&failure);
        return exit::code(failure.exit);
    }
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
    let done = runtime.block_on(cli.command.run(cli.config.as_deref(), out));
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

fn log(default: &str) -> Result<(), Failure> {
    let wish = place::log().unwrap_or_else(|| default.to_owned());
    let filter = EnvFilter::try_new(&wish).map_err(|error| {
        Failure::usage(
            format!("FACTUM_LOG={wish:?} is no filter: {error}"),
            "write warn, info, or factum_engine=debug",
        )
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && !place::no_color())
        .with_target(false)
        .init();
    Ok(())
}
