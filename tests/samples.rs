//! Every transcript under `samples/rules` is one test: the audit of it is the text beside it, `bad-*` makes its folder's
//! rule fire and `good-*` does not. `SNAPSHOTS=overwrite cargo test` writes the texts anew.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that fails says so by panicking")]

mod expected;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut samples: Vec<PathBuf> = std::fs::read_dir(root.join("samples/rules"))
        .unwrap()
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().path().strip_prefix(root).unwrap().to_owned())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    samples.sort();
    let trials = samples.into_iter().map(|sample| {
        let name = sample.display().to_string();
        Trial::test(name, move || check(&sample))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn check(sample: &Path) -> Result<(), Failed> {
    let folder = sample.parent().unwrap();
    let rule = folder.file_name().unwrap().to_str().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolreplay"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["audit", "--no-config"]).arg(sample);
    let scope = folder.join("scope.json");
    if Path::new(env!("CARGO_MANIFEST_DIR")).join(&scope).exists() {
        command.arg("--scope").arg(&scope);
    }
    let output = command.output().unwrap();
    let text = format!(
        "{}{}exit code: {}\n",
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
        output.status.code().unwrap()
    );
    let report = command.args(["--format", "json"]).output().unwrap().stdout;
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let fired = report["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == rule);
    let file = sample.file_name().unwrap().to_str().unwrap();
    if fired != file.starts_with("bad-") || !(fired || file.starts_with("good-")) {
        return Err(format!("{rule} {} on it", if fired { "fires" } else { "does not fire" }).into());
    }
    expect_file(&sample.with_extension("expected.txt"), &text)
}

fn expect_file(path: &Path, text: &str) -> Result<(), Failed> {
    Ok(expected::compare(path, text)?)
}
