//! `factum contract list`: the operations of the catalogue, one row each.

use std::path::Path;
use std::process::ExitCode;

use factum_contract::{Contract, Grade, Origin, Source};
use serde_json::{Value, json};

use super::{catalogue, contracts, full_name};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this class
    #[arg(long, value_name = "CLASS", ignore_case = true, value_parser = ["A", "B", "C", "D", "E"])]
    class: Option<String>,
    /// Only this provider
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
}

pub(crate) fn run(args: &Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let catalogue = catalogue(config)?;
    if let Some(provider) = &args.provider
        && catalogue.operations(provider).next().is_none()
    {
        let rule = format!("no provider is named {provider:?}");
        let remedy = "leave --provider out: the list names them all";
        return Err(Failure::not_found(rule, remedy));
    }
    let class = |contract: &Contract| contract.strength().to_string();
    let wanted = |contract: &&Contract| {
        let provider = args.provider.as_deref();
        provider.is_none_or(|name| contract.provider() == name)
            && args
                .class
                .as_ref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(&class(contract)))
    };
    let chosen: Vec<_> = contracts(&catalogue).filter(wanted).collect();
    if out.json {
        out.value(&chosen.iter().map(|contract| row(contract)).collect());
        return Ok(exit::code(exit::OK));
    }
    let heads = ["operation", "class", "grade", "consequence", "what it does"];
    let mut table = render::table(out, &heads);
    for contract in &chosen {
        table.add_row(vec![
            full_name(contract),
            class(contract),
            contract.grade().map_or("", Grade::word).to_owned(),
            contract.promises().consequence.name().to_owned(),
            contract.title().to_owned(),
        ]);
    }
    out.line(table);
    out.note(format_args!("{} operations", chosen.len()));
    Ok(exit::code(exit::OK))
}

fn row(contract: &Contract) -> Value {
    let sources: Vec<_> = contract.sources().map(source).collect();
    json!({
        "provider": contract.provider(),
        "operation": contract.operation(),
        "class": contract.strength().to_string(),
        "grade": contract.grade().map(Grade::word),
        "consequence": contract.promises().consequence.name(),
        "title": contract.title(),
        "sources": sources,
    })
}

/// A source as JSON: what it speaks for, where it is, of which day and worth.
pub(super) fn source((about, source): (&str, &Source)) -> Value {
    let (kind, origin) = origin(source);
    json!({
        "about": about, kind: origin, "date": source.date, "grade": source.grade.word(),
        "quote": source.quote, "api_version": source.api_version,
    })
}

/// What a source is, and its address or name.
pub(super) fn origin(source: &Source) -> (&'static str, &str) {
    match &source.origin {
        Origin::Page(address) => ("url", address),
        Origin::Person(name) => ("person", name),
        Origin::Report(name) => ("report", name),
    }
}
