//! `factum mcp`: for language models, over a pipe.

use std::path::Path;
use std::process::ExitCode;

use crate::exit;
use crate::failure::Failure;
use crate::mcp::{pipe, way};

pub(crate) const HELP: &str = "\
A host starts this and speaks MCP with it over standard input and output. Tools perform actions, look at them and explain \
them; an action goes on whatever becomes of the host.\n\n\
Example of a host's configuration:\n  \
{\"mcpServers\": {\"factum\": {\"command\": \"factum\", \"args\": [\"mcp\", \"serve\"]}}}\n\n\
See docs/mcp.md.";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Mcp {
    /// Speak MCP over standard input and output
    #[command(after_help = SERVE_HELP)]
    Serve,
}

const SERVE_HELP: &str = "\
It uses the server that FACTUM_URL and FACTUM_TOKEN name, else the one that holds the store of the configuration; where nobody \
serves that store, it does so itself for as long as it runs.\n\n\
Example:\n  factum mcp serve --config factum.toml";

impl Mcp {
    pub(crate) async fn run(self, config: Option<&Path>) -> Result<ExitCode, Failure> {
        match self {
            Self::Serve => {
                let way = way::Way::open(config).await?;
                pipe::run(way).await?;
                Ok(exit::code(exit::OK))
            }
        }
    }
}
