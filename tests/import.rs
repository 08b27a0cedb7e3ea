//! Every recording under `samples/import` is one test: what is imported of it, what is said about that, and what an
//! audit of it finds are the files beside it. The folder's name is the format that it must be told as; files under
//! `refused` must be refused. `SNAPSHOTS=overwrite cargo test` writes the expectations anew.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that fails says so by panicking")]

mod expected;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut samples: Vec<PathBuf> = std::fs::read_dir(root.join("samples/import"))
        .unwrap()
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && !path.to_str().unwrap().contains(".expected."))
        .map(|path| path.strip_prefix(root).unwrap().to_owned())
        .collect();
    samples.sort();
    let trials = samples.into_iter().map(|sample| {
        let name = sample.display().to_string();
        Trial::test(name, move || check(&sample))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn toolreplay(arguments: &[&str], input: Option<&[u8]>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolreplay"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments);
    let Some(input) = input else { return command.output().unwrap() };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), input).unwrap();
    command.stdin(std::fs::File::open(file.path()).unwrap()).output().unwrap()
}

fn check(sample: &Path) -> Result<(), Failed> {
    let shown = sample.to_str().unwrap();
    let format = sample.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let imported = toolreplay(&["import", shown], None);
    let said = String::from_utf8(imported.stderr).unwrap();
    let code = imported.status.code().unwrap();
    let refused = format == "refused";
    if said.contains("read as ") == refused || (!refused && !said.contains(&format!("read as {format}: "))) {
        return Err(format!("not told as {format}:\n{said}").into());
    }
    if !imported.stdout.is_empty() {
        // whatever is written is a transcript, and sealing it straight from the recording gives the same chain
        let sealed = toolreplay(&["seal", "-"], Some(&imported.stdout));
        if !sealed.status.success() {
            return Err(
                format!("what was written is no transcript:\n{}", String::from_utf8_lossy(&sealed.stderr)).into()
            );
        }
        let straight = toolreplay(&["seal", "--allow-loss", shown], None);
        if straight.stdout != sealed.stdout {
            return Err("sealing the recording gives another chain than sealing its transcript".into());
        }
    }
    let audit = toolreplay(&["audit", "--no-config", "--allow-loss", shown], None);
    let text = format!(
        "$ toolreplay import {shown}\n{said}exit code: {code}\n\n$ toolreplay audit --allow-loss {shown}\n{}exit code: {}\n",
        String::from_utf8(audit.stdout).unwrap(),
        audit.status.code().unwrap()
    );
    // one thread and many give the same
    let alone = toolreplay(&["import", "--threads", "1", shown], None);
    if alone.stdout != imported.stdout {
        return Err("the number of threads changes what is written".into());
    }
    expect_file(&expected(sample, "jsonl"), &String::from_utf8(imported.stdout).unwrap())?;
    expect_file(&expected(sample, "txt"), &text)
}

fn expected(sample: &Path, extension: &str) -> PathBuf {
    let stem = sample.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
    sample.with_file_name(format!("{stem}.expected.{extension}"))
}

fn expect_file(path: &Path, text: &str) -> Result<(), Failed> {
    Ok(expected::compare(path, text)?)
}
