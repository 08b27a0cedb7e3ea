//! `toolreplay replay`: transcripts against themselves.

use crate::args::{Common, ReplayArgs};
use crate::exit::Exit;
use crate::inputs::Surroundings;
use crate::{attest, guard, output};
use anyhow::bail;
use std::path::PathBuf;
use toolreplay::audit::{self, Command, Input, Plan, Progress, Report, Settings};
use toolreplay::engine::Ruleset;
use toolreplay::tools::ToolSet;

pub(crate) fn run(args: ReplayArgs, common: &Common) -> Exit {
    let mut mutators = ToolSet::default_mutators();
    args.mutators.names.iter().for_each(|name| mutators.insert(name));
    let targets = output::targets(&args.reports)?;
    guard::reports(&targets, args.files.iter().map(PathBuf::as_path))?;
    let inputs = inputs(&args.files)?;
    let mut report =
        report(Command::Replay, &inputs, &Plan::Judge(Ruleset::replay(mutators), args.importing.options()), common);
    attest::subjects(&mut report, &inputs, &targets);
    output::finish(&report, &targets, args.files.len() == 1, &output::style(common))
}

/// The files of a command that takes files alone, in the order given.
pub(crate) fn inputs(files: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        bail!("standard input is named twice, and can be read only once");
    }
    let place = Surroundings::current()?;
    Ok(files.iter().map(|file| place.input(file)).collect())
}

/// Runs a plan in which every finding is shown and counts.
pub(crate) fn report(command: Command, inputs: &[Input], plan: &Plan, common: &Common) -> Report {
    let outcomes = audit::run(inputs, plan, common.threads(), &Progress::default());
    Report::new(command, inputs, outcomes, command == Command::Scope, &Settings::everything())
}
