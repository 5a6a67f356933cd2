//! Holds a server that we started: it ends, with everything that it has started in turn, when whoever started it is gone (R29). A child that
//! outlived its lease would act beside the one that took its place (B169).

use std::process::ExitCode;

use rustix::process::{
    Pid, Signal, getpgrp, getpid, getppid, kill_process_group, set_parent_process_death_signal,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who started this
    #[arg(long, value_name = "PID")]
    parent: i32,
    /// What to run
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The words before a command that hold it to this process.
pub(crate) fn words() -> Result<Vec<String>, Failure> {
    let own = std::env::current_exe().map_err(|error| {
        Failure::other(
            format!("this program does not find itself: {error}"),
            "start it by its path",
        )
    })?;
    let parent = getpid().as_raw_nonzero().to_string();
    let own = own.display().to_string();
    Ok([&own, "mcp", "hold", "--parent", &parent, "--"]
        .map(str::to_owned)
        .into())
}

/// Runs the command until it ends, or whoever started us does.
pub(crate) async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| {
        Failure::other(
            format!("{:?} cannot be held: {error}", args.command),
            "start it by itself to see why",
        )
    };
    let mut told = signal(SignalKind::terminate()).map_err(failed)?;
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(|error| failed(error.into()))?;
    // It may have gone before we asked to be told.
    if getppid() != Pid::from_raw(args.parent) {
        return Ok(exit::code(exit::FINDINGS));
    }
    let Some((program, arguments)) = args.command.split_first() else {
        return Ok(exit::code(exit::USAGE));
    };
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .spawn()
        .map_err(failed)?;
    tokio::select! {
        ended = child.wait() => {
            ended.map_err(failed)?;
        }
        _ = told.recv() => {}
    }
    let _ = child.start_kill();
    if getpgrp() == getpid() {
        // The whole group, ourselves included: whatever the command has started ends here.
        let _ = kill_process_group(getpgrp(), Signal::KILL);
    }
    Ok(exit::code(exit::OK))
}
