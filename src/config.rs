//! `toolreplay.toml`: what a project wants audited and how.
//!
//! Reading a file and finding it is the binary's business; this module knows its shape.

use crate::call::Effect;
use crate::finding::Level;
use crate::rules;
use crate::tools::{Pointer, ToolTraits, Traits};
use crate::trace::clock::civil;
use serde::Deserialize;
use std::fmt;

/// The file's name.
pub const FILE_NAME: &str = "toolreplay.toml";

/// The settings of a project. Paths are relative to the file's folder; the command line wins over every key.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[schemars(title = "toolreplay.toml")]
pub struct Config {
    /// Files, folders and globs to audit when the command line names none.
    pub paths: Vec<String>,
    /// The scope file.
    pub scope: Option<String>,
    /// The home folder of whoever ran the agent, an absolute path: what `~` stands for in the scope and in calls. Without
    /// it `~` is known to be `~` alone.
    pub home: Option<String>,
    /// The file of keys whose signatures on sealed transcripts count.
    pub trust: Option<String>,
    /// Demand of every sealed transcript that a trusted key signed it.
    pub require_signature: Option<bool>,
    /// Tools that change state, besides the default ones.
    pub mutators: Vec<String>,
    /// The rules to judge by, or patterns of theirs such as `dangerous-call/force-push`; without any, all.
    pub select: Vec<String>,
    /// Rules, or patterns of theirs, that are turned off.
    pub ignore: Vec<String>,
    /// Globs of files and folders that a search of folders leaves out; `**` spans folders.
    pub exclude: Vec<String>,
    /// The lowest level that fails a run.
    pub fail_on: Option<Level>,
    /// The lowest level that is shown; what is not shown counts all the same.
    pub min_level: Option<Level>,
    /// Reports to write, each `FORMAT` or `FORMAT=PATH`.
    pub reports: Vec<String>,
    /// Let a run pass that found nothing to audit.
    pub allow_empty: Option<bool>,
    /// What looks like a recording and was not read is an error, and what is passed over is named.
    pub strict: Option<bool>,
    /// The longest line that is read, such as `100M`. A limit can be lowered here, and raised on the command line alone.
    pub max_line: Option<String>,
    /// The longest JSON document that is read.
    pub max_document: Option<String>,
    /// How much all compressed files together may unpack to.
    pub max_unpacked: Option<String>,
    /// Findings that are known and accepted.
    pub suppressions: Vec<Suppression>,
    /// Recordings of which a part may be missing.
    pub allow_loss: Vec<AllowLoss>,
    /// What is known of tools, by name or glob; of several that fit a tool the later ones win.
    #[schemars(with = "std::collections::BTreeMap<String, Tool>")]
    pub tools: Tools,
    /// What takes no part in comparisons, whatever the tool.
    pub compare: Compare,
    /// The file of known findings and coverage that `--write-baseline` wrote.
    pub baseline: Option<String>,
}

/// What is known of tools, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tools(pub Vec<(String, Tool)>);

/// What is known of one tool, or of all whose names fit a glob.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Tool {
    /// What its calls do to the state that other calls see.
    pub effect: Option<ToolEffect>,
    /// It asks how far something is: an answer that changed is what it is for.
    pub poll: Option<bool>,
    /// Its answers are expected to differ: a clock, a random source, a network.
    pub varies: bool,
    /// JSON Pointers to arguments that make no difference; `*` is one name, `**` any number of them.
    #[schemars(with = "Vec<String>")]
    pub ignore_args: Vec<PointerText>,
    /// JSON Pointers to parts of a response that make no difference.
    #[schemars(with = "Vec<String>")]
    pub ignore_response: Vec<PointerText>,
}

/// What a tool's calls do to the state that other calls see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolEffect {
    /// They change nothing.
    ReadOnly,
    /// They change state.
    Mutates,
    /// They change the agent's own plan or notes alone.
    Session,
    /// Nobody knows: they may change anything.
    Unknown,
}

/// What takes no part in comparisons.
#[derive(Debug, Clone, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Compare {
    /// JSON Pointers to arguments that make no difference, in every tool.
    #[schemars(with = "Vec<String>")]
    pub ignore_args: Vec<PointerText>,
    /// JSON Pointers to parts of responses that make no difference, in every tool.
    #[schemars(with = "Vec<String>")]
    pub ignore_response: Vec<PointerText>,
    /// Leave out the fields that `toolreplay explain non-determinism` lists: clocks and ids of requests.
    pub defaults: bool,
}

impl Default for Compare {
    fn default() -> Compare {
        Compare { ignore_args: Vec::new(), ignore_response: Vec::new(), defaults: true }
    }
}

/// A JSON Pointer, which may have wildcards.
#[derive(Debug, Clone, PartialEq)]
pub struct PointerText(Pointer);

impl<'de> Deserialize<'de> for PointerText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PointerText, D::Error> {
        use serde::de::Error as _;
        let text = String::deserialize(deserializer)?;
        Pointer::parse(&text)
            .map(PointerText)
            .ok_or_else(|| D::Error::custom("expected a JSON Pointer such as \"/meta/request_id\" or \"/**/took\""))
    }
}

impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Tools, D::Error> {
        struct InOrder;
        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = Tools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table for each tool")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Tools, A::Error> {
                use serde::de::Error as _;
                let mut tools = Vec::new();
                while let Some((name, tool)) = map.next_entry::<String, Tool>()? {
                    if let Err(error) = glob::Pattern::new(&name) {
                        return Err(A::Error::custom(format!("the name of a tool is no valid glob: {error}")));
                    }
                    tools.push((name, tool));
                }
                Ok(Tools(tools))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Config {
    /// What is known of tools, for the rules.
    #[must_use]
    pub fn traits(&self) -> Traits {
        let pointers = |all: &[PointerText]| all.iter().map(|pointer| pointer.0.clone()).collect::<Vec<_>>();
        let tools = self.tools.0.iter().filter_map(|(name, tool)| {
            let effect = tool.effect.map(|effect| match effect {
                ToolEffect::ReadOnly => Effect::ReadOnly,
                ToolEffect::Mutates => Effect::Mutates,
                ToolEffect::Session => Effect::Session,
                ToolEffect::Unknown => Effect::Unknown,
            });
            let traits = ToolTraits {
                effect,
                poll: tool.poll,
                varies: tool.varies,
                ignore_args: pointers(&tool.ignore_args),
                ignore_response: pointers(&tool.ignore_response),
            };
            // the configuration was refused if this is none
            glob::Pattern::new(name).ok().map(|pattern| (pattern, traits))
        });
        let (args, response) = (pointers(&self.compare.ignore_args), pointers(&self.compare.ignore_response));
        Traits::new(tools.collect(), args, response, self.compare.defaults)
    }
}

/// Findings that are known and accepted. All selectors given must fit; there must be at least one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Suppression {
    /// The rule's id.
    #[serde(default)]
    pub rule: Option<String>,
    /// A glob over the transcript's path from the root of the repository; `**` spans folders.
    #[serde(default)]
    pub path: Option<String>,
    /// The tool's name.
    #[serde(default)]
    pub tool: Option<String>,
    /// The finding's fingerprint, as JSON and SARIF reports show it.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// Why the findings are accepted.
    pub reason: String,
    /// The last day (YYYY-MM-DD, UTC) on which the suppression holds.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Date>,
}

/// Recordings that are accepted although a part of them cannot be read, or a result has no call. What they lack is counted
/// all the same.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AllowLoss {
    /// A glob over the recording's path from the root of the repository; `**` spans folders.
    pub path: String,
    /// Why the loss is accepted.
    pub reason: String,
    /// The last day (YYYY-MM-DD, UTC) on which it is.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Date>,
}

impl AllowLoss {
    /// What makes the entry unusable.
    fn fault(&self) -> Option<String> {
        if self.reason.trim().is_empty() {
            return Some("an entry of 'allow-loss' needs a reason".to_owned());
        }
        path_glob(&self.path).err().map(|error| format!("'path' is no valid glob: {error}"))
    }

    /// Whether it is in force.
    #[must_use]
    pub fn holds(&self, today: Option<Date>) -> bool {
        self.expires.zip(today).is_none_or(|(expires, today)| today <= expires)
    }

    /// The glob. The configuration was refused if there is none.
    #[must_use]
    pub fn pattern(&self) -> Option<glob::Pattern> {
        path_glob(&self.path).ok()
    }
}

/// A glob over paths as they are written from the root of the repository.
fn path_glob(path: &str) -> Result<glob::Pattern, glob::PatternError> {
    glob::Pattern::new(path.strip_prefix("./").unwrap_or(path))
}

/// A day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// The year.
    pub year: u16,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
}

impl Date {
    /// The day that is `days` days after 1970-01-01, by the Gregorian calendar.
    #[must_use]
    pub fn from_unix_days(days: u64) -> Date {
        let (year, month, day) = civil(i64::try_from(days).unwrap_or(0));
        Date { year: year as u16, month, day }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        use serde::de::Error as _;
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Toml(toml::value::Datetime),
            Text(String),
        }
        let date = match Written::deserialize(deserializer)? {
            Written::Toml(datetime) => Some(datetime),
            Written::Text(text) => text.parse::<toml::value::Datetime>().ok(),
        };
        match date {
            Some(toml::value::Datetime { date: Some(date), time: None, offset: None }) => {
                Ok(Date { year: date.year, month: date.month, day: date.day })
            }
            _ => Err(D::Error::custom("expected a date such as 2030-12-31")),
        }
    }
}

/// Why a configuration file is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: column {column}: {what}")]
pub struct ConfigError {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
}

impl Config {
    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// TOML that is none, unknown keys, values of a wrong type, suppressions that would suppress everything or name a
    /// rule that does not exist: with the line.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text).map_err(|error| {
            let what = error.message().lines().collect::<Vec<_>>().join("; ");
            ConfigError::at(text, error.span().map_or(0, |span| span.start), what)
        })?;
        if config.home.as_deref().is_some_and(|home| !crate::scope::is_absolute(home)) {
            return Err(ConfigError::at(text, key_offset(text, "home"), "'home' must be an absolute path".to_owned()));
        }
        if let Err(what) = rules::selection(&config.select, &config.ignore) {
            let key = if config.ignore.is_empty() { "select" } else { "ignore" };
            return Err(ConfigError::at(text, key_offset(text, key), what));
        }
        for glob in &config.exclude {
            if let Err(error) = glob::Pattern::new(glob) {
                let what = format!("'{glob}' is no valid glob: {error}");
                return Err(ConfigError::at(text, key_offset(text, "exclude"), what));
            }
        }
        for (place, suppression) in config.suppressions.iter().enumerate() {
            if let Some(what) = suppression.fault() {
                return Err(ConfigError::at(text, header_offset(text, "[[suppressions]]", place), what));
            }
        }
        for (place, entry) in config.allow_loss.iter().enumerate() {
            if let Some(what) = entry.fault() {
                return Err(ConfigError::at(text, header_offset(text, "[[allow-loss]]", place), what));
            }
        }
        Ok(config)
    }
}

impl ConfigError {
    fn at(text: &str, offset: usize, what: String) -> ConfigError {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        ConfigError { line, column, what }
    }
}

/// Where a key of the whole stands.
fn key_offset(text: &str, key: &str) -> usize {
    let is_key =
        |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    let before: usize = text.split_inclusive('\n').take_while(|line| !is_key(line)).map(str::len).sum();
    if before < text.len() { before } else { 0 }
}

/// Where the header of an entry stands.
fn header_offset(text: &str, header: &str, place: usize) -> usize {
    text.match_indices(header).nth(place).map_or(0, |(offset, _)| offset)
}

impl Suppression {
    /// What makes the suppression unusable.
    fn fault(&self) -> Option<String> {
        let known = || rules::RULES.map(|rule| rule.id).join(", ");
        let selectors = [&self.rule, &self.path, &self.tool, &self.fingerprint];
        if selectors.iter().all(|selector| selector.is_none()) {
            return Some("a suppression needs at least one of rule, path, tool and fingerprint".to_owned());
        }
        if self.reason.trim().is_empty() {
            return Some("a suppression needs a reason".to_owned());
        }
        if let Some(Err(error)) = self.path.as_deref().map(glob::Pattern::new) {
            return Some(format!("'path' is no valid glob: {error}"));
        }
        match self.rule.as_deref() {
            Some(id) if rules::rule(id).is_none() && rules::pattern(id).is_none() => {
                Some(format!("no rule is called '{id}'; there are {}", known()))
            }
            Some(id) if rules::rule(id).is_some_and(|rule| !rule.suppressible) => {
                Some(format!("'{id}' cannot be suppressed: take the file out of the paths instead"))
            }
            Some(id) if id == rules::POLICY_CHANGED.id => {
                Some(format!("'{id}' cannot be suppressed: a policy must not hide that it was changed"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file_is_read() {
        let config = Config::parse(
            "paths = [\"runs\"]\nscope = \"scope.json\"\nmutators = [\"deploy\"]\nfail-on = \"error\"\nmin-level = \"note\"\n\
             reports = [\"sarif=a.sarif\"]\nallow-empty = true\n[[suppressions]]\nrule = \"redundant-call\"\nreason = \"polling\"\n\
             expires = 2030-01-31\n[[suppressions]]\ntool = \"x\"\nreason = \"r\"\nexpires = \"2030-02-28\"\n",
        )
        .unwrap();
        assert_eq!(config.fail_on, Some(Level::Error));
        assert_eq!(config.suppressions[0].expires.unwrap().to_string(), "2030-01-31");
        assert_eq!(config.suppressions[1].expires.unwrap().to_string(), "2030-02-28");
    }

    #[test]
    fn what_is_known_of_tools_is_read_in_order() {
        let config = Config::parse(
            "[tools.\"mcp__db__*\"]\neffect = \"read-only\"\nignore-response = [\"/took\"]\n[tools.\"mcp__db__drop\"]\n\
             effect = \"mutates\"\npoll = false\nvaries = true\n[compare]\nignore-args = [\"/**/nonce\"]\ndefaults = false\n",
        )
        .unwrap();
        let traits = config.traits();
        assert_eq!(traits.of("mcp__db__list").effect, Some(Effect::ReadOnly));
        assert_eq!(traits.of("mcp__db__drop").effect, Some(Effect::Mutates));
        assert!(traits.of("mcp__db__drop").varies && !traits.of("mcp__db__list").varies);
    }

    #[test]
    fn days_become_dates() {
        for (days, date) in [(0, "1970-01-01"), (11_016, "2000-02-29"), (19_782, "2024-02-29"), (20_787, "2026-11-30")]
        {
            assert_eq!(Date::from_unix_days(days).to_string(), date);
        }
    }

    #[test]
    fn faults_are_shown_with_their_line() {
        for (text, line, what) in [
            ("paths = []\nfail_on = \"error\"\n", 2, "unknown field `fail_on`"),
            ("fail-on = \"fatal\"\n", 1, "unknown variant `fatal`"),
            ("x", 1, "="),
            ("paths = []\nhome = \"u\"\n", 2, "absolute path"),
            ("[tools.Bash]\neffect = \"reads\"\n", 2, "unknown variant `reads`"),
            ("[tools.Bash]\nignore-args = [\"took\"]\n", 2, "expected a JSON Pointer"),
            ("\nselect = [\"no-such-rule\"]\n", 2, "no rule is called 'no-such-rule'"),
            ("ignore = [\"broken-link\"]\n", 1, "cannot be turned off"),
            ("\nexclude = [\"[\"]\n", 2, "no valid glob"),
            ("\n[tools.\"[\"]\npoll = true\n", 2, "no valid glob"),
            ("[compare]\nignore = []\n", 2, "unknown field `ignore`"),
            ("\n[[suppressions]]\nreason = \"r\"\n", 2, "at least one of"),
            ("\n[[suppressions]]\nrule = \"redundant-call\"\nreason = \" \"\n", 2, "needs a reason"),
            ("[[suppressions]]\nrule = \"redundant-call\"\n", 1, "missing field `reason`"),
            ("[[suppressions]]\nrule = \"redundant\"\nreason = \"r\"\n", 1, "no rule is called 'redundant'"),
            ("[[suppressions]]\nrule = \"malformed-transcript\"\nreason = \"r\"\n", 1, "cannot be suppressed"),
            ("[[suppressions]]\nrule = \"policy-changed\"\nreason = \"r\"\n", 1, "cannot be suppressed"),
            ("[[suppressions]]\ntool = \"t\"\nreason = \"r\"\nexpires = 2030-01-01T00:00:00Z\n", 4, "expected a date"),
            ("\n[[allow-loss]]\npath = \"a\"\nreason = \"\"\n", 2, "needs a reason"),
            ("[[allow-loss]]\npath = \"[\"\nreason = \"r\"\n", 1, "no valid glob"),
            ("[[allow-loss]]\nreason = \"r\"\n", 1, "missing field `path`"),
            ("allow-loss = true\n", 1, "invalid type"),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.line == line && error.what.contains(what), "{text}: {error}");
        }
    }
}
