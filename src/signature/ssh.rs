//! SSH signatures, as `ssh-keygen -Y sign` makes them, and the keys they are made with.
//!
//! Only Ed25519 keys are used here; keys of other types are told apart by name, never taken for broken ones. What is
//! signed is a digest of the message, so a file of any size can be checked in one pass.

use super::encoding::{from_base64, to_base64};
use super::key::{self, KeyError, strong_key};
use crate::sanitize::{clip, visible};
use ed25519_dalek::{SigningKey, VerifyingKey};
use zeroize::Zeroizing;

/// The type of the keys that are used.
pub const ED25519: &str = "ssh-ed25519";
/// The first line of a private key.
pub(super) const PRIVATE_BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const PRIVATE_END: &str = "-----END OPENSSH PRIVATE KEY-----";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// What a private key's bytes start with.
const PRIVATE_MAGIC: &[u8] = b"openssh-key-v1\0";
/// What a signature's bytes, and what is signed, start with.
const MAGIC: &[u8] = b"SSHSIG";
/// The largest signature that is read, in bytes.
const SIZE: usize = 1 << 20;
/// Digits of base64 on a line.
const WIDTH: usize = 70;

/// Reads the data types of the SSH protocol.
struct Wire<'b>(&'b [u8]);

impl<'b> Wire<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
    }

    fn string(&mut self) -> Option<&'b [u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }

    fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.string()?).ok()
    }

    fn ended(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshKey {
    blob: Vec<u8>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Ed25519(VerifyingKey),
    /// Another type, which is not checked here.
    Other(String),
}

impl SshKey {
    fn from_blob(blob: &[u8]) -> Result<SshKey, KeyError> {
        let malformed = || KeyError::new("it is no SSH key");
        let mut wire = Wire(blob);
        let kind = wire.text().filter(|kind| !kind.is_empty()).ok_or_else(malformed)?;
        let kind = if kind == ED25519 {
            let bytes: &[u8; 32] = wire.string().and_then(|key| key.try_into().ok()).ok_or_else(malformed)?;
            wire.ended().ok_or_else(malformed)?;
            Kind::Ed25519(strong_key(bytes)?)
        } else {
            Kind::Other(visible(&clip(kind, 60)).into_owned())
        };
        Ok(SshKey { blob: blob.to_vec(), kind })
    }

    /// Reads a key as `authorized_keys` and `allowed_signers` write it: its type and its base64.
    ///
    /// # Errors
    /// What is wrong with it; a weak key.
    pub fn parse(kind: &str, base64: &str) -> Result<SshKey, KeyError> {
        let blob = from_base64(base64).ok_or_else(|| KeyError::new("it is no base64"))?;
        let key = SshKey::from_blob(&blob)?;
        if key.type_name() != kind {
            return Err(KeyError::new(format!("it is of type {}, not {kind}", key.type_name())));
        }
        Ok(key)
    }

    /// The key's type.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match &self.kind {
            Kind::Ed25519(_) => ED25519,
            Kind::Other(kind) => kind,
        }
    }

    /// Whether its signatures can be checked here.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        matches!(self.kind, Kind::Ed25519(_))
    }

    /// The fingerprint, as `ssh-keygen -l` prints it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        use sha2::Digest as _;
        format!("SHA256:{}", to_base64(&sha2::Sha256::digest(&self.blob)).trim_end_matches('='))
    }

    /// Its type and base64, as `allowed_signers` has them.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.type_name(), to_base64(&self.blob))
    }

    fn of(key: &VerifyingKey) -> SshKey {
        SshKey { blob: public_blob(key), kind: Kind::Ed25519(*key) }
    }
}

fn public_blob(key: &VerifyingKey) -> Vec<u8> {
    let mut blob = Vec::new();
    put(&mut blob, ED25519.as_bytes());
    put(&mut blob, key.as_bytes());
    blob
}

/// Which digest of the message is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha512,
}

/// Both digests of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// SHA-256.
    pub sha256: [u8; 32],
    /// SHA-512.
    pub sha512: [u8; 64],
}

impl Digests {
    /// Those of a text.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digests {
        use sha2::Digest as _;
        Digests { sha256: sha2::Sha256::digest(bytes).into(), sha512: sha2::Sha512::digest(bytes).into() }
    }
}

/// A signature as `ssh-keygen -Y sign` writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSignature {
    /// The key that is said to have made it.
    pub key: SshKey,
    /// What the signer said it is for.
    pub namespace: String,
    reserved: Vec<u8>,
    hash: Hash,
    signature: Vec<u8>,
    blob: Vec<u8>,
}

impl SshSignature {
    /// Reads the signatures of a file, one block after the other. There must be at least one.
    ///
    /// # Errors
    /// What is wrong, with the line, safe to print.
    pub fn parse_all(bytes: &[u8]) -> Result<Vec<SshSignature>, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "line 1: not UTF-8".to_owned())?;
        if bytes.len() > SIZE {
            return Err(format!("line 1: the signature is larger than {SIZE} bytes"));
        }
        let mut found = Vec::new();
        let mut block: Option<(usize, String)> = None;
        for (number, line) in (1..).zip(text.split('\n').map(|line| line.trim_end_matches('\r'))) {
            match &mut block {
                None if line == BEGIN => block = Some((number, String::new())),
                None if line.is_empty() => {}
                None => {
                    let shown = visible(&clip(line, 60)).into_owned();
                    return Err(format!("line {number}: '{shown}'; expected '{BEGIN}'"));
                }
                Some((start, digits)) if line == END => {
                    let blob =
                        from_base64(digits).ok_or_else(|| format!("line {start}: the signature is no base64"))?;
                    found.push(SshSignature::from_blob(&blob).map_err(|what| format!("line {start}: {what}"))?);
                    block = None;
                }
                Some((_, digits)) => digits.push_str(line),
            }
        }
        match block {
            Some((start, _)) => Err(format!("line {start}: '{END}' is missing")),
            None if found.is_empty() => Err("line 1: no SSH signature in it".to_owned()),
            None => Ok(found),
        }
    }

    fn from_blob(whole: &[u8]) -> Result<SshSignature, String> {
        let malformed = || "it is no SSH signature".to_owned();
        let mut wire = Wire(whole.strip_prefix(MAGIC).ok_or_else(malformed)?);
        match wire.number() {
            Some(1) => {}
            Some(version) => return Err(format!("it is an SSH signature of version {version}; expected 1")),
            None => return Err(malformed()),
        }
        let key = wire.string().ok_or_else(malformed)?;
        let key =
            SshKey::from_blob(key).map_err(|error| format!("the key that made the signature is refused: {error}"))?;
        let namespace = wire.text().ok_or_else(malformed)?.to_owned();
        if namespace.is_empty() {
            return Err("the signature has no namespace".to_owned());
        }
        let reserved = wire.string().ok_or_else(malformed)?.to_vec();
        let hash = match wire.text().ok_or_else(malformed)? {
            "sha256" => Hash::Sha256,
            "sha512" => Hash::Sha512,
            other => {
                let other = visible(&clip(other, 30)).into_owned();
                return Err(format!("the signature is over a digest called '{other}'; expected sha256 or sha512"));
            }
        };
        let mut inner = Wire(wire.string().ok_or_else(malformed)?);
        wire.ended().ok_or_else(malformed)?;
        let kind = inner.text().ok_or_else(malformed)?;
        let signature = inner.string().ok_or_else(malformed)?.to_vec();
        if key.is_checked() {
            inner.ended().ok_or_else(malformed)?;
            if kind != ED25519 || signature.len() != 64 {
                return Err("the signature is not of the type of its key".to_owned());
            }
        }
        Ok(SshSignature { key, namespace, reserved, hash, signature, blob: whole.to_vec() })
    }

    /// The signature as it was read, in the form that `ssh-keygen` writes.
    #[must_use]
    pub fn armored(&self) -> String {
        armored(BEGIN, &self.blob, END).to_string()
    }

    /// Whether the key made this signature over a message. `false` as well where its type is not checked.
    #[must_use]
    pub fn holds(&self, message: &Digests) -> bool {
        let Kind::Ed25519(key) = &self.key.kind else { return false };
        let text = signed_text(&self.namespace, &self.reserved, self.hash, message);
        key::verify(key, &text, &self.signature)
    }
}

fn signed_text(namespace: &str, reserved: &[u8], hash: Hash, message: &Digests) -> Vec<u8> {
    let mut text = MAGIC.to_vec();
    put(&mut text, namespace.as_bytes());
    put(&mut text, reserved);
    let (name, digest): (&str, &[u8]) = match hash {
        Hash::Sha256 => ("sha256", &message.sha256),
        Hash::Sha512 => ("sha512", &message.sha512),
    };
    put(&mut text, name.as_bytes());
    put(&mut text, digest);
    text
}

/// Signs a message, given its digests, and writes the signature as `ssh-keygen -Y sign` does.
#[must_use]
pub fn sign(key: &key::SigningKey, namespace: &str, message: &Digests) -> String {
    let signature = key.sign(&signed_text(namespace, b"", Hash::Sha512, message));
    let mut inner = Vec::new();
    put(&mut inner, ED25519.as_bytes());
    put(&mut inner, &signature);
    let mut blob = MAGIC.to_vec();
    blob.extend_from_slice(&1_u32.to_be_bytes());
    put(&mut blob, &public(key).blob);
    put(&mut blob, namespace.as_bytes());
    put(&mut blob, b"");
    put(&mut blob, b"sha512");
    put(&mut blob, &inner);
    armored(BEGIN, &blob, END).to_string()
}

/// The public half of a key, as SSH has it.
#[must_use]
pub fn public(key: &key::SigningKey) -> SshKey {
    // the bytes are those of a key that was made or read before
    VerifyingKey::from_bytes(key.public().bytes())
        .map_or_else(|_| SshKey { blob: Vec::new(), kind: Kind::Other(String::new()) }, |key| SshKey::of(&key))
}

fn armored(begin: &str, blob: &[u8], end: &str) -> Zeroizing<String> {
    let digits = Zeroizing::new(to_base64(blob));
    let mut text = Zeroizing::new(String::with_capacity(2 * digits.len() + begin.len() + end.len()));
    text.push_str(begin);
    text.push('\n');
    let mut rest = digits.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(WIDTH.min(rest.len()));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str(end);
    text.push('\n');
    text
}

impl key::SigningKey {
    /// Reads a private key: a line `PRIVATE+KEY+NAME+ID+KEY`, or an OpenSSH private key of type Ed25519 without a
    /// passphrase, whose name is its comment.
    ///
    /// # Errors
    /// What is wrong with it, without any of it.
    pub fn parse(text: &str) -> Result<key::SigningKey, KeyError> {
        let text = text.trim();
        if text.starts_with(PRIVATE_BEGIN) {
            let (key, comment) = private_key(text)?;
            return Ok(key::SigningKey::of_openssh(comment, key));
        }
        key::SigningKey::parse_line(text)
    }

    /// The same key as an OpenSSH private key, for `ssh-keygen -Y sign`. It is the secret itself.
    #[must_use]
    pub fn openssh(&self) -> Zeroizing<String> {
        write_private_key(self.secret(), self.name())
    }
}

/// Reads an OpenSSH private key of type Ed25519 without a passphrase: the key and its comment.
fn private_key(text: &str) -> Result<(SigningKey, String), KeyError> {
    let malformed = || KeyError::new("the OpenSSH private key is malformed: was it copied whole, with its line ends?");
    let digits = text.strip_prefix(PRIVATE_BEGIN).and_then(|text| text.trim_end().strip_suffix(PRIVATE_END));
    let digits = digits.ok_or_else(malformed)?;
    let digits: Zeroizing<String> = Zeroizing::new(digits.chars().filter(|char| !char.is_ascii_whitespace()).collect());
    let blob = Zeroizing::new(from_base64(&digits).ok_or_else(malformed)?);
    let mut wire = Wire(blob.strip_prefix(PRIVATE_MAGIC).ok_or_else(malformed)?);
    let (cipher, kdf) = (wire.text().ok_or_else(malformed)?, wire.text().ok_or_else(malformed)?);
    if (cipher, kdf) != ("none", "none") {
        return Err(KeyError::new(
            "the OpenSSH private key has a passphrase; sign with 'ssh-keygen -Y sign -n toolreplay-seal', or use a key \
             without one",
        ));
    }
    let _options = wire.string().ok_or_else(malformed)?;
    if wire.number() != Some(1) {
        return Err(KeyError::new("the OpenSSH private key file does not hold exactly one key"));
    }
    let outer = SshKey::from_blob(wire.string().ok_or_else(malformed)?)?;
    let mut inner = Wire(wire.string().ok_or_else(malformed)?);
    wire.ended().ok_or_else(malformed)?;
    let (one, other) = (inner.number().ok_or_else(malformed)?, inner.number().ok_or_else(malformed)?);
    if one != other {
        return Err(malformed());
    }
    let kind = inner.text().ok_or_else(malformed)?;
    if kind != ED25519 {
        let kind = visible(&clip(kind, 60)).into_owned();
        return Err(KeyError::new(format!("the OpenSSH private key is of type {kind}; expected {ED25519}")));
    }
    let public = inner.string().ok_or_else(malformed)?;
    let pair: &[u8; 64] = inner.string().and_then(|pair| pair.try_into().ok()).ok_or_else(malformed)?;
    let comment = inner.text().ok_or_else(malformed)?.to_owned();
    if inner.0.iter().zip(1_u8..).any(|(&byte, expected)| byte != expected) || inner.0.len() > 8 {
        return Err(malformed());
    }
    let key = SigningKey::from_keypair_bytes(pair).map_err(|_| malformed())?;
    if key.verifying_key().as_bytes() != public || SshKey::of(&key.verifying_key()) != outer {
        return Err(malformed());
    }
    Ok((key, comment))
}

/// The same, written.
fn write_private_key(key: &SigningKey, comment: &str) -> Zeroizing<String> {
    let public = key.verifying_key();
    let blob = public_blob(&public);
    // two equal numbers show that a file was decrypted rightly; it is not encrypted
    let check = &blob[blob.len() - 4..];
    let mut inner = Zeroizing::new(Vec::with_capacity(512));
    inner.extend_from_slice(check);
    inner.extend_from_slice(check);
    put(&mut inner, ED25519.as_bytes());
    put(&mut inner, public.as_bytes());
    put(&mut inner, Zeroizing::new(key.to_keypair_bytes()).as_slice());
    put(&mut inner, comment.as_bytes());
    for padding in 1_u8.. {
        if inner.len().is_multiple_of(8) {
            break;
        }
        inner.push(padding);
    }
    let mut text = Zeroizing::new(Vec::with_capacity(1024));
    text.extend_from_slice(PRIVATE_MAGIC);
    put(&mut text, b"none");
    put(&mut text, b"none");
    put(&mut text, b"");
    text.extend_from_slice(&1_u32.to_be_bytes());
    put(&mut text, &blob);
    put(&mut text, &inner);
    armored(PRIVATE_BEGIN, &text, PRIVATE_END)
}

#[cfg(test)]
#[path = "ssh_tests.rs"]
mod tests;
