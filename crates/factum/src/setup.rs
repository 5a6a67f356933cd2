//! From the configuration as written to what the engine runs with: validated, with units, or refused by member.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use factum_contract::{Catalogue, Contract, OperatorSettings, Provider};
use factum_core::retry::Backoff;
use factum_core::{Bound, Limits, Span};
use factum_engine::directory::DEFAULT_TENANT;
use factum_engine::driver::gate::GateSettings;
use factum_engine::{Code, Destination, KeyTemplate, Operation, OperationContract, Problem, Reach};
use factum_transport::{HttpLimits, SecretRef, Target};

use crate::approval;
use crate::config::{Config, DestinationConfig, DestinationLimits, GateConfig, TenantConfig};
use crate::{credentials, workers};

/// The catalogue: built in, overridden by the folder that the configuration names.
///
/// # Errors
/// F1041 with every finding of every file.
pub fn catalogue(config: &Config) -> Result<Catalogue, Problem> {
    let mut catalogue = Catalogue::builtin();
    let Some(folder) = &config.contracts else {
        return Ok(catalogue);
    };
    let mut files = Vec::new();
    read_contracts(folder, folder, &mut files).map_err(|error| {
        let rule = format!("cannot read {}: {error}", folder.display());
        Problem::new(
            Code::BadConfig,
            "/contracts",
            rule,
            "name a folder with contracts, or leave it out",
        )
    })?;
    let texts = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    catalogue.load_overrides(texts).map_err(|findings| {
        let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
        let remedy = "correct the contract; see the position and the remedy";
        Problem::new(Code::BadContract, "/contracts", all.join("\n"), remedy)
    })?;
    Ok(catalogue)
}

fn read_contracts(
    root: &Path,
    folder: &Path,
    files: &mut Vec<(String, String)>,
) -> std::io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            read_contracts(root, &path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let name = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .display()
                .to_string();
            files.push((name, std::fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

/// The configured destinations.
///
/// # Errors
/// F1040 or F1041; names the member.
pub fn destinations(
    config: &Config,
    catalogue: &Catalogue,
) -> Result<BTreeMap<String, Destination>, Problem> {
    for (tenant, written) in &config.tenants {
        sound_tenant(tenant, written)?;
    }
    if let Some(name) = config.destinations.keys().find(|name| name.contains('/')) {
        return Err(slash(&format!("/destinations/{name}")));
    }
    let made = config.all_destinations().map(|(name, at, written)| {
        let made = destination(&name, at, written, catalogue)?;
        Ok((name, made))
    });
    made.collect()
}

/// Destinations without `auth` whose provider wants one, and the kinds that it takes. They may be right: a stand-in, or a proxy
/// that adds the credentials.
#[must_use]
pub fn without_auth(config: &Config, catalogue: &Catalogue) -> Vec<(String, String)> {
    let all = config.all_destinations();
    let bare = all.filter(|(_, _, written)| written.auth.is_none());
    let wanted = bare.filter_map(|(name, _, written)| {
        let provider = catalogue.provider(&written.provider)?;
        Some((name, credentials::wanted(provider)?))
    });
    wanted.collect()
}

/// A slash stands between a tenant and its own name for a destination.
fn slash(at: &str) -> Problem {
    let rule = "a name of a tenant or a destination has no slash".to_owned();
    bad(at, rule, "use another name")
}

fn sound_tenant(tenant: &str, written: &TenantConfig) -> Result<(), Problem> {
    let at = format!("/tenants/{tenant}");
    if tenant == DEFAULT_TENANT && !written.destinations.is_empty() {
        let rule = "the destinations of the tenant `default` stand at the top".to_owned();
        return Err(bad(&at, rule, "write [destinations.NAME]"));
    }
    if tenant.contains('/') || written.destinations.keys().any(|name| name.contains('/')) {
        return Err(slash(&at));
    }
    Ok(())
}

fn destination(
    name: &str,
    at: String,
    written: &DestinationConfig,
    catalogue: &Catalogue,
) -> Result<Destination, Problem> {
    if written.provider == workers::WORK {
        return elsewhere(name, &at, written);
    }
    if !written.work.is_empty() {
        let rule = "its operations are described by contracts".to_owned();
        let remedy = "write operations.\"NAME\".carried_by = \"work\"";
        return Err(bad(&format!("{at}/work"), rule, remedy));
    }
    if catalogue.provider(&written.provider).is_none()
        && catalogue.operations(&written.provider).next().is_none()
    {
        let known: Vec<&str> = catalogue.providers().collect();
        return Err(bad(
            &format!("{at}/provider"),
            format!(
                "there is no provider {:?} in the catalogue",
                written.provider
            ),
            &format!(
                "use one of: {}; or add contracts of your own",
                known.join(", ")
            ),
        ));
    }
    known_operations(&at, written, catalogue)?;
    let limits = limits(&written.limits);
    let callback_secrets = callback_secrets(&at, written)?;
    let operations = catalogue
        .operations(&written.provider)
        .map(|contract| {
            let settings = written
                .operations
                .get(contract.operation())
                .cloned()
                .unwrap_or_default();
            let at = format!("{at}/operations/{}", contract.operation());
            let kept = catalogue
                .kept_text(contract.provider(), contract.operation())
                .unwrap_or_default();
            Ok((
                contract.operation().to_owned(),
                expecting(
                    operation(&at, contract, kept, settings, (&written.limits, limits))?,
                    !callback_secrets.is_empty(),
                ),
            ))
        })
        .collect::<Result<BTreeMap<_, _>, Problem>>()?;
    let destination = Destination {
        name: name.to_owned(),
        provider: written.provider.clone(),
        account: written.account.clone(),
        reach: Reach::Http(Box::new(target(
            &at,
            written,
            catalogue.provider(&written.provider),
        )?)),
        operations,
        any_operation: None,
        gate: gate(&written.gate),
        sandbox: written.sandbox,
        callback_secrets,
    };
    checked_callbacks(&at, destination)
}

/// A destination that only workers elsewhere speak with.
fn elsewhere(name: &str, at: &str, written: &DestinationConfig) -> Result<Destination, Problem> {
    Ok(Destination {
        name: name.to_owned(),
        provider: written.provider.clone(),
        account: written.account.clone(),
        reach: Reach::Elsewhere,
        operations: workers::operations(at, written, limits(&written.limits))?,
        any_operation: None,
        gate: gate(&written.gate),
        sandbox: written.sandbox,
        callback_secrets: Vec::new(),
    })
}

/// Settings for an operation that there is not are a mistake.
fn known_operations(
    at: &str,
    written: &DestinationConfig,
    catalogue: &Catalogue,
) -> Result<(), Problem> {
    let unknown = written
        .operations
        .keys()
        .find(|name| catalogue.get(&written.provider, name).is_none());
    if let Some(operation) = unknown {
        let known: Vec<&str> = catalogue
            .operations(&written.provider)
            .map(Contract::operation)
            .collect();
        let rule = format!("{} has no operation {operation:?}", written.provider);
        return Err(bad(
            &format!("{at}/operations/{operation}"),
            rule,
            &format!("use one of: {}", known.join(", ")),
        ));
    }
    Ok(())
}

/// Secrets that nothing is checked with are a mistake.
fn checked_callbacks(at: &str, destination: Destination) -> Result<Destination, Problem> {
    if !destination.callback_secrets.is_empty() && !destination.takes_callbacks() {
        let rule = format!(
            "no contract of {} describes callbacks",
            destination.provider
        );
        let remedy = "leave it out, or add a contract with [callback] of your own";
        return Err(bad(&format!("{at}/callback"), rule, remedy));
    }
    Ok(destination)
}

fn callback_secrets(at: &str, written: &DestinationConfig) -> Result<Vec<SecretRef>, Problem> {
    let Some(callback) = &written.callback else {
        return Ok(Vec::new());
    };
    let member = format!("{at}/callback/secrets");
    if callback.secrets.is_empty() {
        let rule = "it names no secret, so that nothing could be checked".to_owned();
        let remedy = "name at least one by reference: `env:NAME`, `file:PATH` or `cmd:PROGRAM`";
        return Err(bad(&member, rule, remedy));
    }
    let mut references = callback.secrets.iter();
    let read = references.try_fold(Vec::new(), |mut read, text| {
        read.push(SecretRef::parse(text)?);
        Ok::<_, factum_transport::Malformed>(read)
    });
    read.map_err(|error| bad(&member, error.rule.to_string(), &error.remedy.to_string()))
}

/// A promised report is waited for only where it can be fetched, or where a delivery can be checked.
fn expecting(mut operation: Operation, can_be_checked: bool) -> Operation {
    let comes = operation.contract.as_ref().is_some_and(|own| {
        let contract = &own.contract;
        let delivered = contract.told_by_callback() && contract.callback_scheme().is_some();
        contract.feed().is_some() || delivered && can_be_checked
    });
    if let Some(completion) = &mut operation.promises.completion {
        completion.callback &= comes;
    }
    operation
}

fn operation(
    at: &str,
    contract: &Contract,
    kept: String,
    settings: OperatorSettings,
    (written, limits): (&DestinationLimits, Limits),
) -> Result<Operation, Problem> {
    let two_persons = settings.two_person_verdicts.unwrap_or(false);
    let by_workers = match settings.carried_by.as_deref() {
        None | Some("factum") => None,
        // Lookups, polls and cancels are the contract's own, and asked from here.
        Some("work") => Some(workers::by_workers(written, false)),
        Some(other) => {
            let rule = format!("does not know `{other}`");
            let remedy = "write `work`, or leave it out";
            return Err(bad(&format!("{at}/carried_by"), rule, remedy));
        }
    };
    let limits = by_workers.map_or(limits, |_| workers::limits(written, limits));
    let key_template = settings.key_template.as_deref().map(KeyTemplate::parse);
    let key_template = key_template
        .transpose()
        .map_err(|error| bad(&format!("{at}/key_template"), error.rule, error.remedy))?;
    let approval = (settings.approval.as_ref())
        .map(|written| approval::policy(at, contract, written))
        .transpose()?;
    let twin_guard = twin_guard(at, settings.twin_guard.as_deref())?;
    let operated = contract
        .clone()
        .with_operator(settings)
        .map_err(|error| bad(&format!("{at}{}", error.member), error.rule, &error.remedy))?;
    Ok(Operation {
        promises: operated.promises(),
        preference: operated.preference().clone(),
        finish: operated.finish(),
        key_template,
        approval,
        twin_guard,
        limits,
        by_workers,
        two_persons,
        contract: Some(OperationContract {
            contract: Arc::new(operated),
            kept,
        }),
    })
}

fn twin_guard(at: &str, written: Option<&str>) -> Result<Option<Span>, Problem> {
    let Some(text) = written.filter(|text| *text != "off") else {
        return Ok(None);
    };
    let remedy = "write a length of time, as in `10 min`, or `off`";
    let within = factum_contract::parse_span(text);
    let within = within.map_err(|why| bad(&format!("{at}/twin_guard"), why.to_string(), remedy))?;
    Ok(Some(within))
}

fn target(
    at: &str,
    written: &DestinationConfig,
    provider: Option<&Provider>,
) -> Result<Target, Problem> {
    let malformed = |member: &str, error: &factum_transport::Malformed| {
        bad(
            &format!("{at}{member}"),
            error.rule.to_string(),
            &error.remedy.to_string(),
        )
    };
    let mut http = HttpLimits::default();
    if let Some(connect) = written.limits.connect {
        http.connect = connect.0;
        http.tls = connect.0;
    }
    let target = Target::parse(&written.base, written.allow_plain_http)
        .map_err(|error| malformed("/base", &error))?
        .reaching(written.allow_private.networks());
    Ok(credentials::on(target, at, written, provider)?.with_limits(http))
}

fn limits(written: &DestinationLimits) -> Limits {
    let default = Limits::default();
    let span = |wait: Option<crate::config::Wait>, or| wait.map_or(or, |wait| wait.0);
    Limits {
        send_wait: span(written.send_wait, default.send_wait),
        answer_wait: span(written.answer_wait, default.answer_wait),
        bound: Bound {
            write_limit: span(written.write, default.bound.write_limit),
            linger: span(written.linger, default.bound.linger),
            pause_margin: span(written.pause_margin, default.bound.pause_margin),
            skew: span(written.skew, default.bound.skew),
        },
        backoff: Backoff {
            base: span(written.backoff, default.backoff.base),
            cap: span(written.backoff_max, default.backoff.cap),
        },
        attempts_max: written.attempts_max.unwrap_or(default.attempts_max),
        lookups_max: written.lookups_max.unwrap_or(default.lookups_max),
        polls_max: written.polls_max.unwrap_or(default.polls_max),
        cancels_max: written.cancels_max.unwrap_or(default.cancels_max),
        callback_wait: span(written.callback_wait, default.callback_wait),
    }
}

fn gate(written: &GateConfig) -> GateSettings {
    let default = GateSettings::default();
    GateSettings {
        in_flight_max: written
            .in_flight_max
            .unwrap_or(default.in_flight_max)
            .max(1),
        per_second: written.per_second.unwrap_or(default.per_second),
        burst: written.burst.unwrap_or(default.burst),
        circuit_failures: written.circuit_failures.unwrap_or(default.circuit_failures),
        circuit_cooldown: written
            .circuit_cooldown
            .map_or(default.circuit_cooldown, |wait| wait.0),
    }
}

fn bad(member: &str, rule: String, remedy: &str) -> Problem {
    Problem::new(Code::BadConfig, member, rule, remedy)
}
