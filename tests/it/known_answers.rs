//! The answers that must never change: `docs/format.md` promises them byte for byte.

use crate::{Ran, run, sample};
use sha2::{Digest as _, Sha256};

const DIRTY: &str = "samples/session-dirty.jsonl";
const CLEAN: &str = "samples/session-clean.jsonl";
const SCOPE: &str = "samples/scope.json";
const DIGESTS: [&str; 6] = [
    "c1bd7fb3e28ce29e5c9dbd0cf47cafcaa1613295be26d86fb04463fe3d8b40da",
    "b5e755345cfdb21496eb57ea16b7dfe8cb5e503d239242d1bce96eabd3afc45e",
    "fe5e31cd086662cd9829bff49ee4c05c282f12af5a994a1521bc414d9fc2b1ba",
    "40aadf3b8156217f0b5b1d95010b6b79f82a26ccf5e780aed0f5f311f865028a",
    "327da75f2d491267f1dbeaf5d31b4a61a2ed9e956a71a5c4cbb67a87b4720d6a",
    "75ccf1faad88c5ea82c68139b2ec2a02943142dd0133bb0c626ccbff28f5c711",
];

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn expect(ran: &Ran, code: i32, stdout: &str) {
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (code, stdout, ""));
}

#[test]
fn the_sample_is_the_sample() {
    let bytes = std::fs::read(sample("session-dirty.jsonl")).unwrap();
    assert_eq!(sha256(&bytes), "93589d7a8b5f87dbdfbec93d8bb45de3d2a9abff5d4517f8ac5b68832357e3b3");
}

#[test]
fn replay() {
    let text = "calls: 6\ndivergence: index 5\nfindings: 2\n\
        index 2: redundant-call: tool 'read_file' repeats the identical call at index 1 with no state change between them\n\
        index 5: non-determinism: tool 'search' returned a different response than the identical call at index 3\n";
    expect(&run(["replay", DIRTY]), 1, text);
    expect(&run(["replay", CLEAN]), 0, "calls: 4\ndivergence: none\nfindings: 0\n");
}

#[test]
fn scope() {
    let text = "calls: 6\nfindings: 1\n\
        index 4: permission-overreach: tool 'write_file' is not in the declared scope for agent 'docs-reader'\n";
    expect(&run(["scope", DIRTY, SCOPE]), 1, text);
    expect(&run(["scope", CLEAN, SCOPE]), 0, "calls: 4\nfindings: 0\n");
}

#[test]
fn seal_and_verify() {
    let sealed = run(["seal", DIRTY]);
    assert_eq!((sealed.code, sealed.stderr.as_str()), (0, ""));
    assert_eq!(sha256(sealed.stdout.as_bytes()), "679bb1da938e7fc38664feae97d82847016ad200082344f7d725c8ff535fb103");
    for (line, digest) in sealed.stdout.lines().zip(DIGESTS) {
        assert!(line.contains(&format!("\"digest\":\"{digest}\"")), "{line}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed.jsonl");
    let path = path.to_str().unwrap();
    std::fs::write(path, &sealed.stdout).unwrap();
    expect(&run(["verify", path]), 0, "chain: intact\n");
    expect(&run(["verify", path, "--expect", DIGESTS[5]]), 0, "chain: intact\n");

    std::fs::write(path, sealed.stdout.replace("\"hits\":3", "\"hits\":4")).unwrap();
    let text = "chain: broken\nfirst broken link: index 3\n\
        expected: 34d19a9dfb112baa07afa37994ddcbbebe2973674385f3942340653d08d205bd\n\
        found: 40aadf3b8156217f0b5b1d95010b6b79f82a26ccf5e780aed0f5f311f865028a\n";
    expect(&run(["verify", path]), 1, text);
}

#[test]
fn version() {
    let text = format!("toolreplay {}\n", env!("CARGO_PKG_VERSION"));
    expect(&run(["version"]), 0, &text);
    expect(&run(["--version"]), 0, &text);
}

/// The answers do not depend on the number of threads, nor on where the transcript comes from.
#[test]
fn threads_and_pipes_change_nothing() {
    let expected = run(["seal", DIRTY]).stdout;
    let bytes = std::fs::read(sample("session-dirty.jsonl")).unwrap();
    for threads in ["1", "2", "7"] {
        assert_eq!(run(["seal", DIRTY, "--threads", threads]).stdout, expected);
        assert_eq!(crate::run_on(&bytes, ["seal", "-", "--threads", threads]).stdout, expected);
        assert_eq!(crate::run_on(&bytes, ["replay", "-", "--threads", threads]).code, 1);
    }
}
