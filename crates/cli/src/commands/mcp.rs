//! `factum mcp`: for language models, over a pipe.

use std::path::Path;
use std::process::ExitCode;

use crate::exit;
use crate::failure::Failure;
use crate::mcp::{hold, pipe, way, wrap};

pub(crate) const HELP: &str = "\
A host starts this and speaks MCP with it over standard input and output. With `serve`, tools perform actions, look at them and \
explain them; with `wrap`, the tools of another MCP server become such actions. An action goes on whatever becomes of the host.\n\n\
Example of a host's configuration:\n  \
{\"mcpServers\": {\"factum\": {\"command\": \"factum\", \"args\": [\"mcp\", \"serve\"]}}}\n\n\
See docs/mcp.md and docs/gateway.md.\n\n\
Example:\n  factum mcp serve";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Mcp {
    /// Speak MCP over standard input and output
    #[command(after_help = SERVE_HELP)]
    Serve,
    /// Stand before another MCP server, so that its tools do what they do once
    #[command(after_help = wrap::HELP)]
    Wrap(wrap::Args),
    /// Run a command that ends, with all that it has started, when whoever started this is gone
    #[command(hide = true)]
    Hold(hold::Args),
}

const SERVE_HELP: &str = "\
It uses the server that FACTUM_URL and FACTUM_TOKEN name, else the one that holds the store of the configuration; where nobody \
serves that store, it does so itself for as long as it runs.\n\n\
Example:\n  factum mcp serve --config factum.toml";

impl Mcp {
    pub(crate) async fn run(self, config: Option<&Path>) -> Result<ExitCode, Failure> {
        let source = match self {
            Self::Serve => way::Source::Store(config.map(Path::to_owned)),
            Self::Wrap(args) => way::Source::Gateway(Box::new(args.gateway()?)),
            Self::Hold(args) => return hold::run(&args).await,
        };
        pipe::run(way::Way::open(source).await?).await?;
        Ok(exit::code(exit::OK))
    }
}
