//! Where things are: configuration file, data folder, server address. The one file that reads this program's environment.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use factum::home::Home;
use factum::{Code, Config, Problem};

use crate::client::Client;
use crate::failure::Failure;

/// The configuration file that is used where none is named.
pub(crate) const CONFIG_FILE: &str = "factum.toml";

/// The configuration and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The file, whether or not it exists.
    pub(crate) file: PathBuf,
    /// What it says, with the environment over it.
    pub(crate) config: Config,
}

impl Place {
    /// Reads `--config`, else `./factum.toml`, else the defaults; the environment's `FACTUM_SECTION__MEMBER` on top.
    pub(crate) fn read(named: Option<&Path>) -> Result<Self, Failure> {
        let file = named.unwrap_or(Path::new(CONFIG_FILE)).to_owned();
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                String::new()
            }
            Err(error) => {
                let rule = format!("cannot read {}: {error}", file.display());
                let remedy = "name an existing file with --config, or make one";
                return Err(Problem::new(Code::BadConfig, "", rule, remedy).into());
            }
        };
        let config =
            Config::with_environment(&file.display().to_string(), &text, std::env::vars())?;
        Ok(Self { file, config })
    }

    /// Whether the store is a database server.
    pub(crate) fn is_postgres(&self) -> bool {
        let url = &self.config.store.url;
        url.starts_with("postgresql://") || url.starts_with("postgres://")
    }

    /// The store's file.
    pub(crate) fn store(&self) -> Result<PathBuf, Failure> {
        let url = &self.config.store.url;
        if let Some(path) = url.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            return Ok(PathBuf::from(path));
        }
        let problem = |rule, remedy| Problem::new(Code::BadConfig, "/store/url", rule, remedy);
        Err(if self.is_postgres() {
            let rule =
                "this command opens the store's own file, and the store is a database server";
            problem(
                rule.to_owned(),
                "start `factum serve`, and set FACTUM_URL and FACTUM_TOKEN",
            )
            .into()
        } else {
            let rule = format!("{url:?} is no store that this program knows");
            problem(
                rule,
                "write sqlite:PATH, or postgresql://user@host:port/database",
            )
            .into()
        })
    }

    /// The data folder.
    pub(crate) fn home(&self) -> Result<Home, Failure> {
        if self.is_postgres() {
            return Ok(Home::at(&self.config.store.folder));
        }
        Ok(Home::beside(&self.store()?))
    }

    /// The server that holds the store; `held` is what opening it came to, and what is said where the holder has no address.
    pub(crate) fn holder(&self, held: Failure) -> Result<Client, Failure> {
        let home = self.home()?;
        let Some(address) = holder_address(&home) else {
            return Err(held);
        };
        let token = match token() {
            Some(token) => token,
            None => std::fs::read_to_string(home.token_file())
                .map_err(|_| held)?
                .trim()
                .to_owned(),
        };
        Client::new(&address, token)
    }
}

/// The server that the environment names.
pub(crate) fn url() -> Option<String> {
    variable("FACTUM_URL")
}

/// The token that the environment holds.
pub(crate) fn token() -> Option<String> {
    variable("FACTUM_TOKEN")
}

/// The authority that `--ca` names: one for the whole process, as the environment's is.
static CA: OnceLock<PathBuf> = OnceLock::new();

/// From here on servers are trusted whose certificates the authority in this file signed, and no others.
pub(crate) fn trust(ca: PathBuf) {
    // There is one command line, so there is nothing to set anew.
    let _ = CA.set(ca);
}

/// The file with the authority of servers' certificates: `--ca`, else `FACTUM_CA`; none for those that this machine trusts.
pub(crate) fn ca() -> Option<PathBuf> {
    CA.get()
        .cloned()
        .or_else(|| variable("FACTUM_CA").map(PathBuf::from))
}

/// Where programs of this user keep their data.
pub(crate) fn data_home() -> PathBuf {
    let named = variable("XDG_DATA_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| Path::new(&home).join(".local/share"));
    named.or_else(home).unwrap_or_else(|| PathBuf::from("."))
}

/// Who is at the keyboard, for records of decisions.
pub(crate) fn user() -> String {
    variable("USER")
        .or_else(|| variable("LOGNAME"))
        .unwrap_or_else(|| factum::DEFAULT_PRINCIPAL.to_owned())
}

/// What to log.
pub(crate) fn log() -> Option<String> {
    variable("FACTUM_LOG")
}

/// The deliberate mistake that this process is to make.
#[cfg(feature = "proof")]
pub(crate) fn mistake() -> Option<String> {
    variable("FACTUM_MISTAKE")
}

/// Whether colour is unwanted.
pub(crate) fn no_color() -> bool {
    variable("NO_COLOR").is_some()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command line's own variables; this file is where they are read"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The address that the holder of a store can be reached at: beside the store while it is served.
pub(crate) fn holder_address(home: &Home) -> Option<String> {
    let lock = std::fs::read_to_string(home.root().join("lock")).ok()?;
    let address = lock.lines().next()?.split_once(" at ")?.1.trim().to_owned();
    Some(if address.starts_with("http://") {
        address
    } else {
        format!("http://{address}")
    })
}
