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
/// A file of this size, in bytes, and whose links are no longer, is read once: they wait in memory.
const ROOM: usize = 256 << 20;

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
    let sealing = Sealing { shown: &input.shown, start: &start, threads: common.threads() };
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
    threads: usize,
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
    let threads = sealing.threads;
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

/// Links that wait until all of them are made. They stand in pieces, so that none is moved as they get more.
struct Waiting {
    pieces: Vec<Vec<u8>>,
    room: usize,
}

impl Waiting {
    const PIECE: usize = 1 << 20;
}

impl Write for Waiting {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.room = self.room.checked_sub(text.len()).ok_or(io::ErrorKind::StorageFull)?;
        match self.pieces.last_mut() {
            Some(last) if last.len() + text.len() <= last.capacity() => last.extend_from_slice(text),
            _ => {
                let mut piece = Vec::with_capacity(text.len().max(Waiting::PIECE));
                piece.extend_from_slice(text);
                self.pieces.push(piece);
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The links of a file, if they fit into so many bytes. If not, nothing of it is read any more.
fn at_once(file: &mut File, room: usize, budget: &Budget, sealing: &Sealing<'_>) -> anyhow::Result<Option<Waiting>> {
    if file.metadata().is_ok_and(|metadata| metadata.len() <= room as u64) {
        let mut waiting = Waiting { pieces: Vec::new(), room };
        match seal_from(budget.lines(&mut *file), sealing.threads, &mut waiting, sealing.start) {
            Ok(_) => return Ok(Some(waiting)),
            Err(SealError::Read(error)) => return Err(refused(sealing.shown, error)),
            Err(SealError::Write(_)) => file.rewind()?,
        }
    }
    Ok(None)
}

/// Half a chain would verify: nothing is printed before the whole transcript is known to be valid. Of a file that is not
/// too large the links wait; a larger one is read twice. What can be read only once waits as well.
fn file_to_stdout(mut file: File, budget: &Budget, sealing: &Sealing<'_>) -> anyhow::Result<()> {
    if let Some(waiting) = at_once(&mut file, ROOM, budget, sealing)? {
        return output::to_stdout(|out| waiting.pieces.iter().try_for_each(|piece| out.write_all(piece)));
    }
    check(budget.lines(&mut file), sealing.threads).map_err(|error| refused(sealing.shown, error))?;
    let length = file.stream_position()?;
    file.rewind()?;
    // what was appended since is not part of what was checked
    let checked = file.take(length);
    let mut failure = None;
    output::to_stdout(|out| match seal_from(checked, sealing.threads, out, sealing.start) {
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
    match seal_from(source, sealing.threads, out, sealing.start) {
        Ok(sealed) => Ok(sealed),
        Err(SealError::Read(error)) => Err(refused(sealing.shown, error)),
        Err(SealError::Write(error)) => Err(error).context("cannot write the sealed transcript"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_wait_where_there_is_room() {
        let record = |index: u32| format!("{{\"index\":{index},\"tool\":\"t\",\"args\":{{}},\"response\":{{}}}}\n");
        let text: String = (0..50).map(record).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let sealing = Sealing { shown: "it", start: GENESIS, threads: 1 };
        let mut sealed = Vec::new();
        seal_from(text.as_bytes(), 1, &mut sealed, GENESIS).unwrap();
        let mut made = |room| {
            file.rewind().unwrap();
            let made = at_once(&mut file, room, &Budget::default(), &sealing).unwrap();
            (made.map(|waiting| waiting.pieces.concat()), file.stream_position().unwrap())
        };
        assert_eq!(made(sealed.len()), (Some(sealed.clone()), text.len() as u64));
        // the file would fit, its links do not; then not even the file does
        for room in [sealed.len() - 1, text.len(), text.len() - 1, 0] {
            assert_eq!(made(room), (None, 0), "{room}");
        }
    }
}
