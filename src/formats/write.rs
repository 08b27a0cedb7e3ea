//! The records of an imported recording, and the side report that says of each where it came from.

use super::effect::{Profile, UNKNOWN};
use super::event::{Flags, Location};
use super::known;
use super::marks::{MEMBER, Marks};
use super::ordering::Agents;
use super::pairing::Thread;
use super::verdict::Imported;
use crate::json::view;
use crate::json::{self, Scratch, decode_lossless};
use crate::rules::MAIN_AGENT;
use crate::sanitize::InertJson;
use crate::trace::clock::civil;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::collections::HashMap;
use std::io::{self, Write};

/// The version of the side report's shape.
const SCHEMA_VERSION: u32 = 1;

/// One agent's part of a recording, for `--agents separate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The agent's name, empty for the main one, and which conversation it is where there are several.
    pub name: String,
    places: Vec<u32>,
}

impl Imported {
    /// The transcripts that the recording makes: one, or with [`Agents::Separate`] one an agent and conversation.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        if self.agents != Agents::Separate {
            return vec![Part { name: String::new(), places: self.order.clone() }];
        }
        let several = self.conversations() > 1;
        let mut parts: Vec<((u32, u32), Part)> = Vec::new();
        for place in &self.order {
            let pair = &self.pairing.pairs[*place as usize];
            let key = (pair.scope, pair.thread);
            match parts.last_mut() {
                Some((last, part)) if *last == key => part.places.push(*place),
                _ => {
                    let agent = &self.pairing.threads[pair.thread as usize].name;
                    let name = match several {
                        true if agent.is_empty() => pair.scope.to_string(),
                        true => format!("{}-{agent}", pair.scope),
                        false => agent.clone(),
                    };
                    parts.push((key, Part { name, places: vec![*place] }));
                }
            }
        }
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// How many conversations, connections or runs the calls belong to.
    #[must_use]
    pub fn conversations(&self) -> usize {
        let mut scopes: Vec<u32> = self.order.iter().map(|place| self.pairing.pairs[*place as usize].scope).collect();
        scopes.dedup();
        scopes.len()
    }

    /// Writes one part as a transcript. Only a recording that was read to be written has its answers.
    ///
    /// # Errors
    /// What `out` or a temporary file says.
    pub fn write(&mut self, part: &Part, out: &mut dyn Write) -> io::Result<()> {
        let (mut args, mut response) = (Vec::new(), Vec::new());
        let several = self.conversations() > 1;
        let (mut told, mut turns) = (HashMap::new(), HashMap::new());
        let mut of_turn: HashMap<u64, u32> = HashMap::new();
        for place in &part.places {
            *of_turn.entry(self.pairing.pairs[*place as usize].turn).or_default() += 1;
        }
        for (index, place) in part.places.iter().enumerate() {
            let pair = self.pairing.pairs[*place as usize].clone();
            self.pairing.store.get(pair.args, &mut args)?;
            self.pairing.store.get(pair.body, &mut response)?;
            let tool = &self.pairing.tools[pair.tool as usize];
            let Thread { name: agent, besides } = &self.pairing.threads[pair.thread as usize];
            let before = told.insert((pair.scope, pair.thread), (pair.epoch, pair.words)).unwrap_or_default();
            let next = turns.len() as u64 + 1;
            let at_once = pair.turn != 0 && of_turn.get(&pair.turn).is_some_and(|calls| *calls > 1);
            let by_name = pair.profile.judge(&decode_lossless(tool), view::only_value(&args).ok()).effect;
            let marks = Marks {
                format: Some(tools_of(pair.profile, self.format).to_owned()),
                state: pair.mark,
                failed: pair.flags.has(Flags::FAILED),
                no_effect: pair.flags.has(Flags::NO_EFFECT),
                unobserved: pair.flags.has(Flags::UNOBSERVED),
                redacted: pair.flags.has(Flags::REDACTED),
                args_unknown: pair.flags.has(Flags::ARGS_UNKNOWN),
                more_results: self.pairing.more.get(place).cloned().unwrap_or_default(),
                effect: (by_name != pair.effect).then_some(pair.effect),
                agent: (!agent.is_empty()).then(|| agent.clone()),
                agents: if besides[..] == [MAIN_AGENT] { Vec::new() } else { besides.clone() },
                conversation: if several { pair.scope + 1 } else { 0 },
                turn: if at_once { *turns.entry(pair.turn).or_insert(next) } else { 0 },
                compacted: before.0 != pair.epoch,
                spoken: before.1 != pair.words,
                cwd: pair.cwd.as_deref().map(str::to_owned),
            };
            response = marked(&response, &marks.write());
            write!(out, "{{\"index\":{index},\"tool\":")?;
            out.write_all(&self.pairing.tools[pair.tool as usize])?;
            out.write_all(b",\"args\":")?;
            out.write_all(&args)?;
            out.write_all(b",\"response\":")?;
            out.write_all(&response)?;
            out.write_all(b"}\n")?;
        }
        Ok(())
    }

    /// Writes the side report.
    ///
    /// # Errors
    /// What `out` or a temporary file says.
    pub fn write_report(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut records = Vec::new();
        let several = self.agents == Agents::Separate;
        for part in self.parts() {
            for (index, place) in part.places.iter().enumerate() {
                let pair = self.pairing.pairs[*place as usize].clone();
                let mut id = Vec::new();
                self.pairing.store.get(pair.id, &mut id)?;
                let mut flags: Vec<String> = pair.mark.iter().map(|mark| mark.status().to_owned()).collect();
                flags.extend(pair.flags.names().map(str::to_owned));
                if pair.flags.has(Flags::ANSWERED) && pair.body.is_empty() {
                    flags.push("empty_result".to_owned());
                }
                let thread = &self.pairing.threads[pair.thread as usize].name;
                records.push(JsonRecord {
                    part: several.then(|| part.name.clone()),
                    index: index as u64,
                    call_id: (!id.is_empty()).then(|| String::from_utf8_lossy(&id).into_owned()),
                    tool: decode_lossless(&self.pairing.tools[pair.tool as usize]),
                    time: pair.time.map(shown_time),
                    place: self.json_place(pair.at),
                    thread: (!thread.is_empty()).then(|| thread.clone()),
                    flags,
                });
            }
        }
        let balance = &self.balance;
        let report = JsonSideReport {
            schema_version: SCHEMA_VERSION,
            balanced: balance.holds(),
            calls: JsonCalls {
                r#in: balance.calls_in,
                records: balance.records,
                copies_dropped: balance.call_copies,
                excluded: balance.excluded,
            },
            results: JsonResults {
                r#in: balance.results_in,
                attached: balance.attached,
                copies_dropped: balance.result_copies,
                orphans: balance.orphans,
            },
            warnings: self
                .warnings
                .iter()
                .map(|warning| JsonWarning {
                    code: warning.code.name(),
                    class: Some(warning.class.name().to_owned()).filter(|class| !class.is_empty()),
                    count: warning.count,
                    loss: warning.is_loss(),
                    first: self.json_place(warning.first),
                    detail: (!warning.detail.is_empty()).then(|| warning.detail.clone()),
                })
                .collect(),
            orphans: self
                .pairing
                .orphans
                .iter()
                .map(|(id, at)| JsonOrphan { call_id: id.clone(), place: self.json_place(*at) })
                .collect(),
            records,
        };
        let formatter = InertJson(PrettyFormatter::new());
        report.serialize(&mut Serializer::with_formatter(&mut *out, formatter)).map_err(io::Error::from)?;
        out.write_all(b"\n")
    }

    fn json_place(&self, at: Location) -> JsonPlace {
        JsonPlace {
            file: self.files.get(at.file as usize).map(|file| file.shown.clone()).unwrap_or_default(),
            line: (at.line > 0).then_some(at.line),
            column: (at.column > 0).then_some(at.column),
        }
    }
}

/// What says which tools an agent had: the agent's name, else the format's.
fn tools_of(profile: &Profile, format: &'static str) -> &'static str {
    match known::profile(format) {
        _ if !profile.name.is_empty() => profile.name,
        // the format has an agent of its own, and this is not its
        Some(_) => UNKNOWN,
        None => format,
    }
}

/// A response with its `$import`, in canonical form.
fn marked(response: &[u8], marks: &str) -> Vec<u8> {
    let members = response.strip_prefix(b"{").unwrap_or(b"}");
    let comma = if members == b"}" { "" } else { "," };
    let whole = [format!("{{\"{MEMBER}\":{marks}{comma}").as_bytes(), members].concat();
    if members.first() != Some(&b'"') || members > &b"\"$import\""[..] {
        return whole;
    }
    // rare: a name that sorts before it
    let mut scratch = Scratch::default();
    match json::canonical(&whole, &mut scratch) {
        Ok(span) => span.get(&whole, &scratch).to_vec(),
        Err(_) => whole,
    }
}

/// Nanoseconds since 1970 as an RFC 3339 time.
pub(crate) fn shown_time(nanos: i64) -> String {
    let (seconds, nanos) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// The side report of an import: frozen, fields are only added.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(title = "toolreplay import report", deny_unknown_fields)]
pub struct JsonSideReport {
    /// The version of this shape: 1.
    schema_version: u32,
    /// Whether both equations hold: in = what became of it.
    balanced: bool,
    /// The calls.
    calls: JsonCalls,
    /// The answers.
    results: JsonResults,
    /// What had to be said, sorted by code and class.
    warnings: Vec<JsonWarning>,
    /// Answers without a call.
    orphans: Vec<JsonOrphan>,
    /// Where each record came from.
    records: Vec<JsonRecord>,
}

/// `in = records + copies_dropped + excluded`
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonCalls {
    /// Calls that were met.
    r#in: u64,
    /// Calls that became records.
    records: u64,
    /// Calls that were there before.
    copies_dropped: u64,
    /// Calls that `--agents main` leaves out.
    excluded: u64,
}

/// `in = attached + copies_dropped + orphans`
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonResults {
    /// Answers that were met.
    r#in: u64,
    /// Answers that belong to a call.
    attached: u64,
    /// Answers that were there before.
    copies_dropped: u64,
    /// Answers without a call.
    orphans: u64,
}

/// One kind of warning.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonWarning {
    /// The code, which never changes.
    code: &'static str,
    /// What kind of it.
    class: Option<String>,
    /// How often.
    count: u64,
    /// Whether something was lost.
    loss: bool,
    /// Where it was met first.
    first: JsonPlace,
    /// What was met first.
    detail: Option<String>,
}

/// An answer without a call.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonOrphan {
    /// The id it names.
    call_id: String,
    /// Where it stands.
    place: JsonPlace,
}

/// Where a record came from.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonRecord {
    /// Which transcript it is in, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// The index of the record.
    index: u64,
    /// The recorded id of the call.
    call_id: Option<String>,
    /// The tool.
    tool: String,
    /// When it was called.
    time: Option<String>,
    /// Where the call stands.
    place: JsonPlace,
    /// The agent that called; null: the main one.
    thread: Option<String>,
    /// What else is known: `not_executed`, `no_result`, `receipt`, `truncated`, `failed` and others.
    flags: Vec<String>,
}

/// A place in a file.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
struct JsonPlace {
    /// The file, as it was named.
    file: String,
    /// The line, from 1; null: the file as a whole.
    line: Option<u64>,
    /// The column, in characters from 1; null: the whole line.
    column: Option<u32>,
}
