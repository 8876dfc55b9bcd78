//! The addresses that a client may connect to.
//!
//! A URL from a user may lead anywhere. Redirects are chosen by a server, so they may lead to private addresses only if
//! the user permits it. A host that had a public address at first may not move to a private address (DNS rebinding).
//! The check is part of the name lookup, so there is no second lookup that could return other addresses.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns whether an address is on the public internet: neither on this machine or its network, nor reserved for a
/// special purpose.
///
/// Source: IANA's registries of special-purpose addresses.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    // "This network", carrier-grade NAT, protocol assignments, benchmarks, multicast and reserved addresses.
    let is_special = a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b))
        || a >= 224;
    !(is_special || address.is_private() || address.is_loopback() || address.is_link_local())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let [[i, j], [k, l]] = [high.to_be_bytes(), low.to_be_bytes()];
        is_public_v4(Ipv4Addr::new(i, j, k, l))
    };
    match a {
        // IPv4-mapped addresses.
        0 if [b, c, d, e, f] == [0, 0, 0, 0, 0xffff] => v4(g, h),
        // NAT64.
        0x64 if [b, c, d, e, f] == [0xff9b, 0, 0, 0, 0] => v4(g, h),
        // 6to4 addresses contain an IPv4 address. Teredo addresses (2001:0::/32) are not public, because they obfuscate
        // theirs.
        0x2002 => v4(b, c),
        0x2001 => b != 0,
        // The only block of global unicast addresses.
        _ => a & 0xe000 == 0x2000,
    }
}

/// Selects the addresses of a name that may be used.
#[derive(Debug)]
pub(crate) enum AddressRule {
    /// All addresses, starting with a different address each time, to spread the load over a store's hosts.
    Any,
    /// Only public addresses if the first lookup of the name returned a public address, and otherwise all addresses.
    AsAtFirst,
    /// Only public addresses, but all addresses of these names.
    Public(Vec<String>),
}

/// Name lookup for a client.
#[derive(Debug)]
pub(crate) struct NameLookup(Arc<LookupState>);

#[derive(Debug)]
struct LookupState {
    rule: AddressRule,
    /// Whether the first lookup of each name returned a public address.
    had_public: Mutex<HashMap<String, bool>>,
    lookups: AtomicUsize,
}

impl NameLookup {
    pub(crate) fn new(rule: AddressRule) -> NameLookup {
        NameLookup(Arc::new(LookupState { rule, had_public: Mutex::default(), lookups: AtomicUsize::new(0) }))
    }
}

impl Resolve for NameLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let state = self.0.clone();
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let permitted = state.permitted(name.as_str(), addresses)?;
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

impl LookupState {
    /// Returns the addresses of `name` that may be used.
    fn permitted(&self, name: &str, mut addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, PrivateAddress> {
        let is_restricted = match &self.rule {
            AddressRule::Any => {
                let turn = self.lookups.fetch_add(1, Relaxed) % addresses.len().max(1);
                addresses.rotate_left(turn);
                false
            }
            AddressRule::AsAtFirst => {
                let mut had_public = self.had_public.lock().unwrap_or_else(PoisonError::into_inner);
                let has_public = addresses.iter().any(|address| is_public(address.ip()));
                *had_public.entry(name.to_ascii_lowercase()).or_insert(has_public)
            }
            AddressRule::Public(exempt) => !exempt.iter().any(|host| host.eq_ignore_ascii_case(name)),
        };
        let first_private = addresses.iter().map(SocketAddr::ip).find(|&address| !is_public(address));
        if is_restricted {
            addresses.retain(|address| is_public(address.ip()));
        }
        match first_private {
            Some(address) if addresses.is_empty() => Err(PrivateAddress { name: name.to_owned(), address }),
            _ => Ok(addresses),
        }
    }
}

/// The error for a name that has only private addresses.
#[derive(Debug)]
pub(crate) struct PrivateAddress {
    name: String,
    address: IpAddr,
}

impl fmt::Display for PrivateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PrivateAddress { name, address } = self;
        write!(
            f,
            "{name} has the private address {address}: add `private` to POLYHAUL_NETWORK_REDIRECTS to allow redirects \
             there"
        )
    }
}

impl Error for PrivateAddress {}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str) -> Vec<SocketAddr> {
        text.split(' ').map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn private_addresses_are_recognized() {
        let private = "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1 \
            169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.168.0.1 198.18.0.1 198.19.255.255 224.0.0.1 240.0.0.1 \
            255.255.255.255 :: ::1 ::7f00:1 ::808:808 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 \
            64:ff9b::a00:1 64:ff9b:1::808:808 100::1 2001::1 2002:7f00:1::1 2002:a9fe:a9fe::1 fc00::1 fd00:ec2::254 \
            fe80::1 febf::1 fec0::1 ff02::1";
        for address in addresses(private) {
            assert!(!is_public(address.ip()), "{address}");
        }
        let public = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.0.0.1 128.0.0.1 169.253.0.1 \
            172.15.0.1 172.32.0.1 192.0.1.1 192.167.0.1 198.17.0.1 198.20.0.1 223.255.255.255 ::ffff:8.8.8.8 \
            64:ff9b::808:808 2001:4860:4860::8888 2002:808:808::1 2606:4700::1111 3fff::1";
        for address in addresses(public) {
            assert!(is_public(address.ip()), "{address}");
        }
    }

    #[test]
    fn names_may_not_move_to_private_addresses() {
        let resolver = NameLookup::new(AddressRule::AsAtFirst).0;
        let public = addresses("8.8.8.8");
        let private = addresses("10.0.0.5");
        // A host on the user's own network may stay there.
        assert_eq!(resolver.permitted("intranet", private.clone()).unwrap(), private);
        assert_eq!(resolver.permitted("intranet", private.clone()).unwrap(), private);
        // A public host may not move there, not even beside a public address.
        assert_eq!(resolver.permitted("example.org", public.clone()).unwrap(), public);
        assert!(resolver.permitted("EXAMPLE.org", private.clone()).is_err());
        assert_eq!(resolver.permitted("example.org", addresses("127.0.0.1 8.8.8.8")).unwrap(), public);
        assert_eq!(resolver.permitted("mixed.example", addresses("169.254.169.254 8.8.8.8")).unwrap(), public);
        assert!(resolver.permitted("mixed.example", private).is_err());
        assert_eq!(resolver.permitted("none", Vec::new()).unwrap(), []);
    }

    #[test]
    fn redirects_reach_public_addresses_only() {
        let resolver = NameLookup::new(AddressRule::Public(vec!["proxy".into()])).0;
        for private in ["127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1 fc00::1"] {
            let error = resolver.permitted("cdn.example", addresses(private)).unwrap_err().to_string();
            assert!(error.contains("cdn.example") && error.contains("POLYHAUL_NETWORK_REDIRECTS"), "{error}");
            assert_eq!(resolver.permitted("Proxy", addresses(private)).unwrap(), addresses(private));
        }
        assert_eq!(resolver.permitted("cdn.example", addresses("10.0.0.1 8.8.8.8")).unwrap(), addresses("8.8.8.8"));
    }

    #[test]
    fn stores_spread_their_load() {
        let resolver = NameLookup::new(AddressRule::Any).0;
        let two = || addresses("10.0.0.1 10.0.0.2");
        let first = resolver.permitted("store", two()).unwrap();
        assert!(first != resolver.permitted("store", two()).unwrap());
    }
}
