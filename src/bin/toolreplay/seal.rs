//! `toolreplay seal`: a transcript into a hash chain.

use crate::args::{Common, SealArgs};
use crate::exit::{self, Outcome};
use crate::guard::{self, Writes};
use crate::import::{self, Transcript};
use crate::inputs::Place;
use crate::output;
use anyhow::{Context as _, anyhow};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, Write};
use std::path::Path;
use toolreplay::seal::{SealError, check, seal};
use toolreplay::transcript::ReadError;

/// Sealed text up to this size, in bytes, waits in memory; more waits in a temporary file.
const IN_MEMORY: usize = 4 << 20;

pub(crate) fn run(args: &SealArgs, common: &Common) -> Outcome {
    let input = Place::current()?.input(&args.file);
    if let Some(path) = output(args) {
        guard::outputs([(path, Writes::Sealed)], [args.file.as_path()])?;
    }
    // what is no transcript becomes one first
    match import::transcript_of(&input, args.importing.options(), common)? {
        Transcript::File(path, _keep) => {
            let source = || File::open(&path).with_context(|| format!("{}: cannot be opened", input.shown));
            match output(args) {
                Some(output) => to_file(output, source()?, &input.shown, common)?,
                None => file_to_stdout(source()?, &input.shown, common)?,
            }
        }
        Transcript::Stream(source) => match output(args) {
            Some(output) => to_file(output, source, &input.shown, common)?,
            None => stream_to_stdout(source, &input.shown, common)?,
        },
    }
    Ok(exit::CLEAN)
}

fn output(args: &SealArgs) -> Option<&Path> {
    args.output.as_deref().filter(|path| *path != Path::new("-"))
}

fn to_file(output: &Path, source: impl Read + Send, shown: &str, common: &Common) -> anyhow::Result<()> {
    let mut failure = None;
    let written = output::to_file(output, |out| match seal(source, common.threads(), out) {
        Ok(_) => Ok(()),
        Err(SealError::Write(error)) => Err(error),
        Err(SealError::Read(error)) => {
            failure = Some(refused(shown, error));
            Err(io::Error::other("sealing failed"))
        }
    });
    failure.map_or(written, Err)
}

/// Half a chain would verify: nothing is printed before the whole transcript is known to be valid. A file is read
/// twice, what can be read only once waits.
fn file_to_stdout(mut file: File, shown: &str, common: &Common) -> anyhow::Result<()> {
    check(&mut file, common.threads()).map_err(|error| refused(shown, error))?;
    let length = file.stream_position()?;
    file.rewind()?;
    // what was appended since is not part of what was checked
    let checked = file.take(length);
    let mut failure = None;
    output::to_stdout(|out| match seal(checked, common.threads(), out) {
        Ok(_) => Ok(()),
        Err(SealError::Write(error)) => Err(error),
        Err(SealError::Read(error)) => {
            failure = Some(error);
            // somebody changed what was checked: what is printed must not pass for a chain
            out.write_all(b"the transcript was changed while it was sealed\n")
        }
    })?;
    match failure {
        Some(error) => Err(error).context("the transcript was changed while it was sealed"),
        None => Ok(()),
    }
}

fn stream_to_stdout(source: impl Read + Send, shown: &str, common: &Common) -> anyhow::Result<()> {
    let mut sealed = BufWriter::with_capacity(256 << 10, tempfile::SpooledTempFile::new(IN_MEMORY));
    write(source, shown, common, &mut sealed)?;
    let mut sealed =
        sealed.into_inner().map_err(io::IntoInnerError::into_error).context("cannot write a temporary file")?;
    sealed.rewind().context("cannot read a temporary file")?;
    let mut sealed = BufReader::with_capacity(256 << 10, sealed);
    output::to_stdout(|out| io::copy(&mut sealed, out).map(drop))
}

/// A malformed line is known by its place; a read that failed, by the file.
fn refused(shown: &str, error: ReadError) -> anyhow::Error {
    match error {
        ReadError::Io { error, .. } => anyhow!("{shown}: cannot be read: {error}"),
        malformed => malformed.into(),
    }
}

fn write(source: impl Read + Send, shown: &str, common: &Common, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    match seal(source, common.threads(), out) {
        Ok(_) => Ok(()),
        Err(SealError::Read(error)) => Err(refused(shown, error)),
        Err(SealError::Write(error)) => Err(error).context("cannot write the sealed transcript"),
    }
}
