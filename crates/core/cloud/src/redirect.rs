//! The rules for redirects.
//!
//! Redirects within a host are followed, including redirects from `http` to `https` on the default ports. Other hosts
//! and ports must be listed. Private addresses must be listed individually, or be permitted by `private`. Redirects
//! from `https` to `http`, or to another scheme, are refused.

use crate::address::is_public;
use reqwest::Url;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;

/// The environment variable with the rules.
pub(crate) const VARIABLE: &str = "POLYHAUL_NETWORK_REDIRECTS";

/// The hosts that redirects may lead to, besides the URL's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RedirectRules {
    hosts: Vec<HostPattern>,
    /// Whether the listed hosts may have private addresses.
    pub(crate) are_private_permitted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostPattern {
    name: HostName,
    /// The port, or `None` for any port.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    Any,
    /// For `*.example.org`, this is `.example.org`.
    Below(String),
    Exactly(String),
}

impl RedirectRules {
    /// Parses a comma-separated list of hosts (`cdn.example.org`, `host:8080`, `*.example.org`, `*`) and the word
    /// `private`. Returns `None` if an entry is invalid.
    pub(crate) fn parse(text: &str) -> Option<RedirectRules> {
        let mut rules = RedirectRules::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            if entry == "private" {
                rules.are_private_permitted = true;
            } else {
                rules.hosts.push(HostPattern::parse(entry)?);
            }
        }
        Some(rules)
    }

    /// Checks a redirect from `from` to `to`, for a request that started at `origin`.
    ///
    /// # Errors
    /// The reason for refusing the redirect.
    pub(crate) fn check(&self, origin: &Url, from: &Url, to: &Url) -> Result<(), String> {
        // Compared with the previous URL, not the first: a chain of redirects that reached https must not leave it.
        match (from.scheme(), to.scheme()) {
            (_, "https") | ("http", "http") => {}
            ("https", "http") => {
                return Err("the server redirected from https to http, which is not secure".into());
            }
            _ => return Err("the server redirected to a URL that is neither http nor https".into()),
        }
        if is_same_host(origin, to) {
            return Ok(());
        }
        let host = shown_host(to);
        let Some(pattern) = self.hosts.iter().find(|pattern| pattern.matches(to)) else {
            return Err(format!("the server redirected to another host: set {VARIABLE}={host} to allow it"));
        };
        let is_named = matches!(pattern.name, HostName::Exactly(_));
        match literal_address(to).filter(|&address| !is_public(address)) {
            Some(_) if !is_named && !self.are_private_permitted => {
                Err(format!("the server redirected to a private address: set {VARIABLE}={host} to allow it"))
            }
            _ => Ok(()),
        }
    }
}

impl HostPattern {
    fn parse(entry: &str) -> Option<HostPattern> {
        if entry == "*" {
            return Some(HostPattern { name: HostName::Any, port: None });
        }
        let (is_below, host) = entry.strip_prefix("*.").map_or((false, entry), |host| (true, host));
        // The URL parser normalizes names and addresses as in URLs.
        let url = Url::parse(&format!("http://{host}")).ok()?;
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && !host.ends_with('/');
        // The text is examined, because the URL parser omits the default port 80: `b.org:80` must not permit https.
        let has_port = host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok()) && host.contains(':');
        if !is_bare || !url.username().is_empty() || url.password().is_some() || host.contains('*') {
            return None;
        }
        let name = bare_host(&url)?;
        let name = if is_below { HostName::Below(format!(".{name}")) } else { HostName::Exactly(name.to_owned()) };
        Some(HostPattern { name, port: url.port_or_known_default().filter(|_| has_port) })
    }

    fn matches(&self, url: &Url) -> bool {
        let host = bare_host(url).unwrap_or_default();
        let is_host = match &self.name {
            HostName::Any => true,
            HostName::Below(end) => host.ends_with(end),
            HostName::Exactly(name) => host == name,
        };
        is_host && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

/// Returns whether `to` has the host and port of `origin`, or is its upgrade from `http` to `https` on the default
/// ports.
pub(crate) fn is_same_host(origin: &Url, to: &Url) -> bool {
    let is_upgrade = origin.scheme() == "http" && to.scheme() == "https" && origin.port().or(to.port()).is_none();
    let is_same_port = origin.scheme() == to.scheme() && origin.port_or_known_default() == to.port_or_known_default();
    bare_host(origin) == bare_host(to) && (is_same_port || is_upgrade)
}

/// Returns the host without the dot that may end a fully qualified name.
fn bare_host(url: &Url) -> Option<&str> {
    let host = url.host_str()?;
    Some(host.strip_suffix('.').unwrap_or(host))
}

/// Returns the host for messages and rules, with its port unless that is the default.
pub(crate) fn shown_host(url: &Url) -> String {
    let host = bare_host(url).unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns the address if the host is not a name. The URL parser has already normalized decimal, octal and hexadecimal
/// forms.
fn literal_address(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

/// The error for a request that an object store redirected. Such requests are signed and carry tokens, so their
/// redirects are never followed.
#[derive(Debug)]
pub(crate) struct RefusedRedirect {
    pub(crate) host: String,
}

impl fmt::Display for RefusedRedirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = &self.host;
        write!(
            f,
            "the server redirected to {host}, where credentials are not sent: check the region (for S3: AWS_REGION) and \
             the endpoint (AWS_ENDPOINT_URL)"
        )
    }
}

impl Error for RefusedRedirect {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &str, from: &str, to: &str) -> Result<(), String> {
        let from = Url::parse(from).unwrap();
        let to = from.join(to).unwrap();
        let rules = RedirectRules::parse(rules).unwrap();
        rules.check(&from, &from, &to)
    }

    #[test]
    fn redirects_within_a_host_need_no_permission() {
        for to in [
            "/b",
            "b",
            "//a.org/b",
            "https://a.org/b",
            "https://a.org:443/b",
            "http://A.ORG./b",
            "?x",
            "//a.org:80",
            "http://a.org\\@b.org",
        ] {
            check("", "http://a.org/a", to).unwrap();
        }
        check("", "http://10.0.0.1:8000/a", "http://10.0.0.1:8000/b").unwrap();
        check("", "http://127.1/a", "http://0x7f000001/b").unwrap();
        check("", "http://[::1]/a", "http://[0:0::1]:80/b").unwrap();
    }

    #[test]
    fn other_hosts_need_permission() {
        let others = [
            "http://b.org/",
            "http://www.a.org/",
            "http://a.org.b.org/",
            "http://a.org:8080/",
            "https://a.org:8443/",
            "http://a.org@b.org/",
            "//b.org",
            "http://127.0.0.1/",
            "http://a.orgg/",
        ];
        for to in others {
            let error = check("", "http://a.org/a", to).unwrap_err();
            assert!(error.contains("POLYHAUL_NETWORK_REDIRECTS="), "{to}: {error}");
            check("*,private", "http://a.org/a", to).unwrap();
        }
        let error = check("c.org, *.d.org", "http://a.org/", "https://me:secret@b.org:99/secret?secret").unwrap_err();
        assert!(error.contains("POLYHAUL_NETWORK_REDIRECTS=b.org:99 ") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn permission_is_for_the_hosts_named() {
        let allowed = [
            ("b.org", "http://b.org/"),
            ("B.org", "http://b.ORG:99/"),
            ("b.org:99", "http://b.org:99/"),
            ("*.b.org", "http://x.y.b.org/"),
            ("x, b.org ,y", "http://b.org/"),
            ("*", "http://b.org/"),
            ("b.org:80", "http://b.org/"),
            ("b.org:443", "https://b.org/"),
            ("bücher.de", "http://xn--bcher-kva.de/"),
            ("[fc00::1]:99", "http://[fc00::1]:99/"),
            ("b.org", "http://b.org./"),
            ("10.1", "http://10.0.0.1/"),
        ];
        for (rules, to) in allowed {
            assert!(check(rules, "http://a.org/", to).is_ok(), "{rules} {to}");
        }
        let refused = [
            ("b.org:99", "http://b.org/"),
            ("*.b.org", "http://b.org/"),
            ("*.b.org", "http://xb.org/"),
            ("b.org", "http://x.b.org/"),
            ("private", "http://b.org/"),
            ("b.org:80", "https://b.org/"),
        ];
        for (rules, to) in refused {
            assert!(check(rules, "http://a.org/", to).is_err(), "{rules} {to}");
        }
        for wrong in
            ["http://b.org", "b.org/x", "a b", "u@b.org", "b.org:x", "b.org:99999", "*b.org", "b.*", "a?b", "#"]
        {
            assert_eq!(RedirectRules::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn private_addresses_need_permission_in_every_notation() {
        let private = [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://0xa9fea9fe/",
            "http://10.0.0.1/",
            "http://0/",
            "http://172.16.0.1/",
            "http://192.168.1.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[fc00::1]/",
            "http://[fe80::1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://127.0.0.1./",
            "http://①②⑦.0.0.1/",
        ];
        for to in private {
            let error = check("*", "http://a.org/", to).unwrap_err();
            assert!(error.contains("private address") && error.contains("POLYHAUL_NETWORK_REDIRECTS="), "{to} {error}");
            check("*,private", "http://a.org/", to).unwrap();
        }
        check("169.254.169.254", "http://a.org/", "http://0xa9fea9fe/").unwrap();
        check("*", "http://a.org/", "http://8.8.8.8/").unwrap();
    }

    #[test]
    fn redirects_that_are_never_followed() {
        for to in ["http://a.org/b", "http://b.org/", "http://a.org:443/"] {
            let error = check("*,private", "https://a.org/a", to).unwrap_err();
            assert!(error.contains("https to http"), "{to} {error}");
        }
        for to in ["file:///etc/passwd", "ftp://a.org/b", "data:,x", "javascript:0", "gopher://a.org", "ws://a.org"] {
            assert!(check("*,private", "http://a.org/a", to).is_err(), "{to}");
        }
    }
}
