//! `factum tenant`, `principal`, `grant`, `token`: who may do what. These talk to a server: it is what knows at once.

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Map, Value, json};

use crate::access::Access;
use crate::client::{Call, Client, encoded, with_query};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, place, render};

pub(crate) const TENANT_HELP: &str = "\
A tenant is a customer of whoever runs the installation. Its destinations stand in the configuration, under [tenants.NAME].\n\n\
Examples:\n  factum tenant add acme --about \"Acme Ltd.\"\n  factum tenant suspend acme --why \"the invoice is overdue\"";
pub(crate) const PRINCIPAL_HELP: &str = "\
Who holds a grant or a token is registered, so that they can be suspended by name.\n\n\
Examples:\n  factum principal add desk --tenant acme\n  factum principal revoke night-agent --tenant acme --why \"it left\"";
pub(crate) const GRANT_HELP: &str = "\
A grant is a part of the tenant's authority that one principal may use. It does not change; it ends.\n\n\
Examples:\n  factum grant add night-desk --principal night-agent --for user:ana --destination helpdesk --times 20 --per 1d\n  \
factum grant revoke night-desk --why \"the trial is over\"";
pub(crate) const TOKEN_HELP: &str = "\
A token is printed once, when it is made. What is kept is a hash of it.\n\n\
Examples:\n  factum token add desk --scope submit --scope read --until 2027-06-30T00:00:00Z\n  factum token rotate 5f0c9a17b2e4d638 --overlap 2h";

/// What all of them take.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Of this tenant [default: the token's own]
    #[arg(long)]
    pub(crate) tenant: Option<String>,
    /// Who does it [default: the user of this terminal]
    #[arg(long)]
    pub(crate) by: Option<String>,
    /// Why
    #[arg(long)]
    pub(crate) why: Option<String>,
}

/// A name, and what all of them take.
#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// Its name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// How something is to stand.
#[derive(Debug, clap::Args)]
pub(crate) struct Ends {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
    /// Of this tenant [default: the token's own]
    #[arg(long)]
    tenant: Option<String>,
    /// Who does it [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
    /// Why
    #[arg(long)]
    why: String,
}

/// A new tenant.
#[derive(Debug, clap::Args)]
pub(crate) struct NewTenant {
    #[command(flatten)]
    named: Named,
    /// What it is
    #[arg(long)]
    about: Option<String>,
}

/// A new principal.
#[derive(Debug, clap::Args)]
pub(crate) struct NewPrincipal {
    #[command(flatten)]
    named: Named,
    /// Who it is
    #[arg(long)]
    about: Option<String>,
    /// It counts before this instant only
    #[arg(long, value_name = "INSTANT")]
    until: Option<String>,
}

/// A new grant.
#[derive(Debug, clap::Args)]
pub(crate) struct NewGrant {
    #[command(flatten)]
    named: Named,
    /// Who may act under it
    #[arg(long)]
    principal: String,
    /// For whom besides themselves; `*` is everybody (may be repeated)
    #[arg(long = "for", value_name = "PRINCIPAL")]
    acts_for: Vec<String>,
    /// Where [default: everywhere] (may be repeated)
    #[arg(long = "destination", value_name = "NAME")]
    destinations: Vec<String>,
    /// What [default: everything] (may be repeated)
    #[arg(long = "operation", value_name = "NAME")]
    operations: Vec<String>,
    /// So many actions in a period
    #[arg(long, requires = "per")]
    times: Option<u64>,
    /// One action moves so much at the most
    #[arg(long, value_name = "AMOUNT")]
    each: Option<String>,
    /// All of them move so much in a period at the most
    #[arg(long, value_name = "AMOUNT", requires = "per")]
    total: Option<String>,
    /// In this currency only
    #[arg(long)]
    currency: Option<String>,
    /// The period, as in 1d or 15min
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    per: Option<u64>,
    /// It counts before this instant only
    #[arg(long, value_name = "INSTANT")]
    until: Option<String>,
    /// What it is for
    #[arg(long)]
    about: Option<String>,
}

/// A new token.
#[derive(Debug, clap::Args)]
pub(crate) struct NewToken {
    /// Who shows it
    #[arg(value_name = "PRINCIPAL")]
    principal: String,
    #[command(flatten)]
    common: Common,
    /// What it may be used for: submit, read, approve, review, callback, work, admin (may be repeated)
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    scopes: Vec<String>,
    /// Under this grant
    #[arg(long)]
    grant: Option<String>,
    /// It counts before this instant only
    #[arg(long, value_name = "INSTANT")]
    until: Option<String>,
    /// Where it is used
    #[arg(long)]
    about: Option<String>,
}

/// A token in place of another.
#[derive(Debug, clap::Args)]
pub(crate) struct Rotation {
    #[command(flatten)]
    named: Named,
    /// For how long the old one counts [default: 1d]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    overlap: Option<u64>,
}

macro_rules! words {
    ($name:ident, $new:ty $(, $extra:ident($args:ty) $doc:literal)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum $name {
            /// Make one
            Add(Box<$new>),
            /// List them
            List(Common),
            /// Show one, with everything that was changed about it
            Show(Named),
            /// It does not count until it is resumed
            Suspend(Ends),
            /// It counts again
            Resume(Ends),
            /// It never counts again
            Revoke(Ends),
            $(#[doc = $doc] $extra($args),)*
        }
    };
}

words!(Tenants, NewTenant);
words!(Principals, NewPrincipal);
words!(Grants, NewGrant);
words!(Tokens, NewToken, Rotate(Rotation) "Make one in its place; both count for a while");

/// A call that is to be made, and what is shown of its answer.
pub(crate) struct Wish {
    path: String,
    tenant: Option<String>,
    body: Option<Value>,
}

impl Tenants {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        let wish = match self {
            Self::Add(new) => {
                let mut body = made(&new.named.name, &[("about", new.about)]);
                said(&mut body, new.named.common.by, new.named.common.why);
                Wish::post("tenants", None, body)
            }
            Self::List(_) => Wish::get("tenants", None),
            Self::Show(named) => Wish::get(&at("tenants", &named.name), None),
            Self::Suspend(ends) => ends.wish("tenants", "suspended"),
            Self::Resume(ends) => ends.wish("tenants", "active"),
            Self::Revoke(ends) => ends.wish("tenants", "revoked"),
        };
        // A tenant is named by itself.
        let wish = Wish {
            tenant: None,
            ..wish
        };
        wish.run("tenants", config, out).await
    }
}

impl Principals {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        let wish = match self {
            Self::Add(new) => {
                let own = [("about", new.about), ("until", new.until)];
                let mut body = made(&new.named.name, &own);
                said(&mut body, new.named.common.by, new.named.common.why);
                Wish::post("principals", new.named.common.tenant, body)
            }
            Self::List(common) => Wish::get("principals", common.tenant),
            Self::Show(named) => Wish::get(&at("principals", &named.name), named.common.tenant),
            Self::Suspend(ends) => ends.wish("principals", "suspended"),
            Self::Resume(ends) => ends.wish("principals", "active"),
            Self::Revoke(ends) => ends.wish("principals", "revoked"),
        };
        wish.run("principals", config, out).await
    }
}

impl Grants {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        let wish = match self {
            Self::Add(new) => (*new).wish(),
            Self::List(common) => Wish::get("grants", common.tenant),
            Self::Show(named) => Wish::get(&at("grants", &named.name), named.common.tenant),
            Self::Suspend(ends) => ends.wish("grants", "suspended"),
            Self::Resume(ends) => ends.wish("grants", "active"),
            Self::Revoke(ends) => ends.wish("grants", "revoked"),
        };
        wish.run("grants", config, out).await
    }
}

impl Tokens {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        let wish = match self {
            Self::Add(new) => {
                let mut body = json!({"principal": new.principal, "scopes": new.scopes});
                for (name, value) in [
                    ("grant", new.grant),
                    ("until", new.until),
                    ("about", new.about),
                ] {
                    put(&mut body, name, value);
                }
                said(&mut body, new.common.by, new.common.why);
                Wish::post("tokens", new.common.tenant, body)
            }
            Self::List(common) => Wish::get("tokens", common.tenant),
            Self::Show(named) => Wish::get(&at("tokens", &named.name), named.common.tenant),
            Self::Suspend(ends) => ends.wish("tokens", "suspended"),
            Self::Resume(ends) => ends.wish("tokens", "active"),
            Self::Revoke(ends) => ends.wish("tokens", "revoked"),
            Self::Rotate(rotation) => rotation.wish("tokens"),
        };
        wish.run("tokens", config, out).await
    }
}

impl Rotation {
    pub(crate) fn wish(self, kind: &str) -> Wish {
        let Named { name, common } = self.named;
        let mut body = json!({});
        if let Some(overlap) = self.overlap {
            body["overlap_s"] = overlap.into();
        }
        said(&mut body, common.by, common.why);
        let path = format!("{}/rotate", at(kind, &name));
        Wish::post(&path, common.tenant, body)
    }
}

impl NewGrant {
    fn wish(self) -> Wish {
        let own = [("about", self.about), ("until", self.until)];
        let mut body = made(&self.named.name, &own);
        body["principal"] = self.principal.into();
        body["acts_for"] = self.acts_for.into();
        body["destinations"] = self.destinations.into();
        body["operations"] = self.operations.into();
        let mut limits = Map::new();
        let per = self.per.unwrap_or(86_400);
        if let Some(times) = self.times {
            limits.insert("count".to_owned(), json!({"max": times, "per_s": per}));
        }
        if self.each.is_some() || self.total.is_some() {
            let mut amount = json!({ "per_s": per });
            put(&mut amount, "each", self.each);
            put(&mut amount, "total", self.total);
            put(&mut amount, "currency", self.currency);
            limits.insert("amount".to_owned(), amount);
        }
        body["limits"] = limits.into();
        said(&mut body, self.named.common.by, self.named.common.why);
        Wish::post("grants", self.named.common.tenant, body)
    }
}

impl Ends {
    /// Switches a destination off, or on again.
    pub(crate) async fn switch(
        self,
        standing: &str,
        config: Option<&Path>,
        out: Out,
    ) -> Result<ExitCode, Failure> {
        let wish = self.wish("destinations", standing);
        wish.run("destinations", config, out).await
    }

    pub(crate) fn wish(self, kind: &str, standing: &str) -> Wish {
        let by = self.by.unwrap_or_else(place::user);
        let body = json!({"standing": standing, "why": self.why, "by": by});
        let path = format!("{}/state", at(kind, &self.name));
        Wish::post(&path, self.tenant, body)
    }
}

impl Wish {
    pub(crate) fn get(path: &str, tenant: Option<String>) -> Self {
        Self {
            path: format!("/v1/{path}"),
            tenant,
            body: None,
        }
    }

    pub(crate) fn post(path: &str, tenant: Option<String>, body: Value) -> Self {
        Self {
            body: Some(body),
            ..Self::get(path, tenant)
        }
    }

    /// What a server answers to it.
    pub(crate) async fn answered(
        self,
        kind: &str,
        config: Option<&Path>,
    ) -> Result<Value, Failure> {
        let why = "who may do what is changed through a server";
        let client = Access::server(config, why).await?;
        self.ask(&client, kind).await
    }

    async fn run(self, kind: &str, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        let answered = self.answered(kind, config).await?;
        if out.json {
            out.value(&answered);
        } else if let Some(listed) = answered[kind].as_array() {
            out.line(table(out, listed));
        } else {
            shown(out, &answered);
        }
        Ok(exit::code(exit::OK))
    }

    async fn ask(self, client: &Client, kind: &str) -> Result<Value, Failure> {
        let path = with_query(&self.path, &[("tenant", self.tenant.clone())]);
        if let Some(body) = self.body {
            return client.json(Call::post(path, body.to_string())).await;
        }
        let mut answered = client.json(Call::get(path)).await?;
        // A listing is shown whole: page after page.
        while let Some(after) = answered["next_after"].as_str().map(str::to_owned) {
            let query = [("tenant", self.tenant.clone()), ("after", Some(after))];
            let mut page = client
                .json(Call::get(with_query(&self.path, &query)))
                .await?;
            if let (Some(all), Some(more)) =
                (answered[kind].as_array_mut(), page[kind].as_array_mut())
            {
                all.append(more);
            }
            answered["next_after"] = page["next_after"].take();
        }
        Ok(answered)
    }
}

pub(crate) fn at(kind: &str, name: &str) -> String {
    format!("{kind}/{}", encoded(name))
}

pub(crate) fn made(name: &str, own: &[(&str, Option<String>)]) -> Value {
    let mut body = json!({ "name": name });
    for (member, value) in own {
        put(&mut body, member, value.clone());
    }
    body
}

pub(crate) fn put(body: &mut Value, member: &str, value: Option<String>) {
    if let Some(value) = value {
        body[member] = value.into();
    }
}

pub(crate) fn said(body: &mut Value, by: Option<String>, why: Option<String>) {
    body["by"] = by.unwrap_or_else(place::user).into();
    put(body, "why", why);
}

fn table(out: Out, listed: &[Value]) -> String {
    let mut table = render::table(out, &["name", "standing", "principal", "until", "about"]);
    for one in listed {
        table.add_row([
            render::text(one, "name").to_owned(),
            render::text(one, "standing").to_owned(),
            render::text(one, "principal").to_owned(),
            render::text(one, "until").to_owned(),
            render::text(one, "about").to_owned(),
        ]);
    }
    table.to_string()
}

fn shown(out: Out, one: &Value) {
    let (name, standing) = (render::text(one, "name"), render::text(one, "standing"));
    out.line(format_args!("{name}: {standing}"));
    for version in one["history"].as_array().into_iter().flatten() {
        let part = |member: &str| render::text(version, member).to_owned();
        let (at, standing, by, why) = (part("at"), part("standing"), part("by"), part("why"));
        out.line(format_args!("  {at}  {standing}  by {by}: {why}"));
    }
    if let Some(token) = one["token"].as_str() {
        out.note("this is shown once; keep it where secrets are kept");
        out.line(token);
    }
}

/// A length of time in whole seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let span = factum_contract::parse_span(text)?;
    let seconds = span.as_micros() / 1_000_000;
    u64::try_from(seconds)
        .ok()
        .filter(|seconds| *seconds > 0)
        .ok_or_else(|| "write a whole number of seconds at the least, as in 15min".to_owned())
}
