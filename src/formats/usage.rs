//! What a recording says of tokens and cost. Providers count differently; here one way of counting is made of them.

use crate::json::view::Value;

/// Tokens and cost of one request to a model, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens that the model read, those from a cache included.
    pub input: u64,
    /// Tokens of the input that came from a cache.
    pub cached: u64,
    /// Tokens that the model wrote, those of its reasoning included.
    pub output: u64,
    /// The cost in billionths of a dollar, where the recording says it.
    pub cost: Option<u64>,
}

/// Billionths of a dollar in one.
const BILLION: f64 = 1e9;

impl Usage {
    /// What an object says, by the names that providers and agents give to counts; none if it says nothing.
    pub(super) fn of(object: Value<'_>) -> Option<Usage> {
        if !object.is_object() {
            return None;
        }
        let count = |path: &[&str]| object.path(path).and_then(count_of);
        let first = |paths: &[&[&str]]| paths.iter().find_map(|path| count(path));
        // Anthropic counts what a cache gave, and what was put into one, beside the input
        let beside = [
            count(&["cache_read_input_tokens"]),
            count(&["cache_creation_input_tokens"]),
            count(&["cache", "read"]),
            count(&["cache", "write"]),
            count(&["input_tokens_cache_read"]),
            count(&["input_tokens_cache_write"]),
        ];
        let input = first(&[
            &["input_tokens"],
            &["prompt_tokens"],
            &["inputTokens"],
            &["promptTokens"],
            &["promptTokenCount"],
            &["input"],
            &["gen_ai.usage.input_tokens"],
            &["gen_ai.usage.prompt_tokens"],
            &["llm.token_count.prompt"],
        ]);
        let output = first(&[
            &["output_tokens"],
            &["completion_tokens"],
            &["outputTokens"],
            &["completionTokens"],
            &["candidatesTokenCount"],
            &["output"],
            &["gen_ai.usage.output_tokens"],
            &["gen_ai.usage.completion_tokens"],
            &["llm.token_count.completion"],
        ]);
        // Gemini and opencode count reasoning beside the output
        let thoughts = first(&[&["thoughts"], &["thoughtsTokenCount"], &["reasoning"]]);
        let cached = first(&[
            &["cache_read_input_tokens"],
            &["input_tokens_details", "cached_tokens"],
            &["prompt_tokens_details", "cached_tokens"],
            &["cached_input_tokens"],
            &["cached_tokens"],
            &["cached"],
            &["cachedContentTokenCount"],
            &["cache", "read"],
            &["cacheReadTokens"],
            &["cache_read_tokens"],
            &["input_tokens_cache_read"],
            &["llm.token_count.prompt_details.cache_read"],
        ]);
        let cost = ["cost_usd", "total_cost_usd", "total_cost", "totalCost", "cost", "llm.cost.total"]
            .iter()
            .find_map(|name| object.get(name).and_then(cost_of));
        let known = [input, output, thoughts, cached].iter().any(Option::is_some) || cost.is_some();
        let sum = |counts: &[Option<u64>]| counts.iter().flatten().fold(0_u64, |sum, count| sum.saturating_add(*count));
        known.then(|| Usage {
            input: sum(&[input]).saturating_add(sum(&beside)),
            cached: cached.unwrap_or(0),
            output: sum(&[output, thoughts]),
            cost,
        })
    }

    /// Takes in what another request used.
    pub fn add(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
    }

    /// Takes in a later or fuller word about the same request: counts only grow while a reply is written.
    pub(super) fn update(&mut self, other: Usage) {
        self.input = self.input.max(other.input);
        self.cached = self.cached.max(other.cached);
        self.output = self.output.max(other.output);
        self.cost = self.cost.max(other.cost);
    }

    /// Whether it says anything.
    #[must_use]
    pub fn is_known(&self) -> bool {
        *self != Usage::default()
    }
}

fn count_of(value: Value<'_>) -> Option<u64> {
    match value.as_str() {
        // attributes of spans may be texts
        Some(text) => text.parse().ok(),
        None => value.as_i64().and_then(|count| u64::try_from(count).ok()),
    }
}

fn cost_of(value: Value<'_>) -> Option<u64> {
    let text = value.as_str();
    let text = text.as_deref().or_else(|| std::str::from_utf8(value.text()).ok())?;
    let dollars: f64 = text.parse().ok()?;
    // more than any run costs is no cost
    if !(0.0..1e9).contains(&dollars) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below 2^60 and not negative by the line above"
    )]
    let billionths = (dollars * BILLION).round() as u64;
    Some(billionths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::view::only_value;

    fn of(text: &str) -> Option<(u64, u64, u64, Option<u64>)> {
        let usage = Usage::of(only_value(text.as_bytes()).unwrap())?;
        Some((usage.input, usage.cached, usage.output, usage.cost))
    }

    #[test]
    fn every_provider_is_counted_in_one_way() {
        for (text, expected) in [
            (
                r#"{"input_tokens":10,"cache_read_input_tokens":90,"cache_creation_input_tokens":5,"output_tokens":7}"#,
                (105, 90, 7, None),
            ),
            (
                r#"{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":90}}"#,
                (100, 90, 7, None),
            ),
            (
                r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":90},"output_tokens":7}"#,
                (100, 90, 7, None),
            ),
            (
                r#"{"input_tokens":100,"cached_input_tokens":90,"output_tokens":7,"reasoning_output_tokens":3}"#,
                (100, 90, 7, None),
            ),
            (r#"{"input":100,"output":7,"cached":90,"thoughts":3,"total":200}"#, (100, 90, 10, None)),
            (r#"{"input":10,"output":7,"reasoning":3,"cache":{"read":90,"write":5}}"#, (105, 90, 10, None)),
            (r#"{"total_cost_usd":0.25}"#, (0, 0, 0, Some(250_000_000))),
            (r#"{"prompt_tokens":1,"completion_tokens":2,"cost_usd":1e-9}"#, (1, 0, 2, Some(1))),
        ] {
            assert_eq!(of(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_count() {
        for text in [
            "[]",
            "null",
            "{}",
            r#"{"input_tokens":-1}"#,
            r#"{"input_tokens":1.5}"#,
            r#"{"cost":-1}"#,
            r#"{"cost":1e300}"#,
            r#"{"cost":"nan"}"#,
        ] {
            assert_eq!(of(text), None, "{text}");
        }
        let mut most = Usage { input: u64::MAX, ..Usage::default() };
        most.add(Usage { input: 1, cost: Some(1), ..Usage::default() });
        assert_eq!((most.input, most.cost), (u64::MAX, Some(1)));
    }
}
