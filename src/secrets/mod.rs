//! What secrets look like, in one place: for the recorder, which takes them out, for the rule that reports them, and
//! for `redact`, which masks them in a recording.
//!
//! A secret shows by its own form (`shapes`), by what stands before it (`assigned`), or by the name of the member that
//! holds it (`fields`). All of it works on any bytes, in time that grows with their length alone, and gives stretches,
//! never copies: nothing here prints a secret. Not searched: base64 content of images and files.

mod assigned;
mod checks;
mod class;
mod examples;
mod fields;
mod mask;
mod names;
mod recording;
mod shapes;
mod view;

pub use mask::{Masker, is_mark};
pub use names::{fold, is_secret_name, is_token_name};
pub use recording::{Changes, RedactError, redact};

use crate::json::view::only_value;
use std::hash::BuildHasher as _;
use std::ops::Range;

/// How many times text inside text is opened.
const LEVELS: u8 = 3;

/// How sure it is that a stretch is a secret. Whoever writes a recording takes all of them out; only what is at least
/// likely is worth telling a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It may be one: short, cut, of no whole form, an example, an ordinary word.
    Possible,
    /// It has the form, the length and the randomness of one.
    Likely,
    /// A checksum or a structure proves it.
    Certain,
}

/// What tells a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A token of a vendor's form.
    Token,
    /// The block of a private key.
    PrivateKey,
    /// A part of an address.
    Url,
    /// A name, a header or an option before it.
    Assigned,
    /// The name of the member that holds it.
    Field,
    /// The same, and it stands there without quotes.
    Bare,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Which shape: `github-token`.
    pub id: &'static str,
    /// What told it.
    pub kind: Kind,
    /// Where it stands.
    pub range: Range<usize>,
    /// How sure that is.
    pub certainty: Certainty,
    /// How many levels of escapes are to be undone to read it.
    pub level: u8,
}

/// The same within one level.
struct Found {
    id: &'static str,
    kind: Kind,
    range: Range<usize>,
    certainty: Certainty,
}

/// Finds secrets; what it looks for beside the table is fixed when it is made.
#[derive(Default)]
pub struct Finder {
    known: Option<aho_corasick::AhoCorasick>,
    fields: std::collections::BTreeSet<String>,
}

impl std::fmt::Debug for Finder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.known.as_ref().map_or(0, aho_corasick::AhoCorasick::patterns_len);
        f.debug_struct("Finder").field("known", &known).field("fields", &self.fields).finish()
    }
}

impl Finder {
    /// A finder that also knows these literal secrets and these names of fields.
    pub fn new<F: AsRef<str>>(known: impl IntoIterator<Item = Vec<u8>>, fields: impl IntoIterator<Item = F>) -> Finder {
        let known: Vec<Vec<u8>> = known.into_iter().filter(|secret| !secret.is_empty()).collect();
        let kind = aho_corasick::MatchKind::LeftmostLongest;
        let build = || aho_corasick::AhoCorasick::builder().match_kind(kind).build(&known).ok();
        Finder {
            known: if known.is_empty() { None } else { build() },
            fields: fields.into_iter().map(|field| fold(field.as_ref())).collect(),
        }
    }

    /// Whether the value of a field of this name is secret.
    #[must_use]
    pub fn is_secret_field(&self, name: &str) -> bool {
        is_secret_name(name) || self.is_own(name)
    }

    fn is_own(&self, name: &str) -> bool {
        !self.fields.is_empty() && name.len() <= names::LONGEST && self.fields.contains(&fold(name))
    }

    /// The secrets in a text, in order, none within another.
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Vec<Match> {
        let mut out = Vec::new();
        self.levels(text, LEVELS, &mut out);
        united(out)
    }

    /// The secrets in a line of JSON, or in a whole document: no match reaches beyond the string that holds it.
    #[must_use]
    pub fn find_in_json(&self, text: &[u8]) -> Vec<Match> {
        let mut out = Vec::new();
        self.strings(text, LEVELS, &mut out);
        united(out)
    }

    fn strings(&self, text: &[u8], deeper: u8, out: &mut Vec<Match>) {
        let mut found = Vec::new();
        self.fields_in(text, &mut found);
        out.extend(found.into_iter().map(|found| found.at_level(0)));
        let mut at = 0;
        while let Some(open) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
            let start = at + open + 1;
            let end = crate::json::string_end(text, start).min(text.len());
            let content = &text[start..end];
            at = end + 1;
            if content.len() < SHORTEST {
                continue;
            }
            let from = out.len();
            match view::unescaped(content) {
                Some(inner) => {
                    self.levels(&inner.text, deeper, out);
                    for one in &mut out[from..] {
                        one.range = inner.origin(&one.range);
                    }
                }
                None => self.levels(content, 0, out),
            }
            for one in &mut out[from..] {
                one.range = one.range.start + start..one.range.end + start;
                one.level += 1;
            }
        }
    }

    fn levels(&self, text: &[u8], deeper: u8, out: &mut Vec<Match>) {
        // what is JSON as a whole is read as such, and stays JSON
        if deeper > 0 && text.trim_ascii_start().starts_with(b"{") && only_value(text).is_ok() {
            return self.strings(text, deeper - 1, out);
        }
        let mut found = Vec::new();
        self.fields_in(text, &mut found);
        // a mark is a border: nothing is read across it
        let mut at = 0;
        for mark in mask::marks(text).chain(std::iter::once(text.len()..text.len())) {
            if mark.start > at {
                self.stretch(&text[at..mark.start], at, &mut found);
            }
            at = mark.end;
        }
        out.extend(found.into_iter().map(|found| found.at_level(0)));
        if deeper > 0
            && let Some(inner) = view::unescaped(text)
        {
            let from = out.len();
            self.levels(&inner.text, deeper - 1, out);
            for one in &mut out[from..] {
                one.range = inner.origin(&one.range);
                one.level += 1;
            }
        }
    }

    fn fields_in(&self, text: &[u8], found: &mut Vec<Found>) {
        if memchr::memchr(b'"', text).is_some() {
            let own = |name: &str| self.is_own(name);
            fields::find(text, (!self.fields.is_empty()).then_some(&own), found);
        }
    }

    fn stretch(&self, text: &[u8], base: usize, found: &mut Vec<Found>) {
        if let Some(known) = &self.known {
            found.extend(known.find_iter(text).map(|hit| Found {
                id: "known-secret",
                kind: Kind::Token,
                range: base + hit.start()..base + hit.end(),
                certainty: Certainty::Certain,
            }));
        }
        shapes::find(text, base, found);
        assigned::find(text, base, found);
    }
}

/// No secret is shorter.
const SHORTEST: usize = 4;

impl Found {
    fn at_level(self, level: u8) -> Match {
        Match { id: self.id, kind: self.kind, range: self.range, certainty: self.certainty, level }
    }
}

/// Whether an option's argument is a secret: by its name, by what stood before it, by what it is.
#[must_use]
pub fn takes_secret(option: &[u8], before: &[u8], value: &[u8]) -> bool {
    fields::takes_secret(option, before, value)
}

/// Whether the value of a field that is called `token` is a token: models write their words into such fields as well.
#[must_use]
pub fn is_token(value: &str) -> bool {
    fields::is_token(value.as_bytes())
}

/// Secrets that vendors' forms tell and that are worth reporting, in a text that holds no escapes worth undoing: what a
/// rule asks of large texts.
#[must_use]
pub fn find_likely(text: &[u8]) -> Vec<Match> {
    let mut found = Vec::new();
    shapes::find_whole(text, &mut found);
    found.retain(|found| found.certainty >= Certainty::Likely);
    if found.is_empty() {
        return Vec::new();
    }
    united(found.into_iter().map(|found| found.at_level(0)).collect())
}

/// Secrets that vendors' forms tell, in a text that holds no escapes worth undoing.
#[must_use]
pub fn find_shapes(text: &[u8]) -> Vec<Match> {
    let mut found = Vec::new();
    shapes::find(text, 0, &mut found);
    united(found.into_iter().map(|found| found.at_level(0)).collect())
}

/// In order; of those that overlap one that covers them all, named after the surest.
fn united(mut all: Vec<Match>) -> Vec<Match> {
    all.retain(|one| !one.range.is_empty());
    all.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end), one.level));
    let mut out: Vec<Match> = Vec::with_capacity(all.len());
    for one in all {
        match out.last_mut() {
            Some(last) if one.range.start < last.range.end => {
                let end = last.range.end.max(one.range.end);
                // who made a key knows best whether it is one
                if one.kind == Kind::Assigned && last.kind == Kind::Token {
                    last.range.end = end;
                    continue;
                }
                if one.kind == Kind::Token && last.kind == Kind::Assigned {
                    *last = Match { range: last.range.start..end, ..one };
                    continue;
                }
                if one.certainty > last.certainty {
                    let bare = last.kind == Kind::Bare;
                    *last = Match { range: last.range.start..end, ..one };
                    if bare {
                        last.kind = Kind::Bare;
                    }
                } else {
                    last.range.end = end;
                }
            }
            _ => out.push(one),
        }
    }
    out
}

/// A number that stands for a secret, `level` levels of escapes deep, and the place where it is: the same for the same
/// secret there, in this run and in memory alone.
#[must_use]
pub fn number(secret: &[u8], level: u8, place: &str) -> u64 {
    static KEY: std::sync::LazyLock<std::hash::RandomState> = std::sync::LazyLock::new(Default::default);
    // what stands in a recording is a string at least
    KEY.hash_one((view::peeled(secret, level.max(1)), place))
}

/// The text with its secrets replaced by marks; what is no secret stays byte for byte.
pub fn masked(text: &[u8], matches: &[Match], masker: &Masker, out: &mut Vec<u8>) {
    let mut at = 0;
    for one in matches {
        let (Some(before), Some(secret)) = (text.get(at..one.range.start), text.get(one.range.clone())) else {
            continue;
        };
        out.extend_from_slice(before);
        // the value of a member has its own escapes
        let level = one.level + u8::from(one.kind == Kind::Field);
        let mark = masker.mark(one.id, &view::peeled(secret, level));
        if one.kind == Kind::Bare {
            // a number becomes a string, as deep as it stands
            let quote = (0..one.level).fold(b"\"".to_vec(), |quote, _| {
                quote
                    .iter()
                    .flat_map(|&byte| if matches!(byte, b'"' | b'\\') { vec![b'\\', byte] } else { vec![byte] })
                    .collect()
            });
            out.extend_from_slice(&quote);
            out.extend_from_slice(mark.as_bytes());
            out.extend_from_slice(&quote);
        } else {
            out.extend_from_slice(mark.as_bytes());
        }
        at = one.range.end;
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
}

/// Whether a text may hold anything that [`Finder::find`] finds: cheap, and most often not.
#[must_use]
pub fn may_hold(text: &[u8]) -> bool {
    assigned::may_hold(text) || shapes::may_hold(text)
}

/// A text that is to be shown, without its secrets.
#[must_use]
pub fn hidden(text: &str) -> std::borrow::Cow<'_, str> {
    let found = Finder::default().find(text.as_bytes());
    if found.is_empty() {
        return text.into();
    }
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for one in found {
        out.push_str(text.get(at..one.range.start).unwrap_or_default());
        out.push_str("***");
        at = one.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out.into()
}

/// What a shape is, in words: `a GitHub token`.
#[must_use]
pub fn describe(id: &str) -> &'static str {
    NAMED.iter().find(|known| known.id == id).map_or("a secret", |known| known.words)
}

/// A kind of secret.
#[derive(Debug)]
pub struct Named {
    /// As marks name it.
    pub id: &'static str,
    /// As findings and suppressions name it.
    pub rule: &'static str,
    /// In words.
    pub words: &'static str,
}

const fn named(id: &'static str, rule: &'static str, words: &'static str) -> Named {
    Named { id, rule, words }
}

/// Every kind, sorted by its id.
pub const NAMED: &[Named] = &[
    named("age-key", "secret-exposed/age-key", "an age secret key"),
    named("anthropic-key", "secret-exposed/anthropic-key", "an Anthropic key"),
    named("assigned-secret", "secret-exposed/assigned-secret", "a value that its name calls a secret"),
    named("atlassian-token", "secret-exposed/atlassian-token", "an Atlassian token"),
    named("authorization", "secret-exposed/authorization", "a credential of an Authorization header"),
    named("aws-key-id", "secret-exposed/aws-key-id", "an AWS access key id"),
    named("azure-key", "secret-exposed/azure-key", "an Azure account key"),
    named("buildkite-token", "secret-exposed/buildkite-token", "a Buildkite token"),
    named("cookie", "secret-exposed/cookie", "cookies"),
    named("databricks-token", "secret-exposed/databricks-token", "a Databricks token"),
    named("digitalocean-token", "secret-exposed/digitalocean-token", "a DigitalOcean token"),
    named("docker-token", "secret-exposed/docker-token", "a Docker token"),
    named("doppler-token", "secret-exposed/doppler-token", "a Doppler token"),
    named("field", "secret-exposed/field", "a value that its field calls a secret"),
    named("figma-token", "secret-exposed/figma-token", "a Figma token"),
    named("github-token", "secret-exposed/github-token", "a GitHub token"),
    named("gitlab-token", "secret-exposed/gitlab-token", "a GitLab token"),
    named("google-key", "secret-exposed/google-key", "a Google API key"),
    named("google-secret", "secret-exposed/google-secret", "a Google client secret"),
    named("google-token", "secret-exposed/google-token", "a Google access token"),
    named("grafana-token", "secret-exposed/grafana-token", "a Grafana token"),
    named("groq-key", "secret-exposed/groq-key", "a Groq key"),
    named("hugging-face-token", "secret-exposed/hugging-face-token", "a Hugging Face token"),
    named("jwt", "secret-exposed/jwt", "a JSON Web Token"),
    named("known-secret", "secret-exposed/known-secret", "a secret that was named"),
    named("langfuse-key", "secret-exposed/langfuse-key", "a Langfuse key"),
    named("langsmith-key", "secret-exposed/langsmith-key", "a LangSmith key"),
    named("linear-key", "secret-exposed/linear-key", "a Linear key"),
    named("new-relic-key", "secret-exposed/new-relic-key", "a New Relic key"),
    named("notion-token", "secret-exposed/notion-token", "a Notion token"),
    named("npm-token", "secret-exposed/npm-token", "an npm token"),
    named("nvidia-key", "secret-exposed/nvidia-key", "an NVIDIA key"),
    named("openai-key", "secret-exposed/openai-key", "an OpenAI key"),
    named("openrouter-key", "secret-exposed/openrouter-key", "an OpenRouter key"),
    named("perplexity-key", "secret-exposed/perplexity-key", "a Perplexity key"),
    named("planetscale-token", "secret-exposed/planetscale-token", "a PlanetScale token"),
    named("postman-key", "secret-exposed/postman-key", "a Postman key"),
    named("private-key", "secret-exposed/private-key", "a private key"),
    named("pypi-token", "secret-exposed/pypi-token", "a PyPI token"),
    named("replicate-token", "secret-exposed/replicate-token", "a Replicate token"),
    named("rubygems-key", "secret-exposed/rubygems-key", "a RubyGems key"),
    named("sendgrid-key", "secret-exposed/sendgrid-key", "a SendGrid key"),
    named("sentry-token", "secret-exposed/sentry-token", "a Sentry token"),
    named("shopify-token", "secret-exposed/shopify-token", "a Shopify token"),
    named("slack-token", "secret-exposed/slack-token", "a Slack token"),
    named("stripe-key", "secret-exposed/stripe-key", "a Stripe live key"),
    named("stripe-test-key", "secret-exposed/stripe-test-key", "a Stripe test key"),
    named("stripe-webhook-secret", "secret-exposed/stripe-webhook-secret", "a Stripe web hook secret"),
    named("supabase-key", "secret-exposed/supabase-key", "a Supabase key"),
    named("tailscale-key", "secret-exposed/tailscale-key", "a Tailscale key"),
    named("url-password", "secret-exposed/url-password", "a password in a URL"),
    named("url-secret", "secret-exposed/url-secret", "a secret parameter of a URL"),
    named("vault-token", "secret-exposed/vault-token", "a Vault token"),
    named("webhook-url", "secret-exposed/webhook-url", "the secret path of a web hook"),
    named("xai-key", "secret-exposed/xai-key", "an xAI key"),
];

#[cfg(test)]
mod tests;
