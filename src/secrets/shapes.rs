//! The table of secrets that show by their own form: a literal that starts them, the characters that follow, how many.
//!
//! Two lengths stand for each. From the shorter one on, a text is taken out of a recording: a cut or a newer key must
//! not slip through. Only of the full length, and if the vendor's checksum holds where there is one, is it reported.

use super::checks::{crc_holds, entropy, is_random, is_varied};
use super::class::{Class, begins_word, is_word};
use super::examples::{is_example, is_published};
use super::found::{Certainty, Found, Kind};
use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

/// What is proven of a body of the full length.
type Proof = fn(&[u8]) -> Certainty;

enum Form {
    /// A run of characters, at least so many, and how many a whole one has.
    Run(Class, usize, RangeInclusive<usize>, Proof),
    JsonWebToken,
    PrivateKey,
    /// The password in `scheme://user:password@host`.
    UserInfo,
    /// The secret path of a web hook behind its host.
    Hook,
}

struct Shape {
    id: &'static str,
    literal: &'static str,
    form: Form,
}

const fn run(id: &'static str, literal: &'static str, class: Class, min: usize, full: RangeInclusive<usize>) -> Shape {
    proven(id, literal, class, min, full, random)
}

const fn proven(
    id: &'static str,
    literal: &'static str,
    class: Class,
    min: usize,
    full: RangeInclusive<usize>,
    proof: Proof,
) -> Shape {
    Shape { id, literal, form: Form::Run(class, min, full, proof) }
}

const fn form(id: &'static str, literal: &'static str, form: Form) -> Shape {
    Shape { id, literal, form }
}

/// Looked for to be taken out, never reported for itself.
const NEVER: RangeInclusive<usize> = usize::MAX..=usize::MAX;

/// Tried in order where several begin at one place.
const SHAPES: &[Shape] = &[
    proven("openai-key", "sk-proj-", Class::URL, 16, 40..=400, openai),
    proven("openai-key", "sk-svcacct-", Class::URL, 16, 40..=400, openai),
    proven("openai-key", "sk-admin-", Class::URL, 16, 40..=400, openai),
    proven("openai-key", "sk-None-", Class::URL, 16, 40..=400, openai),
    proven("anthropic-key", "sk-ant-", Class::URL, 16, 90..=140, anthropic),
    run("openrouter-key", "sk-or-v1-", Class::HEX, 20, 64..=64),
    run("openrouter-key", "sk-or-", Class::URL, 20, NEVER),
    run("langfuse-key", "sk-lf-", Class::URL, 16, 36..=36),
    run("langfuse-key", "pk-lf-", Class::URL, 16, NEVER),
    proven("openai-key", "sk-", Class::ALNUM, 24, 32..=64, openai),
    run("groq-key", "gsk_", Class::ALNUM, 24, 52..=52),
    run("xai-key", "xai-", Class::ALNUM, 32, 80..=80),
    run("hugging-face-token", "hf_", Class::ALNUM, 24, 34..=34),
    run("perplexity-key", "pplx-", Class::ALNUM, 32, 48..=56),
    run("nvidia-key", "nvapi-", Class::URL, 32, 60..=70),
    run("replicate-token", "r8_", Class::ALNUM, 30, 37..=37),
    run("langsmith-key", "lsv2_", Class::URL, 32, 40..=50),
    run("google-key", "AIza", Class::URL, 30, 35..=35),
    run("google-token", "ya29.", Class::URL, 20, 60..=2048),
    run("google-secret", "GOCSPX-", Class::URL, 20, 28..=28),
    proven("aws-key-id", "AKIA", Class::UPPER, 16, 16..=16, base32),
    proven("aws-key-id", "ASIA", Class::UPPER, 16, 16..=16, base32),
    proven("github-token", "ghp_", Class::ALNUM, 20, 36..=36, checksum),
    proven("github-token", "gho_", Class::ALNUM, 20, 36..=36, checksum),
    proven("github-token", "ghu_", Class::ALNUM, 20, 36..=36, checksum),
    proven("github-token", "ghs_", Class::ALNUM, 20, 36..=36, checksum),
    proven("github-token", "ghr_", Class::ALNUM, 20, 36..=76, checksum),
    proven("github-token", "github_pat_", Class::URL, 20, 82..=82, fine_grained),
    run("gitlab-token", "glpat-", Class::WIDE, 16, 20..=300),
    run("gitlab-token", "gldt-", Class::URL, 16, 20..=20),
    run("gitlab-token", "glrt-", Class::WIDE, 16, 20..=300),
    run("gitlab-token", "glptt-", Class::HEX, 20, 40..=40),
    proven("slack-token", "xoxa-", Class::URL, 10, 20..=255, slack),
    proven("slack-token", "xoxb-", Class::URL, 10, 20..=255, slack),
    proven("slack-token", "xoxe-", Class::URL, 10, 20..=255, slack),
    proven("slack-token", "xoxe.", Class::WIDE, 10, 40..=255, slack),
    proven("slack-token", "xoxo-", Class::URL, 10, 20..=255, slack),
    proven("slack-token", "xoxp-", Class::URL, 10, 20..=255, slack),
    proven("slack-token", "xoxr-", Class::URL, 10, 20..=255, slack),
    proven("slack-token", "xoxs-", Class::URL, 10, 20..=255, slack),
    proven("slack-token", "xapp-", Class::URL, 10, 40..=255, slack),
    form("webhook-url", "hooks.slack.com/", Form::Hook),
    form("webhook-url", "discord.com/api/webhooks/", Form::Hook),
    form("webhook-url", "discordapp.com/api/webhooks/", Form::Hook),
    form("webhook-url", ".webhook.office.com/", Form::Hook),
    proven("npm-token", "npm_", Class::ALNUM, 30, 36..=36, checksum),
    run("pypi-token", "pypi-AgE", Class::URL, 20, 60..=1024),
    run("stripe-key", "sk_live_", Class::ALNUM, 16, 24..=247),
    run("stripe-key", "rk_live_", Class::ALNUM, 16, 24..=247),
    run("stripe-test-key", "sk_test_", Class::ALNUM, 16, 24..=247),
    run("stripe-test-key", "rk_test_", Class::ALNUM, 16, 24..=247),
    run("stripe-webhook-secret", "whsec_", Class::WIDE, 24, 32..=64),
    run("sendgrid-key", "SG.", Class::WIDE, 40, 66..=66),
    run("vault-token", "hvs.", Class::URL, 20, 90..=200),
    run("vault-token", "hvb.", Class::URL, 20, 90..=300),
    run("digitalocean-token", "dop_v1_", Class::ALNUM, 32, 64..=64),
    run("digitalocean-token", "doo_v1_", Class::ALNUM, 32, 64..=64),
    run("shopify-token", "shpat_", Class::ALNUM, 24, 32..=32),
    run("shopify-token", "shpss_", Class::ALNUM, 24, 32..=32),
    run("shopify-token", "shpca_", Class::ALNUM, 24, 32..=32),
    run("linear-key", "lin_api_", Class::ALNUM, 24, 40..=40),
    run("databricks-token", "dapi", Class::HEX, 32, 32..=32),
    run("docker-token", "dckr_pat_", Class::URL, 20, 27..=32),
    run("doppler-token", "dp.pt.", Class::ALNUM, 32, 40..=44),
    run("figma-token", "figd_", Class::URL, 32, 40..=44),
    run("grafana-token", "glsa_", Class::URL, 32, 41..=41),
    run("grafana-token", "glc_", Class::WIDE, 32, 60..=400),
    run("new-relic-key", "NRAK-", Class::ALNUM, 20, 27..=27),
    run("notion-token", "ntn_", Class::ALNUM, 30, 46..=46),
    run("postman-key", "PMAK-", Class::URL, 40, 59..=59),
    run("rubygems-key", "rubygems_", Class::HEX, 40, 48..=48),
    run("sentry-token", "sntrys_", Class::WIDE, 40, 60..=400),
    run("sentry-token", "sntryu_", Class::HEX, 40, 64..=64),
    run("supabase-key", "sbp_", Class::HEX, 32, 40..=40),
    run("supabase-key", "sb_secret_", Class::URL, 20, 30..=50),
    run("tailscale-key", "tskey-", Class::URL, 24, 30..=80),
    run("atlassian-token", "ATATT3xFfGF0", Class::WIDE, 40, 170..=220),
    run("buildkite-token", "bkua_", Class::HEX, 32, 40..=40),
    run("age-key", "AGE-SECRET-KEY-1", Class::UPPER, 40, 58..=58),
    run("planetscale-token", "pscale_tkn_", Class::URL, 30, 40..=70),
    run("planetscale-token", "pscale_pw_", Class::URL, 30, 40..=70),
    run("azure-key", "AccountKey=", Class::WIDE, 20, 88..=88),
    run("azure-key", "SharedAccessKey=", Class::WIDE, 20, 44..=44),
    form("jwt", "eyJ", Form::JsonWebToken),
    form("private-key", "-----BEGIN ", Form::PrivateKey),
    form("url-password", "://", Form::UserInfo),
];

static LITERALS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let literals = SHAPES.iter().map(|shape| shape.literal);
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(literals).ok()
});

pub(super) fn may_hold(text: &[u8]) -> bool {
    LITERALS.as_ref().is_none_or(|literals| literals.is_match(text))
}

/// Whether every shape that is reported is a run of at least [`LEAST`] characters, or one of the two that hold others.
#[cfg(test)]
pub(super) fn are_long_runs() -> bool {
    SHAPES.iter().all(|shape| {
        let literal = shape.literal.as_bytes();
        let runs = Class::WIDE.run(literal) == literal.len();
        match &shape.form {
            Form::Run(_, _, full, _) => runs && (*full.start() == usize::MAX || literal.len() + full.start() >= LEAST),
            // their parts and marks are longer
            Form::JsonWebToken | Form::Hook => runs,
            Form::PrivateKey | Form::UserInfo => true,
        }
    })
}

/// The ids of all shapes.
#[cfg(test)]
pub(super) fn ids() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.id)
}

fn random(body: &[u8]) -> Certainty {
    let digits = body.iter().any(u8::is_ascii_digit);
    if is_varied(body) && digits { Certainty::Likely } else { Certainty::Possible }
}

fn checksum(body: &[u8]) -> Certainty {
    if crc_holds(body) { Certainty::Certain } else { Certainty::Possible }
}

fn openai(body: &[u8]) -> Certainty {
    // the name of the vendor, which stands in the middle of every key of the last years
    if memchr::memmem::find(body, b"T3BlbkFJ").is_some() {
        Certainty::Certain
    } else if is_random(body) {
        Certainty::Likely
    } else {
        Certainty::Possible
    }
}

fn anthropic(body: &[u8]) -> Certainty {
    let kinds: [&[u8]; 5] = [b"api", b"admin", b"oat", b"ort", b"sid"];
    if kinds.iter().any(|kind| body.starts_with(kind)) { random(body) } else { Certainty::Possible }
}

fn base32(body: &[u8]) -> Certainty {
    let alphabet = body.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'));
    if alphabet && entropy(body) >= 2.5 { Certainty::Likely } else { Certainty::Possible }
}

/// 22 characters, a mark, 59 characters.
fn fine_grained(body: &[u8]) -> Certainty {
    let parts: Vec<&[u8]> = body.split(|byte| !byte.is_ascii_alphanumeric()).collect();
    if matches!(&parts[..], [first, second] if first.len() == 22 && second.len() == 59) {
        random(body)
    } else {
        Certainty::Possible
    }
}

/// Numbers of the workspace stand in every token.
fn slack(body: &[u8]) -> Certainty {
    let digits = body.split(|byte| *byte == b'-').any(|part| part.len() >= 9 && part.iter().all(u8::is_ascii_digit));
    if digits { random(body) } else { Certainty::Possible }
}

/// No shape that stands as one run of characters is reported if it is shorter.
const LEAST: usize = 20;

/// Appends those that are worth reporting, in a fraction of the time: most of a large text is gone over in leaps.
pub(super) fn find_whole(text: &[u8], out: &mut Vec<Found>) {
    let mut scan = Scan::of(text);
    // two forms hold characters of all kinds
    for shape in SHAPES {
        let part = match shape.form {
            Form::UserInfo => shape.literal.as_bytes(),
            Form::PrivateKey => b"PRIVATE KEY",
            _ => continue,
        };
        if memchr::memmem::find(text, part).is_some() {
            for start in memchr::memmem::find_iter(text, shape.literal) {
                if let Some((range, certainty, kind)) = scan.check(shape, start) {
                    out.push(Found { id: shape.id, kind, range: range.0..range.1, certainty });
                }
            }
        }
    }
    Class::WIDE.long_runs(text, LEAST, |stretch| scan.find(stretch, 0, out));
}

/// One look through a text. What was found to run far is not gone through again.
pub(super) struct Scan<'t> {
    text: &'t [u8],
    /// For each part of a web token the stretch that its alphabet fills: where it was entered, where it ends.
    filled: [(usize, usize); 3],
    /// The next end of a key block, if it was looked for: from where, and what was found.
    block_end: Option<(usize, Option<usize>)>,
}

/// Appends the secrets that show by their form.
pub(super) fn find(text: &[u8], base: usize, out: &mut Vec<Found>) {
    Scan::of(text).find(0..text.len(), base, out);
}

type Hit = ((usize, usize), Certainty, Kind);

impl<'t> Scan<'t> {
    fn of(text: &'t [u8]) -> Scan<'t> {
        Scan { text, filled: [(0, 0); 3], block_end: None }
    }

    /// Appends the secrets whose literals stand in a stretch.
    fn find(&mut self, stretch: Range<usize>, base: usize, out: &mut Vec<Found>) {
        let Some(literals) = LITERALS.as_ref() else { return };
        let text = self.text;
        let mut at = stretch.start;
        while let Some(found) = text.get(at..stretch.end).and_then(|rest| literals.find(rest)) {
            let start = at + found.start();
            at = start + 1;
            let first = found.pattern().as_usize();
            // another shape may begin with the same letters
            for shape in SHAPES[first..].iter().filter(|shape| text[start..].starts_with(shape.literal.as_bytes())) {
                if let Some((range, certainty, kind)) = self.check(shape, start) {
                    at = range.1.max(at);
                    out.push(Found { id: shape.id, kind, range: base + range.0..base + range.1, certainty });
                    break;
                }
            }
        }
    }

    fn check(&mut self, shape: &Shape, start: usize) -> Option<Hit> {
        let text = self.text;
        let end = start + shape.literal.len();
        match &shape.form {
            Form::Run(class, min, full, proof) => {
                let bounded = begins_word(text, start);
                // within a word only what has a checksum counts, and that is short
                let reach = if bounded { text.len() } else { text.len().min(end + 100) };
                let length = class.run(&text[end..reach]);
                // web addresses, dots and marks at the end belong to the sentence
                let tail = text[end..end + length].iter().rev().take_while(|b| matches!(b, b'.' | b'/')).count();
                let length = length - tail;
                let body = &text[end..end + length];
                if length < *min {
                    return None;
                }
                let whole = full.contains(&length) && !text.get(end + length).is_some_and(|&next| is_word(next));
                let mut certainty = if whole { proof(body) } else { Certainty::Possible };
                if !bounded && certainty != Certainty::Certain {
                    return None;
                }
                if is_published(body) || certainty != Certainty::Certain && is_example(body) {
                    certainty = Certainty::Possible;
                }
                // a name is no part of its value
                let start = if shape.literal.ends_with('=') { end } else { start };
                Some(((start, end + length), certainty, Kind::Token))
            }
            Form::JsonWebToken => self.json_web_token(start),
            Form::PrivateKey => self.private_key(start, end),
            Form::UserInfo => user_info(text, end),
            Form::Hook => hook(text, end),
        }
    }

    fn filled_until(&mut self, part: usize, at: usize) -> usize {
        let filled = &mut self.filled[part];
        if at < filled.0 || at >= filled.1 {
            *filled = (at, at + Class::URL.run(&self.text[at..]));
        }
        filled.1
    }

    fn json_web_token(&mut self, start: usize) -> Option<Hit> {
        let text = self.text;
        if !begins_word(text, start) {
            return None;
        }
        let mut parts = [(0, 0); 3];
        let mut stop = start;
        for (number, part) in parts.iter_mut().enumerate() {
            if number > 0 {
                if text.get(stop) != Some(&b'.') {
                    return None;
                }
                stop += 1;
            }
            let from = stop;
            stop = self.filled_until(number, from);
            // The signature may have been cut off; the claims are enough to be careful with.
            if stop - from < 8 && number < 2 {
                return None;
            }
            *part = (from, stop);
        }
        let [header, claims, signature] = parts.map(|(from, to)| &text[from..to]);
        let certainty = if signature.len() >= 40 && signs(header) && !is_public(claims) && is_random(signature) {
            Certainty::Likely
        } else {
            Certainty::Possible
        };
        Some(((start, stop), certainty, Kind::Token))
    }

    fn private_key(&mut self, start: usize, end: usize) -> Option<Hit> {
        let text = self.text;
        let head = &text[end..text.len().min(end + 70)];
        let label = &head[..memchr::memmem::find(head, b"-----")?];
        memchr::memmem::find(label, b"PRIVATE KEY")?;
        let open = end + label.len() + 5;
        let (stop, closed) = match self.next_end(open) {
            Some(at) => {
                let behind = &text[at + 9..text.len().min(at + 90)];
                (at + 9 + memchr::memmem::find(behind, b"-----").map_or(behind.len(), |more| more + 5), true)
            }
            // Without its end, everything that follows may be key, as far as it can be one.
            None => (open + key_run(&text[open..]), false),
        };
        let body: Vec<u8> = text[open..stop].iter().copied().filter(u8::is_ascii_alphanumeric).take(4096).collect();
        let real =
            closed && body.len() >= 100 && entropy(&body) > 4.0 && !is_example(&body) && !holds_dots(&text[open..stop]);
        let certainty = if real { Certainty::Certain } else { Certainty::Possible };
        Some(((start, stop), certainty, Kind::PrivateKey))
    }

    /// Where the next end of a block begins, if what lies between can be a key.
    fn next_end(&mut self, from: usize) -> Option<usize> {
        let known = match self.block_end {
            Some((since, found)) if since <= from && found.is_none_or(|at| at >= from) => found,
            _ => {
                let found = memchr::memmem::find(&self.text[from..], b"-----END ").map(|at| from + at);
                self.block_end = Some((from, found));
                found
            }
        };
        known.filter(|at| at - from <= 64 << 10)
    }
}

fn holds_dots(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"...").is_some() || memchr::memmem::find(text, "…".as_bytes()).is_some()
}

/// How far a text can be the inside of a key block.
fn key_run(text: &[u8]) -> usize {
    let inside = |byte: u8| Class::WIDE.holds(byte) || byte <= b' ' || matches!(byte, b'\\' | b':' | b',');
    text.iter().position(|&byte| !inside(byte)).unwrap_or(text.len())
}

/// Whether a web token's header says that it is signed.
fn signs(header: &[u8]) -> bool {
    let text = super::checks::base64(header).unwrap_or_default();
    text.starts_with(b"{")
        && memchr::memmem::find(&text, b"\"alg\"").is_some()
        && memchr::memmem::find(&text, b"none").is_none()
}

/// Whether a web token's claims say that it is for everybody, or only an example.
fn is_public(claims: &[u8]) -> bool {
    let text = super::checks::base64(claims).unwrap_or_default().to_ascii_lowercase();
    let words: [&[u8]; 8] =
        [b"\"anon\"", b"john doe", b"1234567890", b"example", b"\"test", b"jane doe", b"localhost", b"supabase-demo"];
    !text.starts_with(b"{") || words.iter().any(|word| memchr::memmem::find(&text, word).is_some())
}

fn user_info(text: &[u8], end: usize) -> Option<Hit> {
    let rest = &text[end..];
    let stops = |&b: &u8| matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\') || b <= b' ';
    let authority = &rest[..rest.iter().position(stops).unwrap_or(rest.len())];
    let at = memchr::memrchr(b'@', authority)?;
    let (user_info, host) = (&authority[..at], &authority[at + 1..]);
    let colon = memchr::memchr(b':', user_info)?;
    let (user, password) = (&user_info[..colon], &user_info[colon + 1..]);
    if password.len() < 2 {
        return None;
    }
    let host = &host[..memchr::memchr(b':', host).unwrap_or(host.len())];
    let known = is_ordinary(user, password) || is_near(host) || super::examples::is_hole(password);
    let certainty = if known { Certainty::Possible } else { Certainty::Likely };
    Some(((end + colon + 1, end + at), certainty, Kind::Url))
}

/// A password that keeps nobody out.
fn is_ordinary(user: &[u8], password: &[u8]) -> bool {
    let lower = password.to_ascii_lowercase();
    let words: [&[u8]; 13] = [
        b"password",
        b"postgres",
        b"root",
        b"admin",
        b"user",
        b"pass",
        b"test",
        b"guest",
        b"pwd",
        b"token",
        b"x-oauth-basic",
        b"mysql",
        b"dev",
    ];
    lower == user.to_ascii_lowercase()
        || words.contains(&&lower[..])
        || password.len() < 6
        || is_example(password)
        || memchr::memchr3(b'{', b'$', b'%', password).is_some_and(|at| at + 1 < password.len() && password[at] != b'%')
}

/// A host that only this machine, or this group of containers, knows.
fn is_near(host: &[u8]) -> bool {
    let lower = host.to_ascii_lowercase();
    !lower.contains(&b'.')
        || lower.starts_with(b"127.")
        || lower == b"0.0.0.0"
        || [
            &b".local"[..],
            b".localhost",
            b"docker.internal",
            b".test",
            b".invalid",
            b".example",
            b"example.com",
            b"example.org",
            b"example.net",
        ]
        .iter()
        .any(|end| lower.ends_with(end))
}

fn hook(text: &[u8], end: usize) -> Option<Hit> {
    let length = Class::WIDE.run(&text[end..text.len().min(end + 300)]);
    let path = &text[end..end + length];
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if length < 20 || last.len() < 8 {
        return None;
    }
    let real = last.len() >= 20 && is_random(last) && !is_example(path);
    Some(((end, end + length), if real { Certainty::Likely } else { Certainty::Possible }, Kind::Url))
}
