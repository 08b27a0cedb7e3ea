//! The signatures of sealed transcripts, and what is found about them.
//!
//! What stands beside a file comes with the checkout: it may be a pipe, a folder, or larger than anything that was ever
//! signed. All of that is a finding and nothing else.

use super::changes::{Change, about};
use super::outcome::{Input, Outcome};
use crate::rules::{BAD_SIGNATURE, UNSIGNED_SEAL};
use crate::sealed_pair;
use crate::signature::{self, Beside, Checked, Facts, Fault, Standing, Trust, UNSIGNED};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The most that is read of a file with signatures, in bytes.
const SIZE: u64 = 1 << 20;
/// What is appended to a sealed file's name for what is signed about it.
const ENDINGS: [&str; 3] = [".note", ".sig", ".note.sig"];

/// Which signatures are demanded.
#[derive(Debug, Clone, Default)]
pub struct Signing {
    /// The keys that count, if that was said.
    pub trust: Option<Trust>,
    /// Whether every sealed transcript must have a signature.
    pub required: bool,
}

/// The files with signatures that a sealed file has, or may have, beside it: a note, SSH signatures over the sealed file,
/// SSH signatures over the note.
#[must_use]
pub fn beside(sealed: &Path) -> [PathBuf; 3] {
    ENDINGS.map(|ending| {
        let mut name: OsString = sealed.as_os_str().to_owned();
        name.push(ending);
        name.into()
    })
}

/// Whether a file holds the signatures of a sealed transcript that it stands beside, and so is read with it.
#[must_use]
pub fn stands_beside(path: &Path) -> bool {
    let Some(text) = path.to_str() else { return false };
    ENDINGS
        .iter()
        .filter_map(|ending| text.strip_suffix(ending))
        .map(Path::new)
        .any(|sealed| sealed_pair::is_sealed_path(sealed) && sealed.is_file())
}

/// Checks the signatures of all sealed transcripts among the inputs, and adds what is found to their outcomes.
pub fn signatures(inputs: &[Input], outcomes: &mut [Outcome], signing: &Signing) {
    for (input, outcome) in inputs.iter().zip(outcomes) {
        let Some(chain) = &outcome.chain else { continue };
        let asked = signing.required || signing.trust.is_some();
        let checked = match &input.path {
            None if asked => signature::unsigned(signing.required),
            None => continue,
            Some(path) => match read(path) {
                Ok(beside) if beside.is_empty() && !asked => continue,
                Ok(beside) if beside.is_empty() => signature::unsigned(signing.required),
                Ok(beside) => match File::open(path).and_then(signature::digests) {
                    Ok(digests) => {
                        let facts = Facts { chain: chain.clone(), digests };
                        signature::check(&facts, &beside, signing.trust.as_ref(), signing.required)
                    }
                    Err(error) => unread(format!("it cannot be read again for its signatures: {error}")),
                },
                Err(what) => unread(what),
            },
        };
        for fault in &checked.faults {
            let rule = if UNSIGNED.contains(&fault.id) { &UNSIGNED_SEAL } else { &BAD_SIGNATURE };
            outcome.judgement.findings.push(about(rule, rule.level, &fault.what, fault.what.clone()));
        }
        outcome.judgement.findings.sort_by_key(|finding| (finding.index, finding.rule.id));
        outcome.signature = Some(checked);
    }
}

/// The finding for a sealed transcript that had a signature in the base revision and has none now.
#[must_use]
pub fn signature_lost(input: &Input, name: &str) -> Change {
    let detail = format!("the base revision has its signature, {name}, which is gone: integrity only");
    let finding = about(&UNSIGNED_SEAL, UNSIGNED_SEAL.level, name, detail);
    Change { shown: input.shown.clone(), from_root: input.from_root.clone(), exists: true, finding }
}

fn unread(what: String) -> Checked {
    let faults = vec![Fault { id: "unread", what }];
    Checked { standing: Standing::Refused, statement: None, signatures: Vec::new(), faults }
}

/// Reads what stands beside a sealed file.
fn read(sealed: &Path) -> Result<Beside, String> {
    let [note, file_sig, note_sig] = beside(sealed);
    Ok(Beside { note: read_one(&note)?, file_sig: read_one(&file_sig)?, note_sig: read_one(&note_sig)? })
}

fn read_one(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let name = || crate::sanitize::visible(&path.file_name().unwrap_or_default().to_string_lossy()).into_owned();
    let metadata = match path.symlink_metadata() {
        Ok(_) => path.metadata(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => Err(error),
    };
    let read = metadata.and_then(|metadata| {
        // a pipe would wait for ever
        if !metadata.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(SIZE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > SIZE {
            return Err(io::Error::other(format!("it is larger than {SIZE} bytes")));
        }
        Ok(bytes)
    });
    read.map(Some).map_err(|error| format!("{} cannot be read: {error}", name()))
}
