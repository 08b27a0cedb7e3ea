//! Shows captures: as JSON for programs, as text for a person.

use crate::sanitize::visible;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::event::{Event, Phase};
use super::read::{self, Capture, LineError};

/// The captures of a path. Of a folder no more than one is held at a time: each is read once to find its session, and once
/// more to be shown.
#[derive(Debug)]
pub struct View {
    path: PathBuf,
    /// Sessions in order of observation, then the captures without one.
    groups: Vec<Group>,
    is_folder: bool,
    /// Files and folders that could not be read, or are no captures, and why.
    unreadable: Vec<(PathBuf, String)>,
}

#[derive(Debug, Default)]
struct Group {
    session: Option<String>,
    /// How the session was found.
    association: String,
    files: Vec<PathBuf>,
}

/// Finds a capture file, or every capture file of a folder.
///
/// # Errors
/// The path itself cannot be read, or is a file without a single event of a capture. What is so within a folder is part of
/// the view.
pub fn view(path: &Path) -> std::io::Result<View> {
    let is_folder = std::fs::metadata(path)?.is_dir();
    let mut view = View { path: path.to_owned(), groups: Vec::new(), is_folder, unreadable: Vec::new() };
    let mut found = Vec::new();
    let read::Found { files, unreadable } = read::find(path)?;
    let named = unreadable.into_iter().map(|(path, error)| (path, error.to_string()));
    view.unreadable.extend(named);
    for file in files {
        match read::read(&file).and_then(held) {
            Ok(capture) => {
                let first = capture.events.first().map(|(_, event)| event);
                // order of observation; files without events last
                let order =
                    first.map_or((1, None), |first| (0, Some((first.timestamp.clone(), first.trace_id.clone()))));
                let association = first.and_then(|first| first.data.get("association")?.as_str()).unwrap_or_default();
                found.push((order, session_id(&capture).map(str::to_owned), association.to_owned(), file));
            }
            Err(error) if is_folder => view.unreadable.push((file, error.to_string())),
            Err(error) => return Err(error),
        }
    }
    found.sort();
    let mut places: HashMap<Option<String>, usize> = HashMap::new();
    for (_, session, association, file) in found {
        let place = *places.entry(session.clone()).or_insert(view.groups.len());
        if place == view.groups.len() {
            view.groups.push(Group { session, association, files: Vec::new() });
        }
        view.groups[place].files.push(file);
    }
    Ok(view)
}

/// The capture, if it has anything of one.
fn held(capture: Capture) -> std::io::Result<Capture> {
    if capture.events.is_empty() && capture.summary.is_none() {
        let why = if capture.errors.is_empty() { "it is empty" } else { "none of its lines is an event of a capture" };
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
    }
    Ok(capture)
}

/// Reads a capture that was read before. What became of it meanwhile is said as what is wrong with it.
fn again(path: &Path) -> Capture {
    read::read(path).unwrap_or_else(|error| Capture {
        path: path.to_owned(),
        errors: vec![LineError { line: 0, message: format!("cannot be read any more: {error}") }],
        ..Capture::default()
    })
}

/// The captures of files, read as they are written.
struct Files<'v>(Vec<&'v PathBuf>);

impl Serialize for Files<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|path| file_json(&again(path))))
    }
}

/// For programs.
impl Serialize for View {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Session<'v> {
            captures: Files<'v>,
            session_id: &'v str,
        }
        #[derive(Serialize)]
        struct Folder<'v> {
            files: usize,
            other_captures: Files<'v>,
            path: String,
            sessions: Vec<Session<'v>>,
            unreadable: Value,
        }
        let files = |group: &Group| group.files.len();
        if !self.is_folder {
            return match self.groups.first().and_then(|group| group.files.first()) {
                Some(path) => file_json(&again(path)).serialize(serializer),
                None => Value::Null.serialize(serializer),
            };
        }
        fn session(group: &Group) -> Option<Session<'_>> {
            let captures = Files(group.files.iter().collect());
            Some(Session { captures, session_id: group.session.as_deref()? })
        }
        let others = self.groups.iter().filter(|group| group.session.is_none()).flat_map(|group| &group.files);
        let message = |(path, why): &(PathBuf, String)| json!({"path": path.to_string_lossy(), "message": why});
        Folder {
            files: self.groups.iter().map(files).sum::<usize>() + self.unreadable.len(),
            other_captures: Files(others.collect()),
            path: self.path.to_string_lossy().into_owned(),
            sessions: self.groups.iter().filter_map(session).collect(),
            unreadable: self.unreadable.iter().map(message).collect(),
        }
        .serialize(serializer)
    }
}

impl View {
    /// Whether everything could be read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.unreadable.is_empty()
    }

    /// The view for a person.
    #[must_use]
    pub fn text(&self, color: bool) -> String {
        let mut page = Page { out: String::new(), color };
        for Group { session, association, files } in &self.groups {
            match session {
                Some(id) => {
                    let count = files.len();
                    let plural = if count == 1 { "" } else { "s" };
                    page.line(
                        0,
                        &[(BOLD, "session "), (BOLD, id), (DIM, &format!("  {association}, {count} request{plural}"))],
                    );
                }
                None => page.line(0, &[(BOLD, "no session")]),
            }
            for file in files {
                page.capture(&again(file));
            }
        }
        for (path, why) in &self.unreadable {
            page.line(0, &[(RED, "unreadable "), ("", &path.to_string_lossy()), ("", ": "), ("", why)]);
        }
        if self.groups.is_empty() && self.unreadable.is_empty() {
            page.line(0, &[("", "no captures in "), ("", &self.path.to_string_lossy())]);
        }
        page.out
    }
}

fn session_id(capture: &Capture) -> Option<&str> {
    capture.events.iter().find_map(|(_, event)| event.data.get("session_id")?.as_str())
}

struct SpanView<'a> {
    start: Option<&'a Event>,
    end: Option<&'a Event>,
}

/// The spans in order of their first event.
fn spans(capture: &Capture) -> Vec<(&str, SpanView<'_>)> {
    let mut spans: Vec<(&str, SpanView<'_>)> = Vec::new();
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, event) in &capture.events {
        let position = *at.entry(&event.span_id).or_insert_with(|| {
            spans.push((&event.span_id, SpanView { start: None, end: None }));
            spans.len() - 1
        });
        let slot = match event.phase {
            Phase::Start => &mut spans[position].1.start,
            Phase::End => &mut spans[position].1.end,
        };
        slot.get_or_insert(event);
    }
    spans
}

fn file_json(capture: &Capture) -> Value {
    let spans = spans(capture);
    let known: HashSet<&str> = spans.iter().map(|(id, _)| *id).collect();
    let unfinished: Value = spans.iter().filter(|(_, span)| span.end.is_none()).map(|(id, _)| *id).collect();
    let is_orphan = |span: &SpanView<'_>| {
        span.start.is_none()
            || span
                .start
                .and_then(|start| start.parent_span_id.as_deref())
                .is_some_and(|parent| !known.contains(parent))
    };
    let orphans: Value = spans.iter().filter(|(_, span)| is_orphan(span)).map(|(id, _)| *id).collect();
    let shown: Vec<Value> = spans.iter().map(|(id, span)| span_json(id, span)).collect();
    json!({
        "path": capture.path.to_string_lossy(),
        "trace_id": capture.events.first().map(|(_, event)| event.trace_id.as_str()),
        "session_id": session_id(capture),
        "coverage": capture.summary.as_ref().map(|summary| summary.coverage),
        "errors": capture.errors.iter().map(|error| json!({"line": error.line, "message": error.message})).collect::<Value>(),
        "capture_summary": capture.summary,
        "unfinished_spans": unfinished,
        "orphan_spans": orphans,
        "spans": shown,
    })
}

fn span_json(id: &str, span: &SpanView<'_>) -> Value {
    let any = span.start.or(span.end);
    let truncated = [span.start, span.end].iter().flatten().any(|event| event.truncated);
    json!({
        "span_id": id,
        "parent_span_id": any.and_then(|event| event.parent_span_id.as_deref()),
        "kind": any.map(|event| event.kind),
        "name": any.map(|event| event.name.as_str()),
        "source": any.map(|event| event.source),
        "started": span.start.map(|event| event.timestamp.as_str()),
        "status": span.end.or(span.start).map(|event| event.status),
        "duration_ms": span.end.and_then(|event| event.duration_ms),
        "input": span.start.map(|event| &event.data),
        "output": span.end.map(|event| &event.data),
        "truncated": truncated,
    })
}

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";

struct Page {
    out: String,
    color: bool,
}

impl Page {
    /// Writes one line of styled parts. Every part is made safe here and nowhere else.
    fn line(&mut self, indent: usize, parts: &[(&str, &str)]) {
        self.out.push_str(&"  ".repeat(indent));
        for (style, text) in parts {
            let styled = self.color && !style.is_empty();
            if styled {
                self.out.push_str(style);
            }
            self.out.push_str(&visible(text));
            if styled {
                self.out.push_str("\x1b[0m");
            }
        }
        self.out.push('\n');
    }

    fn capture(&mut self, capture: &Capture) {
        let spans = spans(capture);
        if spans.is_empty() {
            self.line(1, &[(YELLOW, "empty capture "), ("", &capture.path.to_string_lossy())]);
        }
        let parents: BTreeMap<&str, Option<&str>> = spans
            .iter()
            .map(|(id, span)| (*id, span.start.or(span.end).and_then(|event| event.parent_span_id.as_deref())))
            .collect();
        for (id, span) in &spans {
            let mut depth = 1;
            let mut above = parents.get(id).copied().flatten();
            while let Some(parent) = above.filter(|_| depth < 20) {
                depth += usize::from(parents.contains_key(parent));
                above = parents.get(parent).copied().flatten();
            }
            self.span(depth, span);
        }
        for error in &capture.errors {
            self.line(2, &[(RED, &format!("! line {}: {}", error.line, error.message))]);
        }
        match &capture.summary {
            None => self.line(2, &[(YELLOW, "! no capture summary: the capture is unfinished")]),
            Some(summary) if summary.dropped_events + summary.capture_errors > 0 => {
                let text =
                    format!("! {} events dropped, {} writes failed", summary.dropped_events, summary.capture_errors);
                self.line(2, &[(RED, &text)]);
            }
            Some(_) => {}
        }
    }

    fn span(&mut self, depth: usize, span: &SpanView<'_>) {
        let Some(any) = span.start.or(span.end) else { return };
        let time = any.timestamp.get(11..23).unwrap_or(&any.timestamp);
        let status = span.end.map_or("unfinished".to_owned(), |end| word(&json!(end.status)));
        let style = match status.as_str() {
            "ok" => GREEN,
            "error" => RED,
            _ => YELLOW,
        };
        let took = span.end.and_then(|end| end.duration_ms).map_or(String::new(), |ms| format!(" {ms:.1} ms"));
        let empty = Map::new();
        let input = span.start.map_or(&empty, |event| &event.data);
        let output = span.end.map_or(&empty, |event| &event.data);
        let model = input.get("request").and_then(|request| request.get("model")).map(word).unwrap_or_default();
        let http = output
            .get("http_status")
            .filter(|status| !status.is_null())
            .map_or(String::new(), |status| format!(" {status}"));
        let title = format!(" {} {}", word(&json!(any.kind)), any.name);
        self.line(
            depth,
            &[
                (DIM, time),
                ("", &title),
                ("", if model.is_empty() { "" } else { " " }),
                (BOLD, &model),
                (style, &format!(" {status}")),
                (DIM, &http),
                (DIM, &took),
            ],
        );
        if let Some(request) = input.get("request_id") {
            let parents = items(input, "parent_request_ids").map(word).collect::<Vec<_>>().join(", ");
            let follows = if parents.is_empty() { String::new() } else { format!(" follows {parents}") };
            self.line(depth + 1, &[(DIM, "request "), (DIM, &word(request)), (DIM, &follows)]);
        }
        for result in items(input, "agent_reported_tool_results") {
            let failed = result.get("is_error") == Some(&Value::Bool(true));
            let mark = if failed { "agent reported (error) " } else { "agent reported " };
            self.line(
                depth + 1,
                &[(CYAN, "<- "), ("", mark), (DIM, &id_of(result)), ("", " "), ("", &short(result.get("content")))],
            );
        }
        if let Some(value) = input.get("input") {
            self.line(depth + 1, &[(DIM, "in  "), ("", &short(Some(value)))]);
        }
        for (list, what) in [("model_requested_tools", "model asked for "), ("server_executed_tools", "server ran ")] {
            for call in items(output, list) {
                let name = call.get("name").map(word).unwrap_or_default();
                let partial = if call.get("partial").is_some() { " (cut)" } else { "" };
                self.line(
                    depth + 1,
                    &[
                        (CYAN, "-> "),
                        ("", what),
                        (BOLD, &name),
                        ("", " "),
                        ("", &short(call.get("arguments"))),
                        ("", " "),
                        (DIM, &id_of(call)),
                        (RED, partial),
                    ],
                );
            }
        }
        if let Some(text) = reply_text(output.get("response")) {
            self.line(depth + 1, &[(DIM, "says "), ("", &short(Some(&Value::from(text))))]);
        }
        if let Some(value) = output.get("output") {
            self.line(depth + 1, &[(DIM, "out "), ("", &short(Some(value)))]);
        }
        if let Some(error) = output.get("error_type").filter(|error| !error.is_null()) {
            self.line(depth + 1, &[(RED, "! "), (RED, &word(error))]);
        }
        for issue in items(output, "capture_issues") {
            self.line(depth + 1, &[(YELLOW, "! gap: "), (YELLOW, &word(issue))]);
        }
        if [span.start, span.end].iter().flatten().any(|event| event.truncated) {
            self.line(depth + 1, &[(YELLOW, "! truncated")]);
        }
    }
}

fn items<'a>(data: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    data.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn id_of(value: &Value) -> String {
    value.get("id").filter(|id| !id.is_null()).map_or("without id".to_owned(), word)
}

/// What the model wrote, whatever the protocol.
fn reply_text(response: Option<&Value>) -> Option<String> {
    let response = response?;
    let chat = response.get("choices").and_then(|choices| choices.get(0)?.get("message")?.get("content")?.as_str());
    let parts =
        response.get("content").or_else(|| response.get("output")).and_then(Value::as_array).into_iter().flatten();
    let candidates = response.get("candidates").and_then(Value::as_array).into_iter().flatten().take(1);
    let parts =
        parts.chain(candidates.filter_map(|candidate| candidate.get("content")?.get("parts")?.as_array()).flatten());
    let nested = parts.flat_map(|part| {
        part.get("content").and_then(Value::as_array).map_or(std::slice::from_ref(part), Vec::as_slice)
    });
    let text = chat.map(str::to_owned).unwrap_or_else(|| {
        nested.filter(|part| part.get("thought").is_none()).filter_map(|part| part.get("text")?.as_str()).collect()
    });
    Some(text).filter(|text| !text.is_empty())
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value on one line, cut.
fn short(value: Option<&Value>) -> String {
    const LONGEST: usize = 160;
    let text = value.map_or(String::new(), Value::to_string);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
