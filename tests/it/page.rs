//! The page: what is in it, where it goes, what must not be in it. A browser looks at it in `tests/page`.

use crate::{Ran, record, run, run_on, sample, toolreplay};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

/// What a page holds.
struct Page {
    text: String,
    index: Value,
    chunks: Vec<Vec<u8>>,
}

impl Page {
    fn read(text: &str) -> Page {
        let unpacked = |id: &str| {
            let start = format!("<script type=\"application/octet-stream\" id=\"{id}\">");
            let at = text.find(&start)? + start.len();
            let letters = &text[at..at + text[at..].find('<')?];
            let mut bytes = Vec::new();
            flate2::read::DeflateDecoder::new(&STANDARD.decode(letters).unwrap()[..]).read_to_end(&mut bytes).unwrap();
            Some(bytes)
        };
        let chunks = (0..).map_while(|chunk| unpacked(&format!("c{chunk}"))).collect();
        let index = serde_json::from_slice(&unpacked("index").expect("an index")).unwrap();
        Page { text: text.to_owned(), index, chunks }
    }

    fn number(&self, list: &str, call: usize) -> usize {
        usize::try_from(self.index["calls"][list][call].as_i64().unwrap()).unwrap()
    }

    /// The arguments and the answer of a call.
    fn texts(&self, call: usize) -> (String, String) {
        let chunk = &self.chunks[self.number("chunk", call)];
        let from = self.number("at", call);
        let middle = from + self.number("args", call);
        let text = |range: std::ops::Range<usize>| String::from_utf8(chunk[range].to_vec()).unwrap();
        (text(from..middle), text(middle..middle + self.number("answer", call)))
    }

    fn all(&self) -> String {
        let chunks: String = self.chunks.iter().map(|chunk| String::from_utf8_lossy(chunk).into_owned()).collect();
        format!("{}{}{chunks}", self.text, self.index)
    }
}

fn page_of(args: &[&str]) -> Page {
    let ran = run(["view", "--no-config", "--output", "-"].iter().chain(args));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    Page::read(&ran.stdout)
}

#[test]
fn every_call_is_there_with_its_texts() {
    let path = "samples/import/claude-code/outcomes.jsonl";
    let page = page_of(&[path]);
    let imported = run(["import", path]);
    let calls = &page.index["calls"];
    assert_eq!(calls["count"], imported.stdout.lines().count());
    for (call, line) in imported.stdout.lines().enumerate() {
        let record: Value = serde_json::from_str(line).unwrap();
        let mut response = record["response"].clone();
        let marks = response.as_object_mut().unwrap().remove("$import").unwrap();
        let (arguments, answer) = page.texts(call);
        assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), record["args"], "{call}");
        let expected = if answer.is_empty() {
            response == serde_json::json!({})
        } else {
            serde_json::from_str::<Value>(&answer).unwrap() == response
        };
        assert!(expected, "{call}: {answer} and {response}");
        assert_eq!(page.index["tools"][page.number("tool", call)], record["tool"]);
        assert_eq!(calls["state"][call], marks["status"], "{call}");
    }
    assert!(calls["why"].as_object().unwrap().values().any(|why| why == "user_rejected"));
}

#[test]
fn findings_stand_at_their_calls() {
    let args = ["samples/view/release.jsonl", "--scope", "samples/view/release.scope.json"];
    let page = page_of(&args);
    let report = run(["audit", "--no-config", "--format", "json"].iter().chain(&args));
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let found = page.index["findings"].as_array().unwrap();
    let expected = report["findings"].as_array().unwrap();
    assert!(found.len() == expected.len() && found.len() > 5);
    for finding in expected {
        let same = |one: &&Value| {
            one["rule"] == finding["kind"] && one["call"] == finding["index"] && one["level"] == finding["level"]
        };
        let one = found.iter().find(same).unwrap_or_else(|| panic!("{finding}"));
        assert_eq!(one["message"], finding["message"]);
        let related = finding["related"]["index"].as_i64().unwrap_or(-1);
        assert_eq!(one["related"], related, "{finding}");
    }
    // the gravest first
    assert_eq!(found[0]["level"], "error");
    assert_eq!(page.index["headline"], "1 error, 6 warnings, 1 note in 31 calls");
    assert!(page.text.contains("<h1 class=\"error\">1 error, 6 warnings, 1 note in 31 calls</h1>"));
}

#[test]
fn no_secret_is_in_a_page() {
    let token = format!("ghp_{}", "kQ7vZ2mXr9TbW4nYc8HdLp3sJf6gAe1uRwTy");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let text = [
        record(0, "Bash", &format!(r#"{{"command":"export TOKEN={token}"}}"#), &format!(r#"{{"content":"{token}"}}"#)),
        record(1, "Read", r#"{"password":"hunter2hunter2"}"#, r#"{"content":"postgres://u:Tulip-orbit-93@db.x.io/"}"#),
        record(2, &format!("tool {token}"), "{}", &format!(r#"{{"$import":{{"agent":"a {token}"}},"x":1}}"#)),
    ];
    fs::write(&path, text.concat()).unwrap();
    let path = path.to_str().unwrap();
    let page = page_of(&[path]);
    for secret in [&token[8..], "hunter2", "Tulip-orbit"] {
        assert!(!page.all().contains(secret), "{secret}");
    }
    // equal ones stay equal, and the same run gives the same page
    let (arguments, answer) = page.texts(0);
    let mark = |text: &str| text[text.find("[REDACTED:").unwrap()..].split(']').next().unwrap().to_owned();
    assert_eq!(mark(&arguments), mark(&answer));
    assert_eq!(page.text, page_of(&[path]).text);
    let open = page_of(&["--unmasked", path]).all();
    assert!(open.contains("hunter2") && open.contains("Tulip-orbit"));
}

/// Runs in a folder of its own.
fn run_in(folder: &Path, args: &[&str]) -> Ran {
    toolreplay().current_dir(folder).args(args).output().unwrap().into()
}

#[test]
fn a_page_goes_where_it_belongs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::create_dir(here.join("runs")).unwrap();
    let call = record(0, "get", "{}", "{}");
    fs::write(here.join("runs/a.jsonl"), &call).unwrap();
    let view = |args: &[&str]| run_in(here, &[&["view"], args].concat());
    let first = view(&["runs/a.jsonl"]);
    assert_eq!((first.code, first.stdout.as_str()), (0, "a.html\n"), "{}", first.stderr);
    assert_eq!(view(&["runs/a.jsonl"]).code, 0, "a page replaces a page");
    assert_eq!(view(&["runs", "runs/a.jsonl"]).stdout, "toolreplay.html\n");
    // what somebody else wrote stays
    fs::write(here.join("a.html"), "<!doctype html>\nmine").unwrap();
    let refused = view(&["runs/a.jsonl"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("is there already and no page of toolreplay"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(here.join("a.html")).unwrap(), "<!doctype html>\nmine");
    // and so does evidence
    for output in ["runs/a.jsonl", "runs/../runs/a.jsonl"] {
        assert_eq!(view(&["runs/a.jsonl", "--output", output]).code, 2);
    }
    fs::write(here.join("other.jsonl"), &call).unwrap();
    assert_eq!(view(&["runs/a.jsonl", "--output", "other.jsonl"]).code, 2);
    assert_eq!(fs::read_to_string(here.join("other.jsonl")).unwrap(), call);
    assert_eq!(fs::read_to_string(here.join("runs/a.jsonl")).unwrap(), call);
    let both = view(&["runs/a.jsonl", "--output", "-", "--open"]);
    assert!(both.code == 2 && both.stdout.is_empty() && both.stderr.contains("--open"), "{}", both.stderr);
}

#[test]
fn what_cannot_be_read_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("half.jsonl"), format!("{}{{\"index\":1,", record(0, "get", "{}", "{}"))).unwrap();
    let ran = run_in(here, &["view", "half.jsonl"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, "half.html\n"), "{}", ran.stderr);
    let page = Page::read(&fs::read_to_string(here.join("half.html")).unwrap());
    assert!(page.index["headline"].as_str().unwrap().starts_with("Not everything could be judged"));
    assert!(page.index["troubles"][0].as_str().unwrap().contains("half.jsonl: line 2"), "{}", page.index["troubles"]);
    fs::write(here.join("none.jsonl"), "").unwrap();
    let none = run_in(here, &["view", "none.jsonl"]);
    assert!(none.code == 2 && none.stderr.contains("found no call to show"), "{none:?}");
    for args in [&["view", "missing.jsonl"][..], &["view", "-"], &["view"]] {
        assert_eq!(run_in(here, args).code, 2, "{args:?}");
    }
    // an audit says of what it cannot read twice that it is not shown
    let piped = run_on(record(0, "get", "{}", "{}").as_bytes(), ["audit", "--no-config", "-", "--format", "html"]);
    let page = Page::read(&piped.stdout);
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    assert!(page.index["troubles"][0].as_str().unwrap().contains("read only once"), "{}", page.index["troubles"]);
}

#[test]
fn an_audit_writes_the_page_beside_its_other_reports() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let report = format!("html={}", page.display());
    let dirty = sample("session-dirty.jsonl");
    let ran = run(["audit", "--no-config", dirty.to_str().unwrap(), "--report", &report, "--report", "json"]);
    assert_eq!(ran.code, 1);
    let found = serde_json::from_str::<Value>(&ran.stdout).unwrap()["findings"].as_array().unwrap().len();
    let page = Page::read(&fs::read_to_string(page).unwrap());
    assert_eq!(page.index["findings"].as_array().unwrap().len(), found);
    assert!(page.index["calls"]["count"].as_u64().unwrap() > 0 && !page.texts(0).0.is_empty());
    // a command that has no calls at hand says so
    let other = run(["replay", dirty.to_str().unwrap(), "--format", "html"]);
    assert!(Page::read(&other.stdout).index["no_calls"].as_str().unwrap().contains("toolreplay view"));
}

#[test]
fn hostile_names_become_no_markup() {
    let nasty = ["</script><script>alert(1)</script>", "<img src=x>", "a\u{202e}b", "\u{1b}[31m", "##[error]x", "'\">"];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("<b>&'.jsonl");
    let mut text = String::new();
    for (place, name) in nasty.iter().flat_map(|name| [name, name]).enumerate() {
        let name = serde_json::to_string(name).unwrap();
        let answer = format!("{{\"$import\":{{\"agent\":{name}}},{name}:{place}}}");
        text += &format!("{{\"index\":{place},\"tool\":{name},\"args\":{{{name}:{name}}},\"response\":{answer}}}\n");
    }
    fs::write(&path, text).unwrap();
    let page = page_of(&[path.to_str().unwrap()]);
    let markup = &page.text[..page.text.find("<style>").unwrap()];
    assert!(!markup.contains("<b>") && markup.contains("&lt;b&gt;&amp;&#39;"), "{markup}");
    let body = &page.text[page.text.find("</style>").unwrap()..];
    assert_eq!(body.matches("<script").count(), page.chunks.len() + 2, "the data, the index, the script");
    assert!(!body.contains("<img") && !page.text.contains(['\u{202e}', '\u{1b}']) && !page.text.contains("##["));
    // names are shown in the index with hidden characters as escapes; the texts stay what they are
    let mut waiting = vec![&page.index];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => {
                assert!(!text.chars().any(|char| char.is_control() || char == '\u{202e}'), "{text:?}");
            }
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => waiting.extend(members.values()),
            _ => {}
        }
    }
}

#[test]
fn a_page_is_not_much_larger_than_what_it_shows() {
    let mut seed = 1_u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let words: Vec<String> =
        (0..800).map(|_| (0..3 + next(7)).map(|_| (b'a' + next(26) as u8) as char).collect()).collect();
    let mut text = String::new();
    for index in 0..1_000 {
        let answer: Vec<&str> = (0..400).map(|_| words[next(800) as usize].as_str()).collect();
        let args = format!("{{\"path\":\"/w/{}\"}}", words[next(800) as usize]);
        text += &record(index, "read", &args, &format!("{{\"content\":\"{}\"}}", answer.join(" ")));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.jsonl");
    fs::write(&path, &text).unwrap();
    let page = page_of(&[path.to_str().unwrap()]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap().len();
    assert!(page.text.len() * 2 < packed * 3, "{} of {packed}", page.text.len());
}
