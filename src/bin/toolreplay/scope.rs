//! `toolreplay scope`: transcripts against what an agent may call.

use crate::args::{Common, ScopeArgs};
use crate::exit::{self, Exit};
use crate::inputs::Surroundings;
use crate::{attest, guard, output, replay};
use anyhow::{Context as _, bail};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolreplay::audit::{Command, Plan};
use toolreplay::engine::Ruleset;
use toolreplay::scope::{Applied, MAX_SCOPE, Policy};

pub(crate) fn run(args: ScopeArgs, common: &Common) -> Exit {
    let targets = output::targets(&args.reports)?;
    guard::reports(&targets, args.files.iter().chain([&args.scope]).map(PathBuf::as_path))?;
    let scope = Arc::new(Applied::from(read(&args.scope)?));
    let plan = Plan::Judge(Ruleset::scope(Arc::clone(&scope)), args.importing.options());
    let inputs = replay::inputs(&args.files)?;
    let mut report = replay::report(Command::Scope, &inputs, &plan, common);
    report.held_against(&scope);
    attest::subjects(&mut report, &inputs, &targets);
    attest::judged_by(&mut report, &Surroundings::current()?, None, [args.scope.as_path()], &targets)?;
    let code = output::finish(&report, &targets, args.files.len() == 1, &output::style(common))?;
    output::say_remarks(&report, &targets, &output::style(common));
    Ok(code)
}

/// Reads a scope file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Policy> {
    let shown = path.display().to_string();
    let mut text = Vec::new();
    // a pipe would be waited for
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        bail!("cannot read the scope file {shown}: it is no regular file");
    }
    let file = File::open(path).with_context(|| format!("cannot open the scope file {shown}"))?;
    file.take(MAX_SCOPE + 1).read_to_end(&mut text).with_context(|| format!("cannot read the scope file {shown}"))?;
    if text.len() as u64 > MAX_SCOPE {
        bail!("the scope file {shown} is larger than {} MiB", MAX_SCOPE >> 20);
    }
    Policy::read(&text).map_err(|error| exit::at(&shown, &text, (error.line, error.column), &error.what))
}
