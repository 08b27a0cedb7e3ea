//! The one ordinary integration binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test that fails says so by panicking, and may ask the environment"
)]

#[path = "../expected/mod.rs"]
mod expected;

mod agents;
mod attest;
mod audit;
mod baseline;
mod canonical;
mod captures;
mod cli;
mod dangers;
mod equality;
mod generated;
mod guards;
mod hostile;
mod import;
mod known_answers;
mod leave_out;
mod layers;
mod looks;
mod lossless;
#[cfg(target_os = "linux")]
mod memory;
mod page;
mod policy;
mod recipe;
#[cfg(unix)]
mod redact;
mod refusals;
mod registry;
mod robust;
mod security;
mod selection;
mod sessions;
mod shell;
mod signing;
#[cfg(unix)]
mod trace_run;
mod traits;
#[cfg(unix)]
mod unread;
#[cfg(unix)]
mod writes;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The root of the package.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sample(name: &str) -> PathBuf {
    root().join("samples").join(name)
}

/// The command, in the root of the package.
fn toolreplay() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolreplay"));
    command.current_dir(root()).env_remove("NO_COLOR");
    command
}

/// What a command did.
#[derive(Debug)]
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().expect("an exit code"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    toolreplay().args(args).stdin(Stdio::null()).output().unwrap().into()
}

/// Runs with a text on standard input.
fn run_on<S: AsRef<OsStr>>(input: &[u8], args: impl IntoIterator<Item = S>) -> Ran {
    let mut command = toolreplay();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // a command that refuses its input does not read all of it
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.into()
}

fn record(index: usize, tool: &str, args: &str, response: &str) -> String {
    format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{args},\"response\":{response}}}\n")
}

/// Holds a generated file against what the code says now.
fn expect_file(path: &Path, text: &str) {
    expected::compare(path, text).unwrap_or_else(|differs| panic!("{differs}"));
}
