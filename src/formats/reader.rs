//! Reading a recording: from files to events, side by side where the file is lines.

use super::archive::{self, Archive};
use super::detect::{self, Guess, Shape};
use super::event::Location;
use super::format::{self, Format, Options};
use super::lineage;
use super::normalize::Out;
use super::normalized::{Event, NormalizeOptions};
use super::open::{self, Opened};
use super::ordering;
use super::pairing::Pairing;
use super::session;
use super::stranger::{self, Kind};
use super::unread;
use super::vendors::inspect;
use super::verdict::Imported;
use super::warnings::{Code, Loss};
use crate::call::Key;
use crate::engine::Ruleset;
use crate::finding::SourceFile;
use crate::json::view::{self, Value, Wrong};
use crate::limits::{Budget, Exceeded, Start};
use crate::transcript::{self, Block, is_blank};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

/// The start of a file that formats are told by, in bytes.
const HEAD: usize = 256 << 10;

type Source = Box<dyn Read + Send>;

/// Why a file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Io(#[source] io::Error),
    /// It is in no format that is known, or not clearly in one.
    #[error("{0}")]
    Refused(String),
    /// It is known, and is no recording.
    #[error("{0}")]
    Other(&'static str),
    /// A place in it cannot be read.
    #[error("line {line}: {what}")]
    At {
        /// The line, from 1.
        line: u64,
        /// What is wrong and what was expected.
        what: String,
    },
}

impl From<io::Error> for ImportError {
    fn from(error: io::Error) -> ImportError {
        match Exceeded::of(&error) {
            Some(exceeded) => ImportError::Refused(exceeded.to_string()),
            None => ImportError::Io(error),
        }
    }
}

impl ImportError {
    /// A read that failed behind so many lines.
    fn behind(lines: u64, error: io::Error) -> ImportError {
        match Exceeded::of(&error) {
            Some(exceeded) => ImportError::At { line: lines + 1, what: exceeded.to_string() },
            None => ImportError::Io(error),
        }
    }
}

/// A file that was opened and told.
pub enum Opening {
    /// A transcript, sealed or not: its bytes, uncompressed.
    Native(Source),
    /// A recording.
    Foreign(Foreign),
    /// No format is known that it could be.
    Unknown(Unknown),
    /// Something else that was found in a folder, by its content; see [`open_found`].
    Other(Stranger),
}

/// Something that was found in a folder and is in no known format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// What it is, in words.
    pub why: String,
    /// It holds what looks like calls of tools all the same.
    pub holds_calls: bool,
}

impl Stranger {
    fn new(why: impl Into<String>) -> Stranger {
        Stranger { why: why.into(), holds_calls: false }
    }
}

/// A file in no known format.
pub struct Unknown {
    /// Its bytes, uncompressed.
    pub source: Source,
    /// What it is, in words.
    pub why: String,
    kind: Kind,
    /// What it looks like, were it whole.
    like: Option<&'static Format>,
    /// It is one line.
    one_line: bool,
    /// Its first record has more than a single member.
    wide: bool,
    /// The file was compressed.
    packed: bool,
    /// The start of it is text.
    text: bool,
}

impl Unknown {
    /// Whether it is a JSON document about something else, of several lines: then there is none of which more is to be
    /// said.
    #[must_use]
    pub fn is_document(&self) -> bool {
        self.kind == Kind::Document && !self.one_line
    }

    /// Whether it surely holds JSON about something else, and no transcript that is wrong.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.kind != Kind::Damaged && self.wide
    }
}

impl Unknown {
    /// Whether its start is text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.text
    }
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Opening::Native(_) => "Native",
            Opening::Foreign(_) => "Foreign",
            Opening::Unknown(..) => "Unknown",
            Opening::Other(..) => "Other",
        })
    }
}

/// A recording that was opened.
pub struct Foreign {
    /// The format.
    pub importer: &'static Format,
    /// Why we think so, in words.
    pub reason: String,
    form: Form,
    path: Option<PathBuf>,
    budget: Budget,
}

/// How the recording is read.
enum Form {
    Lines(Start<Source>),
    /// All of it.
    Document(Start<Source>),
    Archive(Archive),
}

/// A zip archive, which only logs of Inspect are.
fn archive(mut source: Source, path: Option<&Path>, budget: &Budget) -> Result<Foreign, ImportError> {
    let anywhere: Box<dyn archive::Anywhere> = match path.filter(|path| path.is_file()) {
        Some(path) => Box::new(File::open(path)?),
        None => {
            let mut bytes = Vec::new();
            loop {
                budget.document(bytes.len() as u64).map_err(io::Error::from)?;
                if source.by_ref().take(STEP).read_to_end(&mut bytes)? == 0 {
                    break;
                }
            }
            Box::new(Cursor::new(bytes))
        }
    };
    let archive = Archive::open(anywhere, budget)?;
    let names = archive.names();
    if !inspect::is_log(&names) {
        return Err(ImportError::Other("a zip archive that holds no log of Inspect; unpack it and name the file"));
    }
    let reason = "an archive with 'header.json' or '_journal/start.json'".to_owned();
    let (form, path, budget) = (Form::Archive(archive), path.map(Path::to_owned), budget.clone());
    Ok(Foreign { importer: &inspect::INSPECT, reason, form, path, budget })
}

/// How much is read at once, in bytes, where all of a source is wanted.
const STEP: u64 = 4 << 20;

/// Opens a file and tells its format. `path` is where it was found, if it is a file.
///
/// # Errors
/// A file that cannot be read, or whose format is not clear.
pub fn open(source: Source, path: Option<&Path>, options: &Options) -> Result<Opening, ImportError> {
    let budget = &options.budget;
    // transcripts are told by their first record, and nothing is read of them twice
    let (start, source) = open::peek(source, 64 << 10)?;
    if start.is_empty() && path.is_some_and(session::has_name_of_a_capture) {
        let why = "a capture without a single event: the recorder was stopped before it wrote, and what the request was is not known";
        return Err(ImportError::Refused(why.to_owned()));
    }
    if options.from.is_none() && detect::is_record(first_line(&start)) {
        return Ok(Opening::Native(Box::new(budget.lines(source))));
    }
    let (source, taken) = match open::open(source, budget)? {
        Opened::Text(source, taken) => (source, taken),
        Opened::Zip(source) => return archive(source, path, budget).map(Opening::Foreign),
        Opened::Refused(why) => return Err(ImportError::Refused(why.to_owned())),
        Opened::Other(why) => return Err(ImportError::Other(why)),
    };
    // a mark at its start is a fault of a transcript, which its reader names
    let as_it_was = |text: Source| -> Source {
        let text = budget.lines(text);
        match taken.iter().find(|taken| matches!(**taken, "byte order mark" | "UTF-16")) {
            Some(&"UTF-16") => Box::new(Cursor::new(b"\xff\xfe").chain(text)),
            Some(_) => Box::new(Cursor::new(b"\xef\xbb\xbf").chain(text)),
            None => Box::new(text),
        }
    };
    let mut start = Start::read(source, HEAD).map_err(|(lines, error)| ImportError::behind(lines, error))?;
    let guess = loop {
        let is_record = options.from.is_none() && !start.complete && detect::is_record(first_line(&start.text));
        match detect::guess(&start.text, start.complete, options.from) {
            Guess::More if is_record => break Guess::Native,
            Guess::More if start.complete => break Guess::Unknown("it is empty".to_owned(), Kind::Damaged),
            Guess::More => start.grow(budget).map_err(|error| ImportError::behind(start.blank_lines, error))?,
            guess => break guess,
        }
    };
    Ok(match guess {
        Guess::Native | Guess::More => Opening::Native(as_it_was(Box::new(start.whole()))),
        Guess::Unknown(why, kind) => {
            let like = if kind == Kind::Damaged { stranger::looks_like(&start.text) } else { None };
            let text = memchr::memchr(0, &start.text).is_none();
            let one_line = memchr::memchr(b'\n', start.text.trim_ascii_end()).is_none();
            let wide = view::first_value(&start.text)
                .is_ok_and(|(value, _)| value.is_array() || value.members().nth(1).is_some());
            let packed = taken.iter().any(|taken| matches!(*taken, "zstd" | "gzip"));
            let source = as_it_was(Box::new(start.whole()));
            Opening::Unknown(Unknown { source, why, kind, like, one_line, wide, packed, text })
        }
        Guess::Refused(why) => return Err(ImportError::Refused(why)),
        Guess::Other(why) => return Err(ImportError::Other(why)),
        Guess::Foreign(importer, shape, mut reason) => {
            if !taken.is_empty() {
                reason = format!("{reason}; taken off: {}", taken.join(", "));
            }
            let form = match shape {
                Shape::Lines => Form::Lines(start),
                Shape::Document => Form::Document(start),
            };
            let (path, budget) = (path.map(Path::to_owned), budget.clone());
            Opening::Foreign(Foreign { importer, reason, form, path, budget })
        }
    })
}

/// Opens a file that was found in a folder, where there is much that is no recording. What looks like one, by its name or
/// by its start, and cannot be read is an error or [`Opening::Unknown`]; what does not is [`Opening::Other`].
///
/// # Errors
/// Those of [`open`].
pub fn open_found(source: Source, path: &Path, options: &Options) -> Result<Opening, ImportError> {
    let unknown = match open(source, Some(path), options) {
        Err(ImportError::Other(why)) if !format::has_agents_name(path) => {
            return Ok(Opening::Other(Stranger::new(why)));
        }
        Ok(Opening::Unknown(unknown)) => unknown,
        opening => return opening,
    };
    match unknown.kind {
        Kind::Damaged if format::has_own_name(path) => Ok(Opening::Unknown(unknown)),
        Kind::Damaged => {
            if let Some(like) = unknown.like {
                let what =
                    format!("it looks like a recording of the format {}, and is damaged: {}", like.id, unknown.why);
                return Err(ImportError::Refused(what));
            }
            if !unknown.text || (format::has_packed_name(path) && !unknown.packed) {
                let what = "its bytes are not what its name says: it is damaged, or no JSON at all";
                return Err(ImportError::Refused(what.to_owned()));
            }
            Ok(Opening::Other(Stranger::new(unknown.why)))
        }
        Kind::Lines | Kind::Document if format::has_agents_name(path) => Err(ImportError::Refused(unknown.why)),
        Kind::Document => {
            let mut text = Vec::new();
            let mut source = unknown.source;
            // all of it was read already to be told
            source.read_to_end(&mut text)?;
            let holds_calls = view::values(&text).is_ok_and(|values| values.into_iter().any(unread::holds_calls));
            Ok(Opening::Other(Stranger { why: unknown.why, holds_calls }))
        }
        Kind::Lines => {
            let found = look_through(unknown.source)?;
            match found.record {
                Some((line, id)) => Err(ImportError::At {
                    line,
                    what: format!(
                        "a record of the format {id}, in a file whose first lines fit none; name it with --from"
                    ),
                }),
                None => Ok(Opening::Other(Stranger { why: unknown.why, holds_calls: found.calls })),
            }
        }
    }
}

/// What stands in lines of which the first are in no known format.
#[derive(Default)]
struct Lines {
    /// The first line that is a record of a known format, by its number, and the format.
    record: Option<(u64, &'static str)>,
    /// A line holds what looks like a call.
    calls: bool,
}

fn look_through(source: Source) -> Result<Lines, ImportError> {
    let mut blocks = transcript::Blocks::new(source);
    let (mut block, mut line_number, mut found) = (Block::default(), 0, Lines::default());
    while blocks.next_into(&mut block).map_err(|error| ImportError::behind(line_number, error))? {
        for line in block.bytes().split_inclusive(|byte| *byte == b'\n') {
            line_number += 1;
            if let Some(id) = detect::format_of(line) {
                found.record = Some((line_number, id));
                return Ok(found);
            }
            found.calls |= view::only_value(line.trim_ascii()).is_ok_and(unread::holds_calls);
        }
    }
    Ok(found)
}

fn first_line(start: &[u8]) -> &[u8] {
    start.split(|byte| *byte == b'\n').find(|line| !is_blank(line)).unwrap_or(b"")
}

/// The files of one recording, as they are read.
#[derive(Debug)]
pub struct Recording {
    normalizing: NormalizeOptions,
    options: Options,
    pairing: Pairing,
    files: Vec<SourceFile>,
    unanswered: Option<&'static str>,
    /// The id of the format.
    format: &'static str,
}

impl Recording {
    /// A recording of which records shall be written.
    #[must_use]
    pub fn to_write(options: &Options) -> Recording {
        Recording::new(Key::random(), None, options)
    }

    /// A recording that shall be judged by a ruleset.
    #[must_use]
    pub fn to_judge(ruleset: &Ruleset, options: &Options) -> Recording {
        Recording::new(ruleset.key().clone(), Some(ruleset.clone()), options)
    }

    fn new(key: Key, ruleset: Option<Ruleset>, options: &Options) -> Recording {
        Recording {
            pairing: Pairing::new(key.clone()),
            normalizing: NormalizeOptions {
                key,
                bodies: ruleset.is_none(),
                parse_json_results: options.parse_json_results,
                threads: HashMap::new(),
                ruleset,
            },
            options: options.clone(),
            files: Vec::new(),
            unanswered: None,
            format: "",
        }
    }

    /// Reads a file, and those that belong to it. `beside` says how a path beside it is shown.
    ///
    /// # Errors
    /// A file that cannot be read. Lines that cannot are counted.
    pub fn add(
        &mut self,
        foreign: Foreign,
        file: SourceFile,
        beside: &dyn Fn(&Path) -> SourceFile,
        threads: usize,
    ) -> Result<(), ImportError> {
        let Foreign { importer, form, path, budget, .. } = foreign;
        let own = self.files.len();
        self.files.push(file);
        self.unanswered = importer.unanswered;
        self.format = importer.id;
        // agents' own files go first: what the main file repeats of them is the copy
        let companions = path.zip(importer.companions).map(|(path, find)| find(&path)).unwrap_or_default();
        for companion in companions {
            let number = self.files.len();
            self.files.push(beside(&companion.path));
            self.pairing.take(companion.told, 0);
            if let (Some(thread), Ok(number)) = (companion.thread, u32::try_from(number)) {
                self.normalizing.threads.insert(number, thread);
            }
            let shown = self.files[number].shown.clone();
            let opened = File::open(&companion.path).map_err(ImportError::Io).and_then(|file| {
                match open::open(Box::new(file), &budget)? {
                    Opened::Text(source, _) => {
                        let start =
                            Start::read(source, HEAD).map_err(|(lines, error)| ImportError::behind(lines, error))?;
                        self.lines(importer, start, &budget, number, threads)
                    }
                    _ => Err(ImportError::Refused("expected text".to_owned())),
                }
            });
            opened.map_err(|error| ImportError::Refused(format!("{shown}: {error}")))?;
        }
        match form {
            Form::Lines(start) => self.lines(importer, start, &budget, own, threads),
            Form::Document(start) => {
                budget.document(start.text.len() as u64).map_err(io::Error::from)?;
                self.document(importer, &start.text, start.blank_lines, own)
            }
            Form::Archive(mut archive) => {
                let names = archive.names();
                if !names.iter().any(|name| name == "header.json") {
                    let at = Location { file: own as u32, ..Location::default() };
                    self.pairing.tally.warn(Code::Truncated, "interrupted run", at, 1, "it has no 'header.json'");
                }
                for (place, name) in names.iter().enumerate().filter(|(_, name)| inspect::is_sample(name)) {
                    let text = archive.read(place)?;
                    let outer = &self.files[own];
                    let [shown, from_root] = [&outer.shown, &outer.from_root].map(|path| format!("{path}!{name}"));
                    self.files.push(SourceFile { shown, from_root });
                    self.document(importer, &text, 0, self.files.len() - 1)
                        .map_err(|error| ImportError::Refused(format!("{name}: {error}")))?;
                }
                Ok(())
            }
        }
    }

    fn lines(
        &mut self,
        importer: &'static Format,
        start: Start<Source>,
        budget: &Budget,
        file: usize,
        threads: usize,
    ) -> Result<(), ImportError> {
        let file = u32::try_from(file).map_err(|_| ImportError::Refused("too many files".to_owned()))?;
        let (options, pairing) = (&self.normalizing, &mut self.pairing);
        let work = |block: &Block| block_events(block, importer, options, file);
        let Start { blank_lines, text, rest, .. } = start;
        let lines = budget
            .lines_behind(&text, rest)
            .map_err(|(lines, error)| ImportError::behind(blank_lines + lines, error))?;
        let mut before = blank_lines;
        let sink = |_: &Block, (lines, events): (u64, Vec<Event>)| {
            pairing.take(events, before);
            before += lines;
            Ok::<(), io::Error>(())
        };
        let read = transcript::blocks_in_order(text, lines, threads, work, sink);
        read.map_err(|error| ImportError::behind(before, error))
    }

    fn document(
        &mut self,
        importer: &'static Format,
        text: &[u8],
        blank_lines: u64,
        file: usize,
    ) -> Result<(), ImportError> {
        let file = u32::try_from(file).map_err(|_| ImportError::Refused("too many files".to_owned()))?;
        // one value, or records that somebody printed for people, each over several lines
        let documents = match view::only_value(text) {
            Ok(document) => Ok(vec![document]),
            Err(fault) => view::values(text).ok().filter(|values| values.len() > 1).ok_or(fault),
        };
        let documents = documents.map_err(|fault| {
            let line = blank_lines + memchr::memchr_iter(b'\n', &text[..fault.offset]).count() as u64 + 1;
            ImportError::At { line, what: format!("not a JSON document: {}", in_words(fault.wrong)) }
        })?;
        let mut out = Out::new(&self.normalizing, importer.profile, file);
        out.in_document(text, blank_lines + 1);
        for document in documents {
            if importer.items && document.is_array() {
                for item in document.items() {
                    (importer.extract)(item, &mut out);
                    self.pairing.take(out.restart(), 0);
                }
            } else {
                (importer.extract)(document, &mut out);
                self.pairing.take(out.restart(), 0);
            }
        }
        Ok(())
    }

    /// Settles what is open, and puts the calls in order.
    ///
    /// # Errors
    /// A temporary file that cannot be written.
    pub fn finish(mut self) -> io::Result<Imported> {
        self.pairing.settle(self.unanswered)?;
        for (place, names) in lineage::of(&mut self.pairing)?.into_iter().enumerate() {
            self.pairing.threads[place].besides = names;
        }
        let order = ordering::order(&mut self.pairing, self.options.agents);
        if self.pairing.balance.calls_in == 0 {
            let what = "not a single call was found; is it the right format?";
            self.pairing.tally.warn(Code::EmptyInput, "", Location::default(), 1, what);
        }
        Ok(Imported::new(self.pairing, order, self.files, &self.options, self.format))
    }
}

fn in_words(wrong: Wrong) -> &'static str {
    match wrong {
        Wrong::Truncated => "it breaks off inside a value",
        Wrong::Unexpected => "something that no JSON text has stands here",
        Wrong::TooDeep => "nesting deeper than 960 levels",
    }
}

/// The events of a block of lines, and how many lines it has.
fn block_events(block: &Block, importer: &'static Format, options: &NormalizeOptions, file: u32) -> (u64, Vec<Event>) {
    let mut out = Out::new(options, importer.profile, file);
    let mut lines = 0;
    let mut rest = block.bytes();
    while !rest.is_empty() {
        lines += 1;
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = &rest[(line.len() + 1).min(rest.len())..];
        out.on_line(lines, line);
        if !is_blank(line) {
            // only the last line of a file has no end
            one_line(line, end.is_none(), importer, &mut out);
            out.line_ends();
        }
    }
    (lines, out.restart())
}

/// The values of a line. A good line has one; damaged ones give what can be saved.
fn one_line(line: &[u8], last: bool, importer: &Format, out: &mut Out<'_>) {
    let (mut text, mut whole) = (line, true);
    if let Some(strip) = importer.strip {
        match strip(line) {
            Some(json) => (text, whole) = (json, false),
            None if !matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')) => {
                out.note(Code::UnknownRecord, "line of a log", Value::NOWHERE, "");
                return;
            }
            None => {}
        }
    }
    let note = |out: &mut Out<'_>, class: &str, detail: &str| out.note(Code::BadLine, class, Value::NOWHERE, detail);
    let lose = |out: &mut Out<'_>, loss: Loss, detail: &str| out.lose(loss, Value::NOWHERE, detail);
    let stripped = strip_nuls(text);
    if stripped.len() < text.len() {
        lose(out, Loss::NulRun, "zero bytes where text should be: what stood there is lost");
        text = stripped;
    }
    while !is_blank(text) {
        match out.first_value(text) {
            Ok((value, rest)) => {
                if value.is_object() || value.is_array() {
                    (importer.extract)(value, out);
                } else {
                    lose(out, Loss::NotObject, "expected a JSON object");
                }
                text = strip_nuls(rest);
                if !whole || is_blank(text) {
                    return;
                }
                if matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
                    note(out, "two-objects", "more than one record on the line; all were read");
                    continue;
                }
                lose(out, Loss::NotJson, "something that is no JSON stands behind a record");
                match view::next_record(text, 0) {
                    Some(next) => text = &text[next..],
                    None => return,
                }
            }
            Err(fault) => {
                let stand = view::skip_space(text, 0) + 1;
                if let Some(next) =
                    view::next_record(text, stand).filter(|next| view::first_value(&text[*next..]).is_ok())
                {
                    lose(out, Loss::TruncatedStub, "a record breaks off and another begins on its line");
                    text = &text[next..];
                } else if fault.wrong == Wrong::Truncated && last {
                    note(out, "truncated-tail", "the last line breaks off: is the file still being written?");
                    return;
                } else if fault.wrong == Wrong::Truncated {
                    lose(out, Loss::TruncatedStub, "a record breaks off at the end of its line");
                    return;
                } else {
                    let detail = format!(
                        "{} (byte {} of the line)",
                        in_words(fault.wrong),
                        line.len() - text.len() + fault.offset + 1
                    );
                    lose(out, Loss::NotJson, &detail);
                    return;
                }
            }
        }
    }
}

fn strip_nuls(mut text: &[u8]) -> &[u8] {
    while let [0, rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., 0] = text {
        text = rest;
    }
    text
}
