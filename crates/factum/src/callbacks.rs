//! Callbacks in, as the library shows them: where a destination delivers, and what it delivered.

use factum_engine::callbacks::Delivery;
use factum_engine::destination::own_name;
use factum_engine::{Engine, Problem};
use factum_store::{Delivered, KeptReport, Name, Reading, ReportFilter};
use serde::Serialize;

use crate::Factum;
use crate::view::{callback_says, rfc3339};

/// A destination's report as every interface shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallbackView {
    /// Its number: later ones have higher numbers.
    pub no: u64,
    /// When it was stored.
    pub at: String,
    /// From which destination.
    pub destination: String,
    /// The action that it was about; none as long as its names find none, or more than one.
    pub action: Option<String>,
    /// What it says, as each operation's contract reads it; nothing if none does.
    pub readings: Vec<ReadingView>,
    /// The beginning of its body.
    pub body: String,
}

/// What a report says by one operation's contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadingView {
    /// The operation.
    pub operation: String,
    /// What it says, for people.
    pub says: String,
    /// The names by which it finds an action.
    pub names: Vec<NameView>,
}

/// A name in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameView {
    /// `reference`, `key`, `object` or `receipt`.
    pub by: &'static str,
    /// The name itself.
    pub name: String,
}

impl CallbackView {
    /// Of this report.
    #[must_use]
    pub fn of(kept: &KeptReport) -> Self {
        Self {
            no: kept.no,
            at: rfc3339(kept.at),
            destination: own_name(&kept.report.site.tenant, &kept.report.site.destination)
                .to_owned(),
            action: kept.action.map(|id| id.to_string()),
            readings: kept.report.readings.iter().map(ReadingView::of).collect(),
            body: String::from_utf8_lossy(&kept.report.body).into_owned(),
        }
    }
}

impl ReadingView {
    fn of(reading: &Reading) -> Self {
        let names = reading.names.iter().map(|name| {
            let (by, name) = match name {
                Name::Reference(text) => ("reference", text),
                Name::Key(text) => ("key", text),
                Name::Object(text) => ("object", text),
                Name::Receipt(text) => ("receipt", text),
            };
            NameView {
                by,
                name: name.clone(),
            }
        });
        Self {
            operation: reading.operation.clone(),
            says: callback_says(&reading.callback),
            names: names.collect(),
        }
    }
}

/// The path for the callbacks of a tenant's destination; none where no contract of it describes any.
#[must_use]
pub fn path(engine: &Engine, tenant: &str, destination: &str) -> Option<String> {
    let address = engine.callback_path(tenant, destination)?;
    Some(format!("/v1/callbacks/{address}"))
}

/// Reports that a tenant's destinations made, newest first: all, or those that found no action, before this number.
///
/// # Errors
/// [`Problem`] if the store cannot be read.
pub async fn list(
    engine: &Engine,
    tenant: &str,
    unmatched: bool,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<CallbackView>, Problem> {
    let filter = ReportFilter {
        tenant: tenant.to_owned(),
        unmatched,
        before,
        limit,
    };
    let kept = engine.reports(filter).await?;
    Ok(kept.iter().map(CallbackView::of).collect())
}

impl Factum {
    /// Takes a delivery that came to the last part of the path for a destination's callbacks, and answers what became of each
    /// report in it: everything is durable then. `None` if nobody has this address. For applications with a door of their own.
    ///
    /// # Errors
    /// [`crate::Code::CallbackRefused`] where it is not the destination's, [`crate::Code::CallbackUnchecked`] where that
    /// cannot be told, and what the store reports.
    pub async fn deliver(
        &self,
        address: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Option<Vec<Delivered>>, Problem> {
        let public = self.config().server.public_url.as_deref();
        let url = public.map(|url| format!("{}/v1/callbacks/{address}", url.trim_end_matches('/')));
        let delivery = Delivery {
            url: url.as_deref(),
            headers,
            body,
        };
        self.engine().deliver(address, delivery).await
    }
}
