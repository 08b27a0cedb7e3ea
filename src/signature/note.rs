//! C2SP signed notes: a text, an empty line, signatures one a line.

use super::encoding::{from_base64, to_base64};
use super::key::{KeyError, PublicKey, SigningKey, check_key_name};
use crate::sanitize::{clip, visible};

/// The largest note that is read, in bytes.
const SIZE: usize = 1 << 20;
/// The most signatures a note may have.
const SIGNATURES: usize = 100;
/// What a line with a signature starts with.
const DASH: &str = "\u{2014} ";

/// Why a text is no signed note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct NoteError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, safe to print.
    pub what: String,
}

/// One signature of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key that is said to have made it.
    pub name: String,
    /// The id of that key.
    pub id: [u8; 4],
    bytes: Vec<u8>,
}

impl NoteSignature {
    /// Whether it is said to be this key's.
    #[must_use]
    pub fn names(&self, key: &PublicKey) -> bool {
        self.name == key.name() && self.id == key.id()
    }
}

/// A signed note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<NoteSignature>,
}

impl Note {
    /// A note without a signature, which is none yet. The text must end in a newline and have no control characters
    /// besides.
    #[must_use]
    pub fn new(text: String) -> Note {
        Note { text, signatures: Vec::new() }
    }

    /// Reads a note.
    ///
    /// # Errors
    /// What the format does not allow, with the line.
    pub fn parse(bytes: &[u8]) -> Result<Note, NoteError> {
        let line_of = |offset: usize| bytes[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let at = |offset: usize, what: String| NoteError { line: line_of(offset), what };
        if bytes.len() > SIZE {
            return Err(NoteError { line: 1, what: format!("the note is larger than {SIZE} bytes") });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| at(error.valid_up_to(), "not UTF-8".to_owned()))?;
        if let Some(offset) = text.bytes().position(|byte| byte < 0x20 && byte != b'\n') {
            let what = format!("control character U+{:04X}; only line feeds are allowed", bytes[offset]);
            return Err(at(offset, what));
        }
        let Some(split) = text.rfind("\n\n") else {
            let what = "no empty line between a text and its signatures".to_owned();
            return Err(NoteError { line: line_of(bytes.len().saturating_sub(1)), what });
        };
        let (body, lines) = (&text[..=split], &text[split + 2..]);
        let first = line_of(split + 2);
        if lines.is_empty() {
            return Err(NoteError { line: first, what: "a signature is missing".to_owned() });
        }
        let Some(lines) = lines.strip_suffix('\n') else {
            return Err(at(bytes.len(), "the last line does not end in a newline".to_owned()));
        };
        let mut signatures = Vec::new();
        for (line, signature) in (first..).zip(lines.split('\n')) {
            if signatures.len() == SIGNATURES {
                return Err(NoteError { line, what: format!("more than {SIGNATURES} signatures") });
            }
            signatures.push(read_signature(signature).map_err(|what| NoteError { line, what })?);
        }
        Ok(Note { text: body.to_owned(), signatures })
    }

    /// What is signed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures, in their order.
    #[must_use]
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Adds a key's signature; one that the same key made before goes.
    ///
    /// # Errors
    /// A name that a note cannot have, as an OpenSSH key's comment can be.
    pub fn sign(&mut self, key: &SigningKey) -> Result<(), KeyError> {
        check_key_name(key.name())?;
        let public = key.public();
        self.signatures.retain(|signature| !signature.names(&public));
        let bytes = key.sign(self.text.as_bytes()).to_vec();
        self.signatures.push(NoteSignature { name: key.name().to_owned(), id: public.id(), bytes });
        Ok(())
    }

    /// Whether a signature of this note is the key's that it names.
    #[must_use]
    pub fn holds(&self, signature: &NoteSignature, key: &PublicKey) -> bool {
        signature.names(key) && key.verify(self.text.as_bytes(), &signature.bytes)
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.text)?;
        for signature in &self.signatures {
            let bytes = [&signature.id[..], &signature.bytes].concat();
            writeln!(f, "{DASH}{} {}", signature.name, to_base64(&bytes))?;
        }
        Ok(())
    }
}

fn read_signature(line: &str) -> Result<NoteSignature, String> {
    let shown = || visible(&clip(line, 100)).into_owned();
    let expected = "expected a signature: a long dash, the key's name and base64, with single blanks between";
    let rest = line.strip_prefix(DASH).ok_or_else(|| format!("'{}'; {expected}", shown()))?;
    let (name, signature) = rest.split_once(' ').ok_or_else(|| format!("'{}'; {expected}", shown()))?;
    check_key_name(name).map_err(|error| error.to_string())?;
    let bytes = from_base64(signature).ok_or_else(|| format!("the signature of '{name}' is no base64"))?;
    match bytes.split_first_chunk::<4>() {
        Some((id, bytes)) if !bytes.is_empty() => {
            Ok(NoteSignature { name: name.to_owned(), id: *id, bytes: bytes.to_vec() })
        }
        _ => Err(format!("the signature of '{name}' is too short")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const SKEY: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const TEXT: &str =
        "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    const LINE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn the_known_note_is_made_and_holds() {
        let known = format!("{TEXT}\n{LINE}");
        let mut made = Note::new(TEXT.to_owned());
        made.sign(&SigningKey::parse(SKEY).unwrap()).unwrap();
        assert_eq!(made.to_string(), known);
        let note = Note::parse(known.as_bytes()).unwrap();
        assert_eq!(note, made);
        assert!(note.holds(&note.signatures()[0], &PublicKey::parse(VKEY).unwrap()));
        // signed twice by one key it has one signature
        made.sign(&SigningKey::parse(SKEY).unwrap()).unwrap();
        assert_eq!(made.signatures().len(), 1);
    }

    #[test]
    fn a_note_of_the_specification_is_read() {
        let text = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n";
        let line = "\u{2014} quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n";
        let note = Note::parse(format!("{text}\n{line}").as_bytes()).unwrap();
        assert_eq!(note.text(), text, "only the last empty line ends the text");
        assert_eq!(note.signatures()[0].name, "quasimodo.example/salvatore");
        assert_eq!(hex::encode(note.signatures()[0].id), "367ba04b");
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let known = format!("{TEXT}\n{LINE}");
        let key = PublicKey::parse(VKEY).unwrap();
        for at in 0..known.len() {
            for flip in [1, 0x20, 0x80] {
                let mut bytes = known.as_bytes().to_vec();
                bytes[at] ^= flip;
                let holds =
                    Note::parse(&bytes).is_ok_and(|note| note.signatures().iter().any(|one| note.holds(one, &key)));
                assert!(!holds, "byte {at}");
            }
        }
    }

    #[test]
    fn what_is_no_note_says_where() {
        for (text, words) in [
            (String::new(), "line 1: no empty line"),
            (TEXT.to_owned(), "line 2: no empty line"),
            (format!("{TEXT}\n"), "line 4: a signature is missing"),
            (format!("{TEXT}\n{LINE}x\n"), "line 5: 'x'; expected a signature"),
            (format!("{TEXT}\n{}", LINE.trim_end()), "line 4: the last line does not end"),
            (format!("{TEXT}\n{}", LINE.replace('\u{2014}', "-")), "line 4: '- Peter"),
            (
                format!("{TEXT}\n{}", LINE.replace("Neumann ", "Neumann  ")),
                "line 4: the signature of 'PeterNeumann' is no base64",
            ),
            (format!("{TEXT}\n{}", LINE.replace("PeterN", "Peter+N")), "line 4: a key's name must not have"),
            (format!("{TEXT}\n{}", LINE.replace("AM=", "AM")), "line 4: the signature of 'PeterNeumann' is no base64"),
            (format!("{TEXT}\n\u{2014} k AAAAAA==\n"), "line 4: the signature of 'k' is too short"),
            (format!("{TEXT}\r\n\n{LINE}"), "line 3: control character U+000D"),
            (format!("{TEXT}\n{}", LINE.repeat(101)), "line 104: more than 100 signatures"),
        ] {
            let error = Note::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
        assert!(Note::parse(b"\xff\n\n").unwrap_err().what.contains("UTF-8"));
        assert!(Note::parse(&vec![b'\n'; SIZE + 1]).unwrap_err().what.contains("larger"));
        assert!(Note::parse(format!("{TEXT}\n{}", LINE.repeat(16)).as_bytes()).is_ok());
    }
}
