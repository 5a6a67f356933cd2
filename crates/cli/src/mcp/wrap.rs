//! What `factum mcp wrap` stands before: one server, named on the command line, or several in a file. Each such wish has a store of its own,
//! so that two hosts with the same wish share it and others never meet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use factum::{Code, Config, Problem};
use factum_server::gateway::{GatewayConfig, ServerConfig};

use crate::failure::Failure;
use crate::place::{self, Place};

pub(crate) const HELP: &str = "\
A tool that does something becomes an action: recorded, sent once, joined on a repeat, unknown where its answer is lost. Tools \
count as doing something unless --read or --trust-annotations says otherwise. What is known of them is kept in a folder of its own, \
below the user's data.\n\n\
Examples:\n  factum mcp wrap --read 'get_*' --read 'search_*' -- npx -y @modelcontextprotocol/server-github\n  \
factum mcp wrap --url http://127.0.0.1:8080/mcp --bearer env:TRACKER_TOKEN\n  factum mcp wrap --file gateway.toml\n\n\
See docs/gateway.md.";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program that is the server, with its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["url", "file"], conflicts_with_all = ["url", "file"])]
    command: Vec<String>,
    /// The server's address
    #[arg(long, conflicts_with = "file")]
    url: Option<String>,
    /// The token for that address, by reference: env:NAME, file:PATH or cmd:PROGRAM
    #[arg(long, requires = "url", value_name = "REFERENCE")]
    bearer: Option<String>,
    /// Several servers, and what is said of their tools
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A tool that only reads, and is passed through; `*` at the end stands for any rest
    #[arg(long, value_name = "TOOL", conflicts_with = "file")]
    read: Vec<String>,
    /// A tool whose calls a person approves one by one, named in the same way
    #[arg(long, value_name = "TOOL", conflicts_with = "file")]
    approve: Vec<String>,
    /// Pass through what the server itself calls a read
    #[arg(long, conflicts_with = "file")]
    trust_annotations: bool,
    /// What the server is called in the store
    #[arg(long, default_value = "wrapped", conflicts_with = "file")]
    name: String,
    /// The folder of the store
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

/// A gateway that is about to be.
pub(crate) struct Wish {
    pub(crate) config: GatewayConfig,
    pub(crate) place: Place,
}

impl Args {
    /// What is wished for.
    pub(crate) fn gateway(self) -> Result<Wish, Failure> {
        let (config, named) = match &self.file {
            Some(file) => (
                read(file)?,
                file.canonicalize()
                    .unwrap_or_else(|_| file.clone())
                    .display()
                    .to_string(),
            ),
            None => self.single(),
        };
        let folder = self.data.unwrap_or_else(|| {
            let digest = blake3::hash(named.as_bytes()).to_hex();
            place::data_home()
                .join("factum")
                .join(format!("mcp-{}", &digest[..12]))
        });
        let mut own = Config::default();
        own.store.url = format!("sqlite:{}", folder.join("factum.db").display());
        let place = Place {
            file: PathBuf::from(place::CONFIG_FILE),
            config: own,
        };
        Ok(Wish { config, place })
    }

    fn single(&self) -> (GatewayConfig, String) {
        let server = ServerConfig {
            command: self.command.clone(),
            url: self.url.clone(),
            bearer: self.bearer.clone(),
            read: self.read.clone(),
            approve: self.approve.clone(),
            trust_annotations: self.trust_annotations,
            ..ServerConfig::default()
        };
        let named = format!("{}\n{:?}\n{:?}", self.name, self.command, self.url);
        let servers = BTreeMap::from([(self.name.clone(), server)]);
        (GatewayConfig { servers }, named)
    }
}

fn read(file: &Path) -> Result<GatewayConfig, Failure> {
    let bad = |rule: String| {
        let remedy = "correct the file; docs/gateway.md describes it";
        Failure::from(Problem::new(Code::BadConfig, "", rule, remedy))
    };
    let text = std::fs::read_to_string(file)
        .map_err(|error| bad(format!("cannot read {}: {error}", file.display())))?;
    let config: GatewayConfig = toml::from_str(&text).map_err(|error| {
        bad(format!(
            "{}: {}",
            file.display(),
            error.to_string().trim_end()
        ))
    })?;
    if config.servers.is_empty() {
        return Err(bad(format!("{}: it names no server", file.display())));
    }
    Ok(config)
}
