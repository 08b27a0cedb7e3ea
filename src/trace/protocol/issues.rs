//! What a decoder could not read or found odd.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What a capture could not read, by code, with counts and names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Issues(BTreeMap<&'static str, (u64, BTreeSet<String>)>);

impl Issues {
    /// Marks `code` once more.
    pub fn add(&mut self, code: &'static str) {
        self.0.entry(code).or_default().0 += 1;
    }

    /// Marks `code` once more, naming what it is about. At most 32 names are kept.
    pub fn add_named(&mut self, code: &'static str, name: &str) {
        let (count, names) = self.0.entry(code).or_default();
        *count += 1;
        if names.len() < 32 {
            names.insert(name.chars().take(64).collect());
        }
    }

    /// Adds everything marked in `other`.
    pub fn merge(&mut self, other: Self) {
        for (code, (count, names)) in other.0 {
            let entry = self.0.entry(code).or_default();
            entry.0 += count;
            entry.1.extend(names);
        }
    }

    /// Whether `code` is marked.
    #[must_use]
    pub fn has(&self, code: &str) -> bool {
        self.0.contains_key(code)
    }

    /// Whether nothing is marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The codes, sorted.
    #[must_use]
    pub fn codes(&self) -> Value {
        self.0.keys().copied().collect()
    }

    /// Counts and names by code.
    #[must_use]
    pub fn details(&self) -> Value {
        let detail = |(code, (count, names)): (&&str, &(u64, BTreeSet<String>))| {
            let mut detail = json!({"count": count});
            if !names.is_empty() {
                detail["names"] = names.iter().map(String::as_str).collect();
            }
            ((*code).to_owned(), detail)
        };
        Value::Object(self.0.iter().map(detail).collect())
    }
}
