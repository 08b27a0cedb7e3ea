//! The canonical form against CPython's `json`, over nasty and generated texts.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::io::Write as _;
use std::process::{Command, Stdio};
use toolreplay::json::{self, Scratch};

/// One line in, one line out: the canonical form, or `!` for a text that strict JSON refuses.
const ORACLE: &str = r#"
import json, math, sys
sys.set_int_max_str_digits(0)
sys.setrecursionlimit(20000)

def pairs(items):
    keys = [key for key, _ in items]
    if len(set(keys)) != len(keys):
        raise ValueError("duplicate key")
    return dict(items)

def constant(name):
    raise ValueError(name)

def number(text):
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value

for line in sys.stdin.buffer.read().split(b"\n")[:-1]:
    try:
        text = line.decode("utf-8")
        if text.startswith("\ufeff"):
            raise ValueError("byte order mark")
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_float=number)
        print(json.dumps(value, sort_keys=True, separators=(",", ":")))
    except ValueError:
        print("!")
"#;

/// What CPython makes of each text; `None` where there is no python3.
fn oracle(texts: &[Vec<u8>]) -> Option<Vec<String>> {
    let child = Command::new("python3").args(["-I", "-c", ORACLE]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        eprintln!("NOTICE: python3 is missing; the canonical form was not compared with CPython's");
        return None;
    };
    let mut input = child.stdin.take().unwrap();
    let all: Vec<u8> = texts.iter().flat_map(|text| text.iter().copied().chain(*b"\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(&all));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let lines: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), texts.len());
    Some(lines)
}

fn ours(text: &[u8], scratch: &mut Scratch) -> String {
    match json::canonical(text, scratch) {
        Ok(span) => String::from_utf8(span.get(text, scratch).to_vec()).unwrap(),
        Err(_) => "!".to_owned(),
    }
}

fn compare(texts: &[Vec<u8>]) {
    let Some(expected) = oracle(texts) else { return };
    let mut scratch = Scratch::default();
    for (text, expected) in texts.iter().zip(expected) {
        let ours = ours(text, &mut scratch);
        assert!(
            ours == expected,
            "{}\n  ours   {}\n  theirs {}",
            String::from_utf8_lossy(&text[..text.len().min(400)]),
            &ours[..ours.len().min(400)],
            &expected[..expected.len().min(400)]
        );
    }
}

#[test]
fn hand_picked_texts_equal_cpython() {
    let mut texts: Vec<Vec<u8>> = include_str!("nasty.txt").lines().map(|line| line.as_bytes().to_vec()).collect();
    // every distance of a special byte from the start and the end of a vector block
    for before in 0..70 {
        for special in
            ["\\n", "\\\"", "\\\\", "é", "\\u00E9", "\\/", "\u{7f}", "\\\\n", "\\ud83d", "😀", "\\x", "\u{1}", "\""]
        {
            for after in [0, 1, 33] {
                let text = format!("\"{}{special}{}\"", "x".repeat(before), "y".repeat(after));
                texts.push(text.into_bytes());
            }
        }
        for end in ["\"", "\\\"", "\\\"\""] {
            texts.push(format!("\"{}{end}", "\\\\".repeat(before)).into_bytes());
        }
        texts.push(format!("{{\"{}\":1,\"{}\":2}}", "k".repeat(before), "k".repeat(before + 1)).into_bytes());
        texts.push(format!("{{\"{}\":1,\"{}\\u006b\":2}}", "k".repeat(before + 1), "k".repeat(before)).into_bytes());
    }
    for digits in [17, 400, 4300, 4301, 20_000] {
        texts.push("7".repeat(digits).into_bytes());
        texts.push(format!("-{}", "1".repeat(digits)).into_bytes());
        texts.push(format!("0.{}", "3".repeat(digits)).into_bytes());
        texts.push(format!("{}.5e-{digits}", "9".repeat(digits)).into_bytes());
    }
    for depth in [100, 700, 1000] {
        texts.push(format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into_bytes());
        let pairs = format!("{}1}}{}", "{\"b\":".repeat(depth), ",\"a\":[2]}".repeat(depth - 1));
        texts.push(pairs.into_bytes());
    }
    for bytes in [
        &b"\"\xff\""[..],
        b"\"\xc0\x80\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xe2\x82\"",
        b"\"\xf8\x88\x80\x80\x80\"",
        b"\xff",
        b"\"a\x00b\"",
        b"\"\x1f\"",
        b"{\"\xff\":1}",
        b"\xef\xbb\xbf1",
        b"\"\xf0\x9f\x98\x80\xe2\x80\xa8\"",
        b"[1,\r2]\r",
    ] {
        texts.push(bytes.to_vec());
    }
    compare(&texts);
}

/// Large objects with unsorted keys are put in order without moving them; the result must not differ.
#[test]
fn large_unsorted_objects_equal_cpython() {
    let big = "x\u{e9}".repeat(700_000);
    let inner =
        format!("{{\"z\":1,\"b\":\"{big}\",\"a\":{{\"y\":[],\"x\":{{\"q\":1,\"p\":2}}}},\"\\u0061\\u0062\":null}}");
    let outer = format!("[{{\"n\":{inner},\"m\":{{\"d\":{inner},\"c\":0}}}},{{\"b\":1,\"a\":2}},{inner}]");
    let mut nested = "\"bottom\"".to_owned();
    for level in 0..900 {
        nested = format!("{{\"z{level}\":{nested},\"a\":{{\"k\":1,\"b\":[{level}]}},\"\\u0062\":0}}");
    }
    let duplicate = inner.replace("\\u0061\\u0062", "z");
    compare(&[inner.into_bytes(), outer.into_bytes(), nested.into_bytes(), duplicate.into_bytes()]);
}

fn text() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        "[a-c]{0,3}",
        "[ -~]{0,12}",
        any::<String>(),
        Just("\\ud83d".to_owned()),
        Just("\\uD83D\\uDE00".to_owned()),
        Just("\\/\\b\\u0000\\u007F".to_owned()),
        "[é-ÿ]{0,40}",
    ];
    let string = key.prop_map(|raw| {
        // what is not already an escape is escaped where JSON demands it, half of the time
        let escaped = if raw.contains('\\') { raw } else { raw.replace('"', "\\\"").replace('\\', "\\\\") };
        format!("\"{escaped}\"")
    });
    let number = prop_oneof![
        any::<f64>().prop_map(|value| format!("{value:?}")),
        any::<f64>().prop_map(|value| format!("{value:e}")),
        any::<i64>().prop_map(|value| value.to_string()),
        "-?[0-9]{1,40}(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?",
    ];
    let leaf = prop_oneof![
        4 => string.clone(),
        3 => number,
        1 => prop_oneof![Just("true"), Just("false"), Just("null"), Just("NaN"), Just("{}"), Just("[ ]")].prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let space = prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\t\r")];
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..6), space.clone())
                .prop_map(|(items, space)| format!("[{space}{}{space}]", items.join(&format!("{space},")))),
            (proptest::collection::vec((string.clone(), inner), 0..6), space).prop_map(|(members, space)| {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("{key}{space}:{space}{value}")).collect();
                format!("{{{space}{}{space}}}", members.join(&format!(",{space}")))
            }),
        ]
    })
}

#[test]
fn generated_texts_equal_cpython() {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, b"toolreplay canonical form tests!"),
    );
    let strategy = proptest::collection::vec(text(), 4_000);
    let texts: Vec<Vec<u8>> = strategy
        .new_tree(&mut runner)
        .unwrap()
        .current()
        .into_iter()
        .filter(|text| !text.contains('\n'))
        .map(String::into_bytes)
        .collect();
    compare(&texts);
    // and the same texts with one byte changed, which most often is an error somewhere
    let mut changed = texts;
    for (seed, text) in changed.iter_mut().enumerate() {
        if let Some(at) = (!text.is_empty()).then(|| (seed * 7919) % text.len()) {
            text[at] = *b"\"\\{}[]:,0e.-u\x80\xc3 x\x1f".get(seed % 19).unwrap_or(&b'9');
        }
    }
    compare(&changed);
}

#[test]
fn the_canonical_form_of_a_canonical_text_is_that_text() {
    let mut runner = TestRunner::deterministic();
    let mut scratch = Scratch::default();
    runner
        .run(&text(), |text| {
            let mut scratch = Scratch::default();
            let once = ours(text.as_bytes(), &mut scratch);
            if once != "!" {
                prop_assert_eq!(ours(once.as_bytes(), &mut scratch), once);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(ours(b"1", &mut scratch), "1");
}
