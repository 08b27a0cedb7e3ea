//! Addresses as scopes compare them: parsed as browsers do, never as text.

use url::{Host, Url};

/// Where an address leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) scheme: String,
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// Whether the port is the scheme's own.
    pub(super) default_port: bool,
}

impl Target {
    pub(super) fn shown(&self) -> String {
        match self.port {
            Some(port) if !self.default_port => format!("{}:{port}", self.host),
            _ => self.host.clone(),
        }
    }
}

/// Reads an address. None if different programs may read different hosts in it, or none.
pub(super) fn read(address: &str) -> Option<Target> {
    let confusing = |c: char| c.is_control() || c == '\\' || c.is_whitespace();
    if address.contains(confusing) {
        return None;
    }
    let url = Url::parse(address).ok()?;
    if !url.username().is_empty() || url.password().is_some() || authority(address).contains('@') {
        return None;
    }
    let host = host_text(url.host()?)?;
    let own = url.port_or_known_default();
    Some(Target { scheme: url.scheme().to_owned(), host, port: own, default_port: url.port().is_none() })
}

fn authority(address: &str) -> &str {
    let behind = address.split_once(':').map_or("", |(_, rest)| rest).trim_start_matches('/');
    behind.split(['/', '?', '#']).next().unwrap_or("")
}

fn host_text<S: AsRef<str>>(host: Host<S>) -> Option<String> {
    let text = match host {
        Host::Domain(domain) => domain.as_ref().trim_end_matches('.').to_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        // the same machine by another name
        Host::Ipv6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => format!("[{address}]"),
        },
    };
    (!text.is_empty()).then_some(text)
}

/// A pattern for hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// As it stands in the file.
    pub(super) text: String,
    host: HostPattern,
    port: PortPattern,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Any,
    Exact(String),
    /// What ends in this, which starts with a dot.
    Below(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortPattern {
    Default,
    Any,
    Exact(u16),
}

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Pattern, &'static str> {
        if text.contains(['/', '@', '\\', '?', '#']) || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("is no host: write the name, with ':port' if it matters, and schemes in 'schemes'");
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, "*")) => (host, PortPattern::Any),
            // the colons of an address in brackets
            Some((host, port)) if !port.ends_with(']') => {
                (host, PortPattern::Exact(port.parse().map_err(|_| "has a port that is no number up to 65535")?))
            }
            _ => (text, PortPattern::Default),
        };
        let host = match host.strip_prefix("*.") {
            _ if host == "*" => HostPattern::Any,
            Some(domain) => HostPattern::Below(format!(".{}", Pattern::name(domain)?)),
            None => HostPattern::Exact(Pattern::name(host)?),
        };
        Ok(Pattern { text: text.to_owned(), host, port })
    }

    fn name(text: &str) -> Result<String, &'static str> {
        if text.contains('*') {
            return Err("has '*' inside: only '*.example.com' and '*' are patterns");
        }
        Host::parse(text).ok().and_then(host_text).ok_or("is no host")
    }

    /// Whether an address leads here. For a deny, a pattern without a port covers them all.
    pub(super) fn fits(&self, target: &Target, deny: bool) -> bool {
        let host = match &self.host {
            HostPattern::Any => true,
            HostPattern::Exact(name) => *name == target.host,
            HostPattern::Below(end) => target.host.len() > end.len() && target.host.ends_with(end.as_str()),
        };
        let port = match self.port {
            PortPattern::Any => true,
            PortPattern::Default => deny || target.default_port,
            PortPattern::Exact(port) => target.port == Some(port),
        };
        host && port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_browsers_read_them() {
        for (address, host) in [
            ("https://DOCS.Example.COM./a", Some("docs.example.com")),
            ("https://docs.example.com:443/", Some("docs.example.com")),
            ("https://docs.example.com:8443/", Some("docs.example.com:8443")),
            ("http://0x7f.1/", Some("127.0.0.1")),
            ("http://2130706433/", Some("127.0.0.1")),
            ("http://[::ffff:127.0.0.1]/", Some("127.0.0.1")),
            ("http://[::1]:80/", Some("[::1]")),
            ("https://a@b/", None),
            ("https://@b/", None),
            ("https://a\\@b/", None),
            ("https://a.test\n.b/", None),
            ("file:///etc/passwd", None),
            ("//a/", None),
            ("a.test/x", None),
            ("https:a.test", Some("a.test")),
            ("data:text/plain,x", None),
            ("https://bücher.example/", Some("xn--bcher-kva.example")),
        ] {
            assert_eq!(read(address).map(|target| target.shown()).as_deref(), host, "{address}");
        }
    }

    #[test]
    fn patterns_fit_hosts() {
        for (pattern, address, fits) in [
            ("*.svc.example", "https://a.b.svc.example/", true),
            ("*.svc.example", "https://svc.example/", false),
            ("*.svc.example", "https://xsvc.example/", false),
            ("localhost:3000", "http://localhost:3000/", true),
            ("localhost:3000", "http://localhost/", false),
            ("a.test", "https://a.test:8443/", false),
            ("a.test:*", "https://a.test:8443/", true),
            ("BÜCHER.example", "https://xn--bcher-kva.example/", true),
            ("[::1]:3000", "http://[::1]:3000/", true),
            ("127.0.0.1", "http://0177.1/", true),
        ] {
            assert_eq!(
                Pattern::read(pattern).unwrap().fits(&read(address).unwrap(), false),
                fits,
                "{pattern} {address}"
            );
        }
        assert!(Pattern::read("a.test").unwrap().fits(&read("https://a.test:8443/").unwrap(), true));
        for pattern in ["", "https://a.test", "a.test/x", "a*.test", "a.test:99999", "*.", "a b"] {
            assert!(Pattern::read(pattern).is_err(), "{pattern}");
        }
    }
}
