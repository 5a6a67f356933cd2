//! What an operator sees of a running engine, as it is written in `factum.toml`: who reads its metrics.

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
