//! `factum completions` and `factum man`: what comes with an installed program, made from the words of the command line themselves.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;
use serde_json::json;

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

pub(crate) const COMPLETIONS_HELP: &str = "\
Examples:\n  factum completions bash > /etc/bash_completion.d/factum\n  \
factum completions zsh > /usr/local/share/zsh/site-functions/_factum\n  \
factum completions fish > ~/.config/fish/completions/factum.fish";

pub(crate) const MAN_HELP: &str = "\
Examples:\n  factum man /usr/local/share/man/man1\n  factum man . && man ./factum-submit.1";

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// For which shell
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The folder; it is made where there is none
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints the words for one shell.
pub(crate) fn completions(
    args: &Completions,
    mut words: Command,
    out: Out,
) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut words, "factum", &mut text);
    let text = String::from_utf8_lossy(&text);
    if out.json {
        out.line(json!({"shell": args.shell.to_string(), "completions": text}));
    } else {
        out.line(text.trim_end());
    }
    Ok(exit::code(exit::OK))
}

/// Writes the pages, one for each command and those below it.
pub(crate) fn man(args: &Man, words: Command, out: Out) -> Result<ExitCode, Failure> {
    let folder = args.folder.display();
    let written = std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(words, &args.folder));
    written.map_err(|error| {
        let rule = format!("cannot write manual pages into {folder}: {error}");
        Failure::other(rule, "name a folder that you may write")
    })?;
    if out.json {
        out.line(json!({"folder": args.folder}));
    } else {
        out.line(format_args!(
            "the pages are in {folder}, factum.1 first of them"
        ));
    }
    Ok(exit::code(exit::OK))
}
