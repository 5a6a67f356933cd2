//! The configuration as it is written: `factum.toml`, overridden by the environment (`FACTUM_SERVER__LISTEN`).
//!
//! Unknown members are errors, with line and column. [`crate::setup`] turns it into what the engine runs with.

mod console;
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use factum_engine::destination::{full_name, own_name, tenant_of};
use factum_engine::directory::DEFAULT_TENANT;
use factum_engine::{Code, Problem};
use serde::{Deserialize, Deserializer};

pub use crate::credentials::{AuthConfig, HmacConfig, OAuth2Config, SigV4Config};
pub use crate::mcp::McpConfig;
pub use crate::networks::AllowPrivate;
pub use crate::observe::{LogConfig, LogFormat, MetricsAccess, MetricsConfig, TracesConfig};
pub use crate::workers::{WorkConfig, WorkKey, WorkLookUp};
pub use console::{ConsoleConfig, OidcConfig};
pub use server::{RateConfig, ServerConfig, TlsConfig};

/// `factum.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How the HTTP API is reached.
    pub server: ServerConfig,
    /// The pages for people.
    pub console: ConsoleConfig,
    /// Where everything is written down.
    pub store: StoreConfig,
    /// Bounds of the engine.
    pub limits: LimitsConfig,
    /// How long what is kept of settled actions; what is not said is kept for good.
    pub retention: RetentionConfig,
    /// Where signed checkpoints of the store go, and how often.
    pub checkpoints: CheckpointsConfig,
    /// How long events are kept, and how many may listen.
    pub events: EventsConfig,
    /// Where webhooks may lead.
    pub webhooks: WebhooksConfig,
    /// How language models are answered.
    pub mcp: McpConfig,
    /// Who reads the metrics.
    pub metrics: MetricsConfig,
    /// How a server logs.
    pub log: LogConfig,
    /// Where its traces go.
    pub traces: TracesConfig,
    /// The customer's route while a person has to decide, unless a destination has its own.
    pub contact: Option<ContactConfig>,
    /// A folder with messages of one's own; they override those that come with the program.
    pub messages: Option<PathBuf>,
    /// The language of statements where neither a submission nor its reader says one.
    pub locale: Option<String>,
    /// A folder with contracts of one's own; they override the built-in catalogue.
    pub contracts: Option<PathBuf>,
    /// The configured accounts at outside systems, by name.
    pub destinations: BTreeMap<String, DestinationConfig>,
    /// What tenants have for themselves, and what is said to their customers otherwise, by name.
    pub tenants: BTreeMap<String, TenantConfig>,
    /// Application files whose `factum_outbox` is picked up.
    pub outbox: Vec<OutboxConfig>,
}

/// `[store]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// `sqlite:PATH`, or `postgresql://user@host:port/database`.
    pub url: String,
    /// The folder of keys and admin token beside PostgreSQL, equal for all workers. With SQLite it is the file's own.
    pub folder: PathBuf,
    /// Connections to PostgreSQL at the most, for each worker; one more listens.
    pub connections: usize,
    /// How often each worker looks for new rows in the outbox in PostgreSQL; a notification wakes it before.
    pub outbox_poll: Wait,
    /// Whether PostgreSQL keeps statements under a name between two uses. Unset, it does unless a pooler stands in between.
    pub prepared: Option<bool>,
    /// Which actions' new evidence and decisions share a statement in PostgreSQL when many are written at once.
    pub flush: Flush,
    /// What a standby of PostgreSQL that takes over may lack.
    pub standby: Standby,
    /// Whether content is sealed before it is written.
    pub seal: Seal,
}

/// `store.seal`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seal {
    /// With the newest key of `keys/seal/`; the first start makes one.
    #[default]
    On,
    /// It is written in clear. What is sealed already stays readable.
    Off,
}

/// `store.flush`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// Those of all lanes: one server.
    #[default]
    All,
    /// Those of one lane: where lanes lie on several servers.
    Lane,
    /// None.
    Each,
}

/// `store.standby`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standby {
    /// Commits that were answered: after a fail-over everything is looked for before anything is sent.
    #[default]
    Asynchronous,
    /// Nothing: commits wait for whoever takes over.
    Synchronous,
}

/// `[limits]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Unsettled actions at the most; beyond, submissions get 429.
    pub unsettled_max: usize,
    /// Requests, questions and commits under way at once.
    pub held_max: usize,
    /// How long after a restore a new identity without `intent_at` counts as maybe sent.
    pub restore_grace: Wait,
}

/// `[retention]`, and `[tenants.NAME.retention]`. Times count from the last word about a settled action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionConfig {
    /// Params, payload, summary, and what was asked in the asker's words.
    pub payload: Option<Wait>,
    /// The whole action, with its log; a tombstone stays.
    pub action: Option<Wait>,
    /// Its identity, once the action is gone. Where it is set, submissions say when their intent was formed.
    pub identity: Option<Wait>,
    /// Otherwise for an operation, by its name.
    pub operations: BTreeMap<String, KeepConfig>,
}

/// `[retention.operations."NAME"]`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeepConfig {
    /// Params, payload, summary, and what was asked in the asker's words.
    pub payload: Option<Wait>,
    /// The whole action, with its log; a tombstone stays.
    pub action: Option<Wait>,
    /// Its identity, once the action is gone.
    pub identity: Option<Wait>,
}

/// `[events]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventsConfig {
    /// How long events are kept, for who reads later. Webhooks are tried for some three days.
    pub keep: Wait,
    /// How often reviewers are told at the most what waits for them.
    pub digest: Wait,
    /// Streams that may be open at once.
    pub streams_max: usize,
}

/// `[checkpoints]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckpointsConfig {
    /// The folder that they are put into: on another machine or volume, where whoever can write the store cannot. Off without one.
    pub folder: Option<PathBuf>,
    /// How often.
    pub every: Wait,
}

/// `[webhooks]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksConfig {
    /// Endpoints may lead into these networks that are not the public internet's, and be plain HTTP. Whoever administers a tenant
    /// can then make this machine post there.
    pub allow_private: AllowPrivate,
}

/// `[contact]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContactConfig {
    /// Where to turn to.
    pub say: String,
    /// The same in other languages, by their tags.
    #[serde(default)]
    pub translations: BTreeMap<String, String>,
    /// An answer is promised so long after a person was first needed.
    #[serde(default)]
    pub within: Option<Wait>,
    /// In whose time that is said: a name of the IANA database. UTC where nothing is said.
    #[serde(default)]
    pub time_zone: Option<String>,
}

/// `[tenants.NAME]`. Who the tenant is, and whether it may act, stands in the store: `factum tenant add`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TenantConfig {
    /// The language of statements where neither a submission nor its reader says one.
    pub locale: Option<String>,
    /// The route of its customers while a person has to decide.
    pub contact: Option<ContactConfig>,
    /// The same for one destination.
    pub contacts: BTreeMap<String, ContactConfig>,
    /// How long what is kept of its settled actions, where that is another time than for all.
    pub retention: Option<RetentionConfig>,
    /// Its accounts at outside systems, by its own names for them: two tenants may both have `helpdesk`.
    pub destinations: BTreeMap<String, DestinationConfig>,
}

/// `[[outbox]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutboxConfig {
    /// The application's SQLite file.
    pub path: PathBuf,
}

/// `[destinations.NAME]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DestinationConfig {
    /// A provider of the catalogue, or `work`: only workers elsewhere speak with it.
    pub provider: String,
    /// `https://host[:port][/path]`. Not where only workers speak with it.
    #[serde(default)]
    pub base: String,
    /// The account there; pinned with the key.
    #[serde(default)]
    pub account: Option<String>,
    /// How requests are authenticated: secrets by reference.
    #[serde(default)]
    pub auth: Option<AuthConfig>,
    /// `file:PATH`: the one authority whose certificates are trusted there.
    #[serde(default)]
    pub ca: Option<String>,
    /// How its callbacks are checked.
    #[serde(default)]
    pub callback: Option<CallbackConfig>,
    /// Plain HTTP beyond loopback, in a network that the operator answers for.
    #[serde(default)]
    pub allow_plain_http: bool,
    /// Networks that are not the public internet's and that the base's name may lead into. An address that the base itself
    /// names needs no leave, nor does `localhost`.
    #[serde(default)]
    pub allow_private: AllowPrivate,
    /// Effects there count for nothing: `factum contract probe` may make some. It touches no destination without this.
    #[serde(default)]
    pub sandbox: bool,
    /// The customer's route for this destination.
    #[serde(default)]
    pub contact: Option<ContactConfig>,
    /// Times and counts.
    #[serde(default)]
    pub limits: DestinationLimits,
    /// How much it is given at a time.
    #[serde(default)]
    pub gate: GateConfig,
    /// What the operator decides per operation.
    #[serde(default)]
    pub operations: BTreeMap<String, factum_contract::OperatorSettings>,
    /// The operations of the provider `work`, which workers elsewhere carry out in their own code.
    #[serde(default)]
    pub work: BTreeMap<String, WorkConfig>,
}

/// `callback = { … }`: the destination reports by itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackConfig {
    /// The secrets that a report may be signed with, by reference: several while they are changed. Where the contract's scheme
    /// is `basic`, each is `user:password`.
    pub secrets: Vec<String>,
}

/// Times and counts of a destination; what is not set keeps its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DestinationLimits {
    /// From the mark to the first byte.
    pub send_wait: Option<Wait>,
    /// From the first byte to the last byte written.
    pub write: Option<Wait>,
    /// From the last byte written to the answer's last byte.
    pub answer_wait: Option<Wait>,
    /// How long written bytes may linger in buffers and on the network.
    pub linger: Option<Wait>,
    /// Longest pause of the process that is guarded against.
    pub pause_margin: Option<Wait>,
    /// Largest difference between the clocks involved.
    pub skew: Option<Wait>,
    /// Longest time for connecting.
    pub connect: Option<Wait>,
    /// The first delay between attempts and between questions.
    pub backoff: Option<Wait>,
    /// Any delay at the longest.
    pub backoff_max: Option<Wait>,
    /// Marked attempts at the most.
    pub attempts_max: Option<u32>,
    /// Questions without a result at the most.
    pub lookups_max: Option<u32>,
    /// Polls of one accepted attempt at the most.
    pub polls_max: Option<u32>,
    /// Cancels by key at the most.
    pub cancels_max: Option<u32>,
    /// How long a promised callback is waited for.
    pub callback_wait: Option<Wait>,
    /// How long a worker's claim, or what it began, is leased without word of it.
    pub work_lease: Option<Wait>,
}

/// How much a destination is given at a time; what is not set keeps its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GateConfig {
    /// Requests in flight at the most.
    pub in_flight_max: Option<u32>,
    /// Requests begun per second at the most; zero means no limit.
    pub per_second: Option<u32>,
    /// Requests that may begin at once after a quiet time.
    pub burst: Option<u32>,
    /// Failures in a row that open the circuit; zero means never.
    pub circuit_failures: Option<u32>,
    /// How long an open circuit stays shut to all but one probe.
    pub circuit_cooldown: Option<Wait>,
}

/// A length of time: a whole number and one of `ms`, `s`, `min`, `h`, `d`, as in `30 s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub factum_core::Span);

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        factum_contract::parse_span(&text)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

impl Wait {
    /// As the standard library has it.
    #[must_use]
    pub fn duration(self) -> std::time::Duration {
        factum_engine::clock::duration(self.0)
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: "sqlite:./factum-data/factum.db".to_owned(),
            folder: PathBuf::from("./factum-data"),
            connections: 10,
            outbox_poll: Wait(factum_core::Span::from_millis(100)),
            prepared: None,
            flush: Flush::default(),
            standby: Standby::default(),
            seal: Seal::default(),
        }
    }
}

impl Default for EventsConfig {
    fn default() -> Self {
        Self {
            keep: Wait(factum_core::Span::from_secs(14 * 86_400)),
            digest: Wait(factum_core::Span::from_secs(15 * 60)),
            streams_max: 256,
        }
    }
}

impl EventsConfig {
    pub(crate) fn keep(&self) -> crate::events::follow::Keep {
        crate::events::follow::Keep {
            keep: self.keep.0,
            digest: self.digest.0,
        }
    }
}

impl Default for CheckpointsConfig {
    fn default() -> Self {
        Self {
            folder: None,
            every: Wait(factum_core::Span::from_secs(3_600)),
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            unsettled_max: 1_000_000,
            held_max: 512,
            restore_grace: Wait(factum_core::Span::from_secs(86_400)),
        }
    }
}

impl Config {
    /// The destinations of all tenants, by their full names, each with where it stands.
    pub fn all_destinations(&self) -> impl Iterator<Item = (String, String, &DestinationConfig)> {
        let own = self.destinations.iter();
        let own =
            own.map(|(name, written)| (name.clone(), format!("/destinations/{name}"), written));
        let tenants = self.tenants.iter();
        let theirs = tenants.flat_map(|(tenant, written)| {
            written.destinations.iter().map(move |(name, written)| {
                let at = format!("/tenants/{tenant}/destinations/{name}");
                (full_name(tenant, name), at, written)
            })
        });
        own.chain(theirs)
    }

    /// The destination of this full name.
    #[must_use]
    pub fn destination(&self, full: &str) -> Option<&DestinationConfig> {
        let tenant = tenant_of(full);
        if tenant == DEFAULT_TENANT {
            return self.destinations.get(full);
        }
        let written = self.tenants.get(tenant)?;
        written.destinations.get(own_name(tenant, full))
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    /// F1040 with file, line and column.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let rule = format!("cannot read {}: {error}", path.display());
            Problem::new(
                Code::BadConfig,
                "",
                rule,
                "name an existing file with --config, or make one",
            )
        })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// F1040 with file, line and column.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problem> {
        toml::from_str(text).map_err(|error| {
            let rule = format!("{file}: {}", error.to_string().trim_end());
            Problem::new(
                Code::BadConfig,
                "",
                rule,
                "correct the file; `factum.toml` is described in the manual",
            )
        })
    }

    /// Overrides members by environment variables: `FACTUM_SERVER__LISTEN=…` sets `server.listen`.
    ///
    /// # Errors
    /// F1040 names the variable that sets no known member.
    pub fn with_environment(
        file: &str,
        text: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Problem> {
        let mut table: toml::Table = toml::from_str(text).map_err(|error| {
            let rule = format!("{file}: {}", error.to_string().trim_end());
            Problem::new(
                Code::BadConfig,
                "",
                rule,
                "correct the file; `factum.toml` is described in the manual",
            )
        })?;
        let mut named = Vec::new();
        for (name, value) in variables {
            let Some(path) = name
                .strip_prefix("FACTUM_")
                .filter(|path| path.contains("__"))
            else {
                continue;
            };
            let path: Vec<String> = path.split("__").map(str::to_lowercase).collect();
            set(&mut table, &path, &value);
            named.push(name);
        }
        if named.is_empty() {
            // Parsed from the text itself, so that errors carry its lines.
            return Self::parse(file, text);
        }
        Self::parse(file, text)?;
        toml::Value::Table(table)
            .try_into()
            .map_err(|error: toml::de::Error| {
                let rule = format!("{}: {}", named.join(", "), error.message());
                Problem::new(Code::BadConfig, "", rule, "correct or unset the variable")
            })
    }
}

/// Sets a member by its path. Text that reads as a number or a truth value is one.
fn set(table: &mut toml::Table, path: &[String], value: &str) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        let value = value
            .parse::<i64>()
            .map(toml::Value::Integer)
            .or_else(|_| value.parse::<bool>().map(toml::Value::Boolean))
            .unwrap_or_else(|_| toml::Value::String(value.to_owned()));
        table.insert(first.clone(), value);
        return;
    }
    let inner = table
        .entry(first.clone())
        .or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if let toml::Value::Table(inner) = inner {
        set(inner, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_default() {
        let config = Config::parse("factum.toml", "").unwrap();
        assert_eq!(config.server.listen, "127.0.0.1:7420");
        assert_eq!(config.store.url, "sqlite:./factum-data/factum.db");
    }

    #[test]
    fn unknown_members_are_errors_with_their_line() {
        let problem = Config::parse(
            "factum.toml",
            "server.listen = \"x\"\nserver.lisen = \"y\"\n",
        )
        .unwrap_err();
        assert_eq!(problem.code, Code::BadConfig);
        assert!(
            problem.rule.contains("line 2") && problem.rule.contains("lisen"),
            "{problem}"
        );
        let problem = Config::parse("factum.toml", "[server]\nshutdown = \"20\"\n").unwrap_err();
        assert!(
            problem.rule.contains("line 2") && problem.rule.contains("20"),
            "{problem}"
        );
    }

    #[test]
    fn the_environment_overrides_members_and_unknown_ones_are_errors() {
        let vars = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let config = Config::with_environment(
            "f",
            "server.listen = \"a\"",
            vars("FACTUM_SERVER__LISTEN", "b"),
        )
        .unwrap();
        assert_eq!(config.server.listen, "b");
        let config =
            Config::with_environment("f", "", vars("FACTUM_LIMITS__UNSETTLED_MAX", "7")).unwrap();
        assert_eq!(config.limits.unsettled_max, 7);
        let problem =
            Config::with_environment("f", "", vars("FACTUM_SERVER__LISEN", "b")).unwrap_err();
        assert!(
            problem.rule.contains("FACTUM_SERVER__LISEN") && problem.rule.contains("lisen"),
            "{problem}"
        );
        assert!(
            Config::with_environment("f", "", vars("FACTUM_TOKEN", "b")).is_ok(),
            "the client's variables are no members"
        );
    }
}
