//! Files and pipes that fail, change, end early or never were files.
#![cfg(unix)]

use crate::{record, run, run_on, toolreplay};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

fn transcript(calls: usize) -> String {
    (0..calls).map(|index| record(index, "get", &format!("{{\"n\":{index}}}"), "{\"v\":1}")).collect()
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.jsonl");
    let repeats: String = (0..50_000).map(|index| record(index, "get", "{}", "{}")).collect();
    fs::write(&path, repeats).unwrap();
    for (args, code) in [(["replay"], 1), (["seal"], 0), (["audit"], 1)] {
        let mut child =
            toolreplay().args(args).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 5];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(code), &b""[..]), "{args:?}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    for args in [&["seal", "samples/session-clean.jsonl"][..], &["replay", "samples/session-clean.jsonl"], &["version"]]
    {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = toolreplay().args(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.starts_with("error: cannot write to standard output: "), "{error}");
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.jsonl");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    // a malformed transcript leaves the old file
    let ran = run_on(b"{}", ["seal", "-", "-o", target.to_str().unwrap()]);
    assert_eq!((ran.code, fs::read_to_string(&target).unwrap().as_str()), (2, "old"));
    assert_eq!(entries(folder.path()), ["out.jsonl"]);
    // so does a limit on the size of files, which stands for a full disk
    let limited = format!(
        "ulimit -f 8; trap '' XFSZ; exec '{}' seal - -o '{}'",
        env!("CARGO_BIN_EXE_toolreplay"),
        target.display()
    );
    let mut child =
        Command::new("bash").args(["-c", &limited]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || drop(stdin.write_all(transcript(2_000).as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write"));
    assert_eq!(fs::read_to_string(&target).unwrap(), "old");
    assert_eq!(entries(folder.path()), ["out.jsonl"]);
    // a success replaces it and keeps its mode
    assert_eq!(run(["seal", "samples/session-clean.jsonl", "-o", target.to_str().unwrap()]).code, 0);
    assert!(fs::read_to_string(&target).unwrap().starts_with("{\"args\""));
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(entries(folder.path()), ["out.jsonl"]);
    // a folder that is not there
    let ran = run(["seal", "samples/session-clean.jsonl", "-o", "/nonexistent/x.jsonl"]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: cannot write /nonexistent/x.jsonl: "), "{}", ran.stderr);
}

#[test]
fn a_link_to_a_report_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(run(["replay", "samples/session-clean.jsonl", "-o", link.to_str().unwrap()]).code, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().starts_with("calls: 4"));
}

#[test]
fn a_folder_that_cannot_be_read_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let locked = folder.path().join("runs/locked");
    fs::create_dir_all(&locked).unwrap();
    fs::write(folder.path().join("runs/a.jsonl"), transcript(2)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    // permissions do not bind root: run as nobody instead
    let mut command = match fs::read_dir(&locked) {
        Ok(_) => Command::new("setpriv"),
        Err(_) => toolreplay(),
    };
    if command.get_program() == "setpriv" {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", env!("CARGO_BIN_EXE_toolreplay")]);
    }
    let output = command.current_dir(folder.path()).args(["audit", "runs"]).output();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    let ran: crate::Ran = match output {
        Ok(output) if output.status.code() != Some(126) && output.status.code() != Some(127) => output.into(),
        other => {
            eprintln!("NOTICE: a folder without read permission was not tried: {other:?}");
            return;
        }
    };
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("runs/locked: "), "{}", ran.stderr);
}

#[test]
fn a_folder_is_no_transcript() {
    let ran = run(["replay", "samples"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.starts_with("error: samples: cannot be "), "{}", ran.stderr);
}

#[test]
fn paths_that_are_no_utf8_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"se\xffssion\x1b.jsonl"));
    if fs::write(&path, fs::read(crate::sample("session-dirty.jsonl")).unwrap()).is_err() {
        eprintln!("NOTICE: this file system takes UTF-8 names alone; others were not tried");
        return;
    }
    for format in toolreplay::report::Format::ALL {
        let ran =
            run([OsStr::new("audit"), OsStr::new("--format"), OsStr::new(format.name()), folder.path().as_os_str()]);
        assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
        assert!(!ran.stdout.contains('\x1b') || format.name() == "json", "{}", format.name());
    }
    let ran = run([OsStr::new("replay"), path.as_os_str(), OsStr::new("missing.jsonl")]);
    assert!(ran.stdout.contains("ssion\\u001b.jsonl <=="), "{}", ran.stdout);
}

#[test]
fn pipes_are_read_like_files() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let sealed = run(["seal", "samples/session-dirty.jsonl"]).stdout;
    for (args, text, code) in [
        (["audit"], transcript(10), 0),
        (["audit"], sealed.replace("\"hits\":3", "\"hits\":4"), 1),
        (["replay"], transcript(10), 0),
        (["seal"], transcript(10), 0),
        (["verify"], sealed, 0),
    ] {
        let child = toolreplay().args(args).arg(&pipe).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        fs::write(&pipe, text).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?} {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A session that is still being written: whatever is read is a prefix of it, so a seal is one of a prefix, and a cut
/// line is an error; never a panic, never half a chain that passes for a whole one.
#[test]
fn a_file_that_grows_or_shrinks_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.jsonl");
    let whole = transcript(60_000);
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut grown = whole.len() / 2;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let file = File::options().append(true).open(&path).unwrap();
                let next = (grown + 4_111).min(whole.len());
                (&file).write_all(&whole.as_bytes()[grown..next]).unwrap();
                grown = next;
                if grown == whole.len() {
                    file.set_len((whole.len() / 2) as u64).unwrap();
                    grown = whole.len() / 2;
                }
            }
        });
        for _ in 0..12 {
            let ran = run([OsStr::new("seal"), path.as_os_str()]);
            match ran.code {
                0 => assert_eq!(run_on(ran.stdout.as_bytes(), ["verify", "-"]).code, 0),
                2 => {
                    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
                    assert!(ran.stdout.is_empty() || run_on(ran.stdout.as_bytes(), ["verify", "-"]).code == 2);
                }
                other => panic!("exit code {other}"),
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_line_of_many_megabytes_is_read() {
    let long = record(0, "get", "{\"z\":1,\"a\":2}", &format!("{{\"z\":\"{}\",\"a\":[1, 2]}}", "é\\n".repeat(6 << 20)));
    let text = long + &record(1, "get", "{}", "{}");
    assert_eq!(run_on(text.as_bytes(), ["replay", "-"]).stdout, "calls: 2\ndivergence: none\nfindings: 0\n");
    let sealed = run_on(text.as_bytes(), ["seal", "-"]);
    assert_eq!(sealed.code, 0);
    assert_eq!(run_on(sealed.stdout.as_bytes(), ["verify", "-"]).stdout, "chain: intact\n");
}
