//! Spans as they open and close, turned into rows for the export. What opens them waits for nothing here.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::Row;

/// Rows that may wait for the export.
const WAITING_MAX: usize = 8_192;

/// The layer that listens.
pub(crate) struct Trail {
    rows: Sender<Row>,
    dropped: Arc<AtomicU64>,
}

/// What comes out of it.
pub(crate) struct Rows {
    pub(crate) rows: Receiver<Row>,
    /// Rows that had no room.
    pub(crate) dropped: Arc<AtomicU64>,
}

/// A layer, and its rows.
pub(crate) fn trail() -> (Trail, Rows) {
    let (sender, rows) = channel(WAITING_MAX);
    let dropped = Arc::new(AtomicU64::new(0));
    let listens = Trail {
        rows: sender,
        dropped: dropped.clone(),
    };
    (listens, Rows { rows, dropped })
}

/// The wall clock, in microseconds: for people, and nothing is decided by it.
fn now() -> i64 {
    factum_store::system_clock()().as_micros()
}

/// A draw that names a span; where the system gives no randomness, names repeat, and only the display suffers.
fn draw() -> u64 {
    getrandom::u64().unwrap_or(1)
}

impl Visit for Row {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.push((field.name(), format!("{value:?}")));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Trail {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let began = now();
        let mut row = Row {
            name: attributes.metadata().name(),
            times: (began, began),
            fields: Vec::with_capacity(8),
            drawn: (draw(), draw(), draw()),
        };
        attributes.record(&mut row);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(row);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(row) = span.extensions_mut().get_mut::<Row>()
        {
            values.record(row);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let row = context
            .span(&id)
            .and_then(|span| span.extensions_mut().remove::<Row>());
        let Some(mut row) = row.filter(Row::is_sampled) else {
            return;
        };
        row.times.1 = now();
        if self.rows.try_send(row).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
