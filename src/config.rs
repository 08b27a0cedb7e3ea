//! `toolreplay.toml`: what a project wants audited and how.
//!
//! Reading a file and finding it is the binary's business; this module knows its shape.

use crate::finding::Level;
use crate::rules;
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
    /// The file of keys whose signatures on sealed transcripts count.
    pub trust: Option<String>,
    /// Demand of every sealed transcript that a trusted key signed it.
    pub require_signature: Option<bool>,
    /// Tools that change state, besides the default ones.
    pub mutators: Vec<String>,
    /// The lowest level that fails a run.
    pub fail_on: Option<Level>,
    /// The lowest level that is shown; what is not shown counts all the same.
    pub min_level: Option<Level>,
    /// Reports to write, each `FORMAT` or `FORMAT=PATH`.
    pub reports: Vec<String>,
    /// Let a run pass that found nothing to audit.
    pub allow_empty: Option<bool>,
    /// Findings that are known and accepted.
    pub suppressions: Vec<Suppression>,
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
        for (place, suppression) in config.suppressions.iter().enumerate() {
            if let Some(what) = suppression.fault() {
                return Err(ConfigError::at(text, suppression_offset(text, place), what));
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

/// Where the header of a suppression stands.
fn suppression_offset(text: &str, place: usize) -> usize {
    text.match_indices("[[suppressions]]").nth(place).map_or(0, |(offset, _)| offset)
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
            ("\n[[suppressions]]\nreason = \"r\"\n", 2, "at least one of"),
            ("\n[[suppressions]]\nrule = \"redundant-call\"\nreason = \" \"\n", 2, "needs a reason"),
            ("[[suppressions]]\nrule = \"redundant-call\"\n", 1, "missing field `reason`"),
            ("[[suppressions]]\nrule = \"redundant\"\nreason = \"r\"\n", 1, "no rule is called 'redundant'"),
            ("[[suppressions]]\nrule = \"malformed-transcript\"\nreason = \"r\"\n", 1, "cannot be suppressed"),
            ("[[suppressions]]\nrule = \"policy-changed\"\nreason = \"r\"\n", 1, "cannot be suppressed"),
            ("[[suppressions]]\ntool = \"t\"\nreason = \"r\"\nexpires = 2030-01-01T00:00:00Z\n", 4, "expected a date"),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.line == line && error.what.contains(what), "{text}: {error}");
        }
    }
}
