//! Signing what was sealed, and the keys that count.

use crate::args;
use crate::exit;
use crate::guard;
use crate::inputs::Surroundings;
use crate::output;
use anyhow::{Context as _, anyhow, bail};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use toolreplay::audit;
use toolreplay::config::Date;
use toolreplay::seal::Sealed;
use toolreplay::signature::{Facts, NAMESPACE, Note, SigningKey, State, Time, Trust, facts, ssh};
use zeroize::Zeroizing;

/// The variable with a key, so that a secret of CI need not become a file.
pub(crate) const VARIABLE: &str = "TOOLREPLAY_KEY";
/// The largest file that is read as a key, or of keys, in bytes.
const SIZE: u64 = 1 << 20;

/// Who signs what a command seals.
pub(crate) struct Signers {
    keys: Vec<SigningKey>,
    state: State,
}

impl Signers {
    /// The keys that the command line names or, if it names none, the one of the environment.
    pub(crate) fn of(sign: &args::Sign) -> anyhow::Result<Signers> {
        let mut keys = Vec::new();
        for path in &sign.keys {
            let shown = path.display();
            let text = secret(path).with_context(|| format!("cannot read the key {shown}"))?;
            keys.push(SigningKey::parse(&text).map_err(|error| anyhow!("{shown}: {error}"))?);
        }
        #[expect(clippy::disallowed_methods, reason = "a secret of CI comes by the environment")]
        let variable = std::env::var(VARIABLE).map(Zeroizing::new);
        match variable {
            _ if !keys.is_empty() => {}
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => keys.push(SigningKey::parse(&text).map_err(|error| anyhow!("{VARIABLE}: {error}"))?),
            Err(std::env::VarError::NotPresent) => {}
            Err(std::env::VarError::NotUnicode(_)) => bail!("{VARIABLE}: this is no private key"),
        }
        let state = if sign.open { State::Open } else { State::Complete };
        if state == State::Open && keys.is_empty() {
            bail!("--open is said in a signature, and no key signs; name one with --sign");
        }
        if state == State::Open && keys.iter().any(SigningKey::is_ssh) {
            bail!(
                "an SSH signature is over the file alone, and cannot say that the recording goes on; use a key of keygen"
            );
        }
        Ok(Signers { keys, state })
    }

    /// Whether nobody signs.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Refuses, before anything is sealed, what signing could not write.
    pub(crate) fn check(&self, sealed: &Path) -> anyhow::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let place = Surroundings::current()?;
        let [note, file_sig, _] = audit::beside(sealed);
        for path in [note, file_sig] {
            if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
                bail!("{} is no regular file, and signatures are written to none else; remove it", path.display());
            }
            guard::inside_stays_inside(&place, &path)?;
        }
        Ok(())
    }

    /// Signs the sealed file at a path, which must hold what was just sealed.
    pub(crate) fn sign(&self, path: &Path, sealed: &Sealed, threads: usize) -> anyhow::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
        let facts = facts(file, threads).map_err(|error| anyhow!("{shown}: {error}"))?;
        if (facts.chain.links, facts.chain.head.as_str()) != (sealed.links, sealed.head.as_str()) {
            bail!("{shown} was changed while it was signed; nothing is signed");
        }
        let [note, file_sig, _] = audit::beside(path);
        let (of_ssh, of_notes): (Vec<_>, Vec<_>) = self.keys.iter().partition(|key| key.is_ssh());
        if !of_notes.is_empty() {
            self.sign_note(&note, &facts, &of_notes)?;
        }
        if !of_ssh.is_empty() {
            sign_ssh(&file_sig, &facts, &of_ssh)?;
        }
        Ok(())
    }

    fn sign_note(&self, path: &Path, facts: &Facts, keys: &[&SigningKey]) -> anyhow::Result<()> {
        let shown = path.display();
        let statement = facts.statement(self.state).context("the chain is broken, and a broken chain is not signed")?;
        let mut note = Note::new(statement.text());
        if let Some(bytes) = existing(path)? {
            let old = Note::parse(&bytes)
                .map_err(|error| anyhow!("{shown} is there already and no signed note ({error}); remove it"))?;
            if old.text() == note.text() {
                note = old;
            } else {
                let names: Vec<&str> = old.signatures().iter().map(|signature| signature.name.as_str()).collect();
                exit::print_warning(&format!(
                    "{shown}: signed anew; the signatures of {} were over other content",
                    names.join(", ")
                ));
            }
        }
        for key in keys {
            note.sign(key).map_err(|error| anyhow!("{shown}: {error}"))?;
        }
        output::to_file(path, |out| out.write_all(note.to_string().as_bytes()))
    }
}

fn sign_ssh(path: &Path, facts: &Facts, keys: &[&SigningKey]) -> anyhow::Result<()> {
    let shown = path.display();
    let mut text = String::new();
    if let Some(bytes) = existing(path)? {
        let old = ssh::SshSignature::parse_all(&bytes)
            .map_err(|what| anyhow!("{shown} is there already and no SSH signature ({what}); remove it"))?;
        let known = |one: &ssh::SshSignature| keys.iter().any(|key| ssh::public(key) == one.key);
        // what cannot be checked here is kept with the others, not thrown away
        let fits = |one: &ssh::SshSignature| one.holds(&facts.digests) || !one.key.is_checked();
        if old.iter().all(fits) {
            text = old.iter().filter(|one| !known(one)).map(ssh::SshSignature::armored).collect();
        } else {
            exit::print_warning(&format!("{shown}: signed anew; the signatures in it were over other content"));
        }
    }
    for key in keys {
        text.push_str(&ssh::sign(key, NAMESPACE, &facts.digests));
    }
    output::to_file(path, |out| out.write_all(text.as_bytes()))
}

fn existing(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => {
            let mut bytes = Vec::new();
            let read = opened.and_then(|file| file.take(SIZE + 1).read_to_end(&mut bytes));
            read.with_context(|| format!("cannot read {}", path.display()))?;
            Ok(Some(bytes))
        }
    }
}

/// Reads a private key. Others who can read it as well are worth a word.
fn secret(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    let file = File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
            exit::print_warning(&format!("{} can be read by others; 'chmod 600' it", path.display()));
        }
    }
    // room for all of it at once: what grows leaves copies behind
    let mut text = Zeroizing::new(String::with_capacity(64 << 10));
    let read = file.take(64 << 10).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => anyhow!("this is no private key"),
        _ => error.into(),
    })?;
    Ok(text)
}

/// Reads the keys that count.
pub(crate) fn trust(path: &Path) -> anyhow::Result<Trust> {
    let shown = path.display();
    // a pipe would be waited for
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        bail!("cannot read the trusted keys {shown}: it is no regular file");
    }
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SIZE + 1).read_to_end(&mut text));
    read.with_context(|| format!("cannot read the trusted keys {shown}"))?;
    parsed(&text, &shown.to_string())
}

/// The keys that a text lists. `shown`: where it is from.
pub(crate) fn parsed(text: &[u8], shown: &str) -> anyhow::Result<Trust> {
    if text.len() as u64 > SIZE {
        bail!("{shown} is larger than {SIZE} bytes, which no list of keys is");
    }
    let mut trust = Trust::parse(text).map_err(|error| anyhow!("{shown}: {error}"))?;
    trust.now = Some(now());
    Ok(trust)
}

/// The time, in UTC.
fn now() -> Time {
    #[expect(clippy::disallowed_methods, reason = "keys are trusted for a while")]
    let now = std::time::SystemTime::now();
    let seconds = now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (day, rest) = (Date::from_unix_days(seconds / 86_400), seconds % 86_400);
    let [hour, minute, second] = [rest / 3_600, rest / 60 % 60, rest % 60].map(|part| part as u8);
    Time::new(day.year, day.month, day.day, hour, minute, second)
}
