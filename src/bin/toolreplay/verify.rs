//! `toolreplay verify`: has anybody edited a sealed transcript?

use crate::args::{Common, VerifyArgs};
use crate::exit::Outcome;
use crate::{guard, output, replay};
use anyhow::{Context as _, anyhow, bail};
use std::path::{Path, PathBuf};
use toolreplay::audit::{self, Command, Input, Plan, Progress, Report, Settings};
use toolreplay::seal::{ExtendsError, extends, verify};

pub(crate) fn run(args: VerifyArgs, common: &Common) -> Outcome {
    let targets = output::targets(&args.reports)?;
    if args.files.len() > 1 && (args.extends.is_some() || args.expect.is_some()) {
        bail!("--extends and --expect are about one sealed transcript; {} are named", args.files.len());
    }
    guard::reports(&targets, args.files.iter().chain(&args.extends).map(PathBuf::as_path))?;
    let inputs = replay::inputs(&args.files)?;
    let mut outcomes = audit::run(&inputs, &Plan::Verify(args.expect), common.threads(), &Progress::default());
    if let (Some(old), [input], [outcome]) = (&args.extends, &inputs[..], &mut outcomes[..])
        && outcome.chain.as_ref().is_some_and(|chain| chain.broken.is_none())
    {
        let broken = compare(old, input, common.threads())?;
        outcome.break_chain(broken);
    }
    let report = Report::new(Command::Verify, &inputs, outcomes, false, &Settings::everything());
    output::finish(&report, &targets, inputs.len() == 1, common)
}

fn compare(old: &Path, new: &Input, threads: usize) -> anyhow::Result<Option<toolreplay::seal::BrokenLink>> {
    let shown = old.display();
    let Some(path) = &new.path else {
        bail!("with --extends FILE is read twice, which standard input cannot be; name a file")
    };
    let open_old = || std::fs::File::open(old).with_context(|| format!("cannot open {shown}"));
    let chain = verify(open_old()?, threads).map_err(|error| anyhow!("{shown}: {error}"))?;
    if let Some(broken) = chain.broken {
        bail!("{shown}: the chain is broken itself, at index {}; nothing can be held against it", broken.index);
    }
    let old_file = open_old()?;
    let new_file = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    extends(old_file, new_file).map_err(|error| match error {
        ExtendsError::Old(error) => anyhow!("{shown}: {error}"),
        ExtendsError::New(error) => anyhow!("{error}"),
    })
}
