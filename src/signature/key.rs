//! Keys for signed notes: a name and an Ed25519 key.
//!
//! A private key is a secret: it is wiped from memory when it goes, has no `Debug` that shows it, and no error repeats
//! any of it.

use super::encoding::{from_base64, to_base64};
use crate::sanitize::{clip, visible};
use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// The type byte of Ed25519 keys in signed notes.
const ED25519: u8 = 1;
/// What a private key starts with.
const PRIVATE: &str = "PRIVATE+KEY+";
/// The longest name of a key, in characters.
const NAME: usize = 200;

/// Why a text is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(pub(super) String);

impl KeyError {
    pub(super) fn new(what: impl Into<String>) -> KeyError {
        KeyError(what.into())
    }
}

/// Whether a key may have this name.
///
/// # Errors
/// What it must not have.
pub fn check_key_name(name: &str) -> Result<(), KeyError> {
    let shown = || visible(&clip(name, 100)).into_owned();
    if name.is_empty() {
        return Err(KeyError::new("a key's name must not be empty"));
    }
    if name.chars().count() > NAME {
        return Err(KeyError::new(format!(
            "'{}…' is longer than the {NAME} characters a key's name may have",
            shown()
        )));
    }
    if name.chars().any(|char| char.is_whitespace() || char.is_control() || char == '+') {
        return Err(KeyError::new(format!(
            "a key's name must not have blanks, control characters or '+': '{}'",
            shown()
        )));
    }
    // what is not shown cannot be told apart
    if visible(name) != name {
        return Err(KeyError::new(format!("a key's name must not have hidden characters: '{}'", shown())));
    }
    Ok(())
}

/// Reads the bytes of a public key; one for which anybody could make signatures is refused.
pub(super) fn strong_key(bytes: &[u8; 32]) -> Result<VerifyingKey, KeyError> {
    let key = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::new("it is no point of the curve"))?;
    // y must be below 2^255 - 19: of two ways to write a point one is refused
    let rest_is_full = bytes[1..31].iter().all(|&byte| byte == 0xff);
    if bytes[0] >= 0xed && rest_is_full && bytes[31] & 0x7f == 0x7f {
        return Err(KeyError::new("it is not written the one way it must be"));
    }
    if key.is_weak() {
        return Err(KeyError::new("it is a weak key (of small order), for which anybody can make signatures"));
    }
    Ok(key)
}

/// A public key with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    key: VerifyingKey,
}

impl PublicKey {
    /// Reads one line in the form `NAME+ID+KEY` (C2SP's `vkey`).
    ///
    /// # Errors
    /// What is wrong with it; a weak key, one of another type, an id that is not the key's.
    pub fn parse(vkey: &str) -> Result<PublicKey, KeyError> {
        let mut parts = vkey.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(KeyError::new("expected a public key of the form NAME+ID+KEY"));
        };
        if vkey.starts_with(PRIVATE) {
            return Err(KeyError::new("this is a private key, which must stay secret; expected the public one"));
        }
        check_key_name(name)?;
        let bytes = from_base64(key).ok_or_else(|| KeyError::new(format!("the key of '{name}' is no base64")))?;
        let Some((&kind, bytes)) = bytes.split_first() else {
            return Err(KeyError::new(format!("the key of '{name}' is empty")));
        };
        if kind != ED25519 {
            return Err(KeyError::new(format!(
                "the key of '{name}' is of type {kind:#04x}; only Ed25519 (0x01) is read"
            )));
        }
        let bytes: [u8; 32] = bytes
            .try_into()
            .map_err(|_| KeyError::new(format!("the key of '{name}' has {} bytes; expected 32", bytes.len())))?;
        let key =
            strong_key(&bytes).map_err(|error| KeyError::new(format!("the key of '{name}' is refused: {error}")))?;
        let public = PublicKey { name: name.to_owned(), key };
        let expected = hex::encode(public.id());
        if expected != id {
            let id = visible(&clip(id, 20)).into_owned();
            return Err(KeyError::new(format!(
                "the key of '{name}' has the id {expected}, not '{id}': was it copied whole?"
            )));
        }
        Ok(public)
    }

    /// The one line that [`PublicKey::parse`] reads.
    #[must_use]
    pub fn vkey(&self) -> String {
        format!("{}+{}+{}", self.name, hex::encode(self.id()), to_base64(&self.typed()))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first four bytes of a digest over name, type and key, which signatures name it by.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        key_id(&self.name, &self.typed())
    }

    /// The bytes of the key.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// Whether a signature over `message` is this key's.
    #[must_use]
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        verify(&self.key, message, signature)
    }

    fn typed(&self) -> Vec<u8> {
        [&[ED25519][..], self.key.as_bytes()].concat()
    }
}

/// Strictly: keys and signatures of which several fit are refused.
pub(super) fn verify(key: &VerifyingKey, message: &[u8], signature: &[u8]) -> bool {
    Signature::from_slice(signature).is_ok_and(|signature| key.verify_strict(message, &signature).is_ok())
}

fn key_id(name: &str, typed: &[u8]) -> [u8; 4] {
    let digest = Sha256::new().chain_update(name).chain_update(b"\n").chain_update(typed).finalize();
    let mut id = [0; 4];
    id.copy_from_slice(&digest[..4]);
    id
}

/// A private key with its name.
pub struct SigningKey {
    name: String,
    key: ed25519_dalek::SigningKey,
    ssh: bool,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// The key that 32 random bytes make.
    ///
    /// # Errors
    /// A name that no key may have.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<SigningKey, KeyError> {
        check_key_name(name)?;
        Ok(SigningKey { name: name.to_owned(), key: ed25519_dalek::SigningKey::from_bytes(seed), ssh: false })
    }

    /// A key that was read as OpenSSH writes it; its name is its comment.
    pub(super) fn of_openssh(name: String, key: ed25519_dalek::SigningKey) -> SigningKey {
        SigningKey { name, key, ssh: true }
    }

    /// Reads the line `PRIVATE+KEY+NAME+ID+KEY`.
    pub(super) fn parse_line(text: &str) -> Result<SigningKey, KeyError> {
        let Some(rest) = text.strip_prefix(PRIVATE) else {
            if PublicKey::parse(text).is_ok() {
                return Err(KeyError::new("this is a public key; signing needs the private one that keygen wrote"));
            }
            return Err(KeyError::new(
                "this is no private key; expected the line that keygen writes, or an OpenSSH private key",
            ));
        };
        let mut parts = rest.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(KeyError::new("expected a private key of the form PRIVATE+KEY+NAME+ID+KEY"));
        };
        check_key_name(name)?;
        let bytes = Zeroizing::new(from_base64(key).ok_or_else(|| KeyError::new("the private key is no base64"))?);
        let seed: Option<&[u8; 32]> = bytes.strip_prefix(&[ED25519]).and_then(|seed| seed.try_into().ok());
        let seed = seed.ok_or_else(|| KeyError::new("the private key is no Ed25519 key of 32 bytes"))?;
        let signing = SigningKey::from_seed(name, seed)?;
        if hex::encode(signing.public().id()) != id {
            return Err(KeyError::new(format!(
                "the private key of '{name}' is not the one its id names: was it copied whole?"
            )));
        }
        Ok(signing)
    }

    /// The one line that [`SigningKey::parse`] reads. It is the secret itself.
    #[must_use]
    pub fn secret_line(&self) -> Zeroizing<String> {
        let mut typed = Zeroizing::new([ED25519; 33]);
        typed[1..].copy_from_slice(self.key.as_bytes());
        let key = Zeroizing::new(to_base64(typed.as_slice()));
        Zeroizing::new(format!("{PRIVATE}{}+{}+{}\n", self.name, hex::encode(self.public().id()), key.as_str()))
    }

    /// The secret itself.
    pub(super) fn secret(&self) -> &ed25519_dalek::SigningKey {
        &self.key
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey { name: self.name.clone(), key: self.key.verifying_key() }
    }

    /// Whether it was read as an OpenSSH key, whose signatures are those of `ssh-keygen`.
    #[must_use]
    pub fn is_ssh(&self) -> bool {
        self.ssh
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of the reference implementation's own tests.
    pub(crate) const VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const SKEY: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";

    #[test]
    fn known_keys_are_read_and_written() {
        let public = PublicKey::parse(VKEY).unwrap();
        assert_eq!((public.name(), public.vkey().as_str()), ("PeterNeumann", VKEY));
        let signing = SigningKey::parse(SKEY).unwrap();
        assert_eq!(signing.public(), public);
        assert_eq!(signing.secret_line().trim_end(), SKEY);
        assert_eq!(SigningKey::parse(&format!("  {SKEY}\r\n")).unwrap().public(), public);
        assert_eq!(format!("{signing:?}"), "SigningKey { name: \"PeterNeumann\", .. }");
    }

    #[test]
    fn a_key_that_lacks_anything_is_refused() {
        for start in 0..VKEY.len() {
            for end in start..=VKEY.len() {
                let whole = (start, end) == (0, VKEY.len());
                assert_eq!(PublicKey::parse(&VKEY[start..end]).is_ok(), whole, "{start}..{end}");
            }
        }
        for at in 0..VKEY.len() {
            let mut bytes = VKEY.as_bytes().to_vec();
            bytes[at] += 1;
            assert!(PublicKey::parse(&String::from_utf8_lossy(&bytes)).is_err(), "{at}");
        }
        for at in 0..SKEY.len() {
            let error = SigningKey::parse(&SKEY[..at]).unwrap_err().to_string();
            assert!(!error.contains("AYEKF"), "an error must not show the secret: {error}");
        }
    }

    #[test]
    fn wrong_and_weak_keys_have_their_own_words() {
        let with = |kind: u8, bytes: &[u8]| {
            let typed = [&[kind][..], bytes].concat();
            let id = hex::encode(key_id("k", &typed));
            PublicKey::parse(&format!("k+{id}+{}", to_base64(&typed))).unwrap_err().to_string()
        };
        let weak = [
            "0100000000000000000000000000000000000000000000000000000000000000",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000080",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        ];
        for key in weak {
            assert!(with(1, &hex::decode(key).unwrap()).contains("weak key"), "{key}");
        }
        let twice = "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
        let refused = with(1, &hex::decode(twice).unwrap());
        assert!(refused.contains("the one way"), "{refused}");
        assert!(with(4, &[9; 32]).contains("of type 0x04"));
        assert!(with(1, &[9; 31]).contains("31 bytes"));
        assert!(PublicKey::parse(SKEY).unwrap_err().to_string().contains("private key"));
        assert!(SigningKey::parse(VKEY).unwrap_err().to_string().contains("public key"));
        for name in ["", "a b", "a+b", "a\u{a0}b", "a\u{202e}b", "a\nb", &"n".repeat(201)] {
            assert!(SigningKey::from_seed(name, &[7; 32]).is_err(), "{name}");
        }
    }

    #[test]
    fn signatures_are_checked_strictly() {
        // RFC 8032, section 7.1, test 2
        let seed = hex::decode("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb").unwrap();
        let key = SigningKey::from_seed("k", &seed.try_into().unwrap()).unwrap();
        let signature = key.sign(b"\x72");
        assert_eq!(
            hex::encode(signature),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        );
        let public = key.public();
        assert!(public.verify(b"\x72", &signature) && !public.verify(b"\x73", &signature));
        assert!(!public.verify(b"\x72", &signature[..63]) && !public.verify(b"\x72", &[]));
        // s plus the order of the group says the same, and must not pass
        let order = hex::decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").unwrap();
        let (mut malleable, mut carry) = (signature, 0_u16);
        for (byte, add) in malleable[32..].iter_mut().zip(order) {
            carry += u16::from(*byte) + u16::from(add);
            *byte = carry as u8;
            carry >>= 8;
        }
        assert!(!public.verify(b"\x72", &malleable));
    }
}
