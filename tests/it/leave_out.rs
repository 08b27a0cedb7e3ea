//! What a search of folders leaves out, and that it is said.

use crate::audit::Project;
use crate::{Ran, record, toolreplay};
use std::process::Command;

fn git(project: &Project, args: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").args(identity).args(args).current_dir(project.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A repository with one commit of everything that git does not ignore.
fn repository(files: &[(&str, &str)]) -> Project {
    let project = Project::new(files);
    std::fs::remove_dir(project.path(".git")).unwrap();
    git(&project, &["init", "--quiet", "."]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "base"]);
    project
}

fn run(project: &Project, args: &[&str]) -> Ran {
    toolreplay().current_dir(project.path("")).args(args).output().unwrap().into()
}

fn shown(project: &Project, args: &[&str]) -> Vec<String> {
    let ran = run(project, &[&["audit", "--show-files"], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}

fn call() -> String {
    record(0, "a", "{}", "{}")
}

#[test]
fn what_git_ignores_is_left_out_of_a_whole_repository_and_said() {
    let project = repository(&[(".gitignore", "build/\n*.tmp.jsonl\n"), ("runs/a.jsonl", &call()), ("build/keep", "")]);
    std::fs::create_dir_all(project.path("build")).unwrap();
    project.write("build/x.jsonl", &call());
    project.write("runs/b.tmp.jsonl", &call());
    assert_eq!(shown(&project, &["."]), ["runs/a.jsonl"]);
    let said = run(&project, &["audit", "."]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("2 recordings that git ignores"), "{}", said.stdout);
    // nothing is hidden from whoever asks for it, or names where it lies
    assert_eq!(shown(&project, &[".", "--no-gitignore"]), ["build/x.jsonl", "runs/a.jsonl", "runs/b.tmp.jsonl"]);
    assert_eq!(shown(&project, &[".", "--base", "HEAD"]), ["build/x.jsonl", "runs/a.jsonl", "runs/b.tmp.jsonl"]);
    assert_eq!(shown(&project, &["build"]), ["build/x.jsonl"]);
    assert_eq!(shown(&project, &["runs"]), ["runs/a.jsonl", "runs/b.tmp.jsonl"]);
}

#[test]
fn what_is_tracked_is_read_whatever_git_ignores() {
    let project = repository(&[("runs/a.jsonl", &call())]);
    project.write(".gitignore", "runs/\n");
    git(&project, &["add", ".gitignore"]);
    git(&project, &["commit", "--quiet", "-m", "hide"]);
    project.write("runs/new.jsonl", &call());
    assert_eq!(shown(&project, &["."]), ["runs/a.jsonl"]);
}

#[test]
fn a_run_over_what_git_ignores_alone_is_no_pass() {
    let project = repository(&[(".gitignore", "runs/\n")]);
    std::fs::create_dir_all(project.path("runs")).unwrap();
    project.write("runs/a.jsonl", &call());
    let ran = run(&project, &["audit", "."]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("git ignores 1 recordings; name their folder, or say --no-gitignore"),
        "{}",
        ran.stderr
    );
    assert_eq!(run(&project, &["audit", ".", "--no-gitignore"]).code, 0);
}

#[test]
fn what_the_configuration_excludes_is_left_out_and_counted() {
    let config = "exclude = [\"train\", \"data/old/*.jsonl\"]\n";
    let files = [
        ("toolreplay.toml", config),
        ("a.jsonl", &call()),
        ("x/train/b.jsonl", &call()),
        ("data/old/c.jsonl", &call()),
        ("data/old/sub/d.jsonl", &call()),
        ("train.jsonl", "{\"prompt\":\"p\",\"completion\":\"c\"}\n"),
    ];
    let project = Project::new(&files);
    assert_eq!(shown(&project, &["."]), ["a.jsonl", "data/old/sub/d.jsonl", "train.jsonl"]);
    let ran = run(&project, &["audit", "."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("2 recordings that the configuration excludes"), "{}", ran.stdout);
    // who names a file wants it read
    assert_eq!(shown(&project, &["x/train/b.jsonl"]), ["x/train/b.jsonl"]);
    assert_eq!(shown(&project, &[".", "--no-config", "--exclude", "*.jsonl", "a.jsonl"]), ["a.jsonl"]);
    let none = run(&project, &["audit", ".", "--exclude", "*.jsonl"]);
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("recordings are excluded"), "{}", none.stderr);
    assert_eq!(run(&project, &["audit", ".", "--exclude", "["]).code, 2);
}

#[test]
fn a_change_that_excludes_or_turns_off_is_told_of_and_not_followed() {
    let dirty = std::fs::read_to_string(crate::sample("session-dirty.jsonl")).unwrap();
    let project = repository(&[("toolreplay.toml", "paths = [\"runs\"]\n"), ("runs/a.jsonl", &dirty)]);
    for config in [
        "ignore = [\"redundant-call\", \"non-determinism\"]\n",
        "select = [\"stuck-loop\"]\n",
        "exclude = [\"a.jsonl\"]\n",
    ] {
        project.write("toolreplay.toml", &format!("paths = [\"runs\"]\n{config}"));
        let report = project.json(&["--base", "HEAD"]);
        let found = report["findings"].to_string();
        assert!(found.contains("policy-changed") && found.contains("redundant-call"), "{config}: {found}");
        assert_eq!(report["exit_code"], 1);
    }
}

#[test]
fn a_path_without_a_command_and_one_that_looks_like_an_option_are_told_what_to_write() {
    let project = Project::new(&[("-Users-me/a.jsonl", &call()), ("runs/a.jsonl", &call())]);
    let ran = run(&project, &["runs"]);
    assert!(ran.code == 2 && ran.stderr.contains("toolreplay audit runs"), "{}", ran.stderr);
    let ran = run(&project, &["audit", "-Users-me"]);
    assert!(ran.code == 2 && ran.stderr.contains("write it as ./-Users-me"), "{}", ran.stderr);
    assert_eq!(run(&project, &["audit", "./-Users-me"]).code, 0);
    assert_eq!(run(&project, &["audit", "--", "-Users-me"]).code, 0);
    // no hint where there is nothing of that name
    assert!(!run(&project, &["audit", "--no-such-option"]).stderr.contains("note:"));
}
