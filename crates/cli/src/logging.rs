//! What this process says of itself on standard error: lines for people, or JSON for machines; and its traces, where a collector
//! is configured. Set up before anything else runs.

use std::io::IsTerminal;
use std::path::Path;

use factum::config::{LogConfig, LogFormat, TracesConfig};
use factum::{Code, Problem};
use factum_engine::trail;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

use crate::args::Command;
use crate::failure::Failure;
use crate::place::{self, Place};
use crate::traces::export::Collector;
use crate::traces::layer::{self, Rows};

/// Traces that are to be exported once the runtime is there.
pub(crate) type Traces = Option<(Collector, Rows)>;

/// Begins to log. Only a server exports traces, and only a server asks its configuration how to log.
pub(crate) fn start(command: &Command, config: Option<&Path>) -> Result<Traces, Failure> {
    let (log, traces) = match command {
        // What is wrong with the configuration is said by the command itself.
        Command::Serve(_) => Place::read(config).map_or_else(
            |_| (LogConfig::default(), TracesConfig::default()),
            |place| (place.config.log, place.config.traces),
        ),
        _ => (LogConfig::default(), TracesConfig::default()),
    };
    let collector = Collector::of(&traces).map_err(|error| {
        let member = "/traces/endpoint";
        Problem::new(Code::BadConfig, member, error.rule, error.remedy)
    })?;
    let lines = lines(&log).with_filter(filter(command.logs(), &log)?);
    let (listens, exported) = match collector {
        Some(collector) => {
            let (trail, rows) = layer::trail();
            (Some(trail), Some((collector, rows)))
        }
        None => (None, None),
    };
    let of_trail = Targets::new().with_target(trail::TARGET, LevelFilter::DEBUG);
    registry()
        .with(lines)
        .with(listens.map(|trail| trail.with_filter(of_trail)))
        .init();
    Ok(exported)
}

fn filter(default: &str, log: &LogConfig) -> Result<EnvFilter, Failure> {
    let mut wish = place::log().unwrap_or_else(|| default.to_owned());
    if log.decisions {
        wish = format!("{wish},{}=debug", trail::DECISIONS);
    }
    EnvFilter::try_new(&wish).map_err(|error| {
        Failure::usage(
            format!("FACTUM_LOG={wish:?} is no filter: {error}"),
            "write warn, info, or factum_engine=debug",
        )
    })
}

fn lines<S>(log: &LogConfig) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    match log.format {
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
        LogFormat::People => lines
            .with_ansi(std::io::stderr().is_terminal() && !place::no_color())
            .boxed(),
    }
}
