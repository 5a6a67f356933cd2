//! People who sign in with an identity provider: OpenID Connect, authorization code with PKCE. Discovery, the address to go to, and what
//! the provider says of whoever comes back.
//!
//! Whatever goes wrong is a problem that names the rule: nobody is let in by an answer that is not understood. Nothing is kept between a
//! beginning and its end but what the browser carries.

mod token;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use factum_contract::http::HttpRequest;
use factum_core::Span;
use factum_engine::{Code, Engine, Problem};
use factum_transport::{Asked, SecretRef, Target};
use serde_json::{Map, Value};

use crate::config::OidcConfig;
use token::Expected;

/// The longest that the provider is waited for, at each question.
const LIMIT: Span = Span::from_secs(10);

/// Where, below the console's address, the provider leads back to.
pub const BACK: &str = "/sign-in/oidc/back";

/// Bytes of what is drawn for one sign-in.
const DRAWN: usize = 32;

/// What the browser carries from the beginning to the end of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// What the provider has to bring back.
    pub state: String,
    /// What has to stand in the token.
    pub nonce: String,
    /// By which the code counts for us alone.
    pub verifier: String,
}

/// Who came back, as the provider says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The provider's own name for them.
    pub subject: String,
    /// What they are called here.
    pub name: String,
    /// To which groups they belong.
    pub groups: Vec<String>,
}

/// What a provider says of itself.
struct Provider {
    authorization: String,
    token: String,
    keys: String,
    /// The secret may stand in the body.
    takes_post: bool,
}

/// Begins a sign-in: the address to go to, and what is needed once somebody is back.
///
/// # Errors
/// [`Code::NoProvider`] if the provider does not answer, or says of itself what cannot be used.
pub async fn begin(engine: &Engine, config: &OidcConfig) -> Result<(String, Begun), Problem> {
    let provider = discover(engine, config).await?;
    let begun = Begun {
        state: drawn()?,
        nonce: drawn()?,
        verifier: drawn()?,
    };
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, begun.verifier.as_bytes()));
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("response_type", "code")
        .append_pair("client_id", &config.client_id)
        .append_pair("redirect_uri", &redirect(config))
        .append_pair("scope", &config.scopes.join(" "))
        .append_pair("state", &begun.state)
        .append_pair("nonce", &begun.nonce)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .finish();
    let joint = if provider.authorization.contains('?') {
        '&'
    } else {
        '?'
    };
    Ok((format!("{}{joint}{query}", provider.authorization), begun))
}

/// Ends a sign-in with the code that was brought back: who it is.
///
/// # Errors
/// [`Code::NoProvider`] if the provider does not answer, [`Code::SignInRefused`] if what it answers does not say who this is.
pub async fn finish(
    engine: &Engine,
    config: &OidcConfig,
    begun: &Begun,
    code: &str,
) -> Result<Who, Problem> {
    let provider = discover(engine, config).await?;
    let answer = exchange(engine, config, &provider, begun, code).await?;
    let shown = answer["id_token"].as_str().ok_or_else(|| {
        refused("the provider's answer has no `id_token`; is the scope openid among `scopes`?")
    })?;
    let keys = asked(engine, &provider.keys, None).await?;
    let expected = Expected {
        issuer: &config.issuer,
        client: &config.client_id,
        nonce: &begun.nonce,
        now_s: engine.now().as_micros() / 1_000_000,
    };
    let claims = token::read(shown, &keys, &expected).map_err(|why| refused(&why))?;
    who(config, &claims)
}

fn who(config: &OidcConfig, claims: &Map<String, Value>) -> Result<Who, Problem> {
    let text = |name: &str| {
        let text = claims.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let missing = |name: &str| {
        let rule = format!(
            "the token has no claim `{name}`; name another one in `console.oidc`, or have the provider send it"
        );
        refused(&rule)
    };
    let groups = match claims.get(&config.groups) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(all)) => {
            let names = all.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        }
        Some(_) | None => Vec::new(),
    };
    let name = text(&config.name).ok_or_else(|| missing(&config.name))?;
    if name.len() > factum_engine::directory::NAME_MAX || name.contains(char::is_control) {
        return Err(refused(
            "the claim with the name is no name that can stand in a log",
        ));
    }
    Ok(Who {
        subject: text("sub").ok_or_else(|| missing("sub"))?,
        name,
        groups,
    })
}

fn redirect(config: &OidcConfig) -> String {
    format!("{}{BACK}", config.url.trim_end_matches('/'))
}

fn drawn() -> Result<String, Problem> {
    let mut bytes = [0; DRAWN];
    getrandom::fill(&mut bytes).map_err(|_| {
        let rule = "the system gives no randomness";
        Problem::new(Code::Internal, "", rule, "try again in a moment")
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

async fn discover(engine: &Engine, config: &OidcConfig) -> Result<Provider, Problem> {
    let issuer = config.issuer.trim_end_matches('/');
    let said = asked(
        engine,
        &format!("{issuer}/.well-known/openid-configuration"),
        None,
    )
    .await?;
    if said["issuer"].as_str() != Some(&config.issuer) {
        let rule = format!(
            "the provider calls itself {}, and `console.oidc.issuer` says {:?}",
            said["issuer"], config.issuer
        );
        return Err(unreachable(
            &rule,
            "write the issuer as the provider does, to the letter",
        ));
    }
    let address = |name: &str| {
        said[name].as_str().map(str::to_owned).ok_or_else(|| {
            let rule = format!("the provider's discovery document has no `{name}`");
            unreachable(&rule, "is this an OpenID provider?")
        })
    };
    let methods = said["token_endpoint_auth_methods_supported"].as_array();
    let takes_post = methods.is_some_and(|all| all.iter().any(|one| one == "client_secret_post"));
    Ok(Provider {
        authorization: address("authorization_endpoint")?,
        token: address("token_endpoint")?,
        keys: address("jwks_uri")?,
        takes_post,
    })
}

async fn exchange(
    engine: &Engine,
    config: &OidcConfig,
    provider: &Provider,
    begun: &Begun,
    code: &str,
) -> Result<Value, Problem> {
    let secret = match &config.client_secret {
        Some(reference) => Some(resolved(reference).await?),
        None => None,
    };
    let form = code_form(config, begun, code, secret.as_deref(), provider.takes_post);
    asked(engine, &provider.token, Some(form)).await
}

/// Headers and body by which a code is exchanged. The secret stands in the body where the provider takes it there, else in a header.
fn code_form(
    config: &OidcConfig,
    begun: &Begun,
    code: &str,
    secret: Option<&str>,
    takes_post: bool,
) -> (Vec<(String, String)>, String) {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", &redirect(config))
        .append_pair("code_verifier", &begun.verifier)
        .append_pair("client_id", &config.client_id);
    let kind = "application/x-www-form-urlencoded";
    let mut headers = vec![("content-type".to_owned(), kind.to_owned())];
    match secret {
        Some(secret) if takes_post => {
            form.append_pair("client_secret", secret);
        }
        Some(secret) => {
            let part = |text: &str| -> String {
                form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            let pair = STANDARD.encode(format!("{}:{}", part(&config.client_id), part(secret)));
            headers.push(("authorization".to_owned(), format!("Basic {pair}")));
        }
        None => {}
    }
    (headers, form.finish())
}

async fn resolved(reference: &str) -> Result<String, Problem> {
    let bad = |rule: String| {
        let remedy =
            "write client_secret as env:NAME, file:PATH or cmd:PROGRAM, and put the secret there";
        Problem::new(Code::BadConfig, "/console/oidc/client_secret", rule, remedy)
    };
    let reference = SecretRef::parse(reference).map_err(|error| bad(error.rule.to_string()))?;
    let secret = reference
        .resolve(LIMIT)
        .await
        .map_err(|error| bad(error.to_string()))?;
    let text = secret.with_exposed(|bytes| String::from_utf8(bytes.to_vec()));
    text.map_err(|_| bad("the secret is no text".to_owned()))
}

/// What an address of the provider answers: JSON, to a question or to a form.
async fn asked(
    engine: &Engine,
    address: &str,
    form: Option<(Vec<(String, String)>, String)>,
) -> Result<Value, Problem> {
    let malformed = |rule: &str| {
        let rule = format!("the provider's address {address:?} cannot be asked: {rule}");
        unreachable(
            &rule,
            "an issuer is https://host, or http:// on this machine",
        )
    };
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    let path = address[after_scheme..]
        .find('/')
        .map(|at| at + after_scheme);
    let (base, path) = address.split_at(path.unwrap_or(address.len()));
    let target = Target::parse(base, false).map_err(|error| malformed(&error.rule))?;
    let posts = form.is_some();
    let (mut headers, body) = form.unwrap_or_default();
    headers.push(("accept".to_owned(), "application/json".to_owned()));
    let request = HttpRequest {
        method: if posts { "POST" } else { "GET" }.to_owned(),
        path_and_query: if path.is_empty() { "/" } else { path }.to_owned(),
        headers,
        body: body.into_bytes(),
    };
    let answer = match engine.transport().ask(&target, request, LIMIT).await {
        Asked::Answered(answer) => answer,
        Asked::Failed { detail, .. } => {
            let rule = format!("{base} does not answer: {detail}");
            return Err(unreachable(
                &rule,
                "is the provider up, and `console.oidc.issuer` right?",
            ));
        }
    };
    let said: Option<Value> = serde_json::from_slice(&answer.body).ok();
    match (answer.status, said) {
        (200, Some(said)) => Ok(said),
        (400..=499, Some(said)) if posts => {
            let error = said["error"].as_str().unwrap_or("no reason");
            let more = said["error_description"].as_str().unwrap_or_default();
            Err(refused(
                format!("the provider refuses the code: {error} {more}").trim(),
            ))
        }
        (status, _) => {
            let rule = format!("{base}{path} answers {status}, and no JSON that can be used");
            Err(unreachable(&rule, "is `console.oidc.issuer` right?"))
        }
    }
}

fn unreachable(rule: &str, remedy: &str) -> Problem {
    Problem::new(
        Code::NoProvider,
        "/console/oidc",
        rule.to_owned(),
        remedy.to_owned(),
    )
}

fn refused(rule: &str) -> Problem {
    let remedy = "sign in once more; if it stays so, tell whoever runs the installation";
    Problem::new(Code::SignInRefused, "", rule.to_owned(), remedy)
}
