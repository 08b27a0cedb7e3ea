//! From what a recording holds to what a transcript may hold: recorded values in canonical form, wrapped as
//! `docs/formats.md` says. Nothing is invented and nothing is silently repaired; what could not stay as it was is noted.

use super::effect::{Doing, Profile};
use super::event::{Args, Body, Call, Flags, Location, Noted, To, ToolResult};
use super::facts::{self, Around, ResultFacts};
use super::normalized::{Apart, Event, NormalizeOptions, NormalizedCall, NormalizedResult, ResultOwner};
use super::repair::{self, Repairs};
use super::strict::{Buffers, is_reserved, lengths, reserved, wrap_raw};
use super::unread;
use super::usage::Usage;
use super::warnings::{Class, Code, Loss};
use crate::call::Print;
use crate::finding::ArgumentPlace;
use crate::json;
use crate::json::view::{self, Fault, Spot, Value};
use crate::rules::MAIN_AGENT;
use crate::transcript::utf16_width;

/// Base64 text longer than this, in bytes, is replaced by its hash.
const MAX_BINARY: usize = 16 << 10;

/// Where values stand.
#[derive(Debug)]
enum Ground<'a> {
    /// All on this line of a block.
    Line { line: u64, text: &'a [u8], seen: (usize, u32, u32) },
    /// In a document that starts on a line.
    Document { text: &'a [u8], first_line: u64, seen: (usize, u64, usize) },
}

/// Takes in what an importer finds.
#[derive(Debug)]
pub(crate) struct Out<'a> {
    options: &'a NormalizeOptions,
    profile: &'static Profile,
    /// The working directory of what follows on the same line.
    cwd: Option<Box<str>>,
    /// When what follows on the same line was written.
    moment: Option<i64>,
    /// When the call of the next answer ended.
    ended: Option<i64>,
    ground: Ground<'a>,
    pub(crate) events: Vec<Event>,
    buffers: Buffers,
    calls: u32,
    /// Where the events of the line begin.
    line_from: usize,
    file: u32,
    session: String,
    /// Where the value of the line stands in memory, and its members.
    outer: Option<(usize, usize)>,
    members: Vec<Spot>,
}

impl<'a> Out<'a> {
    pub(crate) fn new(options: &'a NormalizeOptions, profile: &'static Profile, file: u32) -> Out<'a> {
        Out {
            options,
            profile,
            cwd: None,
            moment: None,
            ended: None,
            ground: Ground::Line { line: 0, text: b"", seen: (0, 0, 0) },
            events: Vec::new(),
            buffers: Buffers::default(),
            calls: 0,
            line_from: 0,
            file,
            session: String::new(),
            outer: None,
            members: Vec::new(),
        }
    }

    /// Reads the value that starts `text`; its members are at hand from then on.
    pub(crate) fn first_value<'t>(&mut self, text: &'t [u8]) -> Result<(Value<'t>, &'t [u8]), Fault> {
        let read = view::first_object(text, &mut self.members);
        self.outer = read.ok().filter(|(value, _)| value.is_object()).map(|(value, _)| {
            let text = value.text();
            (text.as_ptr() as usize, text.len())
        });
        read
    }

    /// The session that what follows belongs to.
    pub(crate) fn session(&mut self, id: &str, at: Value<'_>) {
        // an agent of its own has a session of its own
        if self.session != id && !self.options.threads.contains_key(&self.file) {
            id.clone_into(&mut self.session);
            let at = self.place(at);
            self.events.push(Event::Session(id.into(), at, Code::MixedSessions));
        }
    }

    /// The tools of the agent whose recording this is, where the file says which one it was.
    pub(crate) fn agent(&mut self, profile: &'static Profile) {
        self.profile = profile;
    }

    /// The working directory of the calls that follow in the same value.
    pub(crate) fn cwd(&mut self, cwd: Option<Value<'_>>) {
        self.cwd = cwd.and_then(Value::as_str).filter(|cwd| !cwd.is_empty()).map(|cwd| cwd.into());
    }

    /// When the record was written that answers of other records' calls follow in.
    pub(crate) fn moment(&mut self, time: Option<i64>) {
        self.moment = time;
    }

    /// When the call ended whose answer follows.
    pub(crate) fn ended(&mut self, time: Option<i64>) {
        self.ended = time;
    }

    /// What a request to a model used, if the value says so. Of records about the same request, which `key` names, the
    /// fullest counts.
    pub(crate) fn usage(&mut self, said: Option<Value<'_>>, key: Option<&str>, thread: Option<&str>) {
        // nobody asks for it where calls are judged
        if !self.options.bodies {
            return;
        }
        if let Some(usage) = said.and_then(Usage::of) {
            let own = thread.or_else(|| self.options.threads.get(&self.file).map(|own| &**own));
            self.events.push(Event::Usage(usage, key.map(Into::into), own.map(Into::into)));
        }
    }

    /// A person wrote to the agent with this thread, else to the main one; or its context was compacted.
    pub(crate) fn apart(&mut self, apart: Apart, thread: Option<&str>) {
        self.events.push(Event::Apart(apart, thread.map(Into::into)));
    }

    /// What follows stands on one line.
    pub(crate) fn on_line(&mut self, line: u64, text: &'a [u8]) {
        self.cwd = None;
        (self.moment, self.ended) = (None, None);
        self.ground = Ground::Line { line, text, seen: (0, 0, 0) };
        self.line_from = self.events.len();
    }

    /// The line was read. Of one that holds a single call, the line says where that is.
    pub(crate) fn line_ends(&mut self) {
        let events = self.events.get_mut(self.line_from..).unwrap_or_default();
        if events.iter().filter(|event| matches!(event, Event::Call(_))).count() > 1 {
            return;
        }
        for event in events {
            match event {
                Event::Call(call) => call.at.widen(),
                Event::ToolResult(result) => result.at.widen(),
                Event::Note(_, _, at, _)
                | Event::Session(_, at, _)
                | Event::Copies { at, .. }
                | Event::Captured { at, .. }
                | Event::CaptureEnds { at, .. }
                | Event::Follows { at, .. }
                | Event::Prompt { at, .. } => at.widen(),
                _ => {}
            }
        }
    }

    /// What follows stands in a document.
    pub(crate) fn in_document(&mut self, text: &'a [u8], first_line: u64) {
        self.ground = Ground::Document { text, first_line, seen: (0, 0, 0) };
    }

    /// Where a value stands.
    pub(crate) fn place(&mut self, at: Value<'_>) -> Location {
        let file = self.file;
        match &mut self.ground {
            Ground::Line { line, text, seen } => {
                let offset = (at.text().as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
                if offset > text.len() {
                    return Location { file, line: *line, ..Location::default() };
                }
                let (from, column, start) = if offset < seen.0 { (0, 0, 0) } else { *seen };
                let (more, units) = lengths(&text[from..offset]);
                let (column, start) = (column.saturating_add(more), start.saturating_add(units));
                *seen = (offset, column, start);
                let (column, start) = (column.saturating_add(1), start.saturating_add(1));
                Location { file, line: *line, column, start, width: 0 }
            }
            Ground::Document { text, first_line, seen } => {
                let start = text.as_ptr() as usize;
                let offset = (at.text().as_ptr() as usize).wrapping_sub(start);
                if offset > text.len() {
                    // a value that the importer made
                    return Location { file, line: *first_line, ..Location::default() };
                }
                if offset < seen.0 {
                    *seen = (0, 0, 0);
                }
                let (from, mut line, mut line_start) = *seen;
                for newline in memchr::memchr_iter(b'\n', &text[from..offset]) {
                    line += 1;
                    line_start = from + newline + 1;
                }
                *seen = (offset, line, line_start);
                // the column of a value far into a long line is counted in bytes: nobody counts further by hand
                let before = &text[line_start..offset];
                let (column, start) = if before.len() > 1 << 16 {
                    let bytes = u32::try_from(before.len()).unwrap_or(u32::MAX - 1);
                    (bytes, bytes)
                } else {
                    lengths(before)
                };
                Location { file, line: *first_line + line, column: column + 1, start: start + 1, width: 0 }
            }
        }
    }

    /// Members of an object; one that stands there twice is noted.
    pub(crate) fn fields<'v, const N: usize>(&mut self, of: Value<'v>, names: &[&str; N]) -> [Option<Value<'v>>; N] {
        let (found, twice) = match self.outer {
            // the members of the line's own value were noted when it was read
            Some(outer) if outer == (of.text().as_ptr() as usize, of.text().len()) => {
                view::pick(self.members.iter().map(|spot| spot.of(of)), names)
            }
            _ => of.fields_checked(names),
        };
        if twice {
            self.note(Code::DuplicateKey, "record", of, "");
        }
        found
    }

    /// The items of a list with their members of the given names.
    pub(crate) fn each_fields<'v, const N: usize>(
        &mut self,
        list: Value<'v>,
        names: &[&str; N],
        mut each: impl FnMut(Value<'v>, [Option<Value<'v>>; N], &mut Self),
    ) {
        let mut spots = Vec::new();
        view::each_object(list, &mut spots, |item, spots| {
            let (found, twice) = view::pick(spots.iter().map(|spot| spot.of(item)), names);
            if twice {
                self.note(Code::DuplicateKey, "record", item, "");
            }
            each(item, found, self);
        });
    }

    /// Something to say about a value.
    pub(crate) fn note(&mut self, code: Code, class: impl Into<Class>, at: Value<'_>, detail: &str) {
        let at = self.place(at);
        self.events.push(Event::Note(code, class.into(), at, detail.into()));
    }

    /// Something that could not be taken over.
    pub(crate) fn lose(&mut self, loss: Loss, at: Value<'_>, detail: &str) {
        self.note(loss.code(), loss, at, detail);
    }

    /// A value of a kind that is not known, so that it is not looked into. One that may hold a call is a loss.
    pub(crate) fn unknown(&mut self, kind: &str, at: Value<'_>) {
        match unread::may_hold_call(at) {
            true => self.note(Code::UnreadRecord, kind, at, "it may hold a call, and nothing here reads it"),
            false => self.note(Code::UnknownRecord, kind, at, ""),
        }
    }

    /// The items of a list that holds calls or what stands around them. Whatever is no list, or no object in it, is not
    /// passed over in silence.
    pub(crate) fn listed<'v>(&mut self, list: Option<Value<'v>>, kind: &str) -> Vec<Value<'v>> {
        let Some(list) = list.filter(|list| !list.is_null()) else { return Vec::new() };
        if !list.is_array() {
            self.note(Code::UnreadRecord, kind, list, "expected a list");
            return Vec::new();
        }
        let (objects, others): (Vec<_>, Vec<_>) = list.items().partition(|item| item.is_object());
        for other in others {
            self.note(Code::UnreadRecord, kind, other, "expected an object for each");
        }
        objects
    }

    /// Members whose names speak of calls and that are not among the known ones.
    pub(crate) fn odd_members(&mut self, of: Value<'_>, known: &[&str], kind: &str) {
        for (key, value) in of.members() {
            if unread::speaks_of_calls(&key.name()) && !known.contains(&&*key.name()) && !value.is_null() {
                self.note(Code::UnreadRecord, kind, of, &format!("'{}' is not known here", key.name()));
            }
        }
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// A conversation, whose messages follow.
    pub(crate) fn conversation(&mut self, messages: Value<'_>) {
        self.conversation_of(messages.items().map(Value::text));
    }

    /// A conversation by what tells each of its messages from others.
    pub(crate) fn conversation_of(&mut self, messages: impl Iterator<Item = impl AsRef<[u8]>>) {
        let mut last = [0_u8; 8];
        let beginnings = messages.map(|message| {
            let number = self.options.key.print_parts(&[&last, message.as_ref()]).number();
            last = number.to_le_bytes();
            number
        });
        let beginnings = beginnings.collect();
        self.events.push(Event::Conversation(beginnings));
    }

    /// The print of a text.
    pub(crate) fn print(&self, text: &[u8]) -> Print {
        self.options.key.print_parts(&[text])
    }

    /// A call.
    pub(crate) fn call(&mut self, call: Call<'_>) -> Noted {
        let mut place = self.place(call.at);
        if place.column > 0 {
            let text = call.at.text();
            place.width = lengths(&text[..memchr::memchr(b'\n', text).unwrap_or(text.len())]).1;
        }
        if call.tool.is_empty() {
            self.note(Code::NameMissing, "", call.at, "the tool has an empty name, or none");
        }
        let literal = serde_json::Value::from(&*call.tool).to_string();
        let tool: Box<[u8]> = match json::canonical(literal.as_bytes(), &mut self.buffers.scratch) {
            Ok(span) => span.get(literal.as_bytes(), &self.buffers.scratch).to_vec().into(),
            Err(_) => literal.into_bytes().into(),
        };
        let (args, mut flags) = self.args(call.args, call.at);
        flags.set(call.flags);
        let print = self.options.key.print_parts(&[&args, &tool]);
        let value = view::only_value(&args).unwrap_or(Value::NOWHERE);
        let Doing { mut effect, mut poll, .. } = self.profile.judge(&call.tool, Some(value));
        let facts = self.options.ruleset.as_ref().map(|ruleset| {
            let ground = &self.ground;
            let locate = |pointer: &str| match call.args {
                Args::Value(Some(value)) => ground.locate(value.pointer(pointer)?, pointer),
                // an object that stands as text: the text as a whole
                Args::Text(Some(value)) | Args::Free(_, value) => ground.locate(value, pointer),
                _ => None,
            };
            let own = self.options.threads.get(&self.file).map(String::as_str);
            let agent = call.thread.as_deref().or(own);
            // the kinds of sub-agents, and who started them, may stand anywhere
            let agents: Option<&[&str]> = if agent.is_none() { Some(&[MAIN_AGENT]) } else { None };
            let around = Around { cwd: self.cwd.as_deref(), agent, agents, locate: &locate };
            let facts = facts::of_call(ruleset, self.profile, &call.tool, &tool, value, around);
            (effect, poll) = (facts.effect, facts.poll);
            facts
        });
        if poll {
            flags.set(Flags::POLL);
        }
        if flags.has(Flags::SERVER_SIDE) {
            self.note(Code::ServerSideTool, &*call.tool, call.at, "");
        }
        if flags.has(Flags::UNOBSERVED) {
            let what = "what the model asked for and the agent reported; no execution was seen";
            self.note(Code::NotObserved, "", call.at, what);
        }
        if flags.has(Flags::COMPOSITE) {
            self.note(Code::CompositeCall, &*call.tool, call.at, "");
        }
        let normalized = NormalizedCall {
            at: place,
            id: call.id.map(|id| id.into()),
            thread: call
                .thread
                .map(Into::into)
                .or_else(|| self.options.threads.get(&self.file).map(|own| (&**own).into())),
            time: call.time,
            turn: call.turn.map(|turn| turn.into()),
            tool,
            args,
            print,
            effect,
            flags,
            profile: self.profile,
            cwd: self.cwd.clone(),
            facts,
        };
        self.events.push(Event::Call(Box::new(normalized)));
        self.calls += 1;
        Noted(self.calls - 1)
    }

    /// Forgets the numbers of the calls that were noted.
    pub(crate) fn restart(&mut self) -> Vec<Event> {
        self.calls = 0;
        std::mem::take(&mut self.events)
    }

    fn args(&mut self, args: Args<'_>, at: Value<'_>) -> (Vec<u8>, Flags) {
        let raw = |flags: Flags| {
            let mut flags = flags;
            flags.set(Flags::ARGS_KEPT_RAW);
            flags
        };
        match args {
            Args::Nothing => (b"{}".to_vec(), Flags::default()),
            Args::Free(name, text) => {
                let text = self.strict(text.text(), at, false);
                ([b"{\"", name.as_bytes(), b"\":", &text, b"}"].concat(), Flags::default())
            }
            Args::Value(Some(value)) if value.is_object() => {
                let text = self.strict(value.text(), at, true);
                // an object that cannot stay one came back as a string
                if text.first() == Some(&b'{') && !is_reserved(&text) {
                    return (text, Flags::default());
                }
                (wrap_raw(&text), raw(Flags::default()))
            }
            Args::Value(value) | Args::Text(value)
                if value.is_none_or(|value| !value.is_string() || matches!(args, Args::Value(_))) =>
            {
                if let (Args::Text(_), Some(object)) = (args, value.filter(|value| value.is_object())) {
                    return self.args(Args::Value(Some(object)), at);
                }
                let kind = value.map_or("absent".to_owned(), |value| value.kind().to_string());
                self.note(Code::ArgsNotObject, &*kind, at, "");
                let text = value.map_or_else(|| b"null".to_vec(), |value| self.strict(value.text(), at, true));
                let blacked_out = value.is_some_and(|value| value.is("<redacted>"));
                let unknown = if value.is_none() || blacked_out { Flags::ARGS_UNKNOWN } else { Flags::default() };
                (wrap_raw(&text), raw(unknown))
            }
            Args::Text(Some(literal)) => {
                let inner = literal.as_str().unwrap_or_default();
                match view::only_value(inner.as_bytes()) {
                    Ok(object) if object.is_object() => {
                        let text = self.strict(object.text(), at, true);
                        if text.first() == Some(&b'{') && !is_reserved(&text) {
                            return (text, Flags::default());
                        }
                    }
                    Ok(other) => self.note(Code::ArgsNotObject, &*other.kind().to_string(), at, ""),
                    Err(_) if inner.trim().is_empty() => self.note(Code::ArgsMalformed, "empty text", at, ""),
                    Err(_) => self.note(Code::ArgsMalformed, "not JSON", at, ""),
                }
                let text = self.strict(literal.text(), at, false);
                (wrap_raw(&text), raw(Flags::default()))
            }
            // the guarded arm above takes all of these
            Args::Value(_) | Args::Text(None) => (wrap_raw(b"null"), raw(Flags::default())),
            Args::Made(text) => self.args(Args::Value(view::only_value(text.as_bytes()).ok()), at),
        }
    }

    /// An answer.
    pub(crate) fn result(&mut self, result: ToolResult<'_>) {
        let at = self.place(result.at);
        let (response, print, facts) = self.response(&result);
        // a record that holds call and result was written when both were known
        let time = self.ended.take().or(self.moment.filter(|_| !matches!(result.to, To::Call(_))));
        let to = match result.to {
            To::Id(id) => ResultOwner::Id(id.into()),
            To::Call(noted) => ResultOwner::Call(noted),
            To::Tool(tool) => ResultOwner::Tool(serde_json::Value::from(&*tool).to_string().into_bytes().into()),
        };
        self.events.push(Event::ToolResult(Box::new(NormalizedResult {
            at,
            to,
            response,
            print,
            facts,
            mark: result.mark,
            failed: result.failed || result.error == Some(true),
            no_effect: result.no_effect,
            secondary: result.secondary,
            last_wins: result.last_wins,
            optional: result.optional,
            redacted: result.redacted,
            turns: result.turns.into_iter().map(Into::into).collect(),
            time,
        })));
    }

    /// The response of an answer and its print.
    fn response(&mut self, result: &ToolResult<'_>) -> (Vec<u8>, Print, Option<ResultFacts>) {
        let made;
        let mut value = match &result.body {
            Body::Value(value) => *value,
            Body::Made(text) => {
                made = text;
                view::only_value(made.as_bytes()).ok()
            }
        };
        let parsed;
        if self.options.parse_json_results
            && let Some(text) = value.filter(|value| value.is_string()).and_then(Value::as_str)
            && json::canonical(text.as_bytes(), &mut self.buffers.scratch).is_ok()
        {
            parsed = text.into_owned();
            value = view::only_value(parsed.as_bytes()).ok();
        }
        let raw = value.map_or(b"null".as_slice(), Value::text);
        let shrunk = if raw.len() > MAX_BINARY { repair::without_binaries(raw, MAX_BINARY) } else { None };
        if let Some((_, count)) = &shrunk {
            for _ in 0..*count {
                self.note(Code::BinaryBody, "replaced by its hash", result.at, "");
            }
        }
        let raw = shrunk.as_ref().map_or(raw, |(text, _)| text);
        let error = result.error.map_or("", |error| if error { ",\"is_error\":true" } else { ",\"is_error\":false" });
        let mut notes = Repairs::default();
        let body = self.buffers.strict(raw, &mut notes);
        let response = if body.first_byte() == b'{' && !reserved(body) {
            body.to_vec()
        } else {
            let mut whole = Vec::with_capacity(body.len() + 32);
            whole.extend_from_slice(b"{\"content\":");
            body.feed(|bytes| whole.extend_from_slice(bytes));
            whole.extend_from_slice(error.as_bytes());
            whole.push(b'}');
            whole
        };
        let print = self.options.key.print_parts(&[&response]);
        let facts =
            self.options.ruleset.as_ref().map(|ruleset| facts::of_result(ruleset, self.profile, None, &response));
        let made = (if self.options.bodies { response } else { Vec::new() }, print, facts);
        if shrunk.is_some() || raw.len() > 1 << 20 {
            self.buffers.tidy();
        }
        self.repaired(&notes, result.at);
        made
    }

    /// A value in canonical form; where strict JSON cannot hold it, repaired and noted.
    fn strict(&mut self, raw: &[u8], at: Value<'_>, numbers: bool) -> Vec<u8> {
        let mut notes = Repairs::default();
        let text = self.buffers.strict(raw, &mut notes).to_vec();
        if numbers && repair::numbers_change(raw) {
            notes.numbers = true;
        }
        self.repaired(&notes, at);
        text
    }

    fn repaired(&mut self, notes: &Repairs, at: Value<'_>) {
        for (code, class, happened) in [
            (Code::BadLine, "bad-utf8", notes.utf8),
            (Code::BadLine, "control-character", notes.control),
            (Code::BadLine, "bad-escape", notes.escape),
            (Code::BadLine, "lone-surrogate", notes.surrogate),
            (Code::NumberChanged, "", notes.numbers),
            (Code::DuplicateKey, "kept as text", notes.duplicate),
        ] {
            if happened {
                self.note(code, class, at, "");
            }
        }
    }
}

impl Ground<'_> {
    /// Where an argument stands that is a part of the text.
    fn locate(&self, argument: Value<'_>, pointer: &str) -> Option<ArgumentPlace> {
        let (text, first_line) = match self {
            Ground::Line { line, text, .. } => (text, line),
            Ground::Document { text, first_line, .. } => (text, first_line),
        };
        let at = (argument.text().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        let before = text.get(..at)?;
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let column = before[start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64 + 1;
        let line = first_line + memchr::memchr_iter(b'\n', before).count() as u64;
        Some(ArgumentPlace { pointer: pointer.to_owned(), line, column, width: utf16_width(argument.text()) })
    }
}
