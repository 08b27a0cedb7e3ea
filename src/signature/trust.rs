//! Whose signatures count: a file of public keys.
//!
//! A line is a key for signed notes (`NAME+ID+KEY`) or a line of OpenSSH's `allowed_signers`. A line that cannot be
//! understood is an error: it would look as if its key were trusted, or its limits kept.

use super::key::PublicKey;
use super::ssh::SshKey;
use super::statement::NAMESPACE;
use crate::sanitize::{clip, visible};

/// Why a file does not say whom to trust.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct TrustError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, safe to print.
    pub what: String,
}

/// A point in time, in UTC, as the digits `YYYYMMDDhhmmss`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

impl Time {
    /// From its parts, as a calendar and a clock in UTC show them.
    #[must_use]
    pub fn new(year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> Time {
        [month, day, hour, minute, second]
            .into_iter()
            .fold(Time(u64::from(year)), |Time(digits), part| Time(digits * 100 + u64::from(part)))
    }

    /// Reads `YYYYMMDDZ`, `YYYYMMDDhhmmZ` or `YYYYMMDDhhmmssZ`.
    fn parse(text: &str) -> Option<Time> {
        let digits = text.strip_suffix('Z').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let scale = match digits.len() {
            8 => 1_000_000,
            12 => 100,
            14 => 1,
            _ => return None,
        };
        Some(Time(digits.parse::<u64>().ok()? * scale))
    }
}

/// A line of `allowed_signers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SshSigner {
    pub(super) principals: String,
    namespaces: Option<String>,
    valid_after: Option<Time>,
    valid_before: Option<Time>,
    pub(super) key: SshKey,
}

/// The keys whose signatures count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    pub(super) notes: Vec<PublicKey>,
    pub(super) ssh: Vec<SshSigner>,
    /// What time it is, for keys that are trusted for a while. Without it, they are not trusted at all.
    pub now: Option<Time>,
}

impl Trust {
    /// Reads a file of keys. Empty lines and those that start with `#` are passed over.
    ///
    /// # Errors
    /// A line that is no key, a weak key, two different keys that signatures could not tell apart, a file without a key.
    pub fn parse(text: &[u8]) -> Result<Trust, TrustError> {
        let text = std::str::from_utf8(text).map_err(|error| TrustError {
            line: text[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1,
            what: "not UTF-8".to_owned(),
        })?;
        let mut trust = Trust::default();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            trust.add(content).map_err(|what| TrustError { line, what })?;
        }
        if trust.notes.is_empty() && trust.ssh.is_empty() {
            return Err(TrustError { line: 1, what: "no key in it: nobody would be trusted".to_owned() });
        }
        Ok(trust)
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        if line.contains([' ', '\t']) {
            self.ssh.push(allowed_signer(line)?);
            return Ok(());
        }
        let key = PublicKey::parse(line).map_err(|error| error.to_string())?;
        match self.notes.iter().find(|other| other.name() == key.name() && other.id() == key.id()) {
            Some(other) if *other == key => {}
            Some(_) => {
                return Err(format!("another key has the name '{}' and the same id: which one is meant?", key.name()));
            }
            None => self.notes.push(key),
        }
        Ok(())
    }
}

impl SshSigner {
    /// Why the line does not let its key sign in this namespace at this time.
    pub(super) fn refusal(&self, now: Option<Time>) -> Option<String> {
        if let Some(namespaces) = &self.namespaces
            && !matches_list(namespaces, NAMESPACE)
        {
            return Some(format!("is trusted for other namespaces than '{NAMESPACE}'"));
        }
        if self.valid_after.is_none() && self.valid_before.is_none() {
            return None;
        }
        let Some(now) = now else {
            return Some("is trusted for a time only, and it is not known what time it is".to_owned());
        };
        if self.valid_after.is_some_and(|after| now < after) {
            return Some("is not trusted yet".to_owned());
        }
        self.valid_before.filter(|before| now > *before).map(|_| "is trusted no more".to_owned())
    }
}

/// The parts of a line between blanks, of which quotes may hold some.
fn words(line: &str) -> Result<Vec<&str>, String> {
    let (mut words, mut start, mut quoted) = (Vec::new(), None, false);
    for (at, char) in line.char_indices() {
        match char {
            '"' => {
                quoted = !quoted;
                start = start.or(Some(at));
            }
            ' ' | '\t' if !quoted => words.extend(start.take().map(|start| &line[start..at])),
            _ => start = start.or(Some(at)),
        }
    }
    if quoted {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(start.map(|start| &line[start..]));
    Ok(words)
}

fn allowed_signer(line: &str) -> Result<SshSigner, String> {
    let words = words(line)?;
    let is_type = |word: &&str| word.starts_with("ssh-") || word.starts_with("ecdsa-") || word.starts_with("sk-");
    let expected = "expected WHO [OPTIONS] KEYTYPE BASE64, as in allowed_signers";
    let (principals, options, key) = match words.as_slice() {
        [principals, kind, key, ..] if is_type(kind) => (principals, None, (*kind, *key)),
        [principals, options, kind, key, ..] if is_type(kind) => (principals, Some(*options), (*kind, *key)),
        _ => return Err(expected.to_owned()),
    };
    let shown = visible(&clip(principals.trim_matches('"'), 200)).into_owned();
    if shown.is_empty() || is_type(principals) {
        return Err(format!("the line does not say whose key it is; {expected}"));
    }
    let key = SshKey::parse(key.0, key.1).map_err(|error| format!("the key of '{shown}' is refused: {error}"))?;
    let mut signer = SshSigner { principals: shown, namespaces: None, valid_after: None, valid_before: None, key };
    for option in options.map(option_list).unwrap_or_default() {
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let value = || {
            let unquoted = value.and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
            unquoted.ok_or_else(|| format!("the option {name} needs a value in quotes"))
        };
        let time = || {
            Time::parse(value()?).ok_or_else(|| {
                format!("the option {name} needs a time in UTC such as \"20301231Z\" or \"203012312359Z\", with its Z")
            })
        };
        match name.to_ascii_lowercase().as_str() {
            "namespaces" => signer.namespaces = Some(value()?.to_owned()),
            "valid-after" => signer.valid_after = Some(time()?),
            "valid-before" => signer.valid_before = Some(time()?),
            "cert-authority" => return Err("certificates are not checked here; list the keys themselves".to_owned()),
            _ => {
                let name = visible(&clip(name, 60)).into_owned();
                return Err(format!("unknown option '{name}'; there are namespaces, valid-after and valid-before"));
            }
        }
    }
    Ok(signer)
}

/// Splits options at commas outside of quotes.
fn option_list(options: &str) -> Vec<&str> {
    let mut quoted = false;
    options
        .split(move |char| {
            quoted ^= char == '"';
            char == ',' && !quoted
        })
        .collect()
}

/// Whether a list of patterns with `*`, `?` and `!` for exceptions names a text.
fn matches_list(patterns: &str, text: &str) -> bool {
    let mut found = false;
    for pattern in patterns.split(',') {
        match pattern.strip_prefix('!') {
            Some(pattern) if matches(pattern.as_bytes(), text.as_bytes()) => return false,
            Some(_) => {}
            None => found |= matches(pattern.as_bytes(), text.as_bytes()),
        }
    }
    found
}

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut star) = ((0, 0), None);
    while at.1 < text.len() {
        match pattern.get(at.0) {
            Some(b'*') => {
                star = Some(at);
                at.0 += 1;
            }
            Some(&char) if char == b'?' || char == text[at.1] => at = (at.0 + 1, at.1 + 1),
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                at = (place + 1, taken + 1);
            }
        }
    }
    pattern[at.0..].iter().all(|&char| char == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const SSH: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    #[test]
    fn keys_of_both_kinds_are_read() {
        let text = format!(
            "# who seals\n\n{VKEY}\r\n me@example.org {SSH} comment here\n{VKEY}\n\
             a,b namespaces=\"git,toolreplay-seal\",valid-before=\"20300101Z\" {SSH}\n"
        );
        let trust = Trust::parse(text.as_bytes()).unwrap();
        assert_eq!((trust.notes.len(), trust.ssh.len()), (1, 2));
        assert_eq!(trust.ssh[0].principals, "me@example.org");
        let early = Some(Time::new(2029, 12, 31, 23, 59, 59));
        let late = Some(Time::new(2030, 1, 1, 0, 0, 1));
        assert_eq!(trust.ssh[0].refusal(None), None);
        assert_eq!(trust.ssh[1].refusal(early), None);
        assert_eq!(trust.ssh[1].refusal(late).unwrap(), "is trusted no more");
        assert!(trust.ssh[1].refusal(None).is_some(), "without a clock a time limit is not kept");
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error() {
        let weak = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        for (line, words) in [
            ("", "line 1: no key in it"),
            ("# only\n", "line 1: no key in it"),
            (SSH, "line 1: expected WHO"),
            (&format!("\n{SSH} me"), "line 2: expected WHO"),
            (&format!("me cert-authority {SSH}"), "certificates are not checked"),
            (&format!("me no-touch {SSH}"), "unknown option 'no-touch'"),
            (&format!("me valid-before=\"20300101\" {SSH}"), "with its Z"),
            (&format!("me valid-before=20300101Z {SSH}"), "value in quotes"),
            (&format!("me namespaces=\"a {SSH}"), "a quote is not closed"),
            ("me ssh-ed25519 AAAA", "the key of 'me' is refused"),
            (
                "me ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIBpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
                "of type ssh-ed25519, not ssh-rsa",
            ),
            (&format!("me {weak}"), "weak key"),
            ("PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", "has the id c74f20a3"),
            ("{}", "expected a public key"),
        ] {
            let error = Trust::parse(line.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
        assert!(Trust::parse(b"\n\xff").unwrap_err().to_string().starts_with("line 2: not UTF-8"));
    }

    #[test]
    fn namespaces_are_patterns() {
        for (patterns, fits) in [
            ("toolreplay-seal", true),
            ("file,toolreplay-*", true),
            ("*", true),
            ("toolreplay-sea?", true),
            ("*l*s*l", true),
            ("file", false),
            ("toolreplay", false),
            ("*,!toolreplay-seal", false),
            ("!git,*", true),
            ("!git", false),
            ("", false),
        ] {
            assert_eq!(matches_list(patterns, NAMESPACE), fits, "{patterns}");
        }
    }
}
