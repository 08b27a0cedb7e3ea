//! Which requests are recorded, told by their paths.
//!
//! Upstreams differ in what they make of a path: they decode it, drop slashes, ignore case. So a path that some upstream
//! may take for a recorded one, and that is not written as a recorded one is, goes nowhere: what it would bring back
//! would be a reply that nobody recorded.

use crate::trace::protocol::{PROTOCOLS, Protocol};

/// What becomes of a request.
pub(super) enum Route {
    /// Sent on and recorded.
    Recorded(&'static dyn Protocol),
    /// Sent on as it is.
    Passed,
    /// Like a recorded path, and not one.
    Alike(&'static dyn Protocol),
    /// A path that leaves its folder, or has characters that no path has.
    Wrong,
    /// Not below a prefix that stands for the base URL.
    Unknown,
}

/// What stands for the upstream's base URL, the second for clients of Gemini, which write it so.
const PREFIXES: [&str; 2] = ["/v1", "/v1beta"];

/// The path below the upstream's base URL, if it is one.
pub(super) fn below(path: &str) -> Option<&str> {
    PREFIXES.iter().filter_map(|prefix| path.strip_prefix(prefix)).find(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Looks up a path as it stands in the request.
pub(super) fn route(path: &str) -> Route {
    let Some(plain) = normalised(path) else { return Route::Wrong };
    let of = |path: &str| {
        let below = below(path)?;
        PROTOCOLS.iter().copied().find(|one| one.paths().iter().any(|pattern| matches(pattern, below)))
    };
    if let Some(protocol) = of(path).filter(|_| of(&plain).is_some()) {
        return Route::Recorded(protocol);
    }
    if let Some(protocol) = alike(&plain.to_ascii_lowercase()) {
        return Route::Alike(protocol);
    }
    if below(path).is_some() { Route::Passed } else { Route::Unknown }
}

/// The protocol whose path stands at the end of this one: alone, behind another `/v1`, or, where it has more than one
/// segment, behind anything.
fn alike(plain: &str) -> Option<&'static dyn Protocol> {
    let starts = || std::iter::once(0).chain(memchr::memchr_iter(b'/', plain.as_bytes()));
    let at_end = |pattern: &str| {
        let more = pattern.matches('/').count() > 1;
        starts().any(|at| {
            let (before, rest) = plain.split_at(at);
            let at_base = before.is_empty() || PREFIXES.iter().any(|prefix| before.ends_with(prefix));
            // the path is in small letters by now
            (at_base || more) && matches(&pattern.to_ascii_lowercase(), rest)
        })
    };
    PROTOCOLS.iter().copied().find(|one| one.paths().iter().any(|pattern| at_end(pattern)))
}

/// Whether a path is what a pattern says, in which `{}` stands for any text without a slash.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let Some((before, after)) = pattern.split_once("{}") else { return pattern == path };
    let Some(rest) = path.strip_prefix(before) else { return false };
    let end = rest.find('/').unwrap_or(rest.len());
    // the longest text first: a model's name may hold what follows it
    (1..=end).rev().filter(|at| rest.is_char_boundary(*at)).any(|at| matches(after, &rest[at..]))
}

/// The path as the most lenient upstream would read it: decoded however often it was encoded, with single slashes, without
/// parameters of segments and without a slash at its end. None where it leaves its folder.
fn normalised(path: &str) -> Option<String> {
    let mut text = path.to_owned();
    while memchr::memchr(b'%', text.as_bytes()).is_some() {
        let decoded = percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if decoded == text {
            break;
        }
        text = decoded;
    }
    if text.contains(char::is_control) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    for segment in text.split(['/', '\\']) {
        let segment = segment.split(';').next().unwrap_or_default().trim();
        if segment == "." || segment == ".." {
            return None;
        }
        if !segment.is_empty() {
            plain.push('/');
            plain.push_str(segment);
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(path: &str) -> String {
        match route(path) {
            Route::Recorded(protocol) => format!("recorded {}", protocol.name()),
            Route::Passed => "passed".to_owned(),
            Route::Alike(_) => "alike".to_owned(),
            Route::Wrong => "wrong".to_owned(),
            Route::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn patterns() {
        for (pattern, path, matched) in [
            ("/responses", "/responses", true),
            ("/responses", "/responses/", false),
            ("/models/{}:generateContent", "/models/gemini-3-pro:generateContent", true),
            ("/models/{}:generateContent", "/models/a:b:generateContent", true),
            ("/models/{}:generateContent", "/models/:generateContent", false),
            ("/models/{}:generateContent", "/models/a/b:generateContent", false),
            ("/models/{}:generateContent", "/models/a:generateContentX", false),
            ("/deployments/{}/chat/completions", "/deployments/é/chat/completions", true),
            ("/{}/{}/x", "/a/b/x", true),
            ("/{}", "/", false),
        ] {
            assert_eq!(matches(pattern, path), matched, "{pattern} {path}");
        }
    }

    #[test]
    fn paths_are_recorded_passed_or_refused() {
        for (path, want) in [
            ("/v1/chat/completions", "recorded openai_chat_completions"),
            ("/v1/responses", "recorded openai_responses"),
            ("/v1/messages", "recorded anthropic_messages"),
            ("/v1/openai/deployments/gpt%204/chat/completions", "recorded openai_chat_completions"),
            ("/v1", "passed"),
            ("/v1/models", "passed"),
            ("/v1/models/gemini:countTokens", "passed"),
            ("/v1/models/gemini:generateContent", "recorded gemini_generate_content"),
            ("/v1beta/models/gemini:streamGenerateContent", "recorded gemini_generate_content"),
            ("/v1beta/models/gemini", "passed"),
            ("/v1beta", "passed"),
            ("/v1beta1/models/gemini:generateContent", "alike"),
            (
                "/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
                "recorded gemini_generate_content",
            ),
            ("/v1beta/models/gemini:generatecontent", "alike"),
            ("/v1/models/gemini%3AgenerateContent", "alike"),
            ("/models/gemini:generateContent", "alike"),
            ("/v1/responses/resp_1", "passed"),
            ("/v1/responses/resp_1/cancel", "passed"),
            ("/v1/messages/count_tokens", "passed"),
            ("/v1/threads/thread_1/messages", "passed"),
            ("/v1/chat/completions/c1", "passed"),
            ("/v1/files/a%20b", "passed"),
            ("/v1x/models", "unknown"),
            ("/v1betax/models", "unknown"),
            ("/", "unknown"),
            // whatever an upstream may decode, drop or fold
            ("/v1/chat/complet%69ons", "alike"),
            ("/v1/chat%2Fcompletions", "alike"),
            ("/v1/chat%252Fcompletions", "alike"),
            ("/v1/chat/completions/", "alike"),
            ("/v1//chat/completions", "alike"),
            ("//v1/chat/completions", "alike"),
            ("/v1/chat\\completions", "alike"),
            ("/v1/chat/completions;v=1", "alike"),
            ("/v1/chat/completions%20", "alike"),
            ("/v1/Chat/Completions", "alike"),
            ("/V1/messages", "alike"),
            ("/v1/v1/messages", "alike"),
            ("/v1/proxy/chat/completions", "alike"),
            ("/v1/openai/deployments/a%2Fb/chat/completions", "alike"),
            ("/v1/%72esponses", "alike"),
            ("/responses", "alike"),
            ("/v1/../admin", "wrong"),
            ("/v1/%2e%2E/admin", "wrong"),
            ("/v1/%252e%252e/admin", "wrong"),
            ("/v1/a/.%2e", "wrong"),
            ("/v1/..;/admin", "wrong"),
            ("/v1/..\\admin", "wrong"),
            ("/v1/..%5cadmin", "wrong"),
            ("/v1/a%00b", "wrong"),
            ("/v1/a%0d%0ab", "wrong"),
        ] {
            assert_eq!(name(path), want, "{path}");
        }
    }
}
