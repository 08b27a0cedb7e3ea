//! `toolreplay seal`: a transcript into a hash chain.

use crate::args::{Common, SealArgs};
use crate::exit::{self, Exit};
use crate::guard::{self, Writes};
use crate::import::{self, Transcript};
use crate::inputs::Surroundings;
use crate::output;
use crate::signing::{Signers, VARIABLE};
use anyhow::{Context as _, anyhow, bail};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, Write};
use std::path::{Path, PathBuf};
use toolreplay::limits::Budget;
use toolreplay::seal::{GENESIS, SealError, Sealed, Start, check, seal_from, verify_from};
use toolreplay::transcript::ReadError;

/// Sealed text up to this size, in bytes, waits in memory; more waits in a temporary file.
const IN_MEMORY: usize = 4 << 20;

pub(crate) fn run(args: &SealArgs, common: &Common) -> Exit {
    let input = Surroundings::current()?.input(&args.file);
    let signers = Signers::of(&args.sign)?;
    if output(args).is_none() && !args.sign.keys.is_empty() {
        bail!(
            "a signature stands in a file beside the sealed one, and standard output is none; name one with --output"
        );
    }
    if output(args).is_none() && !signers.is_empty() {
        exit::print_note(&format!(
            "not signed with {VARIABLE}: standard output has nothing beside it; name a file with --output"
        ));
    }
    let start = match &args.continues {
        Some(old) => last_digest(old, common)?,
        None => GENESIS.to_owned(),
    };
    if let Some(path) = output(args) {
        signers.check(path)?;
        let read =
            args.sign.keys.iter().map(PathBuf::as_path).chain([args.file.as_path()]).chain(args.continues.as_deref());
        guard::outputs([(path, Writes::Sealed)], read)?;
    }
    let sealing = Sealing { shown: &input.shown, start: &start, common };
    // what is no transcript becomes one first
    let options = args.importing.options();
    let budget = options.budget.clone();
    match import::transcript_of(&input, options, common)? {
        Transcript::File(path, _keep) => {
            let source = || File::open(&path).with_context(|| format!("{}: cannot be opened", input.shown));
            match output(args) {
                Some(output) => to_file(output, budget.lines(source()?), &sealing, &signers)?,
                None => file_to_stdout(source()?, &budget, &sealing)?,
            }
        }
        Transcript::Stream(source) => match output(args) {
            Some(output) => to_file(output, source, &sealing, &signers)?,
            None => stream_to_stdout(source, &sealing)?,
        },
    }
    Ok(exit::CLEAN)
}

/// What is the same however a transcript is sealed.
struct Sealing<'s> {
    /// The transcript as messages name it.
    shown: &'s str,
    /// The first link's `prev`.
    start: &'s str,
    common: &'s Common,
}

/// The last digest of a sealed transcript that is gone on from. What it goes on from itself is its own business.
fn last_digest(old: &Path, common: &Common) -> anyhow::Result<String> {
    let shown = old.display();
    let file = File::open(old).with_context(|| format!("cannot open {shown}"))?;
    let chain = verify_from(file, common.threads(), Start::Any).map_err(|error| anyhow!("{shown}: {error}"))?;
    match chain.broken {
        Some(broken) => bail!("{shown}: the chain is broken, at index {}; nothing goes on from it", broken.index),
        None if chain.links == 0 => bail!("{shown} has no link that could be gone on from"),
        None => Ok(chain.head),
    }
}

fn output(args: &SealArgs) -> Option<&Path> {
    args.output.as_deref().filter(|path| *path != Path::new("-"))
}

fn to_file(output: &Path, source: impl Read + Send, sealing: &Sealing<'_>, signers: &Signers) -> anyhow::Result<()> {
    let mut failure = None;
    let mut sealed = None;
    let threads = sealing.common.threads();
    let written = output::to_file(output, |out| match seal_from(source, threads, out, sealing.start) {
        Ok(done) => {
            sealed = Some(done);
            Ok(())
        }
        // it is given the path that was asked for
        Err(SealError::Write(error)) => Err(error),
        Err(SealError::Read(error)) => {
            failure = Some(refused(sealing.shown, error));
            Err(io::Error::other("sealing failed"))
        }
    });
    match (failure, sealed) {
        (Some(error), _) => Err(error),
        (None, Some(sealed)) => written.and_then(|()| signers.sign(output, &sealed, threads)),
        (None, None) => written,
    }
}

/// Half a chain would verify: nothing is printed before the whole transcript is known to be valid. A file is read
/// twice, what can be read only once waits.
fn file_to_stdout(mut file: File, budget: &Budget, sealing: &Sealing<'_>) -> anyhow::Result<()> {
    check(budget.lines(&mut file), sealing.common.threads()).map_err(|error| refused(sealing.shown, error))?;
    let length = file.stream_position()?;
    file.rewind()?;
    // what was appended since is not part of what was checked
    let checked = file.take(length);
    let mut failure = None;
    output::to_stdout(|out| match seal_from(checked, sealing.common.threads(), out, sealing.start) {
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

fn stream_to_stdout(source: impl Read + Send, sealing: &Sealing<'_>) -> anyhow::Result<()> {
    let mut sealed = BufWriter::with_capacity(256 << 10, tempfile::SpooledTempFile::new(IN_MEMORY));
    write(source, sealing, &mut sealed)?;
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

fn write(source: impl Read + Send, sealing: &Sealing<'_>, out: &mut (dyn Write + Send)) -> anyhow::Result<Sealed> {
    match seal_from(source, sealing.common.threads(), out, sealing.start) {
        Ok(sealed) => Ok(sealed),
        Err(SealError::Read(error)) => Err(refused(sealing.shown, error)),
        Err(SealError::Write(error)) => Err(error).context("cannot write the sealed transcript"),
    }
}
