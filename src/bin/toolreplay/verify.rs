//! `toolreplay verify`: has anybody edited a sealed transcript?

use crate::args::{Common, VerifyArgs};
use crate::exit::{self, Exit};
use crate::inputs::Surroundings;
use crate::{attest, guard, output, replay, signing};
use anyhow::{Context as _, anyhow, bail};
use std::path::{Path, PathBuf};
use toolreplay::audit::{self, Command, Input, Plan, Progress, Report, Settings};
use toolreplay::seal::{ExtendsError, Start, extends, verify_from};

pub(crate) fn run(args: VerifyArgs, common: &Common) -> Exit {
    let targets = output::targets(&args.reports)?;
    if args.files.len() > 1 && (args.extends.is_some() || args.expect.is_some() || !args.continues.is_empty()) {
        bail!("--extends, --continues and --expect are about one sealed transcript; {} are named", args.files.len());
    }
    guard::reports(
        &targets,
        args.files.iter().chain(&args.extends).chain(&args.continues).chain(&args.signing.trust).map(PathBuf::as_path),
    )?;
    let inputs = replay::inputs(&args.files)?;
    let plan = Plan::Verify(args.expect.clone(), args.lines.budget());
    let mut outcomes = audit::run(&inputs, &plan, common.threads(), &Progress::default());
    if let (Some(start), [input], [outcome]) = (series(&args.continues, common)?, &inputs[..], &mut outcomes[..])
        && outcome.chain.is_some()
    {
        if input.path.is_none() {
            bail!("with --continues FILE is read twice, which standard input cannot be; name a file");
        }
        audit::goes_on_from(input, outcome, &start, common.threads());
        if let (Some(head), Some(mut chain)) =
            (&args.expect, outcome.chain.clone().filter(|chain| chain.broken.is_none()))
        {
            chain.expect_head(head);
            outcome.break_chain(chain.broken);
        }
    }
    if let (Some(old), [input], [outcome]) = (&args.extends, &inputs[..], &mut outcomes[..])
        && outcome.chain.as_ref().is_some_and(|chain| chain.broken.is_none())
    {
        let broken = compare(old, input, common.threads())?;
        outcome.break_chain(broken);
    }
    let signing = audit::Signing {
        trust: args.signing.trust.as_deref().map(signing::trust).transpose()?,
        required: args.signing.require_signature,
    };
    audit::signatures(&inputs, &mut outcomes, &signing);
    let unsigned = outcomes.iter().any(|outcome| outcome.chain.is_some() && outcome.signature.is_none());
    let mut report = Report::new(Command::Verify, &inputs, outcomes, false, &Settings::everything());
    attest::subjects(&mut report, &inputs, &targets);
    let trusted = args.signing.trust.iter().map(PathBuf::as_path);
    attest::judged_by(&mut report, &Surroundings::current()?, None, trusted, &targets)?;
    let code = output::finish(&report, &targets, inputs.len() == 1, &output::style(common))?;
    output::say_remarks(&report, &targets, &output::style(common));
    // the whole output of verify is fixed; a person is told all the same
    if unsigned && code == exit::CLEAN && std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        exit::print_note("integrity only: no signature says whose seal this is");
    }
    Ok(code)
}

/// The last digest of sealed transcripts that go on one from the other, the oldest first.
fn series(olds: &[PathBuf], common: &Common) -> anyhow::Result<Option<String>> {
    let mut start: Option<String> = None;
    for old in olds {
        let shown = old.display();
        let file = std::fs::File::open(old).with_context(|| format!("cannot open {shown}"))?;
        let from = start.as_deref().map_or(Start::Genesis, Start::After);
        let chain = verify_from(file, common.threads(), from).map_err(|error| anyhow!("{shown}: {error}"))?;
        match chain.broken {
            Some(broken) if broken.index == 0 && chain.start == broken.found => bail!(
                "{shown} goes on from the digest {}, which is not that of the file named before it; name the series whole, \
                 the oldest first",
                broken.found
            ),
            Some(broken) => {
                bail!("{shown}: the chain is broken itself, at index {}; nothing can go on from it", broken.index)
            }
            None => start = Some(chain.head),
        }
    }
    Ok(start)
}

fn compare(old: &Path, new: &Input, threads: usize) -> anyhow::Result<Option<toolreplay::seal::BrokenLink>> {
    let shown = old.display();
    let Some(path) = &new.path else {
        bail!("with --extends FILE is read twice, which standard input cannot be; name a file")
    };
    let open_old = || std::fs::File::open(old).with_context(|| format!("cannot open {shown}"));
    let chain = verify_from(open_old()?, threads, Start::Any).map_err(|error| anyhow!("{shown}: {error}"))?;
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
