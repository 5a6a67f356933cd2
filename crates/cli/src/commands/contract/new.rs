//! `factum contract new`: a commented contract to start from. It prints; it writes no file.

use std::process::ExitCode;

use serde_json::json;

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

const TEMPLATE: &str = include_str!("template.toml");

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider: the folder's name
    #[arg(value_name = "PROVIDER")]
    provider: String,
    /// The operation: the file's name, such as ticket.create
    #[arg(value_name = "OPERATION")]
    operation: String,
}

pub(crate) fn run(args: &Args, out: Out) -> Result<ExitCode, Failure> {
    for (name, dots) in [(&args.provider, false), (&args.operation, true)] {
        let plain =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || dots && c == '.';
        if !name.starts_with(|c: char| c.is_ascii_lowercase())
            || name.ends_with('.')
            || !name.chars().all(plain)
        {
            let rule = format!("{name:?} is no name for a provider or an operation");
            let remedy = "write lower-case letters, digits and `_`; `.` in an operation's name";
            return Err(Failure::usage(rule, remedy));
        }
    }
    let text = TEMPLATE
        .replace("PROVIDER", &args.provider)
        .replace("OPERATION", &args.operation);
    let path = format!("contracts/{}/{}.toml", args.provider, args.operation);
    if out.json {
        out.value(&json!({"path": path, "text": text}));
    } else {
        out.line(text.trim_end());
        out.note(format_args!(
            "put it into {path}, then: factum contract lint {path}"
        ));
    }
    Ok(exit::code(exit::OK))
}
