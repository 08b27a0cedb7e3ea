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
