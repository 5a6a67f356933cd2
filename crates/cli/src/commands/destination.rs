//! `factum destination`: the configured accounts at outside systems. It edits factum.toml, and never sends an effect.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use factum::config::{AuthConfig, DestinationConfig};
use factum::{Config, setup};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, InlineTable, Item, Table, value};

use super::destination_test;
use super::register::Ends;
use crate::access::{Access, Purpose};
use crate::failure::Failure;
use crate::out::Out;
use crate::place::Place;
use crate::{exit, render};

pub(crate) const HELP: &str = "\
Secrets are given by reference and never themselves: env:NAME, file:PATH or cmd:PROGRAM.\n\n\
Examples:\n  \
factum destination add redmine --name tracker --base https://redmine.example.com --header x-redmine-api-key=env:REDMINE_KEY\n  \
factum destination add amazon_sqs --name queue --base https://sqs.eu-west-1.amazonaws.com --access-key env:AWS_ACCESS_KEY_ID --secret-key env:AWS_SECRET_ACCESS_KEY --region eu-west-1\n  \
factum destination list\n  factum destination test tracker\n  factum destination callback tracker\n  \
factum destination disable tracker --why \"they asked us to stop\"\n  factum destination enable tracker --why \"they are back\"";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Destination {
    /// Write a destination into factum.toml
    Add(Box<AddArgs>),
    /// List the configured destinations
    List,
    /// Print the address to give to a destination for its callbacks
    Callback {
        /// The destination
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Nothing is sent there until it is enabled; what may have been sent is looked up as before
    Disable(Ends),
    /// Sends go on there
    Enable(Ends),
    /// Resolve a destination's secret and ask who we are there; never sends an effect
    Test {
        /// The destination
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("auth").args(["bearer", "basic", "user", "header", "query", "client_id", "access_key", "hmac"]))]
pub(crate) struct AddArgs {
    /// A provider of the catalogue, such as redmine or testbed
    #[arg(value_name = "PROVIDER")]
    provider: String,
    /// What it is called in submissions
    #[arg(long)]
    name: String,
    /// Its address: https://host, with a port and a path where they are needed
    #[arg(long, value_name = "URL")]
    base: String,
    /// The account there; pinned with every key
    #[arg(long)]
    account: Option<String>,
    /// Authorization: Bearer, the token by reference
    #[arg(long, value_name = "REF")]
    bearer: Option<String>,
    /// Authorization: Basic, one secret of the form user:password by reference
    #[arg(long, value_name = "REF")]
    basic: Option<String>,
    /// Authorization: Basic, with --password
    #[arg(long, requires = "password")]
    user: Option<String>,
    /// The password beside --user, by reference
    #[arg(long, value_name = "REF", requires = "user")]
    password: Option<String>,
    /// A header of the destination's own, its value by reference
    #[arg(long, value_name = "HEADER=REF")]
    header: Option<String>,
    #[command(flatten)]
    more: MoreAuth,
    /// The one authority whose certificates are trusted there
    #[arg(long, value_name = "file:PATH")]
    ca: Option<String>,
    /// Allow plain HTTP beyond this machine, in a network that you answer for
    #[arg(long)]
    allow_plain_http: bool,
    /// Effects there count for nothing: `factum contract probe` may make some
    #[arg(long)]
    sandbox: bool,
}

/// The ways of authentication that take several members.
#[derive(Debug, Default, clap::Args)]
struct MoreAuth {
    /// The parameter of the query that the contract names, its value by reference
    #[arg(long, value_name = "REF")]
    query: Option<String>,
    /// OAuth2 tokens for this client; with --client-secret
    #[arg(long, value_name = "ID", requires = "client_secret")]
    client_id: Option<String>,
    /// The client's secret, by reference
    #[arg(long, value_name = "REF", requires = "client_id")]
    client_secret: Option<String>,
    /// Where tokens are got, if not where the contract says
    #[arg(long, value_name = "URL", requires = "client_id")]
    token_url: Option<String>,
    /// A scope that tokens are asked for; may be repeated
    #[arg(long, value_name = "SCOPE", requires = "client_id")]
    scope: Vec<String>,
    /// AWS signatures with this access key, by reference; with --secret-key
    #[arg(long, value_name = "REF", requires = "secret_key")]
    access_key: Option<String>,
    /// The access key's secret, by reference
    #[arg(long, value_name = "REF", requires = "access_key")]
    secret_key: Option<String>,
    /// The session's token, by reference
    #[arg(long, value_name = "REF", requires = "access_key")]
    session_token: Option<String>,
    /// The region that is signed for, as in eu-west-1
    #[arg(long, requires = "access_key")]
    region: Option<String>,
    /// Requests signed as the contract says, with this key by reference
    #[arg(long, value_name = "REF")]
    hmac: Option<String>,
    /// The key's id, where the provider wants it
    #[arg(long, value_name = "ID", requires = "hmac")]
    key_id: Option<String>,
}

impl MoreAuth {
    /// Writes its members into `auth`.
    fn write(&self, auth: &mut InlineTable) {
        let nested = |members: &[(&str, &Option<String>)]| {
            let mut table = InlineTable::new();
            for (member, given) in members {
                if let Some(given) = given {
                    table.insert(*member, given.as_str().into());
                }
            }
            table
        };
        if let Some(query) = &self.query {
            auth.insert("query", query.as_str().into());
        }
        if self.client_id.is_some() {
            let mut oauth2 = nested(&[
                ("client_id", &self.client_id),
                ("client_secret", &self.client_secret),
                ("token_url", &self.token_url),
            ]);
            if !self.scope.is_empty() {
                let scopes: toml_edit::Array = self.scope.iter().collect();
                oauth2.insert("scopes", scopes.into());
            }
            auth.insert("oauth2", oauth2.into());
        }
        if self.access_key.is_some() {
            let sigv4 = nested(&[
                ("access_key", &self.access_key),
                ("secret_key", &self.secret_key),
                ("session_token", &self.session_token),
                ("region", &self.region),
            ]);
            auth.insert("sigv4", sigv4.into());
        }
        if self.hmac.is_some() {
            let hmac = nested(&[("secret", &self.hmac), ("key_id", &self.key_id)]);
            auth.insert("hmac", hmac.into());
        }
    }
}

pub(crate) async fn run(
    command: Destination,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    match command {
        Destination::Add(args) => add(&args, config, out),
        Destination::List => list(config, out),
        Destination::Disable(ends) => ends.switch("suspended", config, out).await,
        Destination::Enable(ends) => ends.switch("active", config, out).await,
        Destination::Callback { name } => callback(&name, config, out).await,
        Destination::Test { name } => destination_test::run(&name, config, out).await,
    }
}

fn add(args: &AddArgs, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let file = config.unwrap_or(Path::new(crate::place::CONFIG_FILE));
    // A file that is named and not there yet is made; anything else has to be readable as it is.
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(super::submit::unreadable(
                &file.display().to_string(),
                &error,
            ));
        }
    };
    let written = with_destination(&file.display().to_string(), &text, args)?;
    replace(file, &written)?;
    let operations = operations(
        &Config::parse(&file.display().to_string(), &written)?,
        &args.name,
    )?;
    if out.json {
        out.value(&json!({"name": args.name, "file": file, "operations": operations}));
        return Ok(exit::code(exit::OK));
    }
    out.line(format_args!(
        "{} is in {}; its operations: {}",
        args.name,
        file.display(),
        operations.join(", ")
    ));
    out.note(format_args!(
        "next: factum destination test {}; a running server reads it at its next start",
        args.name
    ));
    Ok(exit::code(exit::OK))
}

/// The file's text with the destination in it; everything else stays as it is, comments too. Checked as a whole, so that what
/// is written can be served.
fn with_destination(file: &str, text: &str, args: &AddArgs) -> Result<String, Failure> {
    let before = Config::parse(file, text)?;
    if before.destinations.contains_key(&args.name) {
        let rule = format!("the destination {:?} is configured already", args.name);
        return Err(Failure::usage(
            rule,
            "choose another name, or edit the file",
        ));
    }
    if !args
        .name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        || args.name.is_empty()
    {
        return Err(Failure::usage(
            "a name has letters, digits, `-`, `_` and `.`",
            "choose another name",
        ));
    }
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        Failure::usage(format!("{file}: {error}"), "correct the file")
    })?;
    let destinations = document.entry("destinations").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(destinations) = destinations.as_table_like_mut() else {
        return Err(Failure::usage(
            format!("{file}: destinations is no table"),
            "correct the file",
        ));
    };
    destinations.insert(&args.name, Item::Table(table(args)?));
    let written = document.to_string();
    let config = Config::parse(file, &written)?;
    setup::destinations(&config, &setup::catalogue(&config)?)?;
    Ok(written)
}

fn table(args: &AddArgs) -> Result<Table, Failure> {
    let mut table = Table::new();
    table["provider"] = value(&args.provider);
    table["base"] = value(&args.base);
    if let Some(account) = &args.account {
        table["account"] = value(account);
    }
    let mut auth = InlineTable::new();
    let parts = [
        ("bearer", &args.bearer),
        ("basic", &args.basic),
        ("user", &args.user),
        ("password", &args.password),
    ];
    for (member, given) in parts {
        if let Some(given) = given {
            auth.insert(member, given.as_str().into());
        }
    }
    if let Some(header) = &args.header {
        let Some((name, reference)) = header.split_once('=') else {
            return Err(Failure::usage(
                "--header has the form HEADER=REF",
                "write, as in x-api-key=env:API_KEY",
            ));
        };
        auth.insert("header", name.into());
        auth.insert("value", reference.into());
    }
    args.more.write(&mut auth);
    if !auth.is_empty() {
        table["auth"] = value(auth);
    }
    if let Some(ca) = &args.ca {
        table["ca"] = value(ca);
    }
    if args.allow_plain_http {
        table["allow_plain_http"] = value(true);
    }
    if args.sandbox {
        table["sandbox"] = value(true);
    }
    Ok(table)
}

/// Writes the file in one step: a reader sees the old text or the new one.
fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::other(
            format!("cannot write {}: {error}", file.display()),
            "change its permissions",
        )
    };
    // A link stays a link: what it points to is replaced.
    let file: PathBuf = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let beside = file.with_extension(format!("toml.{}", std::process::id()));
    let mut new = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&beside)
        .map_err(failed)?;
    let written = new
        .write_all(text.as_bytes())
        .and_then(|()| match std::fs::metadata(&file) {
            Ok(meta) => new.set_permissions(meta.permissions()),
            Err(_) => Ok(()),
        })
        .and_then(|()| new.sync_all())
        .and_then(|()| std::fs::rename(&beside, &file));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        failed(error)
    })
}

/// Prints the address for a destination's callbacks.
async fn callback(name: &str, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    // The address is made with the store's keys; a store that is not there yet is made with its keys.
    let access = Access::open(config, Purpose::Record).await?;
    let door = access.callback(name).await;
    access.close().await?;
    let door = door?;
    let Some(path) = door["path"].as_str() else {
        return Err(Failure::usage(
            format!("{name} is not configured here, or no contract of it describes callbacks"),
            "see `factum destination list`, and `factum contract show` for what a contract describes",
        ));
    };
    if door["can_be_checked"] != true {
        return Err(Failure::usage(
            format!(
                "no secret is configured to check callbacks of {name} with, so that none would be taken"
            ),
            "add `callback = { secrets = [\"env:NAME\"] }` to the destination in factum.toml",
        ));
    }
    let server = Place::read(config)?.config.server;
    let public = server
        .public_url
        .as_deref()
        .map(|url| url.trim_end_matches('/'));
    let url = public.map_or_else(
        || format!("http://{}{path}", server.listen),
        |url| format!("{url}{path}"),
    );
    if out.json {
        out.value(&json!({"name": name, "url": url, "path": path}));
        return Ok(exit::code(exit::OK));
    }
    out.line(&url);
    if public.is_none() {
        out.note("set server.public_url to where the outside reaches this server, through a proxy that speaks TLS");
    }
    Ok(exit::code(exit::OK))
}

fn operations(config: &Config, name: &str) -> Result<Vec<String>, Failure> {
    let destinations = setup::destinations(config, &setup::catalogue(config)?)?;
    Ok(destinations
        .get(name)
        .map(|found| found.operations.keys().cloned().collect())
        .unwrap_or_default())
}

fn list(config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let place = Place::read(config)?;
    let made = setup::destinations(&place.config, &setup::catalogue(&place.config)?)?;
    let shown: Vec<Value> = place
        .config
        .destinations
        .iter()
        .map(|(name, written)| {
            let operations: Vec<&String> = made.get(name).map(|d| d.operations.keys().collect()).unwrap_or_default();
            json!({
                "name": name, "provider": written.provider, "base": written.base, "account": written.account,
                "auth": auth_words(written), "operations": operations,
            })
        })
        .collect();
    if out.json {
        out.value(&json!({"destinations": shown}));
    } else if shown.is_empty() {
        out.note("no destination is configured; add one: factum destination add PROVIDER --name NAME --base URL");
    } else {
        let mut table = render::table(
            out,
            &["name", "provider", "base", "account", "auth", "operations"],
        );
        for one in &shown {
            let cells = ["name", "provider", "base", "account", "auth"]
                .map(|member| render::text(one, member).to_owned());
            let operations: Vec<&str> = one["operations"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            table.add_row(cells.into_iter().chain([operations.join(", ")]));
        }
        out.line(table);
    }
    Ok(exit::code(exit::OK))
}

/// How it is authenticated, with the reference and never the secret.
fn auth_words(written: &DestinationConfig) -> String {
    let written = written.auth.as_ref();
    written.map_or_else(|| "none".to_owned(), AuthConfig::in_words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(name: &str) -> AddArgs {
        AddArgs {
            provider: "testbed".to_owned(),
            name: name.to_owned(),
            base: "http://127.0.0.1:7430".to_owned(),
            account: None,
            bearer: Some("env:TESTBED_TOKEN".to_owned()),
            basic: None,
            user: None,
            password: None,
            header: None,
            more: MoreAuth::default(),
            ca: None,
            allow_plain_http: false,
            sandbox: false,
        }
    }

    #[test]
    fn comments_and_everything_else_stay() {
        let text = "# mine\nserver.listen = \"127.0.0.1:1\" # port\n\n[destinations.a] # first\nprovider = \"testbed\"\nbase = \"http://127.0.0.1:2\"\n";
        let written = with_destination("f", text, &args("b")).unwrap();
        assert!(written.starts_with(text), "{written}");
        assert!(
            written.contains("[destinations.b]")
                && written.contains("auth = { bearer = \"env:TESTBED_TOKEN\" }"),
            "{written}"
        );
        assert!(
            with_destination("f", &written, &args("b"))
                .unwrap_err()
                .text()
                .contains("already")
        );
    }

    #[test]
    fn a_secret_itself_is_refused_and_not_repeated() {
        let secret = AddArgs {
            bearer: Some("tok_live_1234".to_owned()),
            ..args("b")
        };
        let failure = with_destination("f", "", &secret).unwrap_err();
        assert!(
            !failure.text().contains("tok_live_1234"),
            "{}",
            failure.text()
        );
        assert!(
            failure.text().contains("/destinations/b/auth/bearer"),
            "{}",
            failure.text()
        );
    }

    #[test]
    fn what_takes_several_members_is_written_as_one() {
        let to = |provider: &str, more: MoreAuth| {
            let args = AddArgs {
                provider: provider.to_owned(),
                bearer: None,
                more,
                ..args("b")
            };
            let written = with_destination("f", "", &args).map_err(|failure| failure.text())?;
            let line = written.lines().find(|line| line.starts_with("auth = "));
            Ok::<_, String>(line.unwrap_or_default().to_owned())
        };
        let some = |text: &str| Some(text.to_owned());
        let sqs = MoreAuth {
            access_key: some("env:ID"),
            secret_key: some("env:SECRET"),
            region: some("eu-west-1"),
            ..MoreAuth::default()
        };
        assert_eq!(
            to("amazon_sqs", sqs).as_deref(),
            Ok(
                "auth = { sigv4 = { access_key = \"env:ID\", secret_key = \"env:SECRET\", region = \"eu-west-1\" } }"
            )
        );
        let client = || MoreAuth {
            client_id: some("me"),
            client_secret: some("env:SECRET"),
            token_url: some("https://login.example/token"),
            scope: vec!["a".to_owned(), "b".to_owned()],
            ..MoreAuth::default()
        };
        assert_eq!(
            to("testbed", client()).as_deref(),
            Ok(
                "auth = { oauth2 = { client_id = \"me\", client_secret = \"env:SECRET\", token_url = \"https://login.example/token\", scopes = [\"a\", \"b\"] } }"
            )
        );
        let worldline = MoreAuth {
            hmac: some("env:KEY"),
            key_id: some("k-1"),
            ..MoreAuth::default()
        };
        assert_eq!(
            to("worldline", worldline).as_deref(),
            Ok("auth = { hmac = { secret = \"env:KEY\", key_id = \"k-1\" } }")
        );
        let refused = to("redmine", client()).unwrap_err();
        assert!(refused.contains("it takes: header, basic"), "{refused}");
    }

    #[test]
    fn what_could_not_be_served_is_not_written() {
        let refused = [
            AddArgs {
                provider: "nobody".to_owned(),
                ..args("b")
            },
            AddArgs {
                base: "ftp://x".to_owned(),
                ..args("b")
            },
            AddArgs {
                base: "http://example.com".to_owned(),
                ..args("b")
            },
            AddArgs {
                header: Some("x-key".to_owned()),
                bearer: None,
                ..args("b")
            },
            args(""),
        ];
        for wrong in refused {
            assert_eq!(
                with_destination("f", "", &wrong).unwrap_err().exit,
                exit::USAGE
            );
        }
    }
}
