//! What is written, and what is not: a checkout's files, links and configuration may not make the command write elsewhere,
//! and nothing makes it replace evidence.

use crate::{Ran, record, root, sample, toolreplay};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use toolreplay::report::Format;

/// A user's folder with a checkout in it.
struct Home {
    folder: tempfile::TempDir,
}

/// Every file with its content, every link with what it leads to.
type State = BTreeMap<PathBuf, Vec<u8>>;

impl Home {
    fn new(files: &[(&str, &str)]) -> Home {
        let home = Home { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(home.path("checkout/.git/hooks")).unwrap();
        home.write(".profile", "PATH=$PATH:~/bin\n");
        home.write("checkout/t/a.jsonl", &transcript());
        files.iter().for_each(|(name, text)| home.write(name, text));
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn link(&self, name: &str, target: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        symlink(target, self.path(name)).unwrap();
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_in("checkout", args)
    }

    fn run_in(&self, folder: &str, args: &[&str]) -> Ran {
        toolreplay().current_dir(self.path(folder)).args(args).output().unwrap().into()
    }

    fn state(&self) -> State {
        let mut state = State::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                if metadata.is_dir() {
                    folders.push(path);
                } else if metadata.is_symlink() {
                    state.insert(
                        path.clone(),
                        fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes(),
                    );
                } else {
                    state.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        state
    }

    /// Runs what must be refused, and leave everything as it was.
    fn refuses(&self, folder: &str, args: &[&str], words: &str) {
        let before = self.state();
        let ran = self.run_in(folder, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
        assert!(self.state() == before, "{args:?} wrote something: {ran:?}");
    }
}

fn transcript() -> String {
    fs::read_to_string(sample("session-dirty.jsonl")).unwrap()
}

fn sealed(text: &str) -> String {
    crate::run_on(text.as_bytes(), ["seal", "-"]).stdout
}

#[test]
fn a_configuration_writes_below_its_folder_alone() {
    let home = Home::new(&[("checkout/src/main.rs", "fn main() {}\n"), ("checkout/folder.json/x", "")]);
    home.link("checkout/out", "..");
    home.link("checkout/dangling.txt", "../.bashrc");
    home.link("checkout/alias.txt", "src/main.rs");
    for (report, words) in [
        ("text=../.profile", "leads out of its folder"),
        ("text=../new", "leads out of its folder"),
        ("text=t/../../new", "leads out of its folder"),
        (&format!("text={}", home.path(".profile").display()), "leads out of its folder"),
        ("text=/dev/null", "leads out of its folder"),
        ("text=out/.profile", "goes through a link"),
        ("text=out/new", "goes through a link"),
        ("text=dangling.txt", "goes through a link"),
        ("text=alias.txt", "goes through a link"),
        ("text=.git/hooks/post-checkout", "is in a folder of git"),
        ("text=.GIT/config", "is in a folder of git"),
        ("text=src/main.rs", "is there already and no report of toolreplay"),
        ("text=toolreplay.toml", "is there already and no report of toolreplay"),
        ("text=t/a.jsonl", "is there already and no report of toolreplay"),
        ("text=folder.json", "is no regular file"),
    ] {
        home.write("checkout/toolreplay.toml", &format!("paths = [\"t\"]\nreports = [\"{report}\"]\n"));
        home.refuses("checkout", &["audit"], words);
        // who named the configuration is not who wrote it
        home.refuses("checkout", &["audit", "--config", "toolreplay.toml"], words);
    }
    // a folder that is a link is no folder of the repository
    home.write("elsewhere/toolreplay.toml", "reports = [\"text=new.txt\"]\n");
    home.link("checkout/linked", "../elsewhere");
    home.refuses("checkout", &["audit", "t", "--config", "linked/toolreplay.toml"], "leads out of the repository");
}

#[test]
fn a_configuration_replaces_its_own_reports_in_every_format() {
    for format in Format::ALL.map(Format::name) {
        for (name, text) in [("dirty", transcript()), ("clean", record(0, "x", "{}", "{}")), ("broken", "{".to_owned())]
        {
            let home = Home::new(&[("checkout/t/a.jsonl", &text)]);
            home.write("checkout/toolreplay.toml", &format!("paths = [\"t\"]\nreports = [\"{format}=report\"]\n"));
            let first = home.run(&["audit"]);
            let written = fs::read(home.path("checkout/report")).unwrap();
            let second = home.run(&["audit"]);
            assert_eq!((first.code, first.stderr), (second.code, second.stderr), "{format} of {name}");
            assert_eq!(fs::read(home.path("checkout/report")).unwrap(), written, "{format} of {name}");
        }
    }
}

#[test]
fn a_configuration_that_was_found_reads_inside_of_the_repository_alone() {
    let home =
        Home::new(&[("secret/a.jsonl", &transcript()), ("scope.json", "{\"agent\":\"a\",\"allowed_tools\":[]}")]);
    home.link("checkout/out", "../secret");
    home.link("checkout/one.jsonl", "../secret/a.jsonl");
    home.link("checkout/scope.json", "../scope.json");
    let secret = home.path("secret");
    for (key, value) in [
        ("paths", "[\"../secret\"]".to_owned()),
        ("paths", format!("[\"{}\"]", secret.display())),
        ("paths", "[\"t\", \"../**/*.jsonl\"]".to_owned()),
        ("paths", "[\"out\"]".to_owned()),
        ("paths", "[\"out/*\"]".to_owned()),
        ("paths", "[\"one.jsonl\"]".to_owned()),
        ("scope", "\"../scope.json\"".to_owned()),
        ("scope", "\"scope.json\"".to_owned()),
    ] {
        let paths = if key == "scope" { "paths = [\"t\"]\n" } else { "" };
        home.write("checkout/toolreplay.toml", &format!("{paths}{key} = {value}\n"));
        home.refuses("checkout", &["audit"], &format!("{key}: '"));
        home.refuses("checkout", &["audit"], "leads out of the repository");
        let ran = home.run(&["audit", "--config", "toolreplay.toml"]);
        assert_eq!(ran.code, 1, "{key} = {value}: {ran:?}");
    }
    // below the root a folder may name what is beside it
    home.write("checkout/sub/toolreplay.toml", "paths = [\"../t\"]\n");
    assert_eq!(home.run_in("checkout/sub", &["audit"]).code, 1);
    fs::remove_file(home.path("checkout/toolreplay.toml")).unwrap();
    home.write("other.toml", "paths = [\"t\"]\n");
    home.link("checkout/toolreplay.toml", "../other.toml");
    home.refuses("checkout", &["audit"], "leads out of the repository through a link");
}

/// What the command line names in the checkout stays there, whatever links came with it.
#[test]
fn no_link_of_the_checkout_leads_what_is_written_elsewhere() {
    let home = Home::new(&[("folder/keep", "")]);
    home.link("checkout/report.txt", "../.profile");
    home.link("checkout/new.txt", "../new");
    home.link("checkout/out", "../folder");
    home.link("checkout/deep", "out");
    for target in ["report.txt", "new.txt", "out/new.txt", "deep/new.txt"] {
        for args in [
            &["audit", "t", "-o", target][..],
            &["audit", "t", "--report", &format!("json={target}")],
            &["replay", "t/a.jsonl", "-o", target],
            &["seal", "t/a.jsonl", "-o", target],
            &["seal-all", "t/a.jsonl", "--report", &format!("json={target}")],
        ] {
            home.refuses("checkout", args, "leads out of the repository through a link");
        }
    }
    // what is named elsewhere is written there
    let ran = home.run(&["audit", "t", "-o", "../folder/report.txt"]);
    assert!(ran.code == 1 && home.path("folder/report.txt").is_file(), "{ran:?}");
}

#[test]
fn seal_all_writes_through_no_link() {
    let home = Home::new(&[("empty", ""), ("folder/b.jsonl", &transcript())]);
    home.link("checkout/out", "../folder");
    for target in ["../.bashrc", "../empty", "../.profile", "b.sealed.jsonl"] {
        home.link("checkout/t/a.sealed.jsonl", target);
        home.refuses("checkout", &["seal-all", "t"], "nothing is sealed through links");
        home.refuses("checkout", &["seal-all", "t/a.jsonl"], "nothing is sealed through links");
        fs::remove_file(home.path("checkout/t/a.sealed.jsonl")).unwrap();
    }
    for args in [
        &["seal-all", "out"][..],
        &["seal-all", "out/b.jsonl"],
        &["seal-all", "t", "--into", "out"],
        &["seal-all", "t", "--into", "out/new/folder"],
    ] {
        home.refuses("checkout", args, "leads out of the repository through a link");
    }
    assert_eq!(home.run(&["seal-all", "t", "--into", "../folder"]).code, 0);
}

#[test]
fn no_recording_is_overwritten() {
    let recording = fs::read_to_string(root().join("samples/import/claude-code/session.jsonl")).unwrap();
    let home = Home::new(&[
        ("checkout/c.jsonl", &recording),
        ("checkout/other.jsonl", &recording),
        ("checkout/s.jsonl", &transcript()),
        ("checkout/s.sealed.jsonl", &sealed(&transcript())),
        ("checkout/into/s.jsonl", &transcript()),
    ]);
    home.link("checkout/link.jsonl", "c.jsonl");
    for (args, words) in [
        (&["import", "c.jsonl", "-o", "c.jsonl"][..], "is read by this very command"),
        (&["import", "c.jsonl", "-o", "link.jsonl"], "is read by this very command"),
        (&["import", "link.jsonl", "-o", "c.jsonl"], "is read by this very command"),
        (&["import", "c.jsonl", "-o", "t/../c.jsonl"], "is read by this very command"),
        (&["import", "c.jsonl", "-o", "o", "--report-losses", "c.jsonl"], "is read by this very command"),
        (&["import", "c.jsonl", "-o", "other.jsonl"], "other.jsonl holds a recording"),
        (&["import", "c.jsonl", "-o", "s.sealed.jsonl"], "holds a sealed transcript"),
        (&["import", "c.jsonl", "-o", "o", "--report-losses", "s.jsonl"], "s.jsonl holds a transcript"),
        (&["import", "c.jsonl", "-o", "o", "--report-losses", "./o"], "two outputs would be written to ./o"),
        (&["seal-all", "s.jsonl", "--report", "json=s.jsonl"], "is read by this very command"),
        (&["seal-all", "s.jsonl", "--report", "json=s.sealed.jsonl"], "is read by this very command"),
        (&["seal-all", "t", "--report", "json=t/a.sealed.jsonl"], "is read by this very command"),
        (&["seal-all", "s.jsonl", "--into", "new", "--report", "json=new/s.sealed.jsonl"], "by this very command"),
        (&["seal", "c.jsonl", "-o", "s.jsonl"], "s.jsonl holds a transcript"),
        (&["seal", "s.jsonl", "-o", "c.jsonl"], "c.jsonl holds a recording"),
        (&["audit", "s.jsonl", "-o", "s.sealed.jsonl"], "holds a sealed transcript"),
        (&["audit", "s.jsonl", "-o", "c.jsonl"], "c.jsonl holds a recording"),
        (&["replay", "s.jsonl", "--report", "json=t/a.jsonl"], "t/a.jsonl holds a transcript"),
        (&["verify", "s.sealed.jsonl", "-o", "s.jsonl"], "s.jsonl holds a transcript"),
    ] {
        home.refuses("checkout", args, words);
    }
    // what a command wrote itself it writes again
    for args in [
        &["import", "c.jsonl", "-o", "o.jsonl", "--report-losses", "losses.json"][..],
        &["seal", "s.jsonl", "-o", "s.sealed.jsonl"],
        &["seal-all", "s.jsonl", "--report", "json=r.json"],
        &["verify", "s.sealed.jsonl", "-o", "r.txt"],
    ] {
        for _ in 0..2 {
            let ran = home.run(args);
            assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        }
    }
}

/// Agents whose names differ only in what a file name leaves out.
#[test]
fn no_agent_overwrites_another() {
    let home = Home::new(&[]);
    let call = |agent: &str, id: &str| {
        format!(
            "{{\"type\":\"assistant\",\"sessionId\":\"s\",\"isSidechain\":true,\"agentId\":\"{agent}\",\"uuid\":\"{id}\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"Read\",\"input\":{{}}}}]}}}}\n{{\"type\":\"user\",\"sessionId\":\"s\",\"isSidechain\":true,\"agentId\":\"{agent}\",\"uuid\":\"r{id}\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":\"x\"}}]}}}}\n"
        )
    };
    home.write("checkout/c.jsonl", &(call("a/b", "1") + &call("a:b", "2")));
    let ran = home.run(&["import", "c.jsonl", "-o", "o.jsonl", "--agents", "separate"]);
    assert!(ran.code == 2 && ran.stderr.contains("two outputs would be written to o."), "{ran:?}");
    assert!(!Path::new(&home.path("checkout/o.a_b.jsonl")).exists());
}

/// What is begun when a signal comes is not left lying about.
#[test]
fn signals_leave_no_temporary_file() {
    use std::io::Write as _;
    use std::os::unix::process::ExitStatusExt as _;
    // more than is looked at before anything is written
    let begun: String = (0..4000).map(|index| record(index, "x", "{}", "{}")).collect();
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let home = Home::new(&[("checkout/old.jsonl", "")]);
        let pipe = home.path("pipe.jsonl");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let folder = home.path("checkout");
        let mut child =
            toolreplay().current_dir(&folder).args(["seal", "../pipe.jsonl", "-o", "new.jsonl"]).spawn().unwrap();
        let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
        let names = || -> Vec<String> {
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        writer.write_all(begun.as_bytes()).unwrap();
        while !names().iter().any(|name| name.ends_with(".tmp")) {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        assert!(
            std::process::Command::new("kill")
                .args(["-s", signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        let mut left = names();
        left.sort();
        assert_eq!(left, [".git", "old.jsonl", "t"], "{signal}");
    }
}

/// A message names what was asked for, not the temporary file beside it.
#[test]
fn errors_of_writing_name_the_path_that_was_asked_for() {
    let home = Home::new(&[]);
    let records: String = (0..2000).map(|index| record(index, "x", "{}", "{}")).collect();
    home.write("checkout/long.jsonl", &records);
    home.write("checkout/small/a.jsonl", &transcript());
    // a process that may write 512 bytes and no more
    let limited = |command: &str| -> Ran {
        let script = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" {command}");
        let binary = env!("CARGO_BIN_EXE_toolreplay");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, binary]).current_dir(home.path("checkout")).output().unwrap().into()
    };
    for (command, path) in [
        ("audit long.jsonl --report json=report.json", "report.json"),
        ("seal long.jsonl -o sealed.jsonl", "sealed.jsonl"),
        ("audit long.jsonl -o none/report.txt", "none/report.txt"),
    ] {
        let ran = limited(command);
        assert_eq!(ran.code, 2, "{command}: {ran:?}");
        assert!(ran.stderr.starts_with(&format!("error: cannot write {path}: ")), "{command}: {}", ran.stderr);
        assert!(!ran.stderr.contains(".tmp"), "{command}: {}", ran.stderr);
    }
    assert_eq!(fs::read_dir(home.path("checkout")).unwrap().count(), 4, "something is left");
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn a_standard_output_that_is_closed_is_an_error() {
    let home = Home::new(&[]);
    let run = |command: &str| -> Ran {
        let script = format!("exec \"$0\" {command}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_toolreplay")]);
        shell.current_dir(home.path("checkout")).output().unwrap().into()
    };
    for command in ["seal t/a.jsonl", "audit t", "verify t/a.jsonl", "version", "import t/a.jsonl", "explain"] {
        let ran = run(&format!("{command} >&-"));
        assert_eq!(ran.code, 2, "{command}: {ran:?}");
    }
    let ran = run("seal t/a.jsonl >&-");
    assert_eq!(ran.stderr, "error: cannot write to standard output: it is closed\n");
    // nothing is written there, or it is meant to be lost
    for command in
        ["seal t/a.jsonl -o t/a.sealed.jsonl >&-", "seal t/a.jsonl >/dev/null", "seal t/a.jsonl <>/dev/null >&0"]
    {
        assert_eq!(run(command).code, 0, "{command}");
    }
}
