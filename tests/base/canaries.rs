//! A hostile `.git`: it runs nothing, hides nothing, and stays as it is.

use crate::repository::{Ran, Repository};
use crate::scenes::{records, sealed};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Keys whose value is a program, as git's documentation has them. `@` stands for the program.
const PROGRAMS: &[&str] = &[
    "alias.cat-file=!@",
    "alias.ls-tree=!@",
    "alias.rev-parse=!@",
    "browser.b.cmd=@",
    "core.alternateRefsCommand=@",
    "core.askPass=@",
    "core.editor=@",
    "core.fsmonitor=@",
    "core.gitProxy=@",
    "core.pager=@",
    "core.sshCommand=@",
    "credential.helper=!@",
    "diff.e.command=@",
    "diff.e.textconv=@",
    "diff.external=@",
    "difftool.e.cmd=@",
    "filter.e.clean=@",
    "filter.e.process=@",
    "filter.e.smudge=@",
    "gpg.openpgp.program=@",
    "gpg.program=@",
    "gpg.ssh.defaultKeyCommand=@",
    "gpg.ssh.program=@",
    "gpg.x509.program=@",
    "guitool.e.cmd=@",
    "hook.e.command=@",
    "imap.tunnel=@",
    "instaweb.browser=@",
    "instaweb.httpd=@",
    "interactive.diffFilter=@",
    "man.e.cmd=@",
    "merge.e.driver=@",
    "mergetool.e.cmd=@",
    "pager.cat-file=@",
    "pager.ls-tree=@",
    "pager.rev-parse=@",
    "receive.procReceiveRefs=refs",
    "remote.origin.receivepack=@",
    "remote.origin.uploadpack=@",
    "remote.origin.url=ext::@",
    "remote.origin.vcs=ext",
    "sendemail.smtpServer=@",
    "sequence.editor=@",
    "submodule.e.update=!@",
    "tar.tar.gz.command=@",
    "trailer.e.command=@",
    "uploadpack.packObjectsHook=@",
];

/// Settings that give programs occasion to run.
const OCCASIONS: &[&str] = &[
    "core.attributesFile=.git/info/attributes",
    "core.untrackedCache=true",
    "diff.submodule=log",
    "fetch.recurseSubmodules=true",
    "filter.e.required=true",
    "gc.auto=1",
    "hook.e.event=post-index-change",
    "log.showSignature=true",
    "pager.diff=true",
    "protocol.allow=always",
    "protocol.ext.allow=always",
    "remote.origin.promisor=true",
    "remote.origin.partialclonefilter=blob:none",
    "status.submoduleSummary=true",
    "url.ext::x.insteadOf=https://",
];

const HOOKS: &[&str] = &[
    "applypatch-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-commit",
    "reference-transaction",
    "update",
];

/// What a program says when it runs, a line each time.
struct Canary {
    folder: tempfile::TempDir,
}

impl Canary {
    fn new() -> Canary {
        let canary = Canary { folder: tempfile::tempdir().unwrap() };
        let program = canary.path("program");
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", canary.path("ran").display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        canary
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What ran since it was asked last.
    fn ran(&self) -> String {
        let ran = fs::read_to_string(self.path("ran")).unwrap_or_default();
        let _ = fs::remove_file(self.path("ran"));
        ran
    }

    /// Has a repository run it wherever it can.
    fn set(&self, repository: &Repository) {
        let program = self.path("program").display().to_string();
        let mut settings = String::new();
        for setting in PROGRAMS.iter().chain(OCCASIONS) {
            let (key, value) = setting.split_once('=').unwrap();
            let (section, name) = key.split_once('.').unwrap();
            let value = value.replace('@', &format!("{program} {key}"));
            settings += &match name.rsplit_once('.') {
                Some((sub, name)) => format!("[{section} \"{sub}\"]\n\t{name} = {value}\n"),
                None => format!("[{section}]\n\t{name} = {value}\n"),
            };
        }
        repository.write(".git/more", settings);
        let config = fs::read_to_string(repository.path(".git/config")).unwrap();
        repository
            .write(".git/config", config + "[include]\n\tpath = more\n[includeIf \"gitdir:**\"]\n\tpath = more\n");
        for folder in ["hooks", "own-hooks"] {
            for hook in HOOKS {
                repository.write(&format!(".git/{folder}/{hook}"), format!("#!/bin/sh\nexec {program} hook {hook}\n"));
                let path = repository.path(&format!(".git/{folder}/{hook}"));
                fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        let attributes = "* filter=e diff=e merge=e\n";
        repository.write(".gitattributes", attributes);
        repository.write(".git/info/attributes", attributes);
    }
}

/// Everything in `.git`.
fn state(repository: &Repository) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut state = BTreeMap::new();
    let mut folders = vec![repository.path(".git")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(state.insert(path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    state
}

/// A seal that was rewritten since the base, in the working tree alone.
fn rewritten() -> Repository {
    let repository = sealed(&["a", "b"]);
    repository.write("scope.json", "{\"agent\":\"x\",\"allowed_tools\":[\"a\",\"b\",\"c\"]}");
    repository.commit("scope");
    repository.write("runs/a.jsonl", records(&["a", "c"]));
    fs::remove_file(repository.path("runs/a.sealed.jsonl")).unwrap();
    assert_eq!(repository.run(&["seal-all", "runs"]).code, 0);
    repository
}

/// The runs that ask git something; each must find out that the seal was rewritten.
fn audits(repository: &Repository) -> Vec<Ran> {
    let audits = [
        &["audit", "--base", "HEAD", "runs"][..],
        &["audit", "--base", "HEAD", "--scope", "scope.json", "--format", "github", "."],
        &["audit", "--base", "main", "--seals-only", "runs/*.jsonl"],
    ];
    let ran: Vec<Ran> = audits.iter().map(|audit| repository.run(audit)).collect();
    for (ran, audit) in ran.iter().zip(audits) {
        assert!(ran.code == 1 && ran.stdout.contains("seal-rewritten"), "{audit:?}: {ran:?}");
    }
    ran
}

#[test]
fn nothing_that_a_repository_names_is_run() {
    let (repository, canary) = (rewritten(), Canary::new());
    canary.set(&repository);
    let before = state(&repository);
    audits(&repository);
    assert_eq!(repository.run(&["audit", "--format", "github", "--fail-on", "error", "runs"]).code, 0);
    assert_eq!(repository.run(&["seal-all", "runs"]).code, 0);
    assert_eq!(canary.ran(), "");
    // git writes an index that it finds old
    assert!(state(&repository) == before, "something in .git was written");
    // the same without the settings of git's own hooks folder
    let config = fs::read_to_string(repository.path(".git/config")).unwrap();
    repository.write(".git/config", config + "[core]\n\thooksPath = .git/own-hooks\n");
    audits(&repository);
    assert_eq!(canary.ran(), "");
    // the canaries live: git itself runs them
    for (command, key) in [
        (&["status"][..], "core.fsmonitor"),
        (&["add", "."], "filter.e"),
        (&["update-ref", "refs/heads/other", "HEAD"], "hook reference-transaction"),
    ] {
        let _ = repository.try_git(command);
        let ran = canary.ran();
        assert!(ran.contains(key), "git {command:?} did not run {key}: {ran}");
    }
}

#[test]
fn what_a_clone_lacks_is_not_fetched() {
    let canary = Canary::new();
    let program = canary.path("program").display().to_string();
    for (key, url) in [
        ("remote.origin.url", format!("ext::{program}")),
        ("core.sshCommand", "ssh://host/path".to_owned()),
        ("remote.origin.uploadpack", "/tmp".to_owned()),
    ] {
        let repository = sealed(&["a", "b"]);
        let seal = repository.git(&["rev-parse", "HEAD:runs/a.sealed.jsonl"]);
        fs::remove_file(repository.path(&format!(".git/objects/{}/{}", &seal[..2], &seal[2..]))).unwrap();
        for (key, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("protocol.ext.allow", "always"),
            ("remote.origin.url", &url),
            (key, if key == "remote.origin.url" { &url } else { &program }),
        ] {
            repository.git(&["config", key, value]);
        }
        repository.write("runs/a.sealed.jsonl", "{}\n");
        let ran = repository.run(&["audit", "--base", "HEAD", "runs"]);
        assert!(ran.code == 2 && ran.stderr.contains("this clone does not have its content"), "{ran:?}");
        assert_eq!(canary.ran(), "", "{key}");
        let _ = repository.try_git(&["cat-file", "-p", &seal]);
        assert!(!canary.ran().is_empty(), "git did not run {key}");
    }
}

/// What tells git that a file is unchanged tells us nothing.
#[test]
fn no_index_hides_a_change() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let repository = rewritten();
        repository.git(&["update-index", flag, "runs/a.sealed.jsonl"]);
        audits(&repository);
        fs::remove_file(repository.path("runs/a.sealed.jsonl")).unwrap();
        let ran = repository.run(&["audit", "--base", "HEAD", "runs"]);
        assert!(ran.code == 1 && ran.stdout.contains("seal-deleted"), "{flag}: {ran:?}");
    }
    // the same size and time as what the index knows
    let repository = rewritten();
    let seal = repository.path("runs/a.sealed.jsonl");
    let time = fs::metadata(&seal).unwrap().modified().unwrap();
    let rewritten = fs::read(&seal).unwrap();
    repository.git(&["checkout", "--quiet", "--", "runs/a.sealed.jsonl"]);
    let set_time = || fs::File::options().write(true).open(&seal).unwrap().set_modified(time).unwrap();
    set_time();
    repository.git(&["config", "core.checkStat", "minimal"]);
    repository.git(&["config", "core.trustctime", "false"]);
    let _ = repository.try_git(&["update-index", "--refresh"]);
    fs::write(&seal, &rewritten).unwrap();
    set_time();
    audits(&repository);
    // a filter that gives git what was committed
    let kept = repository.path(".git/kept");
    fs::write(&kept, repository.git(&["show", "HEAD:runs/a.sealed.jsonl"]) + "\n").unwrap();
    repository.git(&["config", "filter.e.clean", &format!("cat '{}'", kept.display())]);
    repository.write(".gitattributes", "*.sealed.jsonl filter=e\n");
    audits(&repository);
    for index in ["", "nonsense"] {
        repository.write(".git/index", index);
        audits(&repository);
    }
    fs::remove_file(repository.path(".git/index")).unwrap();
    audits(&repository);
}

#[test]
fn what_is_no_file_holds_no_seal() {
    for make in [
        |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        |path: &Path| fs::create_dir(path).unwrap(),
        |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        |path: &Path| std::os::unix::fs::symlink("nowhere", path).unwrap(),
    ] {
        let repository = sealed(&["a", "b"]);
        repository.write("scope.json", "{\"agent\":\"x\",\"allowed_tools\":[]}");
        repository.write("toolreplay.toml", "");
        repository.commit("policies");
        let replace = |name: &str| {
            fs::remove_file(repository.path(name)).unwrap();
            make(&repository.path(name));
        };
        replace("runs/a.sealed.jsonl");
        let ran = repository.run(&["audit", "--base", "HEAD", "--format", "json", "runs"]);
        assert!(ran.code > 0 && ran.stdout.contains("seal-deleted"), "{ran:?}");
        // policies are read to their end, and a pipe has none until somebody writes
        for name in ["toolreplay.toml", "scope.json"] {
            replace(name);
            let ran = repository.run(&["audit", "--base", "HEAD", "--scope", "scope.json", "runs"]);
            assert!(ran.code > 0, "{name}: {ran:?}");
            let scope = ["--no-config", "--scope", "scope.json"];
            let options = if name == "scope.json" { &scope[..] } else { &[] };
            let ran = repository.run(&[&["audit", "runs"], options].concat());
            assert!(ran.code == 2 && ran.stderr.contains(name), "{name}: {ran:?}");
        }
    }
}

/// Containers often work on a checkout that another user made. Nothing of it is run, so whose it is does not matter.
#[test]
fn a_repository_of_another_user_is_compared() {
    let repository = rewritten();
    let git_dir = repository.path(".git");
    let chown = Command::new("chown").args(["-R", "12345"]).arg(&git_dir).arg(repository.path("")).output().unwrap();
    if chown.status.success() {
        // the other user's it is, or this shows nothing
        assert!(repository.try_git(&["rev-parse", "HEAD"]).is_err());
    }
    audits(&repository);
}

#[test]
fn grafts_and_replacements_change_no_history() {
    let repository = rewritten();
    let committed = repository.commit("head");
    assert_eq!(repository.run(&["audit", "--base", "HEAD^", "runs"]).code, 1);
    // a parent that never was: the head itself
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    let twin = repository.git(&["commit-tree", "-m", "twin", &tree]);
    repository.write(".git/info/grafts", format!("{committed} {twin}\n"));
    assert_eq!(repository.run(&["audit", "--base", "HEAD^", "runs"]).code, 1);
    fs::remove_file(repository.path(".git/info/grafts")).unwrap();
    let parent = repository.git(&["rev-parse", "HEAD^"]);
    repository.git(&["replace", &parent, &twin]);
    assert_eq!(repository.run(&["audit", "--base", "HEAD^", "runs"]).code, 1);
}

#[test]
fn seals_in_submodules_are_compared_or_it_is_said() {
    let inner = sealed(&["a", "b"]);
    let outer = Repository::new();
    outer.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &inner.path("").display().to_string(),
        "runs/sub",
    ]);
    outer.write("runs/x.jsonl", records(&["x"]));
    outer.commit("base");
    assert_eq!(outer.run(&["audit", "--base", "HEAD", "runs"]).code, 0);
    for path in ["runs", "runs/sub", "runs/sub/runs/*.jsonl", "."] {
        let seal = outer.path("runs/sub/runs/a.sealed.jsonl");
        let kept = fs::read(&seal).unwrap();
        fs::remove_file(&seal).unwrap();
        let ran = outer.run(&["audit", "--base", "HEAD", path]);
        assert!(ran.code == 1 && ran.stdout.contains("--> runs/sub/runs/a.sealed.jsonl"), "{path}: {ran:?}");
        fs::write(&seal, kept).unwrap();
    }
    fs::remove_dir_all(outer.path("runs/sub")).unwrap();
    let ran = outer.run(&["audit", "--base", "HEAD", "runs"]);
    assert!(ran.stdout.contains("in the submodule runs/sub, which is not in the clone"), "{ran:?}");
}
