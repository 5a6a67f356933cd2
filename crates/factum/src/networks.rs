//! `allow_private`: which networks beside the public internet may be reached, as an operator writes it.

use std::fmt;
use std::net::IpAddr;

use factum_transport::Networks;
use ipnet::IpNet;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// `false`, `true`, or the networks: `["10.20.0.0/16", "192.168.1.4"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowPrivate(Networks);

impl AllowPrivate {
    /// Whether anything beside the public internet is allowed.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0 != Networks::Public
    }

    /// As the transport needs it.
    #[must_use]
    pub fn networks(&self) -> Networks {
        self.0.clone()
    }
}

impl<'de> Deserialize<'de> for AllowPrivate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = AllowPrivate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, or a list of networks as in [\"10.20.0.0/16\"]")
    }

    fn visit_bool<E: Error>(self, all: bool) -> Result<AllowPrivate, E> {
        let networks = if all { Networks::Any } else { Networks::Public };
        Ok(AllowPrivate(networks))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AllowPrivate, A::Error> {
        let mut networks = Vec::new();
        while let Some(text) = list.next_element::<String>()? {
            networks.push(network(&text).ok_or_else(|| {
                Error::custom(format!(
                    "{text:?} is no network: write an address and how many of its bits count, as in 10.20.0.0/16, or one address"
                ))
            })?);
        }
        Ok(AllowPrivate(Networks::Listed(networks.into())))
    }
}

/// A network in CIDR notation without bits beyond its prefix, or one address.
fn network(text: &str) -> Option<IpNet> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(IpNet::from(address));
    }
    // 10.20.3.4/16 may mean the host or the network; which of them, nobody should have to guess.
    text.parse()
        .ok()
        .filter(|net: &IpNet| net.addr() == net.network())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        allow_private: AllowPrivate,
    }

    fn read(text: &str) -> Result<Networks, String> {
        let holder: Result<Holder, _> = toml::from_str(&format!("allow_private = {text}"));
        holder
            .map(|holder| holder.allow_private.networks())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_all_nothing_or_a_list() {
        assert_eq!(read("true"), Ok(Networks::Any));
        assert_eq!(read("false"), Ok(Networks::Public));
        let listed = read(r#"["10.20.0.0/16", "192.168.1.4", "fd00:1::/32"]"#).unwrap();
        for (address, held) in [
            ("10.20.3.4", true),
            ("10.21.0.1", false),
            ("192.168.1.4", true),
            ("192.168.1.5", false),
            ("fd00:1::9", true),
            ("fd00:2::9", false),
            ("1.1.1.1", true),
        ] {
            assert_eq!(listed.hold(address.parse().unwrap()), held, "{address}");
        }
        assert!(!AllowPrivate::default().is_any());
    }

    #[test]
    fn what_is_no_network_is_named() {
        for text in ["10.20.3.4/16", "10.0.0.0/33", "intranet", ""] {
            let error = read(&format!("[{text:?}]")).unwrap_err();
            assert!(
                error.contains(&format!("{text:?} is no network")),
                "{error}"
            );
        }
        for text in ["\"yes\"", "7", "{ all = true }"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("list of networks"), "{error}");
        }
    }
}
