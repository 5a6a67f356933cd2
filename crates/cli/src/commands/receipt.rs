//! `factum receipt`: signed statements about one action, for somebody who has no access to the store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use factum::receipts;

use super::trusted::Trusted;
use crate::access::{Access, Purpose};
use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

pub(crate) const HELP: &str = "\
A receipt says what is stated about an action when it is issued, and the evidence for it. Whoever has the signer's public keys checks it \
with `verify`, without a store and without a network: get them from GET /v1/keys of the server, by a way that you trust.\n\n\
Examples:\n  factum receipt export act_06f8t0c3k9sj3b6m1x2z7q4w5n --output receipt.json\n  \
factum receipt verify receipt.json --keys keys.json\n  factum receipt verify receipt.json --key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Receipt {
    /// Sign what is known of an action now
    Export {
        /// The action
        #[arg(value_name = "ID")]
        id: String,
        /// With params and payload, as they were recorded
        #[arg(long)]
        with_payload: bool,
        /// The file to make [default: standard output]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check a receipt with the signer's public keys
    Verify {
        /// What `factum receipt export` made
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        trusted: Trusted,
    },
}

impl Receipt {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        match self {
            Self::Export {
                id,
                with_payload,
                output,
            } => export(&id, with_payload, output, (config, out)).await,
            Self::Verify { file, trusted } => verify(&file, &trusted, (config, out)).await,
        }
    }
}

async fn export(
    id: &str,
    with_payload: bool,
    output: Option<PathBuf>,
    (config, out): (Option<&Path>, Out),
) -> Result<ExitCode, Failure> {
    let access = Access::open(config, Purpose::Look).await?;
    let receipt = access.receipt(id, with_payload).await;
    access.close().await?;
    let receipt = receipt?;
    match output {
        None => out.line(format_args!("{receipt:#}")),
        Some(path) => {
            std::fs::write(&path, format!("{receipt:#}\n")).map_err(|error| {
                let rule = format!("cannot write {}: {error}", path.display());
                Failure::other(rule, "name another file")
            })?;
            out.note(format_args!("{} holds the receipt", path.display()));
            if out.json {
                out.value(&serde_json::json!({"receipt": path}));
            }
        }
    }
    Ok(exit::code(exit::OK))
}

async fn verify(
    file: &Path,
    trusted: &Trusted,
    (config, out): (Option<&Path>, Out),
) -> Result<ExitCode, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let rule = format!("cannot read {}: {error}", file.display());
        Failure::not_found(rule, "name what `factum receipt export` made")
    })?;
    let authentic = receipts::verify(&text, &trusted.keys(config).await?)?;
    if out.json {
        out.value(&serde_json::json!({
            "authentic": true, "key": authentic.key.id(), "retired_at": authentic.key.retired_at, "receipt": authentic.members,
        }));
    } else {
        out.line(receipts::summary(&authentic.members));
        out.line(format_args!("signed with {}", authentic.key.id()));
    }
    Ok(exit::code(exit::OK))
}
