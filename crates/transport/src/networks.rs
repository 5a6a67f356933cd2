//! Which addresses are the public internet's, and which others an operator lets requests reach.
//!
//! An address is judged once it is known and right before it is connected to, so a name cannot lead elsewhere meanwhile.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;

/// Networks beside the public internet that requests may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Networks {
    /// None: the public internet alone.
    #[default]
    Public,
    /// All but those that have to be named: this machine's own, private and carriers' networks.
    Any,
    /// These, whatever they are.
    Listed(Arc<[IpNet]>),
}

impl Networks {
    /// Whether an address may be reached.
    #[must_use]
    pub fn hold(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address)
            || match self {
                Self::Public => false,
                Self::Any => !has_to_be_named(address),
                Self::Listed(networks) => networks.iter().any(|net| net.contains(&address)),
            }
    }
}

/// What no general leave covers: the services that hand credentials to whoever is on the machine (in clouds, mostly at link-local
/// addresses), and what is no single host.
fn has_to_be_named(address: IpAddr) -> bool {
    /// The metadata services of EC2 by IPv6, and of Alibaba Cloud.
    const METADATA: [IpAddr; 2] = [
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
        IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    ];
    let v4 = |v4: Ipv4Addr| {
        v4.is_link_local() || v4.is_multicast() || v4.is_unspecified() || v4.octets()[0] >= 240
    };
    METADATA.contains(&address)
        || match address {
            IpAddr::V4(address) => v4(address),
            IpAddr::V6(address) => match translated(address) {
                Some(inner) => has_to_be_named(IpAddr::V4(inner)),
                None => {
                    address.is_unicast_link_local()
                        || address.is_multicast()
                        || address.is_unspecified()
                }
            },
        }
}

/// The IPv4 address that NAT64 or 6to4 leads to.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

/// Whether an address is one of the public internet. What is not known to be public is not.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        // This network, carriers' own, protocol assignments, benchmarks, reserved.
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
        || a >= 240)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = translated(address) {
        return is_public_v4(inner);
    }
    match address.segments() {
        // Protocol assignments (Teredo among them), and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Global unicast.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_internet_is_told() {
        for inside in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "100::1",
            "3fff::1",
        ] {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
        for outside in [
            "1.1.1.1",
            "9.9.9.9",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.1.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "64:ff9b::101:101",
            "2002:101:101::1",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(outside.parse().unwrap()), "{outside}");
        }
    }

    #[test]
    fn leave_for_all_networks_does_not_cover_what_hands_out_credentials() {
        let listed =
            |nets: &[&str]| Networks::Listed(nets.iter().map(|net| net.parse().unwrap()).collect());
        let metadata = listed(&["169.254.169.254/32"]);
        let (own, any) = (listed(&["10.0.0.0/8", "fd00::/8"]), Networks::Any);
        for (address, networks, held) in [
            ("1.1.1.1", &Networks::Public, true),
            ("10.0.0.1", &Networks::Public, false),
            ("10.0.0.1", &any, true),
            ("127.0.0.1", &any, true),
            ("::1", &any, true),
            ("fd12::1", &any, true),
            ("100.64.0.1", &any, true),
            ("64:ff9b::a00:1", &any, true),
            ("169.254.169.254", &any, false),
            ("::ffff:169.254.169.254", &any, false),
            ("64:ff9b::a9fe:a9fe", &any, false),
            ("2002:a9fe:a9fe::1", &any, false),
            ("fd00:ec2::254", &any, false),
            ("100.100.100.200", &any, false),
            ("fe80::1", &any, false),
            ("0.0.0.0", &any, false),
            ("::", &any, false),
            ("224.0.0.1", &any, false),
            ("ff02::1", &any, false),
            ("169.254.169.254", &metadata, true),
            ("169.254.169.253", &metadata, false),
            ("1.1.1.1", &metadata, true),
            ("10.255.0.1", &own, true),
            ("::ffff:10.0.0.1", &own, true),
            ("11.0.0.1", &own, true),
            ("127.0.0.1", &own, false),
            ("fd00:ec2::254", &own, true),
            // Another network would be reached than the one that was listed.
            ("64:ff9b::a00:1", &own, false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(networks.hold(address), held, "{address} {networks:?}");
        }
    }
}
