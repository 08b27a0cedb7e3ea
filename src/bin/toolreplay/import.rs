//! `toolreplay import`: what agents record, as a transcript.

use crate::args::{Common, ImportArgs};
use crate::exit::{self, Exit};
use crate::guard::{self, Writes};
use crate::inputs::{self, Surroundings};
use crate::interrupt::{self, Removed};
use crate::output;
use crate::progress::{self, Tracker};
use anyhow::{Context as _, anyhow, bail};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use toolreplay::audit::{Input, sessions};
use toolreplay::formats::{self, Agents, Foreign, Imported, Opening, Options, Recording, Unknown, open, open_found};

/// The exit code of an import that lost something, where that was not allowed.
const LOST: u8 = 2;

pub(crate) fn run(args: &ImportArgs, common: &Common) -> Exit {
    let options =
        Options { agents: args.agents.into(), parse_json_results: args.parse_json_results, ..args.importing.options() };
    let to_stdout = args.output.as_deref().is_none_or(|path| path == Path::new("-"));
    if options.agents == Agents::Separate && to_stdout {
        bail!("--agents separate writes several transcripts; name the first one with --output");
    }
    let place = Surroundings::current()?;
    let inputs = files(&place, &args.files, common)?;
    let output = args.output.as_deref().filter(|_| !to_stdout);
    let losses = args.report_losses.as_deref().map(|path| (path, Writes::Report));
    let sources = || inputs.iter().filter_map(|input| input.path.as_deref());
    guard::outputs(output.map(|path| (path, Writes::Transcript)).into_iter().chain(losses), sources())?;
    let mut imported = read(&inputs, &options, common)?;
    say(&imported, &inputs);
    let code = match failure(&imported, &inputs, &options) {
        Some(why) => {
            exit::print_error(&why);
            LOST
        }
        None => exit::CLEAN,
    };
    let parts = imported.parts();
    if let Some(path) = output {
        // each agent's transcript has a path that only the recording told
        let paths: Vec<PathBuf> = parts.iter().map(|part| beside(path, &part.name)).collect();
        let transcripts = paths.iter().map(|path| (path.as_path(), Writes::Transcript));
        guard::outputs(transcripts.chain(losses), sources())?;
    }
    if let Some(path) = &args.report_losses {
        output::to_file(path, |out| imported.write_report(out))?;
    }
    for part in parts {
        match output {
            Some(path) => output::to_file(&beside(path, &part.name), |out| imported.write(&part, out))?,
            None => output::to_stdout(|out| imported.write(&part, out))?,
        }
    }
    if options.agents == Agents::Merged && imported.conversations() > 1 {
        let count = imported.conversations();
        exit::print_note(&format!("{count} conversations in one transcript; --agents separate writes one for each"));
    }
    Ok(code)
}

/// The files that are named, and those in the folders that are; captures of one session stand together.
fn files(place: &Surroundings, named: &[PathBuf], common: &Common) -> anyhow::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in named {
        match path.is_dir() {
            true => {
                let found = inputs::find(place, std::slice::from_ref(path), formats::may_be_recording, false)?;
                if found.inputs.is_empty() {
                    bail!("{}: holds no file that may be a recording", path.display());
                }
                inputs.extend(found.inputs);
            }
            false => inputs.push(place.input(path)),
        }
    }
    let sessions = sessions(inputs, common.threads()).into_iter();
    Ok(sessions
        .flat_map(|mut input| {
            let more = std::mem::take(&mut input.more);
            std::iter::once(input).chain(more)
        })
        .collect())
}

/// Where the transcript of one agent goes.
fn beside(path: &Path, name: &str) -> PathBuf {
    if name.is_empty() {
        return path.to_owned();
    }
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(80).collect();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let extension = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}.{safe}{extension}"))
}

/// Reads files as one recording.
fn read(inputs: &[Input], options: &Options, common: &Common) -> anyhow::Result<Imported> {
    progress::tracked("importing", inputs.len(), |tracker| read_all(inputs, options, common, tracker))
}

fn read_all(inputs: &[Input], options: &Options, common: &Common, tracker: &Tracker) -> anyhow::Result<Imported> {
    let mut recording = Recording::to_write(options);
    // of many captures one says it for all
    let mut told: Option<(&str, u64)> = None;
    for input in inputs {
        let shown = &input.shown;
        let source = input.open().with_context(|| format!("{shown}: cannot be opened"))?;
        let source = tracker.counting(source);
        tracker.one_more();
        let opened = match &input.path {
            Some(path) if !input.named => open_found(source, path, options),
            path => open(source, path.as_deref(), options),
        };
        let opened = opened.map_err(|error| anyhow!("{shown}: {error}"))?;
        match opened {
            Opening::Foreign(foreign) => {
                match &mut told {
                    Some((id, count)) if *id == foreign.importer.id && !input.named => *count += 1,
                    _ => {
                        say_more(told);
                        told = Some((foreign.importer.id, 0));
                        exit::print_note(&format!("{shown}: read as {}: {}", foreign.importer.id, foreign.reason));
                    }
                }
                recording
                    .add(foreign, input.source_file(), &|path| input.beside(path), common.threads())
                    .map_err(|error| anyhow!("{shown}: {error}"))?;
            }
            Opening::Native(mut source) if !input.named => {
                let mut start = Vec::new();
                let _ = io::Read::take(&mut source, 64 << 10).read_to_end(&mut start);
                if !matches!(start.trim_ascii_start().first(), None | Some(b'{')) {
                    bail!("{shown}: neither a transcript nor in a format that 'toolreplay formats' lists");
                }
                exit::print_note(&format!("{shown}: no recording in another format; passed over"));
            }
            Opening::Other(stranger) if stranger.holds_calls => bail!(
                "{shown}: in no format that 'toolreplay formats' lists, and it holds what looks like calls: {}; --from \
                 names the format of what is damaged",
                stranger.why
            ),
            Opening::Other(stranger) => {
                exit::print_note(&format!("{shown}: no recording: {}; passed over", stranger.why));
            }
            Opening::Native(mut source) => {
                // an empty file is an empty transcript, but a recording of nothing is none
                let mut start = Vec::new();
                let _ = io::Read::take(&mut source, 1 << 20).read_to_end(&mut start);
                if start.trim_ascii().is_empty() {
                    bail!("{shown}: EMPTY_INPUT: the file is empty; expected the recording of an agent");
                }
                bail!("{shown}: this is a transcript already; there is nothing to import");
            }
            Opening::Unknown(unknown) => bail!(
                "{shown}: in no format that 'toolreplay formats' lists: {}; --from names the format of what is damaged",
                unknown.why
            ),
        }
    }
    say_more(told);
    recording.finish().context("cannot keep what was read")
}

fn say_more(told: Option<(&str, u64)>) {
    if let Some((id, count @ 1..)) = told {
        exit::print_note(&format!("{count} more read as {id}"));
    }
}

/// What was taken over and what was not.
fn say(imported: &Imported, inputs: &[Input]) {
    for warning in &imported.warnings {
        let path = imported.shown(warning.first).or_else(|| inputs.first().map(|input| &*input.shown));
        output::say_warning(warning, path.unwrap_or_default());
    }
    imported.balance.to_string().lines().for_each(exit::print_note);
}

fn failure(imported: &Imported, inputs: &[Input], options: &Options) -> Option<String> {
    if imported.balance.calls_in == 0 && !options.allow_loss {
        return Some("EMPTY_INPUT: not a single call was found; is it the right format?".to_owned());
    }
    let (at, what) = imported.loss()?;
    let path = imported.shown(at).or_else(|| inputs.first().map(|input| &*input.shown)).unwrap_or_default();
    Some(if at.line > 0 { format!("{path}:{}: {what}", at.line) } else { format!("{path}: {what}") })
}

/// A transcript, whatever format it came in.
pub(crate) enum Transcript {
    /// In a file, which may be read more than once; the second part removes it in the end if it is a temporary one.
    File(PathBuf, Option<(tempfile::NamedTempFile, Removed)>),
    /// What can be read only once.
    Stream(Box<dyn io::Read + Send>),
}

/// The transcript of a file. What no format fits is left to the reader of transcripts, which explains it best.
pub(crate) fn transcript_of(input: &Input, options: Options, common: &Common) -> anyhow::Result<Transcript> {
    let source = input.open().with_context(|| format!("{}: cannot be opened", input.shown))?;
    let opened = open(source, input.path.as_deref(), &options).map_err(|error| anyhow!("{}: {error}", input.shown))?;
    let foreign = match (opened, input.path.as_deref().filter(|path| is_plain(path))) {
        (Opening::Foreign(foreign), _) => foreign,
        (Opening::Native(_) | Opening::Unknown(..) | Opening::Other(..), Some(path)) => {
            return Ok(Transcript::File(path.to_owned(), None));
        }
        (Opening::Native(source) | Opening::Unknown(Unknown { source, .. }), None) => {
            return Ok(Transcript::Stream(source));
        }
        (Opening::Other(stranger), None) => bail!("{}: {}", input.shown, stranger.why),
    };
    let written = written(input, foreign, &options, common)?;
    Ok(Transcript::File(written.file.path().to_owned(), Some((written.file, written.removed))))
}

/// The transcript of a recording in another format, in a temporary file.
pub(crate) struct Written {
    pub(crate) file: tempfile::NamedTempFile,
    removed: Removed,
    /// The files that were read for it, as they are shown.
    pub(crate) files: Vec<String>,
}

/// Imports a recording with the further files of its session.
pub(crate) fn written(input: &Input, foreign: Foreign, options: &Options, common: &Common) -> anyhow::Result<Written> {
    exit::print_note(&format!("{}: read as {}: {}", input.shown, foreign.importer.id, foreign.reason));
    let mut recording = Recording::to_write(options);
    recording
        .add(foreign, input.source_file(), &|path| input.beside(path), common.threads())
        .map_err(|error| anyhow!("{}: {error}", input.shown))?;
    for more in &input.more {
        let source = more.open().with_context(|| format!("{}: cannot be opened", more.shown))?;
        match open(source, more.path.as_deref(), options).map_err(|error| anyhow!("{}: {error}", more.shown))? {
            Opening::Foreign(foreign) => recording
                .add(foreign, more.source_file(), &|path| more.beside(path), common.threads())
                .map_err(|error| anyhow!("{}: {error}", more.shown))?,
            _ => bail!("{}: it is no recording of the format that the others of its session have", more.shown),
        }
    }
    let mut imported = recording.finish().context("cannot keep what was read")?;
    let inputs = std::slice::from_ref(input);
    say(&imported, inputs);
    if let Some(why) = failure(&imported, inputs, options) {
        bail!("{why}");
    }
    let (mut file, removed) =
        interrupt::removing(tempfile::NamedTempFile::new).context("cannot make a temporary file")?;
    let parts = imported.parts();
    let written = parts.iter().try_for_each(|part| {
        let mut out = io::BufWriter::with_capacity(64 << 10, file.as_file_mut());
        imported.write(part, &mut out)?;
        io::Write::flush(&mut out)
    });
    written.context("cannot write a temporary file")?;
    Ok(Written { file, removed, files: imported.paths() })
}

/// Whether a path is a file that is not compressed. A pipe must not be opened a second time.
fn is_plain(path: &Path) -> bool {
    let mut start = [0; 2];
    path.is_file()
        && std::fs::File::open(path).and_then(|mut file| file.read(&mut start)).is_ok()
        && start != [0x28, 0xb5]
        && start != [0x1f, 0x8b]
}
