//! `factum contract test`: replays the examples of contracts through their request builders and readers.

use std::path::Path;
use std::process::ExitCode;

use factum_contract::{Contract, Finding};
use serde_json::json;

use super::{catalogue, contracts, files, full_name, lint, named};
use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file or folder with contracts, or a PROVIDER or PROVIDER.OPERATION of the catalogue
    #[arg(value_name = "WHAT")]
    what: String,
}

pub(crate) fn run(args: &Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let (chosen, mut findings) = chosen(&args.what, config)?;
    let mut examples = 0;
    for contract in &chosen {
        examples += contract.example_answers().len();
        findings.extend(contract.run_examples());
    }
    if out.json {
        let rows: Vec<_> = findings.iter().map(lint::row).collect();
        out.value(&json!({"contracts": chosen.len(), "answers": examples, "findings": rows}));
    } else {
        for finding in &findings {
            out.line(format_args!("{finding}\n"));
        }
        out.line(format_args!(
            "{} contracts, {examples} answers replayed, {} findings",
            chosen.len(),
            findings.len()
        ));
    }
    let clean = findings.is_empty();
    Ok(exit::code(if clean { exit::OK } else { exit::FINDINGS }))
}

/// The contracts that are meant, and what is wrong with the texts of those that cannot be read.
fn chosen(what: &str, config: Option<&Path>) -> Result<(Vec<Contract>, Vec<Finding>), Failure> {
    let is_path = what.contains('/') || what.ends_with(".toml") || Path::new(what).exists();
    if !is_path {
        let catalogue = catalogue(config)?;
        let mut chosen: Vec<_> = contracts(&catalogue)
            .filter(|contract| contract.provider() == what || full_name(contract) == what)
            .cloned()
            .collect();
        if chosen.is_empty() {
            chosen.push(named(&catalogue, what)?.clone());
        }
        return Ok((chosen, Vec::new()));
    }
    let (mut chosen, mut findings) = (Vec::new(), Vec::new());
    for file in files::read(Path::new(what))? {
        match file.outcome {
            Ok(contract) => chosen.extend(contract),
            Err(wrong) => findings.extend(wrong),
        }
    }
    if chosen.is_empty() && findings.is_empty() {
        let rule = format!("{what} holds no operation's contract");
        return Err(Failure::usage(
            rule,
            "name an operation's file, or its folder",
        ));
    }
    Ok((chosen, findings))
}
