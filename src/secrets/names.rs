//! Which names say that their value is a secret.

use std::sync::LazyLock;

/// Names longer than this are none.
pub(super) const LONGEST: usize = 128;

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// It is a secret.
    Secret,
    /// It may be one, if it looks like one: `GH_TOKEN`, but also `next_page_token`.
    Perhaps,
}

/// Whether the value of a field of this name is secret, whatever it looks like.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    // Most names are none; folding every one would cost more than all the rest.
    name.len() <= LONGEST && may_be_secret(name.as_bytes()) && is_secret_folded(&fold(name))
}

/// Whether a field of this name holds a token if its value looks like one: `token`, `GH_TOKEN`, never `next_page_token`.
#[must_use]
pub fn is_token_name(name: &str) -> bool {
    naming(name.as_bytes()) == Some(Naming::Perhaps)
}

/// What a name that text assigns to says.
pub(super) fn naming(name: &[u8]) -> Option<Naming> {
    if name.len() > LONGEST || !may_be_secret(name) {
        return None;
    }
    let folded = fold(&String::from_utf8_lossy(name));
    if is_secret_folded(&folded) {
        return Some(Naming::Secret);
    }
    let mut parts = folded.split('_');
    // `PASS: TestX` is no name at all
    let ends =
        matches!(folded.rsplit('_').next(), Some("token")) || folded.ends_with("_pass") || folded.ends_with("_auth");
    let perhaps =
        ends && !parts.any(|part| matches!(part, "page" | "next" | "cursor" | "sync" | "continuation" | "pagination"));
    perhaps.then_some(Naming::Perhaps)
}

/// `X-Api-Key`, `xApiKey` and `x.api_key` are one name: `x_api_key`.
#[must_use]
pub fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len() + 4);
    let mut previous_lower = false;
    for c in name.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && previous_lower {
                folded.push('_');
            }
            previous_lower = c.is_lowercase() || c.is_numeric();
            folded.extend(c.to_lowercase());
        } else {
            if !folded.ends_with('_') && !folded.is_empty() {
                folded.push('_');
            }
            previous_lower = false;
        }
    }
    folded.truncate(folded.trim_end_matches('_').len());
    folded
}

/// Runs of whole segments that make a name secret wherever they stand in it; sorted, of at most three segments.
const SECRET: &[&str] = &[
    "access_key",
    "access_token",
    "account_key",
    "api_key",
    "apikey",
    "auth_token",
    "authorization",
    "bearer",
    "bearer_token",
    "connect_sid",
    "connection_string",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "csrf",
    "csrf_token",
    "dsn",
    "encryption_key",
    "id_token",
    "master_key",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pgpassword",
    "private_key",
    "pwd",
    "refresh_token",
    "secret",
    "secret_key",
    "secrets",
    "security_token",
    "session_token",
    "sessionid",
    "signing_key",
    "xsrf_token",
];

/// Last segments that say the value is about a secret and is none.
const ABOUT: &[&str] = &[
    "count", "cost", "limit", "budget", "length", "policy", "required", "enabled", "type", "expires", "expiry", "at",
    "in", "name", "url", "uri", "hint", "field", "id", "file", "path", "dir", "env", "ref", "arn", "version",
    "manager",
];

/// Names of several words that people write as one, or as more.
const SPELLINGS: &[&str] = &["pass_word", "pass_words", "pass_phrase", "pass_wd"];

/// Parts of which every secret name has one.
const PARTS: &[&str] =
    &["auth", "key", "token", "cookie", "pass", "pwd", "secret", "bearer", "cred", "connect", "dsn", "csrf", "session"];

static FINDER: LazyLock<Option<aho_corasick::AhoCorasick>> =
    LazyLock::new(|| aho_corasick::AhoCorasick::builder().ascii_case_insensitive(true).build(PARTS).ok());

/// Whether a text may hold a secret name. Letters beyond ASCII may fold into one.
pub(super) fn may_be_secret(text: &[u8]) -> bool {
    FINDER.as_ref().is_none_or(|finder| finder.is_match(text)) || !text.is_ascii() && text.len() <= LONGEST
}

fn is_secret_folded(folded: &str) -> bool {
    let last = folded.rsplit('_').next().unwrap_or_default();
    if ABOUT.contains(&last) {
        return false;
    }
    // Every run of one to three segments, as a slice of the name.
    let starts = std::iter::once(0).chain(folded.match_indices('_').map(|(at, _)| at + 1));
    SPELLINGS.contains(&folded)
        || starts.into_iter().any(|start| {
            let ends = folded[start..].match_indices('_').map(|(at, _)| start + at).chain([folded.len()]);
            ends.take(3).any(|end| SECRET.binary_search(&&folded[start..end]).is_ok())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_name_has_one_of_the_parts() {
        assert!(SECRET.is_sorted() && SECRET.iter().all(|name| name.split('_').count() <= 3));
        for name in SECRET {
            assert!(
                is_secret_name(name)
                    && is_secret_name(&format!("my_{name}_here"))
                    && !is_secret_name(&format!("x{name}"))
                    || *name == "password",
                "{name}"
            );
            // With and without what separates its words: `api_key`, `apiKey`.
            assert!(may_be_secret(name.as_bytes()) && may_be_secret(name.to_uppercase().as_bytes()), "{name}");
        }
        assert!(SECRET.contains(&"xsrf_token") && !may_be_secret(b"content") && !may_be_secret(b"role"));
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "max_tokens",
            "prompt_tokens",
            "sort_key",
            "primary_key",
            "cache_key",
            "public_key",
            "session_id",
            "author",
            "password_policy",
            "secret_name",
            "api_key_id",
            "token_count",
            "key",
            "keyboard",
            "signature",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "DJANGO_SECRET_KEY",
            "AccountKey",
            "PGPASSWORD",
            "X-Api-Key",
            "_authToken",
            "PassWord",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        assert_eq!(naming(b"GH_TOKEN"), Some(Naming::Perhaps));
        assert_eq!(naming(b"--auth-token"), Some(Naming::Secret));
        assert_eq!(naming(b"max_tokens_used"), None);
    }
}
