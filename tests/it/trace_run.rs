//! `trace run` as far as it is this program's: which interpreter it starts, and how. The rest is tested with Python.

use crate::{Ran, toolreplay};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Runs it with a script in the place of the interpreter.
fn with_interpreter(script: &str, arguments: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let interpreter = folder.path().join("python");
    fs::write(&interpreter, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&interpreter, Permissions::from_mode(0o755)).unwrap();
    start(&interpreter, arguments)
}

fn start(interpreter: &Path, arguments: &[&str]) -> Ran {
    let mut command = toolreplay();
    command.args(["trace", "run", "app.main:run", "--input", "in.json", "--output=-out.jsonl"]);
    command.args(arguments).arg("--python").arg(interpreter).output().unwrap().into()
}

#[test]
fn the_interpreter_gets_every_option_and_its_exit_code_counts() {
    let script = "[ \"$1\" = -c ] && exit 0; printf '%s\\n' \"$@\"; exit 7";
    let options = [
        "--tool",
        "m:a",
        "--tool=m:C.b",
        "--model",
        "m:c",
        "--loop",
        "m:d",
        "--redact-field",
        "pin",
        "--max-events",
        "12",
    ];
    let ran = with_interpreter(script, &options);
    let expected = "-m\ntoolreplay.run\n--input=in.json\n--output=-out.jsonl\n--model=m:c\n--tool=m:a\n--tool=m:C.b\n\
        --loop=m:d\n--redact-field=pin\n--max-events=12\n--\napp.main:run\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (7, expected, ""));
}

#[test]
fn what_is_missing_is_named() {
    let missing = start(Path::new("/no/such/python"), &[]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.starts_with("error: there is no interpreter '/no/such/python'; install"), "{missing:?}");
    let bare = with_interpreter("exit 3", &[]);
    assert_eq!(bare.code, 2);
    assert!(bare.stderr.contains("has no module toolreplay; run '"), "{bare:?}");
    assert!(bare.stderr.contains("-m pip install toolreplay'"), "{bare:?}");
    let broken = with_interpreter("exit 1", &[]);
    assert_eq!(broken.code, 2);
    assert!(broken.stderr.contains("is no interpreter that works"), "{broken:?}");
}
