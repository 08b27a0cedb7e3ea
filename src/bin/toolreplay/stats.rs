//! `toolreplay stats`: what recordings came to, by tool, agent and session.

use crate::args::{Common, StatsArgs, TableFormat};
use crate::exit::{self, Exit};
use crate::guard::{self, Writes};
use crate::inputs::Surroundings;
use crate::{configuration, output, sessions};
use std::path::Path;
use toolreplay::report;
use toolreplay::session::stats::{SessionStats, Stats};

pub(crate) fn run(args: &StatsArgs, common: &Common) -> Exit {
    let place = Surroundings::current()?;
    let config = configuration::read(&place, args.configuration.config.as_deref(), args.configuration.no_config)?;
    let ruleset = sessions::ruleset(&config, &args.mutators, config.traits());
    let (inputs, passed_over) = sessions::find(&place, &args.paths, common)?;
    let file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let sources = inputs.iter().flat_map(|input| std::iter::once(input).chain(&input.more));
    guard::outputs(file.map(|path| (path, Writes::Report)), sources.filter_map(|input| input.path.as_deref()))?;
    let (mut stats, mut errors, mut others) = (Stats::default(), Vec::new(), passed_over);
    sessions::each(&inputs, args.importing, &ruleset, common, "counting", |at, read| {
        match read {
            Ok(Some(session)) => {
                if let Some(loss) = &session.loss {
                    errors.push((at, loss.clone()));
                }
                stats.add(SessionStats::of(&session));
            }
            Ok(None) => others += 1,
            Err(failure) => errors.push((at, failure)),
        }
        Ok(())
    })?;
    errors.iter().for_each(|(at, failure)| sessions::say_failure(&inputs[*at], failure));
    if others > 0 {
        exit::print_note(&format!("left out: {others} other files in folders, which are no recordings"));
    }
    let empty = stats.sum.counts.calls == 0 && !args.allow_empty;
    let code = if errors.is_empty() && !empty { exit::CLEAN } else { exit::FAILED };
    let errors: Vec<_> = errors.into_iter().map(|(at, failure)| (inputs[at].shown.clone(), failure)).collect();
    let write = |out: &mut (dyn std::io::Write + Send)| match args.format {
        TableFormat::Text => report::write_stats(&stats, out),
        TableFormat::Json => report::write_stats_json(&stats, &errors, code, out),
    };
    match file {
        Some(path) => output::to_file(path, write)?,
        None => output::to_stdout(write)?,
    }
    if empty && errors.is_empty() {
        exit::print_error("found no call to count; check the paths, or say --allow-empty if that is meant");
    }
    Ok(code)
}
