//! Checks the contracts of folders while they are being written: `cargo run -p factum-contract --example check -- contracts/acme`.
//!
//! Lints each file, replays its examples, and says what it lacks before it can be part of the catalogue. Changes nothing.

use std::path::Path;
use std::process::ExitCode;

use factum_contract::{Contract, Finding, Provider};

#[expect(clippy::print_stdout, reason = "it is a program for a terminal")]
fn main() -> ExitCode {
    let mut findings = 0;
    let mut contracts = 0;
    for folder in std::env::args().skip(1) {
        match check(Path::new(&folder)) {
            Ok((count, found)) => {
                contracts += count;
                findings += found.len();
                for finding in found {
                    println!("{finding}\n");
                }
            }
            Err(error) => {
                println!("{folder}: {error}");
                findings += 1;
            }
        }
    }
    println!("{contracts} contracts, {findings} findings");
    if findings == 0 && contracts > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The contracts of one provider's folder: how many there are, and what is found.
fn check(folder: &Path) -> std::io::Result<(usize, Vec<Finding>)> {
    let read = |path: &Path| -> std::io::Result<(String, String)> {
        Ok((path.display().to_string(), std::fs::read_to_string(path)?))
    };
    let provider = folder.join("provider.toml");
    let provider = provider.exists().then(|| read(&provider)).transpose()?;
    let provider = provider
        .as_ref()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    if let Some((path, text)) = provider
        && let Err(findings) = Provider::parse(path, text)
    {
        return Ok((0, findings));
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_operation = path
            .extension()
            .is_some_and(|extension| extension == "toml")
            && !path.ends_with("provider.toml");
        if is_operation {
            paths.push(path);
        }
    }
    paths.sort();
    let mut found = Vec::new();
    for path in &paths {
        let (path, text) = read(path)?;
        match Contract::parse(&path, provider, &text) {
            Ok(contract) => {
                found.extend(contract.warnings().iter().cloned());
                found.extend(contract.run_examples());
                found.extend(contract.catalogue_gaps());
            }
            Err(findings) => found.extend(findings),
        }
    }
    Ok((paths.len(), found))
}
