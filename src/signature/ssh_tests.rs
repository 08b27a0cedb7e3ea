//! Known answers made by OpenSSH's own `ssh-keygen` over the message "a message\n".

use super::*;

const PRIVATE: &str = include_str!("../../tests/signatures/openssh.key");
const LOCKED: &str = include_str!("../../tests/signatures/locked.key");
const PUBLIC: &str = include_str!("../../tests/signatures/openssh.pub");
const SHA512: &str = include_str!("../../tests/signatures/message.sha512.sig");
const SHA256: &str = include_str!("../../tests/signatures/message.sha256.sig");
const OTHER_NAMESPACE: &str = include_str!("../../tests/signatures/message.file.sig");
const RSA: &str = include_str!("../../tests/signatures/message.rsa.sig");
const MESSAGE: &[u8] = b"a message\n";

fn one(text: &str) -> SshSignature {
    SshSignature::parse_all(text.as_bytes()).unwrap().remove(0)
}

#[test]
fn what_ssh_keygen_signed_holds() {
    for text in [SHA512, SHA256] {
        let signature = one(text);
        assert_eq!((signature.namespace.as_str(), signature.key.type_name()), ("toolreplay-seal", ED25519));
        assert_eq!(signature.key.fingerprint(), "SHA256:qI9pN+P3ccgMYTuiNRr9gFg85Y05ax2sY6hbuP9HYaE");
        assert!(PUBLIC.starts_with(&signature.key.line()));
        assert_eq!(signature.armored(), text);
        assert!(signature.holds(&Digests::of(MESSAGE)));
        for other in [&b""[..], b"a message", b"a message\r\n", b"b message\n"] {
            assert!(!signature.holds(&Digests::of(other)));
        }
    }
    assert_eq!(one(OTHER_NAMESPACE).namespace, "file");
    let renamed = SshSignature { namespace: "toolreplay-seal".to_owned(), ..one(OTHER_NAMESPACE) };
    assert!(!renamed.holds(&Digests::of(MESSAGE)), "the namespace is part of what is signed");
    let rsa = one(RSA);
    assert!(rsa.key.type_name() == "ssh-rsa" && !rsa.key.is_checked() && !rsa.holds(&Digests::of(MESSAGE)));
    let both = SshSignature::parse_all(format!("{SHA512}\n{RSA}").as_bytes()).unwrap();
    assert_eq!(both.len(), 2);
}

#[test]
fn the_same_signature_is_made() {
    let key = crate::signature::SigningKey::parse(PRIVATE).unwrap();
    assert!(key.is_ssh() && key.name() == "ci@example.org");
    assert_eq!(sign(&key, "toolreplay-seal", &Digests::of(MESSAGE)), SHA512);
    assert_eq!(PUBLIC.trim_end(), format!("{} ci@example.org", public(&key).line()));
    // read back, a written key is the same
    let again = crate::signature::SigningKey::parse(&key.openssh()).unwrap();
    assert_eq!((again.public(), again.name()), (key.public(), key.name()));
}

#[test]
fn keys_that_cannot_be_used_say_why() {
    let refused = |text: &str| crate::signature::SigningKey::parse(text).unwrap_err().to_string();
    assert!(refused(LOCKED).contains("has a passphrase"));
    assert!(refused(&PRIVATE[..200]).contains("malformed"));
    let digits: Vec<usize> =
        PRIVATE.char_indices().filter(|(_, char)| char.is_ascii_alphanumeric()).map(|(at, _)| at).collect();
    let body = PRIVATE_BEGIN.len()..PRIVATE.len() - PRIVATE_END.len() - 2;
    let whole = crate::signature::SigningKey::parse(PRIVATE).unwrap();
    let mut taken = 0;
    for at in digits.into_iter().filter(|at| body.contains(at)) {
        let mut changed = PRIVATE.as_bytes().to_vec();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        // but for its comment and the two equal numbers there is nothing in it that may differ
        let read = crate::signature::SigningKey::parse(&String::from_utf8(changed).unwrap());
        taken += usize::from(read.is_ok_and(|key| key.public().bytes() != whole.public().bytes()));
    }
    assert_eq!(taken, 0, "a changed key must not pass for another one");
}

#[test]
fn a_changed_signature_never_holds_and_never_panics() {
    let digests = Digests::of(MESSAGE);
    for at in 0..SHA512.len() {
        for flip in [1, 2, 0x20, 0x80] {
            let mut bytes = SHA512.as_bytes().to_vec();
            bytes[at] ^= flip;
            if bytes[at].is_ascii_whitespace() && SHA512.as_bytes()[at].is_ascii_whitespace() {
                continue;
            }
            let holds = SshSignature::parse_all(&bytes).is_ok_and(|all| all.iter().any(|one| one.holds(&digests)));
            assert!(!holds, "byte {at}");
        }
    }
    for at in 0..SHA512.len() - 1 {
        assert!(SshSignature::parse_all(&SHA512.as_bytes()[..at]).is_err(), "{at}");
    }
    for (text, words) in [
        ("", "line 1: no SSH signature"),
        ("x\n", "line 1: 'x'; expected"),
        ("\n-----BEGIN SSH SIGNATURE-----\nAA\n", "line 2: '-----END"),
        ("-----BEGIN SSH SIGNATURE-----\n!\n-----END SSH SIGNATURE-----\n", "line 1: the signature is no base64"),
        ("-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n", "line 1: it is no SSH signature"),
    ] {
        let error = SshSignature::parse_all(text.as_bytes()).unwrap_err();
        assert!(error.starts_with(words), "{error}");
    }
}
