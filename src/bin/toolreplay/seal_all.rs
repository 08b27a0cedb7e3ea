//! `toolreplay seal-all`: transcripts sealed beside themselves, again and again while they grow. Other recordings become
//! transcripts first, and a note beside the sealed file says which files it was made of.

use crate::args::{Common, Importing, SealAllArgs};
use crate::attest;
use crate::exit::{self, Exit};
use crate::guard::{self, Writes};
use crate::import::{self, Written};
use crate::inputs::{self, Surroundings};
use crate::output;
use crate::progress;
use crate::signing::Signers;
use crate::sources::{self, Sources};
use anyhow::{Context as _, anyhow, bail};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use toolreplay::audit::{
    self, Command, Failure, Input, Outcome, Report, Settings, Verdict, detect_layout, mismatch_finding,
};
use toolreplay::engine::Judgement;
use toolreplay::formats::{self, Opening, Options, Stranger, Unknown};
use toolreplay::sanitize::visible;
use toolreplay::seal::{Chain, GENESIS, SealError, Sealed, seal, verify};
use toolreplay::sealed_pair::{self, Difference};
use toolreplay::transcript::Layout;

pub(crate) fn run(args: &SealAllArgs, common: &Common) -> Exit {
    let targets = output::targets(&args.reports)?;
    let signers = Signers::of(&args.sign)?;
    let place = Surroundings::current()?;
    let mut found = inputs::find(&place, &args.paths, formats::may_be_recording, false)?;
    // a folder holds the sealed ones too
    found.inputs.retain(|input| !input.path.as_deref().is_some_and(is_sealed));
    found.inputs = audit::sessions(found.inputs, common.threads());
    let copies = copies(&found.inputs, args.into.as_deref())?;
    refuse_links(&place, &copies)?;
    let sources = found.inputs.iter().filter_map(|input| input.path.as_deref());
    guard::reports(&targets, sources.chain(copies.iter().map(PathBuf::as_path)))?;
    if args.into.is_some() {
        let sealed = copies.iter().map(|copy| (copy.as_path(), Writes::Sealed));
        guard::outputs(sealed, found.inputs.iter().filter_map(|input| input.path.as_deref()))?;
    }
    if let Some(folder) = &args.into {
        fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    copies.iter().try_for_each(|copy| signers.check(copy))?;
    let outcomes = progress::tracked("sealing", found.inputs.len(), |tracker| {
        let mut outcomes = Vec::new();
        for (input, copy) in found.inputs.iter_mut().zip(&copies) {
            let outcome = sealed(input, copy, &args.importing, common)?;
            if let Some(chain) = outcome.chain.as_ref().filter(|chain| chain.broken.is_none()) {
                signers.sign(copy, &Sealed { links: chain.links, head: chain.head.clone() }, common.threads())?;
            }
            if outcome.chain.is_some() {
                // what is said of a chain is said of the file it stands in
                *input = place.input(copy);
            }
            outcomes.push(outcome);
            tracker.one_more();
        }
        anyhow::Ok(outcomes)
    })?;
    let settings = Settings { allow_empty: args.allow_empty, ..Settings::everything() };
    let mut report = Report::new(Command::SealAll, &found.inputs, outcomes, false, &settings);
    attest::subjects(&mut report, &found.inputs, &targets);
    let code = output::finish(&report, &targets, found.alone, &output::style(common))?;
    if report.verdict == Verdict::Inconclusive {
        exit::print_error("found no call to seal; check the paths, or say --allow-empty if that is meant");
    }
    Ok(code)
}

/// Copies are named by what they are made of and not by the user, so a link in a copy's place is nobody's wish: it would
/// make this write wherever it leads.
fn refuse_links(place: &Surroundings, copies: &[PathBuf]) -> anyhow::Result<()> {
    for copy in copies.iter().flat_map(|copy| [copy.clone(), sources::note_path(copy)]) {
        if copy.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            bail!("{} is a link, and nothing is sealed through links; remove it", copy.display());
        }
        guard::inside_stays_inside(place, &copy)?;
    }
    Ok(())
}

/// Whether a file is sealed, or is the copy, perhaps empty, of one beside it.
fn is_sealed(path: &Path) -> bool {
    let by_content = || {
        let source = || -> Option<Box<dyn Read + Send>> { Some(Box::new(File::open(path).ok()?)) };
        match formats::open(source()?, Some(path), &Options::default()) {
            Ok(Opening::Native(source)) => detect_layout(source).ok().map(|(it, _)| it == Layout::Sealed),
            _ => None,
        }
    };
    sealed_pair::transcript_path(path).is_some_and(|transcript| transcript.is_file()) || by_content() == Some(true)
}

/// Where each transcript's sealed copy goes.
fn copies(inputs: &[Input], into: Option<&Path>) -> anyhow::Result<Vec<PathBuf>> {
    let mut copies = Vec::new();
    let mut taken: HashMap<PathBuf, &str> = HashMap::new();
    for input in inputs {
        let Some(path) = &input.path else {
            bail!("standard input has no place to be sealed at; use 'toolreplay seal -' instead");
        };
        let beside = sealed_pair::sealed_path(path);
        let copy = into.map_or_else(|| beside.clone(), |folder| folder.join(beside.file_name().unwrap_or_default()));
        if let Some(other) = taken.insert(copy.clone(), &input.shown) {
            bail!("{other} and {} would both be sealed to {}; seal them one by one", input.shown, copy.display());
        }
        copies.push(copy);
    }
    Ok(copies)
}

/// What is sealed of an input.
enum Content {
    /// A transcript, as it is there.
    Transcript,
    /// What another recording became, and the files it was made of.
    Imported(Box<Written>, Sources),
    /// Nothing.
    Stranger(Stranger),
}

impl Content {
    /// Tells what an input is. What is no recording at all is left to the reader of transcripts, which explains it best.
    fn of(input: &Input, options: &Options, common: &Common) -> Result<Content, Failure> {
        let source = input.open().map_err(|error| Failure::of_file(format!("cannot be opened: {error}")))?;
        let opened = match input.path.as_deref().filter(|_| !input.named) {
            Some(path) => formats::open_found(source, path, options),
            None => formats::open(source, input.path.as_deref(), options),
        };
        let foreign = match opened? {
            Opening::Native(_) | Opening::Unknown(_) => return Ok(Content::Transcript),
            Opening::Other(stranger) => return Ok(Content::Stranger(stranger)),
            Opening::Foreign(foreign) => foreign,
        };
        let failed = |error: anyhow::Error| Failure::of_file(visible(&format!("{error:#}")).into_owned());
        // what was read must be what the note names
        let first = Sources::of(std::slice::from_ref(&input.shown)).map_err(failed)?;
        let written = import::written(input, foreign, options, common).map_err(failed)?;
        let sources = Sources::of(&written.files).map_err(failed)?;
        match sources.hold(&first) {
            true => Ok(Content::Imported(Box::new(written), sources)),
            false => Err(Failure::of_file("it was changed while it was read; seal it when it is at rest".to_owned())),
        }
    }

    /// The text of the transcript.
    fn source(&self, input: &Input, options: &Options) -> Result<Box<dyn Read + Send>, Failure> {
        let failed = |error: io::Error| Failure::of_file(format!("cannot be opened: {error}"));
        if let Content::Imported(written, _) = self {
            return Ok(Box::new(File::open(written.file.path()).map_err(failed)?));
        }
        match formats::open(input.open().map_err(failed)?, input.path.as_deref(), options)? {
            Opening::Native(source) | Opening::Unknown(Unknown { source, .. }) => Ok(source),
            Opening::Foreign(_) | Opening::Other(_) => {
                Err(Failure::of_file("it was changed while it was read".to_owned()))
            }
        }
    }
}

/// Seals one recording. What cannot be read is an outcome, as in an audit; what cannot be written ends the run.
fn sealed(input: &Input, copy: &Path, importing: &Importing, common: &Common) -> anyhow::Result<Outcome> {
    let shown = copy.display().to_string();
    let failed = |failure| Ok(Outcome { failure: Some(failure), ..Outcome::default() });
    let content = match Content::of(input, &importing.options(), common) {
        Ok(Content::Stranger(stranger)) if stranger.holds_calls => {
            let what =
                format!("it holds what looks like calls, in no format that is known: {}", visible(&stranger.why));
            return failed(Failure::of_file(what));
        }
        Ok(Content::Stranger(stranger)) => {
            return Ok(Outcome { passed_over: Some(stranger), ..Outcome::default() });
        }
        Ok(content) => content,
        Err(failure) => return failed(failure),
    };
    if copy.exists()
        && let Some(refused) = refused(input, &content, copy, &importing.options())?
    {
        return Ok(refused);
    }
    let mut failure = None;
    let mut done = None;
    // the chain stands in a temporary file until all of it is known to be good
    let mut sealed = tempfile::tempfile().context("cannot make a temporary file")?;
    match content.source(input, &importing.options()) {
        Err(error) => failure = Some(error),
        Ok(source) => {
            let mut out = io::BufWriter::new(&mut sealed);
            match seal(source, common.threads(), &mut out) {
                Ok(links) => done = Some(links),
                Err(SealError::Read(error)) => failure = Some(Failure::from(error)),
                Err(SealError::Write(error)) => return Err(error).context("cannot write a temporary file"),
            }
            io::Write::flush(&mut out).context("cannot write a temporary file")?;
        }
    }
    let Some(links) = done else { return Ok(Outcome { failure, ..Outcome::default() }) };
    if copy.exists() {
        // its calls are those of the transcript; if its digests hold as well, the new chain extends it
        let old = File::open(copy).with_context(|| format!("cannot open {shown}"))?;
        let chain = verify(old, common.threads()).map_err(|error| anyhow!("{shown}: {error}"))?;
        if let Some(broken) = chain.broken.clone() {
            let judgement = Judgement { calls: chain.links, ..Judgement::default() };
            let mut outcome = Outcome { judgement, chain: Some(chain), failure: None, ..Outcome::default() };
            outcome.break_chain(Some(broken));
            return Ok(outcome);
        }
    }
    sealed.seek(SeekFrom::Start(0)).context("cannot read a temporary file")?;
    let same = fs::metadata(copy).is_ok_and(|old| sealed.metadata().is_ok_and(|new| new.len() == old.len()));
    if !same {
        output::to_file(copy, |out| io::copy(&mut sealed, out).map(drop))?;
    }
    if let Content::Imported(_, sources) = &content {
        sources.write(&sources::note_path(copy))?;
    }
    let start = GENESIS.to_owned();
    let chain = Chain { links: links.links, head: links.head, start, head_line: links.links, broken: None };
    let judgement = Judgement { calls: links.links, ..Judgement::default() };
    Ok(Outcome { judgement, chain: Some(chain), failure: None, ..Outcome::default() })
}

/// The outcome for a transcript that did more than grow since it was sealed.
fn refused(input: &Input, content: &Content, copy: &Path, options: &Options) -> anyhow::Result<Option<Outcome>> {
    let Ok(transcript) = content.source(input, options) else { return Ok(None) };
    let old = File::open(copy).with_context(|| format!("cannot open {}", copy.display()))?;
    let found = match sealed_pair::compare(transcript, old) {
        Ok(Some(found)) if found.difference != Difference::Grown => found,
        // errors are met again, with their place, when it is sealed
        _ => return Ok(None),
    };
    let name = copy.file_name().unwrap_or_default().to_string_lossy();
    let mut finding = mismatch_finding(&found, &input.shown, &name, false);
    if matches!(content, Content::Imported(..)) {
        // the line is one of the transcript that it became
        (finding.line, finding.width) = (0, 0);
    }
    let judgement = Judgement { calls: found.index, findings: vec![finding], ..Judgement::default() };
    Ok(Some(Outcome { judgement, chain: None, failure: None, ..Outcome::default() }))
}
