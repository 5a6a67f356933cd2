//! Where a request goes: base address, authentication by reference, limits. Parsed once; holds no secret.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use factum_core::Span;
use http::Uri;

use crate::auth::{Auth, OAuth2};
use crate::error::Malformed;
use crate::http::Trust;
use crate::networks::Networks;
use crate::secret::Secret;

/// Bounds of a request to one destination that its permission does not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HttpLimits {
    /// Longest time for reading a secret.
    pub secret: Span,
    /// Longest time for getting a token, where one is needed.
    pub token: Span,
    /// Longest time for resolving the host's name.
    pub resolve: Span,
    /// Longest time for connecting, over all addresses.
    pub connect: Span,
    /// Longest time for the TLS handshake.
    pub tls: Span,
    /// Longest head of an answer, in bytes; never less than 8 KiB.
    pub head_max_bytes: usize,
    /// Longest body of an answer that is kept, in bytes; a longer one is marked as truncated.
    pub body_max_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            secret: Span::from_secs(5),
            token: Span::from_secs(10),
            resolve: Span::from_secs(5),
            connect: Span::from_secs(5),
            tls: Span::from_secs(5),
            head_max_bytes: 64 * 1024,
            body_max_bytes: 1024 * 1024,
        }
    }
}

/// Decides at send time whether the credential is still the one that was confirmed for the pinned account (R13).
pub type CredentialGuard = Arc<dyn Fn(&Secret) -> bool + Send + Sync>;

/// An outside system as the transport needs to know it.
#[derive(Clone)]
pub struct Target {
    pub(crate) https: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) base_path: String,
    pub(crate) auth: Auth,
    pub(crate) limits: HttpLimits,
    pub(crate) guard: Option<CredentialGuard>,
    pub(crate) plain_beyond_loopback: bool,
    pub(crate) trust: Option<Trust>,
    pub(crate) networks: Networks,
    /// Whether the base, where it names an address or this machine, may lead there whatever the networks.
    pub(crate) base_is_trusted: bool,
}

impl Target {
    /// Reads a base address: `https://host[:port][/path]`, or `http://` to this machine.
    ///
    /// `allow_plain_http` lifts the bound of plain HTTP to loopback, for a network that the operator answers for.
    ///
    /// # Errors
    /// [`Malformed`] names the rule and the remedy, and does not repeat the text, which may hold a password.
    pub fn parse(base: &str, allow_plain_http: bool) -> Result<Self, Malformed> {
        let wrong = |rule: &str, remedy: &str| Err(Malformed::new("base", rule, remedy));
        const FORM: &str = "write https://host, with a port and a path where they are needed";
        if base.contains('#') {
            return wrong(
                "a base address has no fragment",
                "leave out # and what follows",
            );
        }
        if base.contains('?') {
            return wrong(
                "a base address has no query",
                "leave out ? and what follows; parameters belong to the operation's contract",
            );
        }
        let Ok(uri) = base.parse::<Uri>() else {
            return wrong("this is no address", FORM);
        };
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return wrong("the scheme is https or http", FORM),
            None => return wrong("the scheme is missing", FORM),
        };
        let Some(authority) = uri.authority() else {
            return wrong("the host is missing", FORM);
        };
        if authority.as_str().contains('@') {
            return wrong(
                "a base address carries no user and no password",
                "leave them out and give auth a secret by reference",
            );
        }
        let host = parse_host(authority.host())?;
        let after = &authority.as_str()[authority.host().len()..];
        let port = match (after, authority.port_u16()) {
            ("", _) => {
                if https {
                    443
                } else {
                    80
                }
            }
            (_, Some(port)) if port > 0 => port,
            (_, _) => return wrong("a port is a number from 1 to 65535", FORM),
        };
        if !https && !allow_plain_http && !names_loopback(&host) {
            return wrong(
                "plain http is for this machine only",
                "write https, or set allow_plain_http for a network that you answer for",
            );
        }
        let base_path = uri.path().trim_end_matches('/').to_owned();
        if has_dot_segment(&base_path) {
            return wrong("the path has no . or .. segments", "write the path in full");
        }
        Ok(Self {
            https,
            host,
            port,
            base_path,
            auth: Auth::None,
            limits: HttpLimits::default(),
            guard: None,
            plain_beyond_loopback: allow_plain_http,
            trust: None,
            networks: Networks::Public,
            base_is_trusted: true,
        })
    }

    /// With this way of authentication.
    ///
    /// # Errors
    /// [`Malformed`] if it cannot work: a user with a colon, a header that frames the message, a token's address that is none.
    pub fn with_auth(mut self, auth: Auth) -> Result<Self, Malformed> {
        auth.check()?;
        if let Auth::OAuth2(oauth2) = &auth {
            token_endpoint(oauth2)?;
        }
        self.auth = auth;
        Ok(self)
    }

    /// With networks beside the public internet that it may lead to.
    #[must_use]
    pub fn reaching(mut self, networks: Networks) -> Self {
        self.networks = networks;
        self
    }

    /// For a base that somebody else than the operator wrote: that it names an address of the operator's network, or this machine,
    /// is no leave to go there.
    #[must_use]
    pub fn written_by_others(mut self) -> Self {
        self.base_is_trusted = false;
        self
    }

    /// Whether an address may be connected to: it is the public internet's, lies in one of the networks, or is what the
    /// operator's own base names.
    #[must_use]
    pub fn may_reach(&self, address: IpAddr) -> bool {
        let named = self.host.parse::<IpAddr>();
        let named = named.map_or_else(
            |_| names_loopback(&self.host) && address.to_canonical().is_loopback(),
            |named| named == address,
        );
        (named && self.base_is_trusted) || self.networks.hold(address)
    }

    /// Whether it names an address, or this machine, that it may not reach. What other names lead to is not looked up.
    #[must_use]
    pub fn names_forbidden(&self) -> bool {
        let named = self.host.parse::<IpAddr>().ok();
        let this_machine = || names_loopback(&self.host).then_some(Ipv4Addr::LOCALHOST.into());
        named
            .or_else(this_machine)
            .is_some_and(|address| !self.may_reach(address))
    }

    /// With other certificates to trust than the transport's own.
    #[must_use]
    pub fn with_trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Where tokens are got, and the path there; on the destination's own host its certificates are trusted.
    pub(crate) fn token_endpoint(&self) -> Option<(Self, &str)> {
        let Auth::OAuth2(oauth2) = &self.auth else {
            return None;
        };
        let (mut endpoint, path) = token_endpoint(oauth2).ok()?;
        let same = endpoint.host == self.host && endpoint.port == self.port;
        let own = self.trust.as_ref().filter(|_| same);
        endpoint.trust = oauth2.trust.as_ref().or(own).cloned();
        endpoint.networks = self.networks.clone();
        Some((endpoint, path))
    }

    /// With these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// With a check of the credential that is really about to be used: [`send`](crate::Transport::send) does not write where
    /// it says no. Questions are asked regardless, for one of them is "who am I".
    #[must_use]
    pub fn with_guard(mut self, guard: CredentialGuard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// How requests are authenticated.
    #[must_use]
    pub fn auth(&self) -> &Auth {
        &self.auth
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// The host as it stands in the `Host` header: with its port unless that is the scheme's own.
    #[must_use]
    pub fn host_header(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        match (self.https, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// The base address, written in one way.
    #[must_use]
    pub fn base(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        format!("{scheme}://{}{}", self.host_header(), self.base_path)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("base", &self.base())
            .field("auth", &self.auth)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The origin of a token's address, and its path.
fn token_endpoint(oauth2: &OAuth2) -> Result<(Target, &str), Malformed> {
    let url = oauth2.token_url.as_str();
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url[host..].find('/').map_or(url.len(), |at| host + at);
    let (origin, path) = url.split_at(path);
    let path = if path.is_empty() { "/" } else { path };
    let visible = path.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
    if !visible || has_dot_segment(path.split('?').next().unwrap_or_default()) {
        return Err(Malformed::new(
            "token_url",
            "the path of the token's address holds no space, no fragment and no dot segment",
            "write it as the provider documents it",
        ));
    }
    let target = Target::parse(origin, oauth2.allow_plain_http).map_err(|error| Malformed {
        member: "token_url",
        ..error
    })?;
    Ok((target, path))
}

/// Lower case, without brackets; an IP address or a name of ASCII letters, digits, `-`, `_` and dots.
fn parse_host(host: &str) -> Result<String, Malformed> {
    if let Some(inner) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        return inner
            .parse::<Ipv6Addr>()
            .map(|ip| ip.to_string())
            .map_err(|_| {
                Malformed::new(
                    "base",
                    "what stands in brackets is an IPv6 address",
                    "write it as in [2001:db8::1], without a zone",
                )
            });
    }
    let host = host.to_ascii_lowercase();
    let fits = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if host.len() <= 253 && host.split('.').all(fits) {
        Ok(host)
    } else {
        Err(Malformed::new(
            "base",
            "a host is an address, or a name of ASCII letters, digits, hyphens and dots",
            "write an international name in its xn-- form",
        ))
    }
}

fn names_loopback(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether a path has a `.` or `..` segment, also percent-encoded: a server may fold it away and leave the base.
pub(crate) fn has_dot_segment(path: &str) -> bool {
    path.split(['/', '\\']).any(|segment| {
        let plain = segment.replace("%2e", ".").replace("%2E", ".");
        plain == "." || plain == ".."
    })
}
