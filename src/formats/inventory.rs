//! Which tools recordings hold, what is assumed of each, and why: what somebody who configures an audit wants to see.

use super::effect::{Doing, Profile};
use super::servers;
use super::verdict::Imported;
use super::{marks, native, vendors};
use crate::call::Effect;
use crate::engine::Ruleset;
use crate::json::decode_lossless;
use crate::json::view;
use crate::transcript::{Layout, ReadError, Records};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Who says what a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// `toolreplay.toml`.
    Configuration,
    /// It is one of the mutators.
    Mutator,
    /// The list of the agent's own tools.
    Agent,
    /// The arguments of each call, by the agent's list.
    Arguments,
    /// The list of servers that many people use.
    Server,
    /// The annotation that the server itself gave.
    Annotation,
    /// Nobody.
    Nobody,
}

impl Why {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Why::Configuration => "the configuration says so",
            Why::Mutator => "it is one of the mutators",
            Why::Agent => "a tool of the agent that is known",
            Why::Arguments => "by the arguments of each call",
            Why::Server => "a server that is known",
            Why::Annotation => "the server's own annotation",
            Why::Nobody => "nobody described it",
        }
    }
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSeen {
    /// Its calls.
    pub calls: u64,
    /// How many of them are assumed to have which effect, by the effect's name.
    pub effects: BTreeMap<&'static str, u64>,
    /// How many of them ask how far something is.
    pub polls: u64,
    /// Whether its answers are expected to differ.
    pub varies: bool,
    /// Who says so.
    pub why: Option<Why>,
}

/// The tools of recordings, by name.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// By the tool's name.
    pub tools: BTreeMap<String, ToolSeen>,
}

impl Inventory {
    fn add(&mut self, ruleset: &Ruleset, profile: &Profile, literal: &[u8], args: &[u8], said: Option<Effect>) {
        let name = decode_lossless(literal);
        let value = view::only_value(args).ok();
        let known = ruleset.traits.of(&name);
        let Doing { effect: judged, poll, varies } = profile.judge(&name, value);
        let mutator = ruleset.mutators.contains(literal);
        let (effect, why) = match (known.effect, said) {
            (Some(effect), _) => (effect, Why::Configuration),
            (None, _) if mutator => (Effect::Mutates, Why::Mutator),
            (None, Some(effect)) if effect != judged => (effect, Why::Annotation),
            (None, _) if profile.is_by_args(&name) => (judged, Why::Arguments),
            (None, _) if profile.knows(&name) => (judged, Why::Agent),
            (None, _) if servers::effect(&name).is_some() => (judged, Why::Server),
            (None, _) => (judged, Why::Nobody),
        };
        let varies = known.varies || varies;
        let seen = self.tools.entry(name).or_default();
        seen.calls += 1;
        *seen.effects.entry(effect.name()).or_default() += 1;
        seen.polls += u64::from(known.poll.unwrap_or(poll));
        seen.varies |= varies;
        seen.why = seen.why.max(Some(why));
    }

    /// Adds the tools of a recording that was read to be written.
    ///
    /// # Errors
    /// A temporary file that cannot be read.
    pub fn add_recording(&mut self, imported: &mut Imported, ruleset: &Ruleset) -> io::Result<()> {
        let mut args = Vec::new();
        for place in &imported.order {
            let pair = &imported.pairing.pairs[*place as usize];
            let (handle, tool, profile, effect) = (pair.args, pair.tool, pair.profile, pair.effect);
            imported.pairing.store.get(handle, &mut args)?;
            let literal = imported.pairing.tools[tool as usize].clone();
            self.add(ruleset, profile, &literal, &args, Some(effect));
        }
        Ok(())
    }

    /// Adds the tools of a transcript.
    ///
    /// # Errors
    /// The first line that is no record, or a failed read.
    pub fn add_transcript(&mut self, source: impl Read, layout: Layout, ruleset: &Ruleset) -> Result<(), ReadError> {
        let mut records = Records::new(source, layout);
        while let Some(record) = records.next_record()? {
            let (args, response) = (record.args().to_vec(), record.response().to_vec());
            let marks = marks::split(&response).map(|(marks, _)| marks);
            let profile = native::profile_of(marks.as_ref().and_then(|marks| marks.format.as_deref()));
            let said = marks.and_then(|marks| marks.effect);
            self.add(ruleset, profile, &record.tool().to_vec(), &args, said);
        }
        Ok(())
    }
}

/// What is built in, for `toolreplay explain`: the servers that are known, and the agents.
pub fn built_in() -> (Vec<&'static str>, Vec<(&'static str, String)>) {
    let agents = vendors::PROFILES.iter().map(|profile| (profile.name, profile.summary())).collect();
    (servers::names().collect(), agents)
}
