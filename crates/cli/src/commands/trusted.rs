//! Whose signatures a command trusts: the keys that it is given, or else those of the store here.

use std::path::Path;

use factum::signing::{KeySet, SigningKeys};

use crate::client::{Call, Client};
use crate::failure::Failure;
use crate::place::Place;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Trusted {
    /// The signer's public key: the `x` of its JWK, or a file with it
    #[arg(long, value_name = "KEY", conflicts_with = "keys")]
    key: Option<String>,
    /// The signer's public keys as GET /v1/keys gives them: a file, or the server's address [default: those of the store here]
    #[arg(long, value_name = "FILE|URL")]
    keys: Option<String>,
}

impl Trusted {
    pub(crate) async fn keys(&self, config: Option<&Path>) -> Result<KeySet, Failure> {
        match (&self.key, &self.keys) {
            (Some(key), _) if Path::new(key).exists() => of_file(key),
            (Some(key), _) => Ok(KeySet::parse(key)?),
            (None, Some(url)) if url.contains("://") => {
                let base = url.trim_end_matches('/').trim_end_matches("/v1/keys");
                let client = Client::new(base, String::new())?;
                let keys = client.json(Call::get("/v1/keys")).await?;
                Ok(KeySet::parse(&keys.to_string())?)
            }
            (None, Some(file)) => of_file(file),
            (None, None) => {
                let keys = SigningKeys::of(&Place::read(config)?.home()?).published()?;
                if keys.keys().is_empty() {
                    return Err(Failure::usage(
                        "there are no signing keys here to check it with",
                        "name the signer's with --keys or --key",
                    ));
                }
                Ok(keys)
            }
        }
    }
}

fn of_file(file: &str) -> Result<KeySet, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let rule = format!("cannot read {file}: {error}");
        Failure::not_found(rule, "name a file with the answer of GET /v1/keys")
    })?;
    Ok(KeySet::parse(&text)?)
}
