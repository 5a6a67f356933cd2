//! What an operator sees of a running engine, as it is written in `factum.toml`: who reads its metrics, how it logs, and where its traces go.

use serde::Deserialize;

/// `[metrics]`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsConfig {
    /// Who may read them.
    pub access: MetricsAccess,
}

/// `metrics.access`: who may read `/metrics`, which names the destinations of all tenants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsAccess {
    /// Everybody on this machine where the server listens on loopback, else whoever has a token.
    #[default]
    Loopback,
    /// Whoever shows a token with the scope `read` or `admin`, without a grant, in the tenant that runs the installation.
    Token,
    /// Everybody who reaches the server.
    Open,
    /// Nobody: there is nothing at that address.
    Off,
}

/// `[log]`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// For whom its lines are.
    pub format: LogFormat,
    /// A line for each decision about an action, with its why.
    pub decisions: bool,
}

/// `log.format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    People,
    /// One JSON object on each line.
    Json,
}

/// `[traces]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TracesConfig {
    /// A collector that takes OTLP over HTTP as JSON, without `/v1/traces`. None: nothing is exported.
    pub endpoint: Option<String>,
    /// The service's name there.
    pub service: String,
    /// Plain HTTP to a collector on another machine, in a network that the operator answers for.
    pub allow_plain_http: bool,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            service: "factum".to_owned(),
            allow_plain_http: false,
        }
    }
}
