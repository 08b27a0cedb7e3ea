//! Keys, signed seals, and what `verify` says of them.

use crate::{Ran, root, run, sample, toolreplay};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A folder with the six calls of the sample, their seal where asked, and keys.
struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        let place = Workspace { folder: tempfile::tempdir().unwrap() };
        fs::copy(sample("session-dirty.jsonl"), place.path("run.jsonl")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with_key("", args)
    }

    fn run_with_key(&self, key: &str, args: &[&str]) -> Ran {
        let mut command = toolreplay();
        command.current_dir(self.folder.path()).env("TOOLREPLAY_KEY", key).args(args);
        command.output().unwrap().into()
    }

    fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Keys of these names, all of them trusted.
    fn keys(&self, names: &[&str]) {
        let lines: String = names.iter().map(|name| self.ok(&["keygen", name]).stdout).collect();
        self.write("trusted", &lines);
    }

    /// Signs the seal of the run with keys.
    fn sign(&self, keys: &[&str]) -> Ran {
        let files: Vec<String> = keys.iter().map(|key| format!("--sign={key}.key")).collect();
        let mut args = vec!["seal", "run.jsonl", "-o", "run.sealed.jsonl"];
        args.extend(files.iter().map(String::as_str));
        self.ok(&args)
    }

    fn verify(&self, more: &[&str]) -> Ran {
        self.run(&[&["verify", "run.sealed.jsonl"], more].concat())
    }
}

#[test]
fn a_key_is_written_once_and_for_its_owner() {
    let place = Workspace::new();
    let made = place.ok(&["keygen", "ci"]);
    assert_eq!(made.stdout, place.read("ci.pub"));
    assert!(made.stdout.starts_with("ci+") && made.stdout.lines().count() == 1, "{}", made.stdout);
    let secret = place.read("ci.key");
    assert!(secret.starts_with("PRIVATE+KEY+ci+") && secret.lines().count() == 1);
    let shown = format!("{}{}", made.stdout, made.stderr);
    // five fields; the last is base64, in which `+` is a digit
    assert!(!shown.contains(secret.trim_end().splitn(5, '+').nth(4).unwrap()), "the secret is printed");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(place.path("ci.key").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = place.run(&["keygen", "ci"]);
    assert!(again.code == 2 && again.stderr.contains("a key is never overwritten"), "{again:?}");
    assert_eq!(place.read("ci.key"), secret);
    place.write("half.pub", "x");
    let half = place.run(&["keygen", "half"]);
    assert!(half.code == 2 && !place.path("half.key").exists() && place.read("half.pub") == "x", "{half:?}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("elsewhere", place.path("link.key")).unwrap();
        assert_eq!(place.run(&["keygen", "link"]).code, 2);
        assert!(!place.path("elsewhere").exists(), "not through a link to nothing either");
    }
    for args in [&["keygen", "a b"][..], &["keygen", "a+b"], &["keygen", "x", "--key-name", ""], &["keygen", ".."]] {
        let ran = place.run(args);
        assert!(ran.code == 2 && ran.stdout.is_empty(), "{ran:?}");
    }
    let material = |key: &str| key.splitn(3, '+').nth(2).map(str::to_owned);
    assert_ne!(material(&place.ok(&["keygen", "other"]).stdout), material(&made.stdout));
    let named = place.ok(&["keygen", "third", "--key-name", "example.org/ci"]).stdout;
    assert!(named.starts_with("example.org/ci+"), "{named}");
}

#[test]
fn a_signed_seal_says_by_whom() {
    let place = Workspace::new();
    place.keys(&["ci"]);
    place.sign(&["ci"]);
    let note = place.read("run.sealed.jsonl.note");
    let lines: Vec<&str> = note.lines().collect();
    // the known answers of docs/format.md
    assert_eq!(
        lines[..6],
        [
            "toolreplay/seal/v2",
            "6",
            "dczx+q2IxeqCxoE5suwqApQxQt0BM7sMYmzL/yj1xxE=",
            "file sha256:679bb1da938e7fc38664feae97d82847016ad200082344f7d725c8ff535fb103",
            "state complete",
            "",
        ]
    );
    assert!(lines[6].starts_with("\u{2014} ci ") && lines.len() == 7, "{note}");
    let ran = place.verify(&["--trust", "trusted", "--require-signature"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[..2], ["chain: intact", "signed: 6 links, complete"]);
    assert!(lines[2].starts_with("signature: trusted, 'ci' (") && lines[3] == "seal: signed by 'ci'", "{}", ran.stdout);
    let json = place.verify(&["--trust", "trusted", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let signature = &json["files"][0]["signature"];
    assert_eq!((&signature["standing"], &signature["state"]), (&"signed".into(), &"complete".into()));
    assert_eq!(signature["signatures"][0]["signer"], "ci");
    // without keys to check it with, it is no more than there
    let unasked = place.verify(&[]);
    assert_eq!(unasked.code, 0);
    assert!(unasked.stdout.ends_with("seal: integrity only, signatures not checked\n"), "{}", unasked.stdout);
    let required = place.verify(&["--require-signature"]);
    assert!(required.code == 1 && required.stdout.contains("no key is trusted that could check"), "{required:?}");
}

#[test]
fn without_a_signature_it_says_integrity_only() {
    let place = Workspace::new();
    place.keys(&["ci"]);
    place.sign(&[]);
    let plain = place.verify(&[]);
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "chain: intact\n"));
    let json: Value = serde_json::from_str(&place.verify(&["--format", "json"]).stdout).unwrap();
    assert_eq!(json["files"][0]["signature"]["standing"], "integrity only");
    let trusting = place.verify(&["--trust", "trusted"]);
    assert_eq!((trusting.code, trusting.stdout.as_str()), (0, "chain: intact\nseal: integrity only\n"));
    for args in [&["--require-signature"][..], &["--require-signature", "--trust", "trusted"]] {
        let ran = place.verify(args);
        assert!(ran.code == 1 && ran.stdout.contains("integrity only\nseal: refused\n"), "{ran:?}");
    }
    let stdin = toolreplay().args(["verify", "-", "--require-signature"]).output().unwrap();
    assert_eq!(stdin.status.code(), Some(1), "what has nothing beside it is not signed");
}

#[test]
fn a_key_from_the_environment_signs() {
    let place = Workspace::new();
    place.keys(&["ci", "file"]);
    let key = place.read("ci.key");
    let seal = ["seal", "run.jsonl", "-o", "run.sealed.jsonl"];
    let ran = place.run_with_key(&key, &seal);
    assert!(ran.code == 0 && ran.stderr.is_empty(), "{ran:?}");
    assert!(place.verify(&["--trust", "trusted"]).stdout.ends_with("seal: signed by 'ci'\n"));
    // a key that is named goes first
    place.run_with_key("not a key", &[&seal[..], &["--sign", "file.key"]].concat());
    assert!(place.verify(&["--trust", "trusted"]).stdout.ends_with("seal: signed by 'ci', 'file'\n"));
    let wrong = place.run_with_key(&key[..40], &seal);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (2, ""));
    assert!(
        wrong.stderr.starts_with("error: TOOLREPLAY_KEY: ") && !wrong.stderr.contains(&key[25..40]),
        "{}",
        wrong.stderr
    );
    // standard output has nothing beside it
    let piped = place.run_with_key(&key, &["seal", "run.jsonl"]);
    assert!(piped.code == 0 && piped.stderr.contains("not signed"), "{piped:?}");
    let over = place.run(&["seal", "run.jsonl", "-o", "ci.key", "--sign", "ci.key"]);
    assert!(over.code == 2 && place.read("ci.key") == key, "{over:?}");
    let named = place.run(&["seal", "run.jsonl", "--sign", "ci.key"]);
    assert!(named.code == 2 && named.stdout.is_empty() && named.stderr.contains("--output"), "{named:?}");
}

#[test]
fn several_signatures_are_kept_and_checked() {
    let place = Workspace::new();
    place.keys(&["host", "ci", "reviewer"]);
    for key in ["host", "ci", "reviewer", "host"] {
        place.sign(&[key]);
    }
    let note = place.read("run.sealed.jsonl.note");
    assert_eq!(note.matches('\u{2014}').count(), 3, "{note}");
    let ran = place.verify(&["--trust", "trusted"]);
    assert!(ran.stdout.ends_with("seal: signed by 'ci', 'reviewer', 'host'\n"), "{}", ran.stdout);
    // a stranger's does not matter, a trusted one that does not hold does
    place.write("trusted", &place.read("ci.pub"));
    assert!(place.verify(&["--trust", "trusted"]).stdout.ends_with("seal: signed by 'ci'\n"));
    let (ci, host) = (note.lines().nth(6).unwrap(), note.lines().nth(8).unwrap());
    let end = |line: &str| line[line.len() - 40..].to_owned();
    place.write("run.sealed.jsonl.note", &note.replace(&end(host), &end(ci)));
    place.write("trusted", &(place.read("ci.pub") + &place.read("host.pub")));
    let broken = place.verify(&["--trust", "trusted"]);
    assert!(broken.code == 1 && broken.stdout.contains("fault: the signature of 'host'"), "{broken:?}");
    // over other content the old ones do not stand
    let mut grown = place.read("run.jsonl");
    grown.push_str("{\"index\":6,\"tool\":\"t\",\"args\":{},\"response\":{}}\n");
    place.write("run.jsonl", &grown);
    let ran = place.sign(&["ci"]);
    assert!(
        ran.stderr.contains("signed anew; the signatures of ci, reviewer, host were over other content"),
        "{}",
        ran.stderr
    );
    assert!(place.verify(&["--trust", "trusted"]).stdout.contains("signed: 7 links, complete"));
}

#[test]
fn whatever_was_not_signed_fails_in_its_own_words() {
    let place = Workspace::new();
    place.keys(&["ci"]);
    place.sign(&["ci"]);
    let (sealed, note) = (place.read("run.sealed.jsonl"), place.read("run.sealed.jsonl.note"));
    let cut: String = sealed.lines().take(4).map(|line| format!("{line}\n")).collect();
    place.ok(&["keygen", "stranger"]);
    let weak = "ci+1b8bd6c0+AQEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
    for (sealed, note, words) in [
        (&cut, &note, "its tail was cut off"),
        (&sealed, &note.replace("\n6\n", "\n5\n"), "the others were added later"),
        (&sealed, &note.replace("complete", "open"), "the signature of 'ci'"),
        (&sealed.replace("{\"args\"", " {\"args\""), &note, "the file's bytes are not"),
        (&sealed, &String::new(), "the note is malformed"),
    ] {
        place.write("run.sealed.jsonl", sealed);
        place.write("run.sealed.jsonl.note", note);
        let ran = place.verify(&["--trust", "trusted"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stdout.starts_with("chain: intact\n") && ran.stdout.contains(words), "{}", ran.stdout);
    }
    place.write("run.sealed.jsonl", &sealed);
    place.write("run.sealed.jsonl.note", &note);
    let unknown = place.verify(&["--trust", "stranger.pub"]);
    assert!(
        unknown.code == 1 && unknown.stdout.contains("no trusted key signed it: it is signed by 'ci'"),
        "{unknown:?}"
    );
    for (trust, words) in
        [(weak, "trust: line 1: "), ("", "no key in it"), ("nonsense\n", "line 1: expected a public key")]
    {
        place.write("trust", trust);
        let ran = place.verify(&["--trust", "trust"]);
        assert!(ran.code == 2 && ran.stdout.is_empty() && ran.stderr.contains(words), "{ran:?}");
    }
    assert_eq!(place.verify(&["--trust", "missing"]).code, 2);
    assert_eq!(place.verify(&["--trust", "ci.key"]).code, 2, "a private key is no public one");
}

#[cfg(unix)]
#[test]
fn what_lies_beside_a_seal_is_not_waited_for_and_not_followed() {
    let place = Workspace::new();
    place.keys(&["ci"]);
    place.sign(&[]);
    let note = place.path("run.sealed.jsonl.note");
    let status = std::process::Command::new("mkfifo").arg(&note).status().unwrap();
    assert!(status.success());
    let pipe = place.verify(&[]);
    assert!(pipe.code == 1 && pipe.stdout.contains("it is no regular file"), "{pipe:?}");
    let seal = ["seal", "run.jsonl", "-o", "run.sealed.jsonl", "--sign", "ci.key"];
    assert_eq!(place.run(&seal).code, 2);
    fs::remove_file(&note).unwrap();
    fs::write(place.path("precious"), "mine\n").unwrap();
    std::os::unix::fs::symlink("precious", &note).unwrap();
    let linked = place.run(&seal);
    assert!(linked.code == 2 && linked.stderr.contains("is no regular file"), "{linked:?}");
    assert_eq!(place.read("precious"), "mine\n");
    fs::remove_file(&note).unwrap();
    fs::write(&note, "mine\n").unwrap();
    let other = place.run(&seal);
    assert!(other.code == 2 && other.stderr.contains("no signed note"), "{other:?}");
    fs::write(&note, vec![b'x'; (1 << 20) + 1]).unwrap();
    assert!(place.verify(&[]).stdout.contains("larger than"));
}

#[test]
fn an_open_seal_is_signed_and_warned_of() {
    let place = Workspace::new();
    place.keys(&["ci"]);
    place.ok(&["seal", "run.jsonl", "-o", "run.sealed.jsonl", "--sign", "ci.key", "--open"]);
    let ran = place.verify(&["--trust", "trusted"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("signed: 6 links, open\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("was signed while its recording went on"), "{}", ran.stderr);
    assert_eq!(place.run(&["seal", "run.jsonl", "-o", "x", "--open"]).code, 2, "an open state that nobody signs");
}

#[test]
fn seal_all_signs_every_twin() {
    let place = Workspace::new();
    place.keys(&["ci"]);
    fs::copy(sample("session-clean.jsonl"), place.path("other.jsonl")).unwrap();
    place.ok(&["seal-all", ".", "--sign", "ci.key"]);
    let ran =
        place.run(&["verify", "run.sealed.jsonl", "other.sealed.jsonl", "--trust", "trusted", "--require-signature"]);
    assert_eq!((ran.code, ran.stdout.matches("seal: signed by 'ci'").count()), (0, 2), "{ran:?}");
    let audit =
        place.run(&["audit", ".", "--no-config", "--trust", "trusted", "--require-signature", "--fail-on", "error"]);
    assert_eq!(audit.code, 0, "{audit:?}");
    fs::remove_file(place.path("other.sealed.jsonl.note")).unwrap();
    let audit =
        place.run(&["audit", ".", "--no-config", "--trust", "trusted", "--require-signature", "--fail-on", "error"]);
    assert!(audit.code == 1 && audit.stdout.contains("error[unsigned-seal]"), "{audit:?}");
    let none = place.run(&["audit", "run.jsonl", "--no-config", "--trust", "trusted", "--require-signature"]);
    assert!(none.code == 2 && none.stderr.contains("no sealed transcript was found"), "{none:?}");
}

#[test]
fn openssh_keys_sign_the_file_itself() {
    let place = Workspace::new();
    let made = place.ok(&["keygen", "me", "--ssh"]);
    assert!(made.stdout.starts_with("me namespaces=\"toolreplay-seal\" ssh-ed25519 AAAA"), "{}", made.stdout);
    place.ok(&["keygen", "you", "--ssh"]);
    place.sign(&["me"]);
    assert!(!place.path("run.sealed.jsonl.note").exists());
    let ran = place.verify(&["--trust", "me.pub", "--require-signature"]);
    assert!(ran.code == 0 && ran.stdout.ends_with("seal: signed by 'me'\n"), "{ran:?}");
    assert_eq!(place.verify(&["--trust", "you.pub"]).code, 1);
    // a second signature stands behind the first one
    place.sign(&["you"]);
    place.write("both", &(place.read("me.pub") + &place.read("you.pub")));
    assert!(place.verify(&["--trust", "both"]).stdout.ends_with("seal: signed by 'me', 'you'\n"));
    let open = place.run(&["seal", "run.jsonl", "-o", "run.sealed.jsonl", "--sign", "me.key", "--open"]);
    assert!(open.code == 2 && open.stderr.contains("cannot say that the recording goes on"), "{open:?}");
    let cut: String = place.read("run.sealed.jsonl").lines().take(3).map(|line| format!("{line}\n")).collect();
    place.write("run.sealed.jsonl", &cut);
    let ran = place.verify(&["--trust", "both"]);
    assert!(ran.code == 1 && ran.stdout.contains("the sealed file was changed, or another key made it"), "{ran:?}");
}

/// What OpenSSH 9.2 made over the sealed sample, with its own key.
#[test]
fn what_ssh_keygen_signed_verifies() {
    let place = Workspace::new();
    place.sign(&[]);
    let fixture = |name: &str| root().join("tests/signatures").join(name);
    fs::copy(fixture("sealed.sig"), place.path("run.sealed.jsonl.sig")).unwrap();
    let allowed = fixture("allowed_signers");
    let ran = place.verify(&["--trust", allowed.to_str().unwrap(), "--require-signature"]);
    assert!(ran.code == 0 && ran.stdout.ends_with("seal: signed by 'ci@example.org'\n"), "{ran:?}");
    // the same key, the same bytes: the signature is the same
    let (theirs, key) = (place.read("run.sealed.jsonl.sig"), fixture("openssh.key"));
    fs::remove_file(place.path("run.sealed.jsonl.sig")).unwrap();
    place.ok(&["seal", "run.jsonl", "-o", "run.sealed.jsonl", "--sign", key.to_str().unwrap()]);
    assert_eq!(place.read("run.sealed.jsonl.sig"), theirs);
    fs::copy(fixture("sealed.file.sig"), place.path("run.sealed.jsonl.sig")).unwrap();
    let other = place.verify(&["--trust", allowed.to_str().unwrap()]);
    assert!(other.code == 1 && other.stdout.contains("namespace 'file'; expected 'toolreplay-seal'"), "{other:?}");
    assert_eq!(run(["verify", "samples/session-dirty.jsonl"]).code, 2);
}

/// Seals the same calls three times, each file going on from the one before.
fn rotated(place: &Workspace) {
    place.ok(&["seal", "run.jsonl", "-o", "1.sealed.jsonl"]);
    for (old, new) in [("1", "2"), ("2", "3")] {
        let (old, new) = (format!("{old}.sealed.jsonl"), format!("{new}.sealed.jsonl"));
        place.ok(&["seal", "run.jsonl", "--continues", &old, "-o", &new]);
    }
}

#[test]
fn a_chain_goes_on_in_another_file() {
    let place = Workspace::new();
    rotated(&place);
    let intact = "chain: intact\n";
    let verify = |args: &[&str]| place.run(&[&["verify"], args].concat());
    let ran = verify(&["2.sealed.jsonl", "--continues", "1.sealed.jsonl"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, intact));
    let ran = verify(&["3.sealed.jsonl", "--continues", "1.sealed.jsonl", "--continues", "2.sealed.jsonl"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, intact));
    // all files of the series, in whatever order
    let all = verify(&["3.sealed.jsonl", "1.sealed.jsonl", "2.sealed.jsonl"]);
    assert_eq!((all.code, all.stdout.matches(intact).count()), (0, 3), "{all:?}");
    assert_eq!(place.run(&["audit", ".", "--no-config", "--seals-only"]).code, 0);
    // alone it starts nowhere
    let alone = verify(&["2.sealed.jsonl"]);
    let head = "75ccf1faad88c5ea82c68139b2ec2a02943142dd0133bb0c626ccbff28f5c711";
    let zeros = "0".repeat(64);
    let text = format!("chain: broken\nfirst broken link: index 0\nexpected: {zeros}\nfound: {head}\n");
    assert_eq!((alone.code, alone.stdout), (1, text));
    let json: Value = serde_json::from_str(&verify(&["2.sealed.jsonl", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["files"][0]["chain"]["damage"], "continues");
    // one that is missing in the middle, and a first one that is no continuation
    let gap = verify(&["3.sealed.jsonl", "--continues", "1.sealed.jsonl"]);
    assert!(gap.code == 1 && gap.stdout.contains(&format!("expected: {head}")), "{gap:?}");
    let gap = verify(&["3.sealed.jsonl", "--continues", "2.sealed.jsonl"]);
    assert!(gap.code == 2 && gap.stderr.contains("name the series whole"), "{gap:?}");
    let first = verify(&["1.sealed.jsonl", "--continues", "1.sealed.jsonl"]);
    assert!(first.code == 1 && first.stdout.contains(&format!("found: {zeros}")), "{first:?}");
    let expected = verify(&["2.sealed.jsonl", "--continues", "1.sealed.jsonl", "--expect", head]);
    assert!(expected.code == 1 && expected.stdout.contains("last link: index 5"), "{expected:?}");
    fs::remove_file(place.path("2.sealed.jsonl")).unwrap();
    let gone = place.run(&["audit", ".", "--no-config", "--seals-only"]);
    assert!(gone.code == 1 && gone.stdout.contains("goes on from another file, which is not among these"), "{gone:?}");
    // what is cut off the old file, the new one misses
    let cut: String = place.read("1.sealed.jsonl").lines().take(5).map(|line| format!("{line}\n")).collect();
    rotated(&place);
    place.write("1.sealed.jsonl", &cut);
    assert_eq!(verify(&["2.sealed.jsonl", "--continues", "1.sealed.jsonl"]).code, 1);
    assert_eq!(place.run(&["audit", ".", "--no-config", "--seals-only"]).code, 1);
    for old in ["run.jsonl", "missing", "-"] {
        let ran = place.run(&["seal", "run.jsonl", "--continues", old]);
        assert!(ran.code == 2 && ran.stdout.is_empty(), "{ran:?}");
    }
    place.write("empty", "");
    assert!(place.run(&["seal", "run.jsonl", "--continues", "empty"]).stderr.contains("no link"));
}

#[test]
fn a_chain_that_forks_into_two_files_is_broken() {
    let place = Workspace::new();
    rotated(&place);
    let shorter: String = place.read("run.jsonl").lines().take(3).map(|line| format!("{line}\n")).collect();
    place.write("shorter.jsonl", &shorter);
    let audit = || place.run(&["audit", ".", "--no-config", "--seals-only"]);
    // the same calls, or the first of them, are a copy
    place.ok(&["seal", "shorter.jsonl", "--continues", "1.sealed.jsonl", "-o", "copy.sealed.jsonl"]);
    fs::copy(place.path("2.sealed.jsonl"), place.path("whole.sealed.jsonl")).unwrap();
    assert_eq!(audit().code, 0, "{:?}", audit());
    place.write("other.jsonl", &place.read("run.jsonl").replace("guide.md", "other.md"));
    place.ok(&["seal", "other.jsonl", "--continues", "1.sealed.jsonl", "-o", "fork.sealed.jsonl"]);
    let ran = audit();
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("goes on from 75ccf1f") && ran.stdout.contains("the chain forks"), "{}", ran.stdout);
}

#[test]
fn a_continuation_is_signed_like_any_seal() {
    let place = Workspace::new();
    place.keys(&["ci"]);
    place.ok(&["seal", "run.jsonl", "-o", "1.sealed.jsonl", "--sign", "ci.key"]);
    place.ok(&["seal", "run.jsonl", "--continues", "1.sealed.jsonl", "-o", "2.sealed.jsonl", "--sign", "ci.key"]);
    let ran = place.run(&["verify", "2.sealed.jsonl", "--continues", "1.sealed.jsonl", "--trust", "trusted"]);
    assert!(ran.code == 0 && ran.stdout.ends_with("seal: signed by 'ci'\n"), "{ran:?}");
}
