//! `toolreplay redact`: a recording with its secrets masked.

use crate::args::RedactArgs;
use crate::exit::{self, Exit};
use crate::guard::{self, Writes};
use crate::inputs::Surroundings;
use crate::output;
use anyhow::{Context as _, anyhow};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use toolreplay::sanitize::visible;
use toolreplay::secrets::{self, Changes, Finder, Masker, RedactError};

pub(crate) fn run(args: &RedactArgs) -> Exit {
    let input = Surroundings::current()?.input(&args.file);
    let to_file = args.output != Path::new("-");
    if to_file {
        guard::outputs([(args.output.as_path(), Writes::Redacted)], [args.file.as_path()])?;
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| anyhow!("no random key can be had: {error}"))?;
    let (finder, masker) = (Finder::new([], &args.redact_fields), Masker::new(key));
    let mut source: Box<dyn BufRead + Send> = match &input.path {
        None => Box::new(BufReader::new(io::stdin())),
        Some(path) => {
            let file = File::open(path).with_context(|| format!("{}: cannot be opened", input.shown))?;
            Box::new(BufReader::with_capacity(256 << 10, file))
        }
    };
    // what was refused stands in the error, not in what the writer says
    let mut outcome = Ok(Changes::default());
    let mut write = |out: &mut (dyn Write + Send)| {
        outcome = secrets::redact(&mut source, &finder, &masker, out);
        match &outcome {
            Ok(_) => Ok(()),
            Err(_) => Err(io::Error::other("redaction failed")),
        }
    };
    let written = if to_file { output::to_file(&args.output, &mut write) } else { output::to_stdout(&mut write) };
    let changes = match outcome {
        Ok(changes) => changes,
        Err(RedactError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(exit::CLEAN),
        Err(error @ RedactError::Write(_)) => return Err(anyhow!("{}: {error}", args.output.display())),
        Err(error) => return Err(anyhow!("{}: {error}", input.shown)),
    };
    written?;
    let text = told(&changes, &input.shown, &args.output);
    if to_file {
        return output::print(text.as_bytes());
    }
    text.lines().for_each(exit::print_note);
    Ok(exit::CLEAN)
}

/// What was changed: each mark, what it stands for, how often and where first.
fn told(changes: &Changes, shown: &str, output: &Path) -> String {
    let (shown, output) = (visible(shown), output.display().to_string());
    let target = if output == "-" { String::new() } else { format!(", in {}", visible(&output)) };
    if changes.values == 0 {
        return format!("{shown}: no secret found{target}\n");
    }
    let times = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "{shown}: {} masked on {}, {} different{target}\n",
        times(changes.values, "value"),
        times(changes.lines, "line"),
        changes.marks.len()
    );
    let mut marks: Vec<_> = changes.marks.iter().collect();
    marks.sort_by_key(|(mark, (_, line))| (*line, mark.as_str()));
    for (mark, (count, line)) in marks {
        let id = mark.split(':').nth(1).unwrap_or_default();
        let often = if *count == 1 { String::new() } else { format!(", {}, first", times(*count, "time")) };
        let _ = writeln!(text, "  {mark}: {}{often} on line {line}", secrets::describe(id));
    }
    text
}
