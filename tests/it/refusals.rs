//! Everything that is no transcript: exit 2, a message with the place on standard error, nothing on standard output.

use crate::{record, run_on};

fn refused(text: &[u8], message: &str) {
    for command in ["replay", "seal"] {
        let ran = run_on(text, [command, "-"]);
        let shown = String::from_utf8_lossy(&text[..text.len().min(100)]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{shown}");
        assert_eq!(ran.stderr, format!("error: {message}\n"), "{shown}");
    }
}

#[test]
fn fields() {
    let fields = "\"index\":0,\"tool\":\"t\",\"args\":{},\"response\":{}";
    for (text, message) in [
        (format!("{{{fields},\"extra\":1}}"), "line 1: unexpected field(s): extra"),
        (format!("{{\"z\":1,{fields},\"B\":1,\"a\":{{}}}}"), "line 1: unexpected field(s): B, a, z"),
        (format!("{{{fields},\"prev\":\"\",\"digest\":\"\"}}"), "line 1: unexpected field(s): digest, prev"),
        (format!("{{{fields},\"e\\u001b[0m\\n\":1}}"), "line 1: unexpected field(s): e\\u001b[0m\\n"),
        ("{\"index\":0,\"args\":{}}".into(), "line 1: missing field(s): response, tool"),
        ("{}".into(), "line 1: missing field(s): args, index, response, tool"),
        ("{\"tool\":\"t\",\"other\":1}".into(), "line 1: unexpected field(s): other"),
        (fields_with("index", "true"), "line 1: column 10: field 'index' must be an integer, found a boolean"),
        (fields_with("index", "0.0"), "line 1: column 10: field 'index' must be an integer, found a float"),
        (fields_with("index", "\"0\""), "line 1: column 10: field 'index' must be an integer, found a string"),
        (fields_with("index", "null"), "line 1: column 10: field 'index' must be an integer, found null"),
        (fields_with("index", "1"), "line 1: column 10: field 'index' must be 0, the next one; found 1"),
        (fields_with("index", "-1"), "line 1: column 10: field 'index' must be 0, the next one; found -1"),
        (fields_with("tool", "7"), "line 1: column 19: field 'tool' must be a string, found an integer"),
        (
            fields_with("args", "[{\"b\":1,\"a\":1}]"),
            "line 1: column 30: field 'args' must be an object, found an array",
        ),
        (fields_with("response", "null"), "line 1: column 44: field 'response' must be an object, found null"),
    ] {
        refused(text.as_bytes(), message);
    }
    let second = record(0, "t", "{}", "{}") + "\n \r\n" + &record(2, "t", "{}", "{}");
    refused(second.as_bytes(), "line 4: column 10: field 'index' must be 1, the next one; found 2");
}

fn fields_with(field: &str, value: &str) -> String {
    let mut fields = [("index", "0"), ("tool", "\"t\""), ("args", "{}"), ("response", "{}")];
    fields.iter_mut().filter(|(name, _)| *name == field).for_each(|(_, stands)| *stands = value);
    let members: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn texts() {
    let args = |value: &str| fields_with("args", &format!("{{\"a\":{value}}}"));
    for (text, message) in [
        ("[1]".into(), "line 1: column 1: expected an object, found an array"),
        ("\"text\"".into(), "line 1: column 1: expected an object, found a string"),
        ("not json".into(), "line 1: column 1: not JSON: expected a value, found 'n'"),
        (
            "{\"index\":0,".into(),
            "line 1: column 12: not JSON: truncated, expected a key in double quotes but the text ends here",
        ),
        (args("NaN"), "line 1: column 35: not JSON: NaN is no JSON number; write null or a string instead"),
        (args("-Infinity"), "line 1: column 35: not JSON: -Infinity is no JSON number; write null or a string instead"),
        (args("1e400"), "line 1: column 35: the number 1e400 overflows a double"),
        (args("01"), "line 1: column 36: not JSON: expected ',' or '}' after a member, found '1'"),
        (args("\"\\x\""), "line 1: column 36: not JSON: invalid escape \\x in a string"),
        (args("\"\u{1}\""), "line 1: column 36: not JSON: control character U+0001 inside a string must be escaped"),
        (
            args("{\"é\":1,\"\\u00e9\":2}"),
            "line 1: column 42: duplicate key 'é': two readers would see two different records",
        ),
        (
            args("[{\"b\":1,\"a\":1,\"b\":1}]"),
            "line 1: column 49: duplicate key 'b': two readers would see two different records",
        ),
        (
            "{\"index\":0,\"\\u0069ndex\":0}".into(),
            "line 1: column 12: duplicate key 'index': two readers would see two different records",
        ),
        (args("1}") + "x", "line 1: column 38: not JSON: expected the end of the text, found ','"),
        (fields_with("index", "0") + " x", "line 1: column 48: not JSON: expected the end of the text, found 'x'"),
        (
            "\u{feff}{}".into(),
            "line 1: column 1: the file starts with a byte order mark (UTF-8); save it as UTF-8 without one",
        ),
        ("{}\u{b}".into(), "line 1: column 3: not JSON: expected the end of the text, found U+000B"),
    ] {
        let text: String = text;
        refused(text.as_bytes(), message);
    }
    refused(b"{\"a\":\"\xff\"}", "line 1: column 7: not UTF-8: byte 0xff; save the file as UTF-8");
    refused(
        b"\xff\xfe{\0",
        "line 1: column 1: the file starts with a byte order mark (UTF-16); save it as UTF-8 without one",
    );
}

#[test]
fn nesting() {
    let nested = |levels: usize| {
        // the record and args are the first two levels
        let inner = levels - 2;
        fields_with("args", &format!("{{\"a\":{}{}}}", "[".repeat(inner), "]".repeat(inner)))
    };
    assert_eq!(run_on(nested(1_000).as_bytes(), ["replay", "-"]).code, 0);
    refused(nested(1_001).as_bytes(), "line 1: column 1033: nesting deeper than 1000 levels");
    refused(nested(100_000).as_bytes(), "line 1: column 1033: nesting deeper than 1000 levels");
    let unclosed = "{\"a\":".repeat(100_000);
    refused(unclosed.as_bytes(), "line 1: column 5001: nesting deeper than 1000 levels");
}

#[test]
fn a_truncated_last_line() {
    let whole = record(0, "t", "{\"a\":\"b\"}", "{}") + &record(1, "t", "{\"a\":\"b\"}", "{}");
    let whole = whole.trim_end();
    let first = whole.find('\n').unwrap() + 1;
    for cut in first + 1..whole.len() {
        let ran = run_on(&whole.as_bytes()[..cut], ["replay", "-"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.starts_with("error: line 2: ") && ran.stderr.contains("truncated"), "{}", ran.stderr);
    }
}

#[test]
fn accepted_oddities() {
    for text in [
        String::new(),
        "\n \t\r\n\r\n".into(),
        fields_with("args", "{\"n\":123456789012345678901234567890123456789012345678901234567890}"),
        fields_with("args", "{\"cut\":\"\\ud83d\",\"line\":\"\u{2028}\u{85}\"}"),
        record(0, "t", "{}", "{}") + "\r\n" + record(1, "t", "{}", "{}").trim_end(),
        record(0, "t", "{}", "{}").replace('\n', "\r\n"),
        "{\"response\":{},\"args\":{},\"tool\":\"t\",\"index\":-0}".into(),
        fields_with("args", &format!("{{\"n\":{}}}", "9".repeat(10_000))),
    ] {
        let ran = run_on(text.as_bytes(), ["replay", "-"]);
        assert_eq!((ran.code <= 1, ran.stderr.as_str()), (true, ""), "{text}");
    }
    assert_eq!(run_on(b"", ["replay", "-"]).stdout, "calls: 0\ndivergence: none\nfindings: 0\n");
}

#[test]
fn sealed_files_have_six_fields() {
    let sealed = run_on(record(0, "t", "{}", "{}").as_bytes(), ["seal", "-"]).stdout;
    for (text, message) in [
        (record(0, "t", "{}", "{}"), "line 1: missing field(s): digest, prev"),
        (sealed.replace("\"prev\"", "\"previous\""), "line 1: unexpected field(s): previous"),
        (
            sealed.replace("\"index\":0", "\"index\":0.5"),
            "line 1: column 96: field 'index' must be an integer, found a float",
        ),
        (
            format!("{sealed}{{"),
            "line 2: column 2: not JSON: truncated, expected a key in double quotes but the text ends here",
        ),
    ] {
        let ran = run_on(text.as_bytes(), ["verify", "-"]);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (2, "", format!("error: {message}\n").as_str())
        );
    }
    let prev = run_on(sealed.replace("\"prev\":\"0", "\"prev\":7,\"x\":\"0").as_bytes(), ["verify", "-"]);
    assert_eq!((prev.code, prev.stderr.as_str()), (2, "error: line 1: unexpected field(s): x\n"));
}

#[test]
fn scope_files() {
    let folder = tempfile::tempdir().unwrap();
    let scope = folder.path().join("scope.json");
    for (text, message) in [
        ("{\"agent\":\"a\"}", "line 1: column 1: missing field 'allowed_tools', which must be an array"),
        (
            "{\"agent\":\"a\",\"allowed_tools\":[1]}",
            "line 1: column 30: item 0 of 'allowed_tools' must be a string, found an integer",
        ),
        ("[]", "line 1: column 1: a scope must be an object with 'agent' and 'allowed_tools', found an array"),
        ("{", "line 1: column 2: not JSON: truncated, expected a key in double quotes but the text ends here"),
    ] {
        std::fs::write(&scope, text).unwrap();
        let path = scope.to_str().unwrap();
        let column: usize = message.split(' ').nth(3).unwrap().trim_end_matches(':').parse().unwrap();
        let expected = format!("error: {path}: {message}\n   | {text}\n   | {}^\n", " ".repeat(column - 1));
        let ran = crate::run(["scope", "samples/session-clean.jsonl", path]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (2, "", expected.clone()));
        let ran = crate::run(["audit", "samples/session-clean.jsonl", "--scope", path]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (2, "", expected));
    }
    let ran = crate::run(["scope", "samples/session-clean.jsonl", "missing.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: cannot open the scope file missing.json: "), "{}", ran.stderr);
}
