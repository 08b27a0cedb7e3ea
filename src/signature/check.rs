//! Holding a sealed transcript against the signatures that stand beside it.
//!
//! Four things are told apart: whether the chain holds (`seal` says that), whether count, bytes and state are those that
//! were signed, whether a signature holds, and whose it is.

use super::note::Note;
use super::ssh::{Digests, SshSignature};
use super::statement::{NAMESPACE, State, Statement};
use super::trust::Trust;
use crate::sanitize::{clip, visible};
use crate::seal::{self, Chain, Start};
use crate::transcript::ReadError;
use sha2::{Digest as _, Sha256, Sha512};
use std::io::{self, Read};

/// What stands beside a sealed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    /// `FILE.note`: a signed note.
    pub note: Option<Vec<u8>>,
    /// `FILE.sig`: SSH signatures over the sealed file.
    pub file_sig: Option<Vec<u8>>,
    /// `FILE.note.sig`: SSH signatures over the note.
    pub note_sig: Option<Vec<u8>>,
}

impl Beside {
    /// Whether nothing does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.note.is_none() && self.file_sig.is_none() && self.note_sig.is_none()
    }
}

/// What a sealed file is, read in one pass.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Its chain.
    pub chain: Chain,
    /// The digests of its bytes.
    pub digests: Digests,
}

/// Reads a sealed file.
///
/// # Errors
/// A line that is no link.
pub fn facts(source: impl Read + Send, threads: usize) -> Result<Facts, ReadError> {
    let mut hashing = Hashing { source, sha256: Sha256::new(), sha512: Sha512::new() };
    // a chain that goes on from another file is signed as what it is: its first link names that file's last digest
    let chain = seal::verify_from(&mut hashing, threads, Start::Any)?;
    // whatever verifying had no need to read is part of the file as well
    io::copy(&mut hashing, &mut io::sink()).map_err(|error| ReadError::Io { line: 0, error })?;
    Ok(Facts { chain, digests: hashing.digests() })
}

/// The digests of a file's bytes.
///
/// # Errors
/// A read that failed.
pub fn digests(source: impl Read) -> io::Result<Digests> {
    let mut hashing = Hashing { source, sha256: Sha256::new(), sha512: Sha512::new() };
    io::copy(&mut hashing, &mut io::sink())?;
    Ok(hashing.digests())
}

struct Hashing<R> {
    source: R,
    sha256: Sha256,
    sha512: Sha512,
}

impl<R> Hashing<R> {
    fn digests(self) -> Digests {
        Digests { sha256: self.sha256.finalize().into(), sha512: self.sha512.finalize().into() }
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.sha256.update(&buffer[..read]);
        self.sha512.update(&buffer[..read]);
        Ok(read)
    }
}

impl Facts {
    /// What there is to sign. `None`: the chain does not hold, and must not be signed.
    #[must_use]
    pub fn statement(&self, state: State) -> Option<Statement> {
        let head = hex::decode(&self.chain.head).ok()?.try_into().ok()?;
        let statement = Statement { links: self.chain.links, head, file: self.digests.sha256, state };
        self.chain.broken.is_none().then_some(statement)
    }
}

/// Of what form a signature is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureKind {
    /// A line of a signed note.
    Note,
    /// An SSH signature.
    Ssh,
}

impl SignatureKind {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SignatureKind::Note => "note",
            SignatureKind::Ssh => "ssh",
        }
    }
}

/// What is known of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// A trusted key made it.
    Trusted,
    /// A key made it that is not trusted, or says that it did.
    Stranger,
    /// Nobody said which keys are trusted.
    NotAsked,
    /// It does not count: a fault says why.
    Refused,
}

impl Known {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Known::Trusted => "trusted",
            Known::Stranger => "unknown signer",
            Known::NotAsked => "not checked",
            Known::Refused => "refused",
        }
    }
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Of what form it is.
    pub kind: SignatureKind,
    /// Whose it is, or is said to be, safe to print: a key's name, who `allowed_signers` says, or a fingerprint.
    pub signer: String,
    /// The key: the id in a note, or an SSH fingerprint.
    pub key: String,
    /// What is known of it.
    pub known: Known,
}

/// Something about signatures that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind of thing, for programs.
    pub id: &'static str,
    /// In words, safe to print.
    pub what: String,
}

/// What a seal is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody signed it.
    IntegrityOnly,
    /// There are signatures, and nobody said which keys are trusted.
    NotChecked,
    /// A trusted key signed it as it is.
    Signed,
    /// There are faults.
    Refused,
}

impl Standing {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Standing::IntegrityOnly => "integrity only",
            Standing::NotChecked => "integrity only, signatures not checked",
            Standing::Signed => "signed",
            Standing::Refused => "refused",
        }
    }
}

/// What came of checking the signatures of a sealed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What the seal is worth.
    pub standing: Standing,
    /// What a note says was signed.
    pub statement: Option<Statement>,
    /// All signatures.
    pub signatures: Vec<Signature>,
    /// What must not be.
    pub faults: Vec<Fault>,
}

impl Checked {
    /// Those whose trusted signatures hold, each once.
    #[must_use]
    pub fn signers(&self) -> Vec<&str> {
        let trusted = self.signatures.iter().filter(|signature| signature.known == Known::Trusted);
        let mut signers: Vec<&str> = Vec::new();
        for signature in trusted {
            if !signers.contains(&signature.signer.as_str()) {
                signers.push(&signature.signer);
            }
        }
        signers
    }
}

/// The kinds of faults that mean that a signature is missing, rather than wrong.
pub const UNSIGNED: [&str; 2] = ["unsigned", "not-checked"];

/// What is said of a file with nothing beside it. `required`: that is a fault.
#[must_use]
pub fn unsigned(required: bool) -> Checked {
    let (standing, faults) = match required {
        true => (Standing::Refused, vec![Fault { id: UNSIGNED[0], what: MISSING.to_owned() }]),
        false => (Standing::IntegrityOnly, Vec::new()),
    };
    Checked { standing, statement: None, signatures: Vec::new(), faults }
}

const MISSING: &str = "a signature is required, and there is none: integrity only";

/// Checks what stands beside a sealed file. `trust`: whose signatures count, if that was said. `required`: a file that
/// nobody signed is a fault.
#[must_use]
pub fn check(facts: &Facts, beside: &Beside, trust: Option<&Trust>, required: bool) -> Checked {
    let mut check = Check { facts, trust, statement: None, signatures: Vec::new(), faults: Vec::new() };
    let note = beside.note.as_deref().and_then(|note| check.note(note));
    if let Some(signature) = &beside.file_sig {
        check.ssh(signature, "the sealed file", std::slice::from_ref(&facts.digests));
    }
    if let Some(signature) = &beside.note_sig {
        match &beside.note {
            None => check.fault("note-missing", "there is a signature over a note, and no note".to_owned()),
            Some(bytes) => {
                // over the note as it stands, or over what it says alone
                let text = note.as_ref().map(|note| Digests::of(note.text().as_bytes()));
                let messages: Vec<Digests> = [Digests::of(bytes)].into_iter().chain(text).collect();
                check.ssh(signature, "the note", &messages);
            }
        }
    }
    check.finish(required)
}

struct Check<'c> {
    facts: &'c Facts,
    trust: Option<&'c Trust>,
    statement: Option<Statement>,
    signatures: Vec<Signature>,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn fault(&mut self, id: &'static str, what: String) {
        self.faults.push(Fault { id, what });
    }

    fn note(&mut self, bytes: &[u8]) -> Option<Note> {
        let note = match Note::parse(bytes) {
            Ok(note) => note,
            Err(error) => {
                self.fault("malformed", format!("the note is malformed: {error}"));
                return None;
            }
        };
        match Statement::parse(note.text()) {
            Ok(statement) => {
                self.compare(&statement);
                self.statement = Some(statement);
            }
            Err(what) => self.fault("malformed", format!("the note does not say what was sealed: {what}")),
        }
        for signature in note.signatures() {
            let key = hex::encode(signature.id);
            let known = match self.trust {
                None => Known::NotAsked,
                Some(trust) => match trust.notes.iter().find(|key| signature.names(key)) {
                    None => Known::Stranger,
                    Some(trusted) if note.holds(signature, trusted) => Known::Trusted,
                    Some(_) => {
                        let what = format!(
                            "the signature of '{}' ({key}) does not hold: the note was changed, or another key made it",
                            signature.name
                        );
                        self.fault("bad-signature", what);
                        Known::Refused
                    }
                },
            };
            let (kind, signer) = (SignatureKind::Note, signature.name.clone());
            self.signatures.push(Signature { kind, signer, key, known });
        }
        Some(note)
    }

    /// Holds what was signed against what is there. The first difference says most.
    fn compare(&mut self, signed: &Statement) {
        let (chain, digests) = (&self.facts.chain, &self.facts.digests);
        let links = |count: u64| if count == 1 { "1 link".to_owned() } else { format!("{count} links") };
        if chain.links < signed.links {
            let what = format!(
                "{} were signed, and the file has {}: its tail was cut off",
                links(signed.links),
                links(chain.links)
            );
            self.fault("cut", what);
        } else if chain.links > signed.links {
            let what = format!(
                "{} were signed, and the file has {}: the others were added later",
                links(signed.links),
                links(chain.links)
            );
            self.fault("grown", what);
        } else if chain.head != hex::encode(signed.head) {
            let what = format!(
                "the last digest is {}, and {} was signed: it is another chain",
                chain.head,
                hex::encode(signed.head)
            );
            self.fault("other-chain", what);
        } else if digests.sha256 != signed.file {
            let what = format!(
                "the chain is the one that was signed, and the file's bytes are not: their SHA-256 is {}, signed was {}",
                hex::encode(digests.sha256),
                hex::encode(signed.file)
            );
            self.fault("other-bytes", what);
        }
    }

    fn ssh(&mut self, bytes: &[u8], over: &str, messages: &[Digests]) {
        let signatures = match SshSignature::parse_all(bytes) {
            Ok(signatures) => signatures,
            Err(what) => return self.fault("malformed", format!("the SSH signature over {over} is malformed: {what}")),
        };
        for signature in signatures {
            let key = signature.key.fingerprint();
            let listed: Vec<_> = self
                .trust
                .map_or(Vec::new(), |trust| trust.ssh.iter().filter(|signer| signer.key == signature.key).collect());
            let signer = listed.first().map_or_else(|| key.clone(), |signer| signer.principals.clone());
            let of = format!("the SSH signature of '{signer}' over {over}");
            let refused = if signature.namespace != NAMESPACE {
                let namespace = visible(&clip(&signature.namespace, 60)).into_owned();
                Some(("wrong-namespace", format!("{of} is for the namespace '{namespace}'; expected '{NAMESPACE}'")))
            } else if !signature.key.is_checked() {
                let kind = signature.key.type_name();
                let what =
                    format!("{of} was made with a key of type {kind}, which is not checked here: use ssh-ed25519");
                (!listed.is_empty()).then_some(("key-type", what))
            } else if !messages.iter().any(|message| signature.holds(message)) {
                Some(("bad-signature", format!("{of} does not hold: {over} was changed, or another key made it")))
            } else {
                let refusals: Vec<_> =
                    listed.iter().map(|signer| signer.refusal(self.trust.and_then(|trust| trust.now))).collect();
                let all = !refusals.is_empty() && refusals.iter().all(Option::is_some);
                let first = refusals.into_iter().flatten().next().filter(|_| all);
                first.map(|why| ("not-trusted", format!("{of} does not count: its key {why}")))
            };
            let known = match (refused, self.trust) {
                (Some((id, what)), _) => {
                    self.fault(id, what);
                    Known::Refused
                }
                (None, None) => Known::NotAsked,
                (None, Some(_)) if listed.is_empty() => Known::Stranger,
                (None, Some(_)) => Known::Trusted,
            };
            self.signatures.push(Signature { kind: SignatureKind::Ssh, signer, key, known });
        }
    }

    fn finish(mut self, required: bool) -> Checked {
        let any = |known: Known| self.signatures.iter().any(|signature| signature.known == known);
        let (trusted, unsigned) = (any(Known::Trusted), self.signatures.is_empty());
        let names = || {
            let name = |signature: &Signature| format!("'{}' ({})", signature.signer, signature.key);
            self.signatures.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        if self.faults.is_empty() {
            match self.trust {
                _ if trusted => {}
                _ if unsigned && required => self.fault(UNSIGNED[0], MISSING.to_owned()),
                None if required => {
                    let what =
                        format!("a signature is required, and no key is trusted that could check that of {}", names());
                    self.fault(UNSIGNED[1], what);
                }
                Some(_) if !unsigned => {
                    let what = format!("no trusted key signed it: it is signed by {}, which is not listed", names());
                    self.fault("unknown-signer", what);
                }
                _ => {}
            }
        }
        let standing = if !self.faults.is_empty() {
            Standing::Refused
        } else if trusted {
            Standing::Signed
        } else if unsigned {
            Standing::IntegrityOnly
        } else {
            Standing::NotChecked
        };
        let Check { statement, signatures, faults, .. } = self;
        Checked { standing, statement, signatures, faults }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
