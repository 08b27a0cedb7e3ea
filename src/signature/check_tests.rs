//! What is signed, by whom, and what is said of everything that is not as it was signed.

use super::*;
use crate::signature::{SigningKey, ssh};

fn sealed(tools: &[&str]) -> Vec<u8> {
    let record = |(index, tool): (usize, &&str)| {
        format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{{}},\"response\":{{}}}}\n")
    };
    let text: String = tools.iter().enumerate().map(record).collect();
    let mut out = Vec::new();
    seal::seal(text.as_bytes(), 1, &mut out).unwrap();
    out
}

fn key(name: &str, seed: u8) -> SigningKey {
    SigningKey::from_seed(name, &[seed; 32]).unwrap()
}

fn note(file: &[u8], keys: &[&SigningKey]) -> Vec<u8> {
    let statement = facts(file, 1).unwrap().statement(State::Complete).unwrap();
    let mut note = Note::new(statement.text());
    keys.iter().for_each(|key| note.sign(key).unwrap());
    note.to_string().into_bytes()
}

fn trust(keys: &[&SigningKey]) -> Trust {
    let lines: Vec<String> = keys.iter().map(|key| key.public().vkey()).collect();
    Trust::parse(lines.join("\n").as_bytes()).unwrap()
}

fn checked(file: &[u8], beside: &Beside, trust: Option<&Trust>, required: bool) -> Checked {
    check(&facts(file, 1).unwrap(), beside, trust, required)
}

fn with_note(note: Vec<u8>) -> Beside {
    Beside { note: Some(note), ..Beside::default() }
}

#[test]
fn a_signed_seal_is_signed_by_those_who_signed() {
    let file = sealed(&["a", "b"]);
    let (host, ci, other) = (key("host", 1), key("ci", 2), key("other", 3));
    let beside = with_note(note(&file, &[&host, &ci, &other]));
    let found = checked(&file, &beside, Some(&trust(&[&host, &ci])), true);
    assert_eq!((found.standing, found.signers()), (Standing::Signed, vec!["host", "ci"]));
    assert_eq!(found.signatures[2].known, Known::Stranger, "a stranger's signature is no fault beside a trusted one");
    assert_eq!(found.statement.map(|statement| (statement.links, statement.state)), Some((2, State::Complete)));
}

#[test]
fn without_a_signature_there_is_integrity_only() {
    let file = sealed(&["a"]);
    let ci = key("ci", 2);
    for trust in [None, Some(trust(&[&ci]))] {
        let found = checked(&file, &Beside::default(), trust.as_ref(), false);
        assert_eq!((found.standing, found.faults.len()), (Standing::IntegrityOnly, 0));
        let required = checked(&file, &Beside::default(), trust.as_ref(), true);
        assert_eq!((required.standing, required.faults[0].id), (Standing::Refused, "unsigned"));
    }
    let beside = with_note(note(&file, &[&ci]));
    assert_eq!(checked(&file, &beside, None, false).standing, Standing::NotChecked);
    assert_eq!(checked(&file, &beside, None, true).faults[0].id, "not-checked");
}

#[test]
fn every_fault_has_its_own_words() {
    let (file, ci, stranger) = (sealed(&["a", "b", "c"]), key("ci", 2), key("stranger", 9));
    let good = note(&file, &[&ci]);
    let text = String::from_utf8(good.clone()).unwrap();
    let spelled = String::from_utf8(file.clone()).unwrap().replacen("{\"args\"", "{ \"args\"", 1).into_bytes();
    // a key of the same name and another seed, whose signature is given the id of the trusted one
    let forged = {
        let other = String::from_utf8(note(&file, &[&key("ci", 7)])).unwrap();
        let digits = other.trim_end().rsplit(' ').next().unwrap().to_owned();
        let mut bytes = crate::signature::encoding::from_base64(&digits).unwrap();
        bytes[..4].copy_from_slice(&ci.public().id());
        other.replace(&digits, &crate::signature::encoding::to_base64(&bytes)).into_bytes()
    };
    for (file, note, id, words) in [
        (
            sealed(&["a", "b"]),
            good.clone(),
            "cut",
            "3 links were signed, and the file has 2 links: its tail was cut off",
        ),
        (Vec::new(), good.clone(), "cut", "has 0 links"),
        (sealed(&["a", "b", "c", "d"]), good.clone(), "grown", "the others were added later"),
        (sealed(&["a", "x", "c"]), good.clone(), "other-chain", "it is another chain"),
        (spelled, good.clone(), "other-bytes", "the file's bytes are not"),
        (file.clone(), text.replace("\n3\n", "\n4\n").into_bytes(), "cut", "4 links were signed"),
        (
            file.clone(),
            text.replace("state complete", "state open").into_bytes(),
            "bad-signature",
            "the signature of 'ci'",
        ),
        (file.clone(), forged, "bad-signature", "does not hold"),
        (file.clone(), note(&file, &[&stranger]), "unknown-signer", "signed by 'stranger' ("),
        (file.clone(), note(&file, &[&key("ci", 7)]), "unknown-signer", "signed by 'ci' ("),
        (file.clone(), text.replace("seal/v2", "seal/v1").into_bytes(), "malformed", "line 1 is 'toolreplay/seal/v1'"),
        (file.clone(), text.replace('\n', "\r\n").into_bytes(), "malformed", "the note is malformed: line 1: control"),
        (file.clone(), Vec::new(), "malformed", "the note is malformed"),
    ] {
        let found = checked(&file, &with_note(note), Some(&trust(&[&ci])), false);
        assert_eq!((found.standing, found.faults[0].id), (Standing::Refused, id), "{found:?}");
        assert!(found.faults[0].what.contains(words), "{}", found.faults[0].what);
    }
    // count and bytes are compared whether or not a key is known
    let unasked = checked(&sealed(&["a", "b"]), &with_note(good), None, false);
    assert_eq!(unasked.faults[0].id, "cut");
}

#[test]
fn ssh_signatures_hold_over_the_file_or_the_note() {
    let (file, signer) = (sealed(&["a"]), key("me", 4));
    let listed = |options: &str| {
        Trust::parse(format!("me@example.org {options} {}\n", ssh::public(&signer).line()).as_bytes()).unwrap()
    };
    let trust = listed("");
    let signed =
        |message: &[u8], namespace: &str| Some(ssh::sign(&signer, namespace, &Digests::of(message)).into_bytes());
    let over_file = Beside { file_sig: signed(&file, NAMESPACE), ..Beside::default() };
    let found = checked(&file, &over_file, Some(&trust), true);
    assert_eq!((found.standing, found.signers()), (Standing::Signed, vec!["me@example.org"]));
    let note = note(&file, &[&key("unlisted", 5)]);
    let text = Note::parse(&note).unwrap().text().as_bytes().to_vec();
    for message in [&note, &text] {
        let beside = Beside { note_sig: signed(message, NAMESPACE), ..with_note(note.clone()) };
        assert_eq!(checked(&file, &beside, Some(&trust), true).standing, Standing::Signed);
        // a note that is signed says as much of the file as any
        assert_eq!(checked(&sealed(&["a", "b"]), &beside, Some(&trust), true).faults[0].id, "grown");
    }
    let stranger = Trust::parse(key("x", 8).public().vkey().as_bytes()).unwrap();
    for (beside, trust, id, words) in [
        (
            Beside { file_sig: signed(&file, "file"), ..Beside::default() },
            &trust,
            "wrong-namespace",
            "'file'; expected 'toolreplay-seal'",
        ),
        (
            Beside { file_sig: signed(b"else", NAMESPACE), ..Beside::default() },
            &trust,
            "bad-signature",
            "the sealed file was changed",
        ),
        (over_file.clone(), &stranger, "unknown-signer", "'SHA256:"),
        (over_file.clone(), &listed("namespaces=\"git\""), "not-trusted", "other namespaces"),
        (over_file.clone(), &listed("valid-before=\"20200101Z\""), "not-trusted", "what time it is"),
        (Beside { file_sig: Some(b"x".to_vec()), ..Beside::default() }, &trust, "malformed", "line 1: 'x'"),
        (Beside { note_sig: signed(&file, NAMESPACE), ..Beside::default() }, &trust, "note-missing", "no note"),
        (
            Beside { note_sig: signed(&file, NAMESPACE), ..with_note(note.clone()) },
            &trust,
            "bad-signature",
            "the note was changed",
        ),
    ] {
        let found = checked(&file, &beside, Some(trust), false);
        assert_eq!((found.standing, found.faults[0].id), (Standing::Refused, id), "{found:?}");
        assert!(found.faults[0].what.contains(words), "{}", found.faults[0].what);
    }
    let later =
        Trust { now: Some(crate::signature::Time::new(2019, 1, 1, 0, 0, 0)), ..listed("valid-before=\"20200101Z\"") };
    assert_eq!(checked(&file, &over_file, Some(&later), true).standing, Standing::Signed);
    let rsa = include_str!("../../tests/signatures/rsa.pub");
    let (kind, digits) = rsa.split_once(' ').unwrap();
    let trust = Trust::parse(format!("them {kind} {digits}").as_bytes()).unwrap();
    let sig = include_bytes!("../../tests/signatures/message.rsa.sig").to_vec();
    let found = checked(&file, &Beside { file_sig: Some(sig), ..Beside::default() }, Some(&trust), false);
    assert_eq!(found.faults[0].id, "key-type");
    assert!(found.faults[0].what.contains("of type ssh-rsa, which is not checked here"));
}

#[test]
fn a_broken_chain_is_not_signed() {
    let edited = String::from_utf8(sealed(&["a", "b"])).unwrap().replace("\"a\"", "\"x\"");
    assert_eq!(facts(edited.as_bytes(), 1).unwrap().statement(State::Complete), None);
    let empty = facts(&b""[..], 1).unwrap().statement(State::Complete).unwrap();
    assert_eq!((empty.links, empty.head), (0, [0; 32]));
}
