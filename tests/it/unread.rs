//! Everything under what is named is accounted for: read, or reported as not read.

use crate::{Ran, record, toolreplay};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path(".git")).unwrap();
        folder.write("runs/a.jsonl", &record(0, "a", "{}", "{}"));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Ran {
        toolreplay().current_dir(self.path("")).args(["audit", "--no-config"]).args(args).output().unwrap().into()
    }

    fn report(&self, path: &str) -> Value {
        let ran = self.run(&[path, "--format", "json"]);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }
}

/// The paths of the findings of the rule, and what they say.
fn unread(report: &Value) -> Vec<(String, String)> {
    let findings =
        report["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == "unread-recording");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings.map(|finding| (text(&finding["path"]), text(&finding["message"]))).collect()
}

#[test]
fn what_looks_like_a_recording_and_is_not_read_is_a_finding() {
    let call = record(0, "rm", "{}", "{}");
    let sealed = crate::run_on(call.as_bytes(), ["seal", "-"]).stdout;
    let chat = "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"rm\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"x\"}]}\n";
    for (name, text, words) in [
        ("runs/.b.jsonl", call.as_str(), "it is hidden"),
        ("runs/.b", &call, "it is hidden"),
        ("runs/.hidden/deep/b.jsonl", &call, "it is hidden"),
        ("runs/.b.sealed.jsonl", &sealed, "it is hidden"),
        ("runs/b.jsonl.bak", &call, "its name is none"),
        ("runs/b.sealed", &sealed, "its name is none"),
        ("runs/b.txt", chat, "its name is none"),
        ("runs/b.jsonl", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "Git LFS"),
    ] {
        let folder = Folder::new();
        folder.write(name, text);
        let report = folder.report("runs");
        let found = unread(&report);
        assert!(found.len() == 1 && found[0].0 == name && found[0].1.contains(words), "{name}: {found:?}");
        assert_ne!(report["exit_code"], 0, "{name}");
        // what is named is read
        assert!(unread(&folder.report(name)).is_empty(), "{name}");
    }
    let folder = Folder::new();
    for (name, text) in [
        ("runs/.settings.json", "{\"name\":1}"),
        ("runs/README", "words"),
        ("runs/x.txt", "{"),
        (".git/b.jsonl", &call),
    ] {
        folder.write(name, text);
    }
    assert_eq!(folder.run(&["."]).code, 0);
}

/// Wrapped twice, in another encoding, behind a line of something else: what holds a recording is read or told.
#[test]
fn wrappings_hide_no_recording() {
    let call = record(0, "rm", "{}", "{}");
    let wide: Vec<u8> = call.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = [&b"\xff\xfe"[..], &wide].concat();
    let behind = format!("# a log\n{call}{call}").into_bytes();
    for (name, bytes) in [
        ("runs/b.txt", wide),
        ("runs/b.log", behind),
        ("runs/b.bak", packed(&packed(call.as_bytes()))),
        ("runs/b.jsonl.gz.old", packed(call.as_bytes())),
    ] {
        let folder = Folder::new();
        fs::write(folder.path(name), bytes).unwrap();
        let found = unread(&folder.report("runs"));
        assert!(found.len() == 1 && found[0].0 == name, "{name}: {found:?}");
    }
    // packed twice and named so, it is read
    let folder = Folder::new();
    fs::write(folder.path("runs/b.jsonl.gz.gz"), packed(&packed(call.as_bytes()))).unwrap();
    let report = folder.report("runs");
    assert!(report["coverage"]["calls"] == 2 && unread(&report).is_empty(), "{report}");
    // and without end it is refused, by whatever name
    let deep = (0..6).fold(call.into_bytes(), |text, _| packed(&text));
    for name in ["runs/b.jsonl.gz.gz.gz.gz.gz.gz", "runs/b.bin"] {
        let folder = Folder::new();
        fs::write(folder.path(name), &deep).unwrap();
        let ran = folder.run(&["runs"]);
        assert!(ran.code != 0 && ran.stdout.contains("compressed more than three times"), "{name}: {ran:?}");
    }
}

/// However many bombs lie about, no more is unpacked to look into them than the limit says, and what was not looked into is
/// told.
#[test]
fn looking_is_bounded_for_all_files_together() {
    let folder = Folder::new();
    let spaces = packed(&vec![b'\n'; 1 << 20]);
    for number in 0..8 {
        fs::write(folder.path(&format!("runs/{number}.bin")), &spaces).unwrap();
    }
    assert!(unread(&folder.report("runs")).is_empty());
    let ran = folder.run(&["runs", "--max-unpacked", "3M", "--format", "json"]);
    let found = unread(&serde_json::from_str(&ran.stdout).unwrap());
    assert!(found.len() >= 5 && found[0].1.contains("cannot be told"), "{found:?}");
}

fn packed(text: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

#[test]
fn documents_that_hold_calls_are_told() {
    for text in [
        "{\"log\": [\n{\"tool\": \"rm\", \"args\": {\"path\": \"/\"}}\n]}\n",
        "{\"version\": 1, \"tool_calls\": [\n{\"f\": \"rm\"}\n]}\n",
        "{\"n\": 1}\n{\"n\": 2, \"call\": {\"name\": \"rm\", \"arguments\": {}}}\n",
    ] {
        let folder = Folder::new();
        folder.write("runs/b.json", text);
        let report = folder.report("runs");
        let found = unread(&report);
        assert!(found.len() == 1 && found[0].1.contains("no format that is known"), "{text}: {report}");
        assert_eq!(folder.run(&["--fail-on", "error", "runs"]).code, 0);
        assert_eq!(folder.run(&["--fail-on", "error", "--strict", "runs"]).code, 1);
        fs::write(folder.path("toolreplay.toml"), "strict = true\nfail-on = \"error\"\n").unwrap();
        let ran: Ran = toolreplay().current_dir(folder.path("")).args(["audit", "runs"]).output().unwrap().into();
        assert_eq!(ran.code, 1, "{ran:?}");
    }
    // two formats at once are no format
    let both = "{\"schema_version\":\"ATIF-v1.2\",\"agent\":{\"name\":\"x\"},\"steps\":[],\"resourceSpans\":[{\"scopeSpans\":[]}]}";
    let folder = Folder::new();
    folder.write("runs/b.json", both);
    let ran = folder.run(&["runs"]);
    assert!(ran.code == 2 && ran.stdout.contains("more than one format fits"), "{ran:?}");
    // and what is about something else is passed over, and named if that is asked
    let folder = Folder::new();
    folder.write("package.json", "{\"name\": \"x\",\n\"scripts\": {\"args\": \"y\"}}\n");
    folder.write("train.jsonl", "{\"text\": \"x\", \"label\": 1}\n{\"text\": \"y\", \"label\": 0}\n");
    let ran = folder.run(&["."]);
    assert!(ran.code == 0 && !ran.stdout.contains("train.jsonl"), "{ran:?}");
    let ran = folder.run(&["--strict", "."]);
    assert!(ran.code == 0 && ran.stdout.contains("train.jsonl is no recording"), "{ran:?}");
}

/// What stands beside a session is read with it, repeats it, or is told.
#[test]
fn files_beside_a_session_are_accounted_for() {
    let line = |id: &str, agent: &str| {
        format!(
            "{{\"type\":\"assistant\",\"sessionId\":\"s\",\"uuid\":\"u{id}{}\",\"parentUuid\":null,\"isSidechain\":{},{agent}\
             \"version\":\"2.1.0\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"assistant\",\"id\":\"m{id}\",\
             \"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"Read\",\"input\":{{\"file_path\":\"{id}\"}}}}]}}}}\n",
            agent.len(),
            !agent.is_empty()
        )
    };
    let compacted = |id: &str| line(id, "\"agentId\":\"acompact-1\",");
    for (name, text, told) in [
        ("agent-acompact-1.jsonl", compacted("t1"), false),
        ("agent-acompact-1.jsonl", compacted("t9"), true),
        ("journal.jsonl", "{\"type\":\"started\",\"key\":\"k\"}\n".to_owned(), false),
        ("journal.jsonl", compacted("t9"), true),
        ("agent-1.jsonl", line("t2", "\"agentId\":\"1\","), false),
    ] {
        for path in ["runs", "runs/s.jsonl"] {
            let folder = Folder::new();
            folder.write("runs/s.jsonl", &line("t1", ""));
            folder.write(&format!("runs/s/subagents/{name}"), &text);
            let found = unread(&folder.report(path));
            assert_eq!(!found.is_empty(), told, "{path} {name} {text}: {found:?}");
        }
    }
    // a transcript of our own reads nothing beside it
    let folder = Folder::new();
    folder.write("runs/a/subagents/agent-1.jsonl", &line("t2", "\"agentId\":\"1\","));
    for path in ["runs", "runs/a.jsonl"] {
        let found = unread(&folder.report(path));
        assert!(found.len() == 1 && found[0].1.contains("beside a session"), "{path}: {found:?}");
    }
}

#[test]
fn links_to_folders_are_not_followed_and_not_passed_over() {
    let folder = Folder::new();
    folder.write("elsewhere/deep/b.jsonl", &record(0, "rm", "{}", "{}"));
    symlink("../elsewhere", folder.path("runs/link")).unwrap();
    let found = unread(&folder.report("runs"));
    assert!(found.len() == 1 && found[0].0 == "runs/link", "{found:?}");
    // read by another way, or no recordings at all
    assert!(unread(&folder.report(".")).is_empty());
    fs::remove_dir_all(folder.path("elsewhere")).unwrap();
    folder.write("elsewhere/x.json", "{}");
    assert!(unread(&folder.report("runs")).is_empty());
}

/// A file that is called like the glob does not take its place.
#[test]
fn a_glob_is_a_glob() {
    let folder = Folder::new();
    let paths = |report: &Value| -> Vec<String> {
        report["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    folder.write("runs/*.jsonl", &record(0, "x", "{}", "{}"));
    assert_eq!(paths(&folder.report("runs/*.jsonl")), ["runs/*.jsonl", "runs/a.jsonl"]);
    folder.write("**/c.jsonl", &record(0, "x", "{}", "{}"));
    assert_eq!(paths(&folder.report("**")), ["**/c.jsonl", "runs/*.jsonl", "runs/a.jsonl"]);
    // a name that is no glob is a name
    folder.write("runs/[z.jsonl", &record(0, "x", "{}", "{}"));
    assert_eq!(paths(&folder.report("runs/[z.jsonl")), ["runs/[z.jsonl"]);
    folder.write("runs/[b].jsonl", &record(0, "x", "{}", "{}"));
    assert_eq!(paths(&folder.report("runs/[b].jsonl")), ["runs/[b].jsonl"]);
}
