//! What well-known secrets look like: a literal that starts them, the characters that follow, how many at least.
//!
//! The lengths are minimums on purpose: a cut or a newer key must not slip through. The literals run as one
//! automaton over a decoded string; only where one hits is anything else looked at.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// Which characters continue a secret.
#[derive(Clone, Copy)]
enum Run {
    Alnum,
    Upper,
    /// Letters, digits, `_` and `-`.
    Url,
    /// Those and `.`, `=`, `+`, `/`.
    Wide,
    JsonWebToken,
    PrivateKey,
    UserInfo,
}

struct Shape {
    rule: &'static str,
    literal: &'static str,
    run: Run,
    min: usize,
}

const fn shape(rule: &'static str, literal: &'static str, run: Run, min: usize) -> Shape {
    Shape { rule, literal, run, min }
}

/// Tried in order where several begin at one place.
const SHAPES: &[Shape] = &[
    shape("openai-key", "sk-proj-", Run::Url, 16),
    shape("openai-key", "sk-svcacct-", Run::Url, 16),
    shape("openai-key", "sk-admin-", Run::Url, 16),
    shape("openai-key", "sk-None-", Run::Url, 16),
    shape("anthropic-key", "sk-ant-", Run::Url, 16),
    shape("openrouter-key", "sk-or-", Run::Url, 20),
    shape("langfuse-key", "sk-lf-", Run::Url, 16),
    shape("langfuse-key", "pk-lf-", Run::Url, 16),
    shape("openai-key", "sk-", Run::Alnum, 24),
    shape("groq-key", "gsk_", Run::Alnum, 24),
    shape("xai-key", "xai-", Run::Alnum, 32),
    shape("hugging-face-token", "hf_", Run::Alnum, 24),
    shape("perplexity-key", "pplx-", Run::Alnum, 32),
    shape("nvidia-key", "nvapi-", Run::Url, 32),
    shape("replicate-token", "r8_", Run::Alnum, 30),
    shape("google-key", "AIza", Run::Url, 30),
    shape("google-token", "ya29.", Run::Url, 20),
    shape("aws-key-id", "AKIA", Run::Upper, 16),
    shape("aws-key-id", "ASIA", Run::Upper, 16),
    shape("github-token", "ghp_", Run::Alnum, 20),
    shape("github-token", "gho_", Run::Alnum, 20),
    shape("github-token", "ghu_", Run::Alnum, 20),
    shape("github-token", "ghs_", Run::Alnum, 20),
    shape("github-token", "ghr_", Run::Alnum, 20),
    shape("github-token", "github_pat_", Run::Url, 20),
    shape("gitlab-token", "glpat-", Run::Url, 16),
    shape("slack-token", "xoxa-", Run::Url, 10),
    shape("slack-token", "xoxb-", Run::Url, 10),
    shape("slack-token", "xoxe-", Run::Url, 10),
    shape("slack-token", "xoxe.", Run::Wide, 10),
    shape("slack-token", "xoxo-", Run::Url, 10),
    shape("slack-token", "xoxp-", Run::Url, 10),
    shape("slack-token", "xoxr-", Run::Url, 10),
    shape("slack-token", "xoxs-", Run::Url, 10),
    shape("slack-token", "xapp-", Run::Url, 10),
    shape("npm-token", "npm_", Run::Alnum, 30),
    shape("pypi-token", "pypi-AgE", Run::Url, 20),
    shape("stripe-key", "sk_live_", Run::Alnum, 16),
    shape("stripe-key", "rk_live_", Run::Alnum, 16),
    shape("stripe-key", "sk_test_", Run::Alnum, 16),
    shape("stripe-key", "rk_test_", Run::Alnum, 16),
    shape("sendgrid-key", "SG.", Run::Wide, 40),
    shape("vault-token", "hvs.", Run::Url, 20),
    shape("digitalocean-token", "dop_v1_", Run::Alnum, 32),
    shape("shopify-token", "shpat_", Run::Alnum, 24),
    shape("linear-key", "lin_api_", Run::Alnum, 24),
    shape("jwt", "eyJ", Run::JsonWebToken, 8),
    shape("private-key", "-----BEGIN ", Run::PrivateKey, 0),
    shape("url-password", "://", Run::UserInfo, 1),
];

static LITERALS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let literals = SHAPES.iter().map(|shape| shape.literal);
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(literals).ok()
});

/// Names whose value is a secret when text assigns it. Ends of names are enough: `OPENAI_API_KEY=…`.
const ASSIGNED: &[&str] = &[
    "api_key",
    "api-key",
    "apikey",
    "password",
    "passwd",
    "passphrase",
    "client_secret",
    "secret_key",
    "secret_access_key",
    "private_key",
    "access_token",
    "refresh_token",
    "auth_token",
    "session_token",
    "security_token",
    "webhook_secret",
    "signing_key",
    "_secret",
    "-secret",
    "_token",
    "-token",
];
/// Names whose value is a secret in the query of a URL.
const QUERY: &[&str] = &["key=", "sig=", "signature=", "token=", "x-amz-credential=", "code_verifier="];
/// Authentication schemes.
const SCHEMES: &[&str] = &["bearer ", "basic "];
/// Options whose value is a name and a password, as those of `curl` are.
const USERS: &[&str] = &["-u ", "--user "];

static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(ASSIGNED.iter().chain(QUERY).chain(SCHEMES).chain(USERS))
        .ok()
});

/// A secret found in a text.
pub(super) struct Hit {
    pub(super) rule: &'static str,
    pub(super) range: Range<usize>,
}

/// The first secret-looking stretch at or after `from`.
pub(super) fn key_shaped(text: &str, from: usize) -> Option<Hit> {
    let literals = LITERALS.as_ref()?;
    let mut at = from;
    while let Some(found) = literals.find(text.as_bytes().get(at..)?) {
        let start = at + found.start();
        if let Some(hit) = SHAPES.iter().find_map(|shape| shape.check(text, start)) {
            return Some(hit);
        }
        at = start + 1;
    }
    None
}

/// The first assigned secret at or after `from`.
pub(super) fn assigned(text: &str, from: usize) -> Option<Hit> {
    let words = WORDS.as_ref()?;
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(found) = words.find(bytes.get(at..)?) {
        let (start, end) = (at + found.start(), at + found.end());
        let word = found.pattern().as_usize();
        let hit = if word < ASSIGNED.len() {
            assignment(bytes, start, end)
        } else if word < ASSIGNED.len() + QUERY.len() {
            query_value(bytes, start, end)
        } else if word < ASSIGNED.len() + QUERY.len() + SCHEMES.len() {
            scheme_token(bytes, start, end)
        } else {
            user_password(bytes, start, end)
        };
        if let Some(hit) = hit {
            return Some(hit);
        }
        at = end;
    }
    None
}

impl Shape {
    fn check(&self, text: &str, start: usize) -> Option<Hit> {
        let bytes = text.as_bytes();
        let end = start + self.literal.len();
        if bytes.get(start..end)? != self.literal.as_bytes() {
            return None;
        }
        let hit = |range| Some(Hit { rule: self.rule, range });
        let bounded = start == 0 || !is_word(bytes[start - 1]);
        match self.run {
            Run::Alnum | Run::Upper | Run::Url | Run::Wide if bounded => {
                let stop = end + bytes[end..].iter().take_while(|&&b| self.run.holds(b)).count();
                (stop - end >= self.min).then_some(())?;
                hit(start..stop)
            }
            Run::JsonWebToken if bounded => {
                let mut stop = start;
                for part in 0..3 {
                    if part > 0 {
                        if bytes.get(stop) != Some(&b'.') {
                            return None;
                        }
                        stop += 1;
                    }
                    let run = bytes[stop..].iter().take_while(|&&b| Run::Url.holds(b)).count();
                    // The signature may have been cut off; the claims are enough to be careful with.
                    if run < self.min && part < 2 {
                        return None;
                    }
                    stop += run;
                }
                hit(start..stop)
            }
            Run::PrivateKey => {
                let head = &text[end..];
                let label = &head[..head.find("-----")?];
                if label.len() > 60 || !label.contains("PRIVATE KEY") {
                    return None;
                }
                // Without its end, everything that follows may be key.
                let stop = head.find("-----END ").map_or(text.len(), |at| {
                    let tail = end + at + 9;
                    text[tail..].find("-----").map_or(text.len(), |more| tail + more + 5)
                });
                hit(start..stop)
            }
            Run::UserInfo => {
                let stop = end
                    + bytes[end..]
                        .iter()
                        .take_while(|&&b| {
                            !matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`') && b > b' '
                        })
                        .count();
                let authority = &text[end..stop];
                let user_info = &authority[..authority.rfind('@')?];
                let colon = user_info.find(':')?;
                (user_info.len() - colon > self.min && !user_info[colon + 1..].starts_with("[REDACTED:"))
                    .then_some(())?;
                hit(end + colon + 1..end + user_info.len())
            }
            _ => None,
        }
    }
}

impl Run {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Wide => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'=' | b'+' | b'/'),
            _ => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `name = "value"`, `"name": "value"`, also with escaped quotes, and `--name value`.
fn assignment(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    let skip = |mut at: usize, what: &[u8]| {
        while bytes.get(at).is_some_and(|b| what.contains(b)) {
            at += 1;
        }
        at
    };
    let separator = skip(skip(end, br#"\"'`"#), b" \t");
    let open = match bytes.get(separator)? {
        b'=' | b':' => skip(separator + 1, b" \t"),
        _ if separator > end && bytes[separator] != b'-' && is_option(bytes, start) => separator,
        _ => return None,
    };
    let start = skip(open, br#"\"'`"#);
    let quoted = start > open;
    let stops: &[u8] = if quoted { b"\"'`\\" } else { b"\"'`\\,;&<>(){}[]$" };
    let run = bytes[start..].iter().take_while(|&&b| b > b' ' && b != 0x7f && !stops.contains(&b)).count();
    let value = &bytes[start..start + run];
    // Identifiers, calls, placeholders and prose are not secrets: `api_key=settings.api_key`, `password: required`.
    let named = value.iter().all(|&b| is_word(b) && !b.is_ascii_digit() || matches!(b, b'.' | b'-'));
    let called = !quoted && matches!(bytes.get(start + run), Some(b'(' | b'[' | b'{' | b'$' | b'<'));
    let marked = matches!(value.first(), Some(b'$' | b'<' | b'{' | b'*' | b'%')) || value.starts_with(b"[REDACTED:");
    if run < 8 || called || marked || (named && !quoted) {
        return None;
    }
    Some(Hit { rule: "assigned-secret", range: start..start + run })
}

/// Whether the word at `start` is, or ends, the name of a long option.
fn is_option(bytes: &[u8], start: usize) -> bool {
    let name = bytes[..start].iter().rev().take(32).take_while(|&&b| is_word(b) || b == b'-').count();
    // the word may begin with the second of the two marks itself
    let begin = &bytes[start - name..];
    begin.starts_with(b"--")
        && (start == name || bytes[start - name - 1] <= b' ' || matches!(bytes[start - name - 1], b'"' | b'\''))
}

/// `-u name:password`
fn user_password(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    if start > 0 && bytes[start - 1] > b' ' {
        return None;
    }
    let stops = b"\"'`\\";
    let open = end + bytes[end..].iter().take_while(|&&b| stops.contains(&b)).count();
    let run = bytes[open..].iter().take_while(|&&b| b > b' ' && !stops.contains(&b)).count();
    let value = &bytes[open..open + run];
    let colon = value.iter().position(|&b| b == b':')?;
    let password = &value[colon + 1..];
    let public = password.iter().all(u8::is_ascii_digit) || matches!(password.first(), Some(b'$' | b'<' | b'{'));
    let hit = password.len() >= 6 && !public && !password.starts_with(b"[REDACTED:");
    hit.then_some(Hit { rule: "assigned-secret", range: open + colon + 1..open + run })
}

fn query_value(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    // The name may be longer than the word: `?X-Amz-Signature=`, `&subscription-key=`.
    let name = bytes[..start].iter().rev().take(32).take_while(|&&b| is_word(b) || b == b'-').count();
    let before = start.checked_sub(name + 1)?;
    if !matches!(bytes[before], b'?' | b'&') {
        return None;
    }
    let run = bytes[end..]
        .iter()
        .take_while(|&&b| {
            b > b' ' && !matches!(b, b'&' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b')' | b']')
        })
        .count();
    let value = &bytes[end..end + run];
    let public = name > 0
        && [&b"page"[..], b"next", b"cursor", b"sort"]
            .iter()
            .any(|word| bytes[before + 1..start].to_ascii_lowercase().windows(word.len()).any(|w| &w == word));
    if run < 6 || public || value.starts_with(b"[REDACTED:") {
        return None;
    }
    Some(Hit { rule: "url-secret", range: end..end + run })
}

fn scheme_token(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    if start > 0 && is_word(bytes[start - 1]) {
        return None;
    }
    let run = bytes[end..].iter().take_while(|&&b| Run::Wide.holds(b) || b == b'~').count();
    let value = &bytes[end..end + run];
    let random = value.iter().any(u8::is_ascii_digit) || run >= 40;
    (run >= 16 && random).then_some(Hit { rule: "authorization", range: end..end + run })
}
