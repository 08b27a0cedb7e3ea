//! Small files that unpack to much, long lines, lines without end: each ends in an error that says where, and costs no
//! more memory than the longest line that is allowed, held once, and 64 MiB.

use crate::{record, toolreplay};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: usize = 1 << 20;
/// What may be needed besides the longest line, in MiB.
const BESIDE: usize = 64;
/// Of that, what the program itself may take before it reads anything: much more where it is not optimised, which is why a
/// test that is close to the bound measures that too.
const PROGRAM: usize = 16;

/// What a run came to, and the most memory it had, in MiB.
struct Peak {
    code: i32,
    memory: usize,
    output: String,
}

/// Runs the command in a folder. The peak is what the system says of the child when it is waited for.
fn peak(folder: &Path, args: &[&str]) -> Peak {
    const WAIT: &str = "
import os, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
sys.stderr.flush()
print('\\npeak', usage.ru_maxrss // 1024)
sys.exit(os.waitstatus_to_exitcode(status))";
    let mut command = Command::new("python3");
    command.args(["-c", WAIT]).arg(toolreplay().get_program()).args(args).current_dir(folder).stdin(Stdio::null());
    let output = command.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    let memory = out.lines().find_map(|line| line.strip_prefix("peak ")).unwrap().parse().unwrap();
    Peak { code: output.status.code().unwrap(), memory, output: out }
}

fn audit(folder: &Path, args: &[&str]) -> Peak {
    peak(folder, &[&["audit", "--no-config", "--threads", "2"], args].concat())
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

/// A gzip file of a start, so many MiB of one byte, and an end: its members are unpacked one after the other.
fn bomb(start: &[u8], byte: u8, mebibytes: usize, end: &[u8]) -> Vec<u8> {
    [packed(start), packed(&vec![byte; MIB]).repeat(mebibytes), packed(end)].concat()
}

const NATIVE: &[u8] = b"{\"index\":0,\"tool\":\"a\",\"args\":{\"x\":\"";
const NATIVE_END: &[u8] = b"\"},\"response\":{}}\n";
const CLAUDE: &[u8] =
    b"{\"type\":\"user\",\"sessionId\":\"s\",\"uuid\":\"u\",\"message\":{\"role\":\"user\",\"content\":\"";

#[test]
fn a_line_over_the_limit_costs_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let first = [b"\n\n", CLAUDE, b"\"}}\n"].concat();
    for (name, bomb) in [
        (
            "native.jsonl.gz",
            bomb(&[b"\n\n", record(0, "t", "{}", "{}").as_bytes(), NATIVE].concat(), b'a', 300, NATIVE_END),
        ),
        ("claude.jsonl.gz", bomb(&[&first, CLAUDE].concat(), b'a', 300, b"\"}}\n")),
        ("nothing.jsonl.gz", bomb(b"\n\n\n", b'a', 300, b"")),
    ] {
        fs::write(folder.path().join(name), bomb).unwrap();
        let ran = audit(folder.path(), &[name, "--max-line", "16M", "--max-document", "16M"]);
        assert_eq!(ran.code, 2, "{}", ran.output);
        let place = "error: line 4: the line is longer than 16 MiB; --max-line allows more, up to 640 MiB";
        assert!(ran.output.contains(place), "{}", ran.output);
        assert!(ran.memory <= 16 + BESIDE, "{name}: {} MiB", ran.memory);
    }
}

#[test]
fn bombs_side_by_side_cost_what_one_does() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..6 {
        let bomb = bomb(if number % 2 == 0 { CLAUDE } else { NATIVE }, b'a', 100, b"");
        fs::write(folder.path().join(format!("{number}.jsonl.gz")), bomb).unwrap();
    }
    let ran = peak(
        folder.path(),
        &["audit", "--no-config", "--threads", "6", ".", "--max-line", "32M", "--max-document", "32M"],
    );
    assert_eq!((ran.code, ran.output.matches("the line is longer than 32 MiB").count()), (2, 6), "{}", ran.output);
    fs::write(folder.path().join("small.jsonl"), record(0, "a", "{}", "{}")).unwrap();
    let program = peak(folder.path(), &["audit", "--no-config", "--threads", "6", "small.jsonl"]).memory;
    let beside = ran.memory.saturating_sub(program.max(PROGRAM)) + PROGRAM;
    assert!(beside <= 32 + BESIDE, "{} MiB, and {program} MiB for next to nothing", ran.memory);
}

#[test]
fn what_is_unpacked_is_bounded_for_all_files_together() {
    let folder = tempfile::tempdir().unwrap();
    let newlines = bomb(b"", b'\n', 8 << 10, b"");
    fs::write(folder.path().join("newlines.jsonl.gz"), &newlines).unwrap();
    let ran = audit(folder.path(), &["newlines.jsonl.gz", "--max-unpacked", "20M"]);
    assert_eq!(ran.code, 2, "{}", ran.output);
    let place = "error: line 20971521: the compressed files of this run hold more than 20 MiB of text; --max-unpacked allows more";
    assert!(ran.output.contains(place), "{}", ran.output);
    assert!(ran.memory <= BESIDE, "{} MiB", ran.memory);
    // three times packed; and two files that are small enough each
    let thrice = packed(&packed(&newlines[..newlines.len() / 64]));
    fs::write(folder.path().join("newlines.jsonl.gz"), thrice).unwrap();
    assert_eq!(audit(folder.path(), &["newlines.jsonl.gz", "--max-unpacked", "20M"]).code, 2);
    let good = bomb(record(0, "t", "{}", "{}").as_bytes(), b'\n', 3, b"");
    fs::write(folder.path().join("newlines.jsonl.gz"), &good).unwrap();
    fs::write(folder.path().join("more.jsonl.gz"), &good).unwrap();
    assert_eq!(audit(folder.path(), &[".", "--max-unpacked", "7M"]).code, 0);
    let ran = audit(folder.path(), &[".", "--max-unpacked", "5M"]);
    assert!(ran.code == 2 && ran.output.contains("hold more than 5 MiB"), "{}", ran.output);
}

#[test]
fn a_configuration_lowers_limits_and_raises_none() {
    let folder = tempfile::tempdir().unwrap();
    let text = record(0, "t", "{}", &format!("{{\"a\":\"{}\"}}", "a".repeat(3000)));
    fs::write(folder.path().join("t.jsonl"), &text).unwrap();
    fs::write(folder.path().join("t.jsonl.gz"), packed(text.as_bytes())).unwrap();
    let ran = |config: &str, args: &[&str]| {
        fs::write(folder.path().join("toolreplay.toml"), config).unwrap();
        let ran = peak(folder.path(), &[&["audit", "."], args].concat());
        (ran.code, ran.output)
    };
    assert_eq!(ran("", &[]).0, 0);
    for (key, said) in [("max-line", "the line is longer than 2 KiB"), ("max-unpacked", "hold more than 2 KiB of text")]
    {
        let (code, output) = ran(&format!("{key} = \"2K\""), &[]);
        assert!(code == 2 && output.contains(said), "{output}");
        assert_eq!(ran(&format!("{key} = \"2K\""), &[&format!("--{key}"), "4K"]).0, 0);
        for wrong in ["5G", "0", "many"] {
            let (code, output) = ran(&format!("{key} = \"{wrong}\""), &[]);
            assert!(code == 2 && output.contains(&format!("toolreplay.toml: {key}: ")), "{output}");
        }
    }
}

#[test]
fn blank_lines_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let blank = vec![b'\n'; 40 * MIB];
    fs::write(folder.path().join("blank.jsonl"), &blank).unwrap();
    let ran = audit(folder.path(), &["blank.jsonl", "--allow-empty"]);
    assert!(ran.code == 0 && ran.memory <= BESIDE / 2, "{} MiB: {}", ran.memory, ran.output);
    let mut text = blank;
    text.extend_from_slice(b"{}\n");
    fs::write(folder.path().join("blank.jsonl"), text).unwrap();
    let ran = audit(folder.path(), &["blank.jsonl"]);
    assert!(ran.output.contains("error: line 41943041: missing field(s)"), "{}", ran.output);
    assert!(ran.memory <= BESIDE / 2, "{} MiB", ran.memory);
}

#[test]
fn a_long_line_is_held_once() {
    const LONG: usize = 72;
    let folder = tempfile::tempdir().unwrap();
    let text = vec![b'a'; LONG * MIB];
    // one that is a transcript, one whose layout is known at its end only, one that is a session of an agent
    let sealed = b",\"digest\":\"0\",\"index\":0,\"prev\":\"0\",\"response\":{},\"tool\":\"a\"}\n";
    for (name, start, end, code) in [
        ("native.jsonl", NATIVE, NATIVE_END, 0),
        ("sealed.jsonl", &b"{\"args\":{\"x\":\""[..], &[&b"\"}"[..], sealed].concat()[..], 1),
        ("claude.jsonl", CLAUDE, b"\"}}\n", 0),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, [start, &text, end].concat()).unwrap();
        let ran = audit(folder.path(), &[name, "--allow-empty"]);
        assert_eq!(ran.code, code, "{}", ran.output);
        assert!(ran.memory <= LONG + BESIDE, "{name}: {} MiB", ran.memory);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_document_over_the_limit_costs_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let start = b"{\n\"schema_version\":\"ATIF-v1.2\",\n\"agent\":{\"name\":\"";
    fs::write(folder.path().join("run.json.gz"), bomb(start, b'a', 300, b"\"},\"steps\":[]}")).unwrap();
    let ran = audit(folder.path(), &[".", "--max-document", "16M", "--max-line", "16M"]);
    assert_eq!(ran.code, 2, "{}", ran.output);
    assert!(
        ran.output.contains("error: ./run.json.gz: line 1: one JSON document of more than 16 MiB"),
        "{}",
        ran.output
    );
    assert!(ran.memory <= 2 * 16 + BESIDE, "{} MiB", ran.memory);
}

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, text) in entries {
        out.start_file(*name, options).unwrap();
        out.write_all(text).unwrap();
    }
    out.finish().unwrap().into_inner()
}

#[test]
fn an_archive_is_checked_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let audit = |bytes: &[u8], args: &[&str]| {
        fs::write(folder.path().join("log.eval"), bytes).unwrap();
        audit(folder.path(), &[&[".", "--allow-empty"], args].concat())
    };
    let sample = b"{\"epoch\":1,\"id\":\"unmistakable\",\"events\":[],\"messages\":[]}";
    let good = archive(&[("header.json", b"{\"version\":2}"), ("samples/1.json", sample)]);
    assert_eq!(audit(&good, &[]).code, 0);
    // a byte of a sample is another one; the end is missing; the names are those of nothing we know
    let at = good.windows(12).position(|window| window == b"unmistakable").unwrap();
    let mut edited = good.clone();
    edited[at] = b'U';
    let pair = archive(&[("header.json", b"{\"version\":2}"), ("samples/1.json", sample), ("samples/2.json", sample)]);
    assert_eq!(audit(&pair, &[]).code, 0);
    let mut doubled = pair.clone();
    let seconds: Vec<usize> = memchr::memmem::find_iter(&pair, b"samples/2.json").collect();
    assert_eq!(seconds.len(), 2);
    seconds.iter().for_each(|at| doubled[at + 8] = b'1');
    // the third entry of the list stands where the second does
    let mut over = pair.clone();
    let entries: Vec<usize> = memchr::memmem::find_iter(&pair, b"PK\x01\x02").collect();
    over.copy_within(entries[1] + 42..entries[1] + 46, entries[2] + 42);
    for bad in [&over[..], &doubled, &edited, &good[..good.len() - 30], &archive(&[("other", b"x")]), b"PK\x03\x04"] {
        let ran = audit(bad, &[]);
        assert!(ran.code == 2 && ran.output.contains("error: ./log.eval: "), "{}", ran.output);
    }
    let large = vec![b' '; 100 * MIB];
    let bomb = archive(&[("header.json", b"{\"version\":2}"), ("samples/1.json", &large)]);
    let ran = audit(&bomb, &["--max-document", "16M"]);
    assert!(ran.code == 2 && ran.output.contains("one JSON document of more than 16 MiB"), "{}", ran.output);
    assert!(ran.memory <= 16 + BESIDE, "{} MiB", ran.memory);
}

#[test]
fn a_window_of_zstandard_is_no_reason_to_take_memory() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.jsonl.zst"), b"\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00").unwrap();
    let ran = audit(folder.path(), &["."]);
    assert!(ran.code == 2 && ran.output.contains("needs a window of 268435456 bytes"), "{}", ran.output);
    assert!(ran.memory <= BESIDE / 2, "{} MiB", ran.memory);
}

/// A transcript of ordinary size is read once, wherever its links go; nothing is printed of one that breaks off.
#[test]
fn what_is_sealed_to_standard_output_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let record = |index: usize| record(index, "t", &format!("{{\"x\":\"{}\"}}", "a".repeat(4000)), "{}");
    let text: String = (0..1000).map(record).collect();
    fs::write(folder.path().join("t.jsonl"), &text).unwrap();
    // what the shell has read is what it has waited for
    let script = "\"$0\" seal t.jsonl >sealed && cat /proc/$$/io";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(toolreplay().get_program()).current_dir(folder.path());
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let read = output.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse::<usize>().unwrap();
    assert!((text.len()..text.len() * 3 / 2).contains(&read), "{read} bytes read of {}", text.len());
    assert!(fs::read_to_string(folder.path().join("sealed")).unwrap().lines().count() == 1000);

    fs::write(folder.path().join("t.jsonl"), format!("{text}{{\"index\":1000")).unwrap();
    let ran = peak(folder.path(), &["seal", "t.jsonl"]);
    assert!(ran.code == 2 && !ran.output.contains("\"digest\""), "{}", ran.output.len());
}
