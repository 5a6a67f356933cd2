//! The gateway: tools of other MCP servers, of which those that do something become actions. Each is recorded, sent once, joined on a repeat,
//! and settled by a lookup where the operator has named one; what only reads is passed through.
//!
//! An action is whatever the operator has not called a read. What a server says of its tools may make a guard stricter, never looser.

pub(crate) mod calls;
mod carrier;
mod config;
mod reading;
mod tools;

use std::collections::BTreeMap;
use std::sync::Mutex;

use factum::core::{Limits, Span};
use factum::upstream::{self, Command, EngineClock, Unasked, Upstream};
use factum::{ApprovalPolicy, Builder, Factum, Operation, Problem};
use serde_json::{Value, json};

use carrier::Tools;
pub use config::{GatewayConfig, LookUp, Marker, MarkerStyle, Mode, ServerConfig, ToolConfig};

/// The list of a server's tools is waited for within this.
const LIST: Span = Span::from_secs(60);
/// Pages of such a list at the most.
const PAGES_MAX: usize = 100;
/// From the mark to the first byte: a server that died is started again in between.
const SEND_WAIT: Span = Span::from_secs(30);

/// The servers behind the gateway.
pub struct Gateway {
    servers: BTreeMap<String, Server>,
    clock: EngineClock,
}

/// One of them.
pub(crate) struct Server {
    pub(crate) upstream: Upstream,
    pub(crate) config: ServerConfig,
    /// Its tools, as they were listed last.
    listed: Mutex<Vec<Value>>,
}

impl Gateway {
    /// Starts the servers and asks for their tools. `hold` are the words before a command that end it with us.
    ///
    /// # Errors
    /// F1040 names the member; a server that cannot be asked is logged, and asked again when it is needed.
    pub async fn start(config: GatewayConfig, hold: &[String]) -> Result<Self, Problem> {
        let clock = EngineClock::default();
        let mut servers = BTreeMap::new();
        let withheld = bearers(&config);
        for (name, config) in config.servers {
            config.check(&format!("/servers/{name}"))?;
            let upstream = upstream_of(&config, hold, &withheld, &clock)?;
            let server = Server {
                upstream,
                config,
                listed: Mutex::default(),
            };
            if let Err(Unasked(why)) = server.list().await {
                tracing::warn!(server = %name, %why, "its tools cannot be listed yet");
            }
            servers.insert(name, server);
        }
        Ok(Self { servers, clock })
    }

    /// An engine that carries the servers' tools.
    ///
    /// # Errors
    /// F1040 names what is promised without a name and a reason.
    pub fn carried_by(&self, mut builder: Builder) -> Result<Builder, Problem> {
        for (name, server) in &self.servers {
            let operations = server.operations(&format!("/servers/{name}"))?;
            let tools = Tools {
                upstream: server.upstream.clone(),
                config: server.config.clone(),
            };
            builder = builder.carries(name, operations, tools);
        }
        Ok(builder)
    }

    /// From now on permissions are held against this engine's time.
    pub fn serve_for(&self, factum: &Factum) {
        self.clock.set(factum);
    }

    /// The server and the name there of a tool that is shown under this name.
    pub(crate) fn tool(&self, shown: &str) -> Option<(&str, &Server, String)> {
        self.servers.iter().find_map(|(name, server)| {
            let own = match self.prefix(name) {
                Some(prefix) => shown.strip_prefix(&prefix)?,
                None => shown,
            };
            let known = server.tools().iter().any(|tool| tool["name"] == *own);
            known.then(|| (name.as_str(), server, own.to_owned()))
        })
    }

    /// The server of this name.
    pub(crate) fn server(&self, name: &str) -> Option<&Server> {
        self.servers.get(name)
    }

    /// What stands before a tool's name: the server's, where there are several.
    fn prefix(&self, server: &str) -> Option<String> {
        (self.servers.len() > 1).then(|| format!("{server}__"))
    }

    /// All tools as hosts see them, listed anew.
    pub(crate) async fn list(&self) -> Vec<Value> {
        let mut shown = Vec::new();
        for (name, server) in &self.servers {
            if let Err(Unasked(why)) = server.list().await {
                tracing::warn!(server = %name, %why, "its tools cannot be listed; those of the last time are shown");
            }
            let prefix = self.prefix(name).unwrap_or_default();
            let tools = server.tools();
            shown.extend(
                tools
                    .iter()
                    .filter_map(|tool| tools::shown(tool, &server.config, &prefix)),
            );
        }
        shown
    }
}

impl Server {
    /// Its tools, as they were listed last.
    pub(crate) fn tools(&self) -> Vec<Value> {
        self.listed
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone()
    }

    async fn list(&self) -> Result<(), Unasked> {
        let (mut tools, mut cursor) = (Vec::new(), Value::Null);
        for _ in 0..PAGES_MAX {
            let params = if cursor.is_null() {
                json!({})
            } else {
                json!({ "cursor": cursor })
            };
            let mut page = self.upstream.ask("tools/list", params, LIST).await?;
            let Value::Array(listed) = page["tools"].take() else {
                return Err(Unasked("its list of tools is none".to_owned()));
            };
            tools.extend(listed.into_iter().filter(|tool| tool["name"].is_string()));
            cursor = page["nextCursor"].take();
            if !cursor.is_string() {
                break;
            }
        }
        *self
            .listed
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = tools;
        Ok(())
    }

    /// What is promised of each tool that may do something.
    fn operations(&self, at: &str) -> Result<BTreeMap<String, Operation>, Problem> {
        let listed = self.tools();
        let named = listed.iter().filter_map(|tool| tool["name"].as_str());
        let configured = self.config.tools.keys().map(String::as_str);
        let mut limits = Limits {
            send_wait: SEND_WAIT,
            answer_wait: self.config.timeout.0,
            ..Limits::default()
        };
        limits.bound.skew = Limits::default().bound.skew;
        let operations = named.chain(configured).map(|name| {
            let tool = listed.iter().find(|tool| tool["name"] == *name);
            let at = format!("{at}/tools/{name}");
            let work = self.config.work(name, tool);
            let approval = self.config.asks_first(name).then(ApprovalPolicy::always);
            let carried = work.carried(&at, limits)?;
            Ok((
                name.to_owned(),
                Operation {
                    approval,
                    ..carried
                },
            ))
        });
        operations.collect()
    }
}

/// The variables that hold tokens for servers over HTTP: they are none of what a program here has to know.
fn bearers(config: &GatewayConfig) -> Vec<String> {
    let references = config
        .servers
        .values()
        .filter_map(|one| one.bearer.as_deref());
    let names = references.filter_map(|reference| reference.strip_prefix("env:"));
    names.map(str::to_owned).collect()
}

fn upstream_of(
    config: &ServerConfig,
    hold: &[String],
    withheld: &[String],
    clock: &EngineClock,
) -> Result<Upstream, Problem> {
    if let Some(url) = &config.url {
        return upstream::http(url, config.bearer.as_deref(), clock);
    }
    let words = hold.iter().chain(&config.command).cloned().collect();
    let command = Command {
        words,
        folder: config.folder.clone(),
        variables: config.env.clone().into_iter().collect(),
        withheld: withheld.to_vec(),
    };
    Ok(upstream::command(command, clock))
}
