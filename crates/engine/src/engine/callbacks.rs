//! Callbacks in: whose address it is, whether the delivery is genuine, and its durable record before anybody is told that it
//! was taken.

use std::time::Duration;

use factum_core::Span;
use factum_store::{Delivered, KeptReport, ReportFilter};

use super::Engine;
use crate::callbacks::{Delivery, KEPT, reports};
use crate::destination::Destination;
use crate::problem::{Code, Problem};

/// How long a secret may take to be read; the destination waits meanwhile.
const SECRET_WAIT: Span = Span::from_secs(5);

impl Engine {
    /// The last part of the address for a destination's callbacks; none where no contract of it describes any.
    #[must_use]
    pub fn callback_path(&self, tenant: &str, destination: &str) -> Option<String> {
        let destination = self.destination(tenant, destination)?;
        destination
            .takes_callbacks()
            .then(|| self.address(destination))
    }

    /// Takes a destination's delivery that came to this address, and answers what became of each report in it. Everything is
    /// durable then; a delivery that failed may be repeated. `None` if nobody has this address.
    ///
    /// # Errors
    /// [`Code::CallbackRefused`] where it is not the destination's, [`Code::CallbackUnchecked`] where that cannot be told,
    /// and what the store reports.
    pub async fn deliver(
        &self,
        address: &str,
        delivery: Delivery<'_>,
    ) -> Result<Option<Vec<Delivered>>, Problem> {
        let Some(destination) = self.addressed(address) else {
            return Ok(None);
        };
        let tenant = destination.tenant();
        let (secrets, all_read) = secrets(destination).await?;
        let now = self.shared.store.now().await?;
        let secrets: Vec<&[u8]> = secrets.iter().map(Vec::as_slice).collect();
        let reports = reports(destination, tenant, delivery, &secrets, now).map_err(|why| {
            tracing::warn!(destination = %destination.name, %why, "a callback was refused");
            self.shared.metrics.callback_refused(&destination.name);
            if all_read {
                let remedy = "sign it with the secret that is configured for this address";
                Problem::new(Code::CallbackRefused, "", why.to_string(), remedy)
            } else {
                unreadable()
            }
        })?;
        let mut taken = Vec::with_capacity(reports.len());
        for report in reports {
            let site = report.site.clone();
            let delivered = self.shared.store.deliver(report, now - KEPT).await?;
            if let Some(event) = self.shared.reported(&site, delivered, now).await {
                self.tell(event).await;
            }
            taken.push(delivered);
        }
        Ok(Some(taken))
    }

    /// Reports that destinations made, newest first.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn reports(&self, filter: ReportFilter) -> Result<Vec<KeptReport>, Problem> {
        Ok(self.shared.store.reports(filter).await?)
    }

    /// Whose address it is. All are compared, and each to its end, so that the time tells nothing.
    fn addressed(&self, address: &str) -> Option<&Destination> {
        let given = blake3::hash(address.as_bytes());
        let all = self.shared.destinations.values();
        let takers = all.filter(|destination| destination.takes_callbacks());
        takers.fold(None, |found, destination| {
            let path = self.address(destination);
            if blake3::hash(path.as_bytes()) == given {
                Some(destination)
            } else {
                found
            }
        })
    }

    fn address(&self, destination: &Destination) -> String {
        let (tenant, name) = (destination.tenant(), destination.own_name());
        self.shared.keys.callback_path(tenant, name)
    }
}

/// Every secret that can be read, and whether all could: one that cannot is no reason to refuse what another one signed.
async fn secrets(destination: &Destination) -> Result<(Vec<Vec<u8>>, bool), Problem> {
    let name = &destination.name;
    if destination.callback_secrets.is_empty() {
        tracing::warn!(destination = %name, "a callback came, and no secret is configured to check it with");
        let rule = "no secret is configured to check it with; nothing was recorded";
        let remedy = "add `callback = { secrets = [\"env:NAME\"] }` to the destination";
        return Err(unchecked(rule, remedy));
    }
    let (mut read, mut all_read) = (Vec::new(), true);
    for reference in &destination.callback_secrets {
        match reference.resolve(SECRET_WAIT).await {
            Ok(secret) => read.push(secret.with_exposed(<[u8]>::to_vec)),
            Err(error) => {
                tracing::error!(destination = %name, %error, "a callback secret cannot be read");
                all_read = false;
            }
        }
    }
    if read.is_empty() {
        return Err(unreadable());
    }
    Ok((read, all_read))
}

fn unreadable() -> Problem {
    let rule = "its secret cannot be read; nothing was recorded";
    unchecked(rule, "see the log, and send it again")
}

fn unchecked(rule: &str, remedy: &str) -> Problem {
    Problem::new(Code::CallbackUnchecked, "", rule, remedy).after(Duration::from_secs(30))
}
