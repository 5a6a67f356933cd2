//! The contracts that come with the program, and those that an operator puts over them.
//!
//! Texts come in as data; whoever reads folders does it elsewhere.

use std::collections::BTreeMap;

use crate::contract::Contract;
use crate::finding::{Complaint, Finding};
use crate::probe::Report;
use crate::provider::Provider;

/// Contracts by provider and operation.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    texts: BTreeMap<String, Texts>,
    contracts: BTreeMap<(String, String), Contract>,
    providers: BTreeMap<String, Provider>,
}

/// The files of one provider's folder: path and text.
#[derive(Clone, Debug, Default)]
struct Texts {
    provider: Option<(String, String)>,
    operations: BTreeMap<String, (String, String)>,
}

/// Lists files of the catalogue's folder with their texts.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$((
            concat!("contracts/", $path),
            include_str!(concat!("../../../contracts/", $path)),
        )),*]
    };
}

/// Every file of the catalogue's folder; a test compares the list with the folder.
const BUILTIN: &[(&str, &str)] = files![
    "adyen/payment.create.toml",
    "adyen/provider.toml",
    "adyen/refund.create.toml",
    "airtable/provider.toml",
    "airtable/record.upsert.toml",
    "amazon_ec2/instance.run.toml",
    "amazon_ec2/provider.toml",
    "amazon_ses/email.send.toml",
    "amazon_ses/provider.toml",
    "amazon_sns/message.publish.toml",
    "amazon_sns/provider.toml",
    "amazon_sqs/message.send.toml",
    "amazon_sqs/provider.toml",
    "amazon_stepfunctions/execution.start.toml",
    "amazon_stepfunctions/provider.toml",
    "azure_communication/email.send.toml",
    "azure_communication/provider.toml",
    "azure_communication/sms.send.toml",
    "braintree/provider.toml",
    "braintree/transaction.charge.toml",
    "chargebee/customer.create.toml",
    "chargebee/provider.toml",
    "checkbook/check.create.toml",
    "checkbook/provider.toml",
    "checkout/payment.request.toml",
    "checkout/provider.toml",
    "coinbase/order.create.toml",
    "coinbase/provider.toml",
    "discord/message.create.toml",
    "discord/provider.toml",
    "dropbox/folder.create.toml",
    "dropbox/provider.toml",
    "easypay/payment.create.toml",
    "easypay/provider.toml",
    "freshdesk/contact.create.toml",
    "freshdesk/provider.toml",
    "freshdesk/ticket.create.toml",
    "github/issue.create.toml",
    "github/issue_comment.create.toml",
    "github/provider.toml",
    "gitlab/issue.create.toml",
    "gitlab/provider.toml",
    "gocardless/payment.create.toml",
    "gocardless/provider.toml",
    "google_calendar/event.insert.toml",
    "google_calendar/provider.toml",
    "google_chat/message.create.toml",
    "google_chat/message.create_named.toml",
    "google_chat/provider.toml",
    "google_cloud/alloydb_cluster.create.toml",
    "google_cloud/compute_instance.insert.toml",
    "google_cloud/provider.toml",
    "hubspot/contact.upsert.toml",
    "hubspot/email.send.toml",
    "hubspot/provider.toml",
    "intercom/company.upsert.toml",
    "intercom/contact.create.toml",
    "intercom/event.submit.toml",
    "intercom/provider.toml",
    "intercom/ticket.create.toml",
    "intercom/ticket.enqueue.toml",
    "jira/issue.create.toml",
    "jira/provider.toml",
    "linear/attachment.create.toml",
    "linear/issue.create.toml",
    "linear/provider.toml",
    "mailgun/message.send.toml",
    "mailgun/provider.toml",
    "mastodon/provider.toml",
    "mastodon/status.create.toml",
    "matrix/event.redact.toml",
    "matrix/message.send.toml",
    "matrix/provider.toml",
    "microsoft_graph/channel_message.send.toml",
    "microsoft_graph/event.create.toml",
    "microsoft_graph/mail.send.toml",
    "microsoft_graph/provider.toml",
    "modern_treasury/payment_order.create.toml",
    "modern_treasury/provider.toml",
    "mollie/payment.create.toml",
    "mollie/provider.toml",
    "mollie/refund.create.toml",
    "monday/item.create.toml",
    "monday/provider.toml",
    "pagerduty/event.trigger.toml",
    "pagerduty/incident.create.toml",
    "pagerduty/provider.toml",
    "paypal/authorization.capture.toml",
    "paypal/order.capture.toml",
    "paypal/order.create.toml",
    "paypal/payout.create.toml",
    "paypal/provider.toml",
    "plaid/provider.toml",
    "plaid/transfer.create.toml",
    "plaid/transfer_authorization.create.toml",
    "postmark/email.send.toml",
    "postmark/provider.toml",
    "qonto/internal_transfer.create.toml",
    "qonto/provider.toml",
    "radicale/event.put.toml",
    "radicale/provider.toml",
    "redmine/issue.create.toml",
    "redmine/provider.toml",
    "resend/email.batch.toml",
    "resend/email.send.toml",
    "resend/provider.toml",
    "rt/provider.toml",
    "rt/ticket.create.toml",
    "rt/ticket.update.toml",
    "salesforce/provider.toml",
    "salesforce/record.upsert.toml",
    "salesforce/ui_record.create.toml",
    "sendgrid/mail.send.toml",
    "sendgrid/provider.toml",
    "servicenow/incident.create.toml",
    "servicenow/provider.toml",
    "shopify/order.create.toml",
    "shopify/provider.toml",
    "shopify/refund.create.toml",
    "slack/message.post.toml",
    "slack/provider.toml",
    "square/order.create.toml",
    "square/payment.create.toml",
    "square/provider.toml",
    "square/refund.create.toml",
    "stripe/charge.create.toml",
    "stripe/payment_intent.create.toml",
    "stripe/provider.toml",
    "stripe/refund.create.toml",
    "stripe/v2.event_destination.create.toml",
    "telegram/message.send.toml",
    "telegram/provider.toml",
    "testbed/cancel.queued.toml",
    "testbed/cancel.sync.toml",
    "testbed/key.queued.toml",
    "testbed/key.reported.toml",
    "testbed/key.sync.toml",
    "testbed/key.undo.toml",
    "testbed/key_body.queued.toml",
    "testbed/key_body.sync.toml",
    "testbed/key_path.queued.toml",
    "testbed/key_path.sync.toml",
    "testbed/lagging.queued.toml",
    "testbed/lagging.sync.toml",
    "testbed/lookup.queued.toml",
    "testbed/lookup.sync.toml",
    "testbed/neither.fed.toml",
    "testbed/neither.queued.toml",
    "testbed/neither.reported.toml",
    "testbed/neither.sync.toml",
    "testbed/provider.toml",
    "twilio/message.create.toml",
    "twilio/provider.toml",
    "wise/provider.toml",
    "wise/transfer.create.toml",
    "wise/transfer.fund.toml",
    "worldline/payment.create.toml",
    "worldline/provider.toml",
    "xero/invoice.create.toml",
    "xero/provider.toml",
    "zendesk/comment.add.toml",
    "zendesk/provider.toml",
    "zendesk/ticket.create.toml",
    "zendesk/user.upsert.toml",
];

impl Catalogue {
    /// The contracts that come with the program.
    ///
    /// # Panics
    /// If one of them does not parse, which the tests of this crate rule out.
    #[must_use]
    pub fn builtin() -> Self {
        let mut catalogue = Self::default();
        catalogue
            .load_overrides(BUILTIN.iter().copied())
            .expect("the built-in contracts are parsed by the tests");
        catalogue
    }

    /// The files that come with the program, as (path, text): for showing, and for copying as a start.
    #[must_use]
    pub fn builtin_files() -> &'static [(&'static str, &'static str)] {
        BUILTIN
    }

    /// Puts files over what is here: `…/{provider}/provider.toml` and `…/{provider}/{operation}.toml`. A file replaces
    /// the one of the same provider and name; the provider's other operations are read again with it. Files that do not
    /// end in `.toml` are left alone, and so are the reports of probes.
    ///
    /// # Errors
    /// Everything that is wrong with any of them; the catalogue is then as it was before.
    pub fn load_overrides<'a>(
        &mut self,
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Vec<Finding>> {
        let mut texts = self.texts.clone();
        let mut findings = Vec::new();
        for (path, text) in files {
            // A probe's report may stand beside the contract that cites it.
            if Report::is_meant_by(text) {
                continue;
            }
            let Some((provider, name)) = names(path) else {
                if path.ends_with(".toml") {
                    findings.push(misplaced(path, text));
                }
                continue;
            };
            let folder = texts.entry(provider.to_owned()).or_default();
            let file = (path.to_owned(), text.to_owned());
            if name == "provider" {
                folder.provider = Some(file);
            } else {
                folder.operations.insert(name.to_owned(), file);
            }
        }
        let mut loaded = Self {
            texts,
            ..Self::default()
        };
        findings.extend(loaded.read());
        if !findings.is_empty() {
            return Err(findings);
        }
        *self = loaded;
        Ok(())
    }

    /// Reads every text; what is wrong with them.
    fn read(&mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (folder, texts) in &self.texts {
            let provider = texts.provider.as_ref();
            let provider = provider.map(|(path, text)| (path.as_str(), text.as_str()));
            match provider.map(|(path, text)| (Provider::parse(path, text), path, text)) {
                Some((Ok(provider), path, text)) if provider.name != *folder => {
                    findings.push(misnamed(path, text, "/provider", folder));
                }
                Some((Ok(provider), _, _)) => {
                    self.providers.insert(folder.clone(), provider);
                }
                Some((Err(wrong), _, _)) => {
                    // Said once, not again for each of its operations.
                    findings.extend(wrong);
                    continue;
                }
                None => {}
            }
            for (name, (path, text)) in &texts.operations {
                match Contract::parse(path, provider, text) {
                    Ok(contract) if contract.provider() != folder => {
                        findings.push(misnamed(path, text, "/provider", folder));
                    }
                    Ok(contract) if contract.operation() != name => {
                        findings.push(misnamed(path, text, "/operation", name));
                    }
                    Ok(contract) => {
                        let has = |name: &str| texts.operations.contains_key(name);
                        findings.extend(contract.check_undone_by(path, text, &has));
                        let id = (folder.clone(), name.clone());
                        self.contracts.insert(id, contract);
                    }
                    Err(wrong) => findings.extend(wrong),
                }
            }
        }
        findings
    }

    /// The contract of an operation.
    #[must_use]
    pub fn get(&self, provider: &str, operation: &str) -> Option<&Contract> {
        let id = (provider.to_owned(), operation.to_owned());
        self.contracts.get(&id)
    }

    /// The texts behind a contract: the provider's, where there is one, and the operation's own.
    pub(crate) fn texts_of(
        &self,
        provider: &str,
        operation: &str,
    ) -> Option<(Option<String>, String)> {
        let texts = self.texts.get(provider)?;
        let (_, own) = texts.operations.get(operation)?;
        Some((
            texts.provider.as_ref().map(|(_, text)| text.clone()),
            own.clone(),
        ))
    }

    /// What a provider's operations share.
    #[must_use]
    pub fn provider(&self, provider: &str) -> Option<&Provider> {
        self.providers.get(provider)
    }

    /// The names of all providers, in order.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// The contracts of a provider, in the order of their names.
    pub fn operations(&self, provider: &str) -> impl Iterator<Item = &Contract> {
        let contracts = self.contracts.iter();
        contracts
            .filter(move |((name, _), _)| name == provider)
            .map(|(_, contract)| contract)
    }
}

/// Provider and name of a file: its folder, and its own name without `.toml`.
fn names(path: &str) -> Option<(&str, &str)> {
    let (folder, file) = path.rsplit_once('/')?;
    let provider = folder.rsplit('/').next()?;
    let name = file.strip_suffix(".toml")?;
    (!provider.is_empty() && !name.is_empty()).then_some((provider, name))
}

fn misplaced(path: &str, text: &str) -> Finding {
    let message = "stands in no provider's folder";
    let remedy = "put it into contracts/{provider}/{operation}.toml";
    let complaint = Complaint::error("file_name", message, remedy);
    Finding::at(path, text, 0..0, String::new(), complaint)
}

fn misnamed(path: &str, text: &str, member: &str, expected: &str) -> Finding {
    let message = format!("is not `{expected}`, as the file's place says");
    let remedy = "give the file and its folder the names that stand in it";
    let complaint = Complaint::error("file_name", message, remedy);
    Finding::at(path, text, 0..0, member.to_owned(), complaint)
}
