//! The kinds of secrets by name: in marks, in findings and suppressions, in words.

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
