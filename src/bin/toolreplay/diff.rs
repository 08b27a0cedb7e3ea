//! `toolreplay diff`: two runs, call by call.

use crate::args::{Common, DiffArgs, DiffFormatArg};
use crate::exit::{self, Exit};
use crate::guard::{self, Writes};
use crate::inputs::Surroundings;
use crate::{configuration, output, sessions};
use anyhow::{Context as _, anyhow, bail};
use std::path::{Path, PathBuf};
use toolreplay::audit::Input;
use toolreplay::report::{DiffFormat, DiffReport, write_diff};
use toolreplay::session::diff::{Diff, Verdict};

pub(crate) fn run(args: &DiffArgs, common: &Common) -> Exit {
    let place = Surroundings::current()?;
    let config = configuration::read(&place, args.configuration.config.as_deref(), args.configuration.no_config)?;
    let traits = config.traits().ignoring(&args.ignore);
    let ruleset = sessions::ruleset(&config, &args.mutators, traits);
    if args.a.as_os_str() == "-" && args.b.as_os_str() == "-" {
        bail!("standard input is named twice, and can be read only once");
    }
    let inputs = [recording(&place, &args.a, common)?, recording(&place, &args.b, common)?];
    let file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let sources = inputs.iter().flat_map(|input| std::iter::once(input).chain(&input.more));
    guard::outputs(file.map(|path| (path, Writes::Report)), sources.filter_map(|input| input.path.as_deref()))?;
    let (mut read, mut failed) = (Vec::new(), false);
    sessions::each(&inputs, args.importing, &ruleset, common, "reading", |at, session| {
        match session {
            Ok(Some(session)) => {
                if let Some(loss) = &session.loss {
                    failed = true;
                    sessions::say_failure(&inputs[at], loss);
                }
                read.push(session);
            }
            Ok(None) => return Err(anyhow!("{}: it is no recording", inputs[at].shown)),
            Err(failure) => {
                failed = true;
                sessions::say_failure(&inputs[at], &failure);
            }
        }
        Ok(())
    })?;
    let (Some(mut b), Some(mut a)) = (read.pop(), read.pop()) else { return Ok(exit::FAILED) };
    // two runs of which something is not known are neither the same nor different
    if failed {
        return Ok(exit::FAILED);
    }
    let diff = Diff::of(&a, &b);
    let report = DiffReport::new(&diff, &mut a, &mut b).context("cannot read a temporary file")?;
    let format = match args.format {
        DiffFormatArg::Text => DiffFormat::Text,
        DiffFormatArg::Json => DiffFormat::Json,
        DiffFormatArg::Html => DiffFormat::Html,
    };
    match file {
        Some(path) => output::to_file(path, |out| write_diff(&report, format, false, out))?,
        None => {
            let color = format == DiffFormat::Text && output::color(common.color, &std::io::stdout());
            output::to_stdout(|out| write_diff(&report, format, color, out))?;
        }
    }
    let verdict = diff.verdict();
    if verdict == Verdict::Inconclusive {
        exit::print_error("not a single answer could be compared: there is no call, or none with its whole answer");
    }
    Ok(verdict.exit_code())
}

/// The one recording behind a path: a file, or the folder of one session.
fn recording(place: &Surroundings, path: &PathBuf, common: &Common) -> anyhow::Result<Input> {
    if !path.is_dir() {
        return Ok(place.input(path));
    }
    let (mut found, _) = sessions::find(place, std::slice::from_ref(path), common)?;
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (Some(_), more) => bail!("{}: it holds {} recordings; name one of them", path.display(), more + 1),
        (None, _) => bail!("{}: it holds no recording", path.display()),
    }
}
