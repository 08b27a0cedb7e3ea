//! `policy`: scope files checked, explained, made and enforced.

use crate::{Ran, toolreplay};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

fn run(folder: &Path, args: &[&str]) -> Ran {
    toolreplay().current_dir(folder).args(args).output().unwrap().into()
}

fn fed(folder: &Path, args: &[&str], input: &str) -> Ran {
    let mut child = toolreplay()
        .current_dir(folder)
        .env("HOME", "/home/u")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // one that refuses its scope first may have gone
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap().into()
}

fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const SCOPE: &str = r#"{"version": 2, "root": "/repo", "allowed_tools": ["Read",
    {"tool": "Bash", "command": {"arg": "command", "prefixes": ["git status", "ls"]}}],
  "denied_tools": [{"tool": "Bash", "command": {"arg": "command", "prefixes": ["rm"]}, "why": "no deleting"}]}"#;

#[test]
fn files_are_checked_with_their_tests() {
    let folder = written(&[
        ("good.json", SCOPE),
        ("old.json", r#"{"agent": "a", "allowed_tools": ["get_*"]}"#),
        (
            "bad.json",
            "{\"version\": 2, \"allowed_tools\": [\"a\"],\n \"tests\": [{\"call\": {\"tool\": \"b\"}, \"expect\": \"allowed\"}]}",
        ),
    ]);
    let ran = run(folder.path(), &["policy", "check", "good.json", "old.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("good.json: version 2, 3 entries, SHA-256 "), "{}", ran.stdout);
    assert_eq!(
        ran.stderr,
        "warning: old.json: line 1: allowed_tools[0]: 'get_*' looks like a pattern, but names match exactly in version 1\n"
    );
    let ran = run(folder.path(), &["policy", "check", "bad.json", "missing.json", "good.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stdout.starts_with("good.json: "), "{}", ran.stdout);
    assert!(
        ran.stderr
            .starts_with("error: bad.json: line 2: column 12: 'tests[0]' fails: expected allowed, found not-listed"),
        "{}",
        ran.stderr
    );
}

#[test]
fn calls_are_explained() {
    let folder = written(&[
        ("s.json", SCOPE),
        (
            "calls.jsonl",
            "{\"tool\":\"Bash\",\"arguments\":{\"command\":\"ls\"}}\n\n{\"tool\":\"Bash\",\"arguments\":{\"command\":\"ls; rm x\"}}\n{\"tool\":\"Bash\",\"arguments\":{\"command\":\"ls $(\"}}\n",
        ),
    ]);
    let args = r#"{"command": "git status && rm -rf x"}"#;
    let ran = run(folder.path(), &["policy", "explain", "s.json", "--tool", "Bash", "--args", args]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "overreach: denied\nentry: denied_tools[0]\nwhy: no deleting\npart: rm -rf x\n")
    );
    let ran = run(folder.path(), &["policy", "explain", "s.json", "--calls", "calls.jsonl"]);
    assert_eq!(ran.code, 1);
    let answers: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> = answers.iter().map(|answer| (answer["verdict"].clone(), answer["reason"].clone())).collect();
    assert_eq!(
        found,
        [
            (json!("allowed"), json!(null)),
            (json!("overreach"), json!("denied")),
            (json!("overreach"), json!("not-proven"))
        ]
    );
    let ran = run(folder.path(), &["policy", "explain", "s.json", "--tool", "Read"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "allowed\nentry: allowed_tools[0]\n"));
}

#[test]
fn hooks_are_answered_in_their_protocols() {
    let folder = written(&[("s.json", SCOPE)]);
    let call = |command: &str| {
        let input = json!({"command": command});
        let claude = json!({"session_id": "s", "hook_event_name": "PreToolUse", "cwd": "/repo", "tool_name": "Bash", "tool_input": input});
        let copilot = json!({"sessionId": "s", "cwd": "/repo", "toolName": "Bash", "toolArgs": input.to_string()});
        let opencode = json!({"tool": "Bash", "args": input, "directory": "/repo"});
        [
            ("claude", claude.clone()),
            ("codex", claude.clone()),
            ("gemini", claude),
            ("copilot", copilot),
            ("opencode", opencode),
        ]
    };
    let decision = |agent: &str, answer: &Value| match agent {
        "claude" | "codex" => answer["hookSpecificOutput"]["permissionDecision"].clone(),
        "copilot" => answer["permissionDecision"].clone(),
        _ => answer["decision"].clone(),
    };
    for (agent, input) in call("ls -la") {
        let ran = fed(folder.path(), &["policy", "hook", agent, "--scope", "s.json"], &input.to_string());
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let expected = if agent == "codex" { json!(null) } else { json!("allow") };
        assert_eq!((ran.code, decision(agent, &answer)), (0, expected), "{agent}");
        let ran =
            fed(folder.path(), &["policy", "hook", agent, "--scope", "s.json", "--only-deny"], &input.to_string());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{agent}");
    }
    for (agent, input) in call("ls; rm x") {
        let ran = fed(folder.path(), &["policy", "hook", agent, "--scope", "s.json"], &input.to_string());
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((ran.code, decision(agent, &answer)), (0, json!("deny")), "{agent}");
        assert!(ran.stdout.contains("no deleting") && ran.stdout.contains("git status, ls"), "{}", ran.stdout);
    }
    // whatever keeps it from judging is a deny
    for (agent, good) in call("ls") {
        for (scope, input) in [
            ("missing.json", good.to_string()),
            ("s.json", "{".to_owned()),
            ("s.json", "{}".to_owned()),
            ("s.json", String::new()),
        ] {
            let ran = fed(folder.path(), &["policy", "hook", agent, "--scope", scope], &input);
            let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(decision(agent, &answer), json!("deny"), "{agent} {scope} {input}");
            let blocks = i32::from(matches!(agent, "claude" | "codex" | "gemini")) * 2;
            assert_eq!(ran.code, blocks, "{agent}");
        }
    }
}

/// Imports a file and gives what was written, and what was said.
fn imported(agent: &str, text: &str, more: &[&str]) -> (Value, String) {
    let folder = written(&[("rules", text)]);
    let ran = run(folder.path(), &[&["policy", "import", agent, "rules"], more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (serde_json::from_str(&ran.stdout).unwrap(), ran.stderr)
}

/// What an imported file says of calls.
fn holds(file: &Value, calls: &[(&str, Value, &str)]) {
    let mut file = file.clone();
    file["root"] = json!("/repo");
    file["tests"] = calls
        .iter()
        .map(|(tool, arguments, expect)| json!({"call": {"tool": tool, "arguments": arguments, "home": "/home/u"}, "expect": expect}))
        .collect();
    let folder = written(&[("s.json", &file.to_string())]);
    let ran = run(folder.path(), &["policy", "check", "s.json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn rules_of_claude_code_are_carried_over() {
    let settings = json!({"permissions": {
        "allow": ["Bash(npm run lint)", "Bash(npm run test *)", "Bash(git commit:*)", "Bash(git * main)", "Bash(ls*)", "Read(~/.zshrc)",
            "Edit(/docs/**)", "Edit(//tmp/scratch.txt)", "Edit(./README.md)", "WebFetch(domain:example.com)", "mcp__puppeteer", "mcp__git__get_*", "Agent(Explore)", "Skill(x)"],
        "ask": ["Bash(git push *)"],
        "deny": ["Bash(curl *)", "Read(./.env)", "Read(secrets/)", "Read(*.pem)", "Agent(Plan)", "Bash(rm*)", "Write(x)"],
        "defaultMode": "acceptEdits"}});
    let (file, said) = imported("claude", &settings.to_string(), &[]);
    let command = |text: &str| json!({"command": text});
    let path = |text: &str| json!({"file_path": text});
    holds(
        &file,
        &[
            ("Bash", command("npm run lint"), "allowed"),
            ("Bash", command("npm run lint --fix"), "not-listed"),
            ("Bash", command("npm run test --watch"), "allowed"),
            ("Bash", command("git commit -m x"), "allowed"),
            ("Bash", command("git commit -m x && curl y"), "denied"),
            ("Bash", command("git checkout main"), "not-listed"),
            ("Bash", command("git push origin"), "denied"),
            ("Bash", command("rm x"), "denied"),
            ("Read", path("/home/u/.zshrc"), "allowed"),
            ("Read", path(".env"), "denied"),
            ("Read", path("a/secrets/b"), "denied"),
            ("Read", path("a/KEY.pem"), "denied"),
            ("Write", path("docs/a/b.md"), "allowed"),
            ("Write", path("src/a"), "not-listed"),
            ("Edit", path("/tmp/scratch.txt"), "allowed"),
            ("Edit", path("README.md"), "allowed"),
            ("Edit", path("sub/README.md"), "not-listed"),
            ("WebFetch", json!({"url": "https://example.com/x"}), "allowed"),
            ("WebFetch", json!({"url": "https://example.org/x"}), "not-listed"),
            ("mcp__puppeteer__navigate", json!({}), "allowed"),
            ("mcp__git__get_log", json!({}), "allowed"),
            ("mcp__git__push", json!({}), "not-listed"),
            ("Task", json!({"subagent_type": "Explore"}), "allowed"),
            ("Task", json!({"subagent_type": "Plan"}), "denied"),
        ],
    );
    for lost in [
        "Bash(git * main): it has a wildcard inside",
        "Bash(ls*): it ends inside a word",
        "Skill(x): ",
        "Write(x): ",
        "permissions.defaultMode: ",
    ] {
        assert!(said.contains(&format!("warning: not carried over: {lost}")), "{lost}\n{said}");
    }
    assert!(said.contains("Bash(git push *): the agent asks its user; denied"), "{said}");
    let (file, _) = imported("claude", &settings.to_string(), &["--ask", "allow"]);
    holds(&file, &[("Bash", command("git push origin"), "allowed")]);
}

#[test]
fn rules_of_codex_are_carried_over() {
    let rules = r#"
# what the agent may do
prefix_rule(
    pattern = ["git", ["status", "log"]],
    decision = "allow",
    justification = "looks only",
    match = ["git status"],
)
prefix_rule(pattern=["rm"], decision="forbidden", justification="use trash")
prefix_rule(pattern=["git", "push"], decision="prompt")
host_executable(name="git", paths=["/usr/bin/git"])
"#;
    let (file, said) = imported("codex", rules, &[]);
    holds(
        &file,
        &[
            ("shell", json!({"command": ["git", "log", "-3"]}), "allowed"),
            ("shell", json!({"command": ["bash", "-lc", "git status && rm x"]}), "denied"),
            ("exec_command", json!({"cmd": "git status"}), "allowed"),
            ("exec_command", json!({"cmd": "git push"}), "denied"),
            ("exec_command", json!({"cmd": "ls"}), "not-listed"),
        ],
    );
    assert!(said.contains("not carried over: host_executable in line 11"), "{said}");
    let folder = written(&[("rules", "prefix_rule(pattern=names, decision=\"allow\")")]);
    let ran = run(folder.path(), &["policy", "import", "codex", "rules"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
}

#[test]
fn rules_of_other_agents_are_carried_over() {
    let gemini = r#"
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "npm test"]
decision = "allow"
priority = 100
[[rule]]
toolName = "run_shell_command"
commandPrefix = "rm"
decision = "deny"
priority = 200
denyMessage = "no deleting"
[[rule]]
mcpName = "my_server"
toolName = "get_*"
decision = "allow"
[[rule]]
toolName = "run_shell_command"
commandRegex = "ls .*"
decision = "allow"
"#;
    let (file, said) = imported("gemini", gemini, &[]);
    let command = |text: &str| json!({"command": text});
    holds(
        &file,
        &[
            ("run_shell_command", command("git status -s"), "allowed"),
            ("run_shell_command", command("npm test; rm x"), "denied"),
            ("run_shell_command", command("ls"), "not-listed"),
            ("mcp__my_server__get_x", json!({}), "allowed"),
        ],
    );
    assert!(said.contains("not carried over: rule 4: 'commandRegex' has no counterpart"), "{said}");

    let cursor = json!({"permissions": {"allow": ["Shell(ls)", "Shell(git:*)", "Read(src/**/*.ts)", "Mcp(github:get_*)", "WebFetch(*.example.com)"], "deny": ["Shell(rm)", "Write(**/.env*)", "Other(x)"]}});
    let (file, said) = imported("cursor", &cursor.to_string(), &[]);
    holds(
        &file,
        &[
            ("Shell", command("ls -la && git log"), "allowed"),
            ("Shell", command("sudo rm x"), "denied"),
            ("Read", json!({"path": "src/a/b.ts"}), "allowed"),
            ("Write", json!({"path": "a/.env.local"}), "denied"),
            ("WebFetch", json!({"url": "https://a.example.com/"}), "allowed"),
        ],
    );
    assert!(said.contains("not carried over: Other(x)"), "{said}");

    let copilot = "copilot --allow-tool='shell(git:*)' --deny-tool='shell(git push)' --allow-tool 'write' --allow-tool='MyMCP(create_issue)' --allow-url=x";
    let (file, said) = imported("copilot", copilot, &[]);
    holds(
        &file,
        &[
            ("bash", command("git log"), "allowed"),
            ("bash", command("git -C x push"), "denied"),
            ("bash", command("ls"), "not-listed"),
            ("create", json!({"path": "a"}), "allowed"),
            ("mcp__MyMCP__create_issue", json!({}), "allowed"),
        ],
    );
    assert!(said.contains("not carried over: --allow-url"), "{said}");

    let opencode = json!({"permission": {"*": "ask", "bash": {"*": "ask", "git *": "allow", "rm *": "deny"}, "edit": {"*": "deny", "docs/*.md": "allow"}, "webfetch": "allow"}});
    let (file, _) = imported("opencode", &opencode.to_string(), &[]);
    holds(
        &file,
        &[
            ("bash", command("git log"), "allowed"),
            ("bash", command("git log && rm x"), "denied"),
            ("bash", command("make"), "not-listed"),
            ("edit", json!({"filePath": "docs/a.md"}), "allowed"),
            ("write", json!({"filePath": "src/a"}), "not-listed"),
            ("webfetch", json!({}), "allowed"),
        ],
    );
}

/// A session of Claude Code that makes these calls.
fn session(calls: &[(&str, Value)]) -> String {
    let mut lines = String::new();
    for (number, (tool, input)) in calls.iter().enumerate() {
        let id = format!("toolu_{number}");
        let call = json!({"type": "assistant", "uuid": format!("u{number}"), "sessionId": "s", "cwd": "/repo", "timestamp": format!("2026-11-01T10:00:{number:02}Z"), "message": {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}});
        let result = json!({"type": "user", "uuid": format!("r{number}"), "sessionId": "s", "cwd": "/repo", "timestamp": format!("2026-11-01T10:00:{number:02}Z"), "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": format!("answer {number}")}]}});
        lines += &format!("{call}\n{result}\n");
    }
    lines
}

/// A patch of so many lines to one file.
fn patch(path: &str, lines: usize) -> String {
    format!("*** Begin Patch\n*** Update File: {path}\n@@\n{}*** End Patch", "+line\n".repeat(lines))
}

#[test]
fn a_suggested_scope_allows_what_was_done_and_no_shell() {
    let calls = [
        ("Bash", json!({"command": "git status && git log -3 2>/dev/null"})),
        ("Bash", json!({"command": "cargo test --lib > /tmp/log.txt", "description": "tests"})),
        ("Bash", json!({"command": "python3 -c 'print(1)'"})),
        ("Bash", json!({"command": "FOO=1 make"})),
        ("Bash", json!({"command": "bash scripts/run.sh"})),
        ("Read", json!({"file_path": "/repo/src/a.rs"})),
        ("Read", json!({"file_path": "/repo/app/[id]/page.tsx", "limit": 10})),
        ("Grep", json!({"pattern": "x"})),
        ("WebFetch", json!({"url": "https://docs.rs/x", "prompt": "y"})),
        ("TodoWrite", json!({"todos": []})),
        ("mcp__a__b*c", json!({"x": 1})),
        ("apply_patch", json!({"input": patch("src/a.rs", 1)})),
        ("apply_patch", json!({"input": patch("docs/guide/b.md", 2000)})),
        ("shell", json!({"command": ["apply_patch", patch("src/c.rs", 2000)]})),
        ("shell", json!({"command": ["ls", "-l"]})),
        ("exec", json!({"cmd": format!("apply_patch <<'EOF'\n{}\nEOF", patch("src/d.rs", 2000))})),
        ("exec", json!({"cmd": format!("python3 - <<'EOF'\n{}EOF", "print(1)\n".repeat(600))})),
    ];
    let folder = written(&[("one.jsonl", &session(&calls))]);
    let ran = run(folder.path(), &["policy", "suggest", "one.jsonl", "-o", "scope.json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let audit = run(folder.path(), &["scope", "one.jsonl", "scope.json"]);
    assert_eq!(audit.code, 0, "{}\n{}", audit.stdout, fs::read_to_string(folder.path().join("scope.json")).unwrap());
    for (tool, arguments, verdict) in [
        ("Bash", json!({"command": "git status --short"}), 0),
        ("Bash", json!({"command": "git push"}), 1),
        ("Bash", json!({"command": "python3 -c 'print(2)'"}), 1),
        ("Bash", json!({"command": "bash -c ls"}), 1),
        ("Bash", json!({"command": "bash scripts/run.sh x"}), 0),
        ("Bash", json!({"command": "cargo test > x"}), 1),
        ("Read", json!({"file_path": "/repo/src/b/c.rs"}), 0),
        ("Read", json!({"file_path": "/etc/passwd"}), 1),
        ("WebFetch", json!({"url": "https://docs.rs.evil.test/"}), 1),
        ("Write", json!({"file_path": "/repo/src/a.rs"}), 1),
        ("apply_patch", json!({"input": patch("src/deep/x.rs", 1)}), 0),
        ("apply_patch", json!({"input": patch("ci/x.yml", 1)}), 1),
        ("shell", json!({"command": ["apply_patch", patch("src/x.rs", 1)]}), 0),
        ("shell", json!({"command": ["apply_patch", patch("docs/x.md", 1)]}), 1),
        ("exec", json!({"cmd": format!("apply_patch <<'EOF'\n{}\nEOF\nrm x", patch("src/d.rs", 1))}), 1),
    ] {
        let ran = run(
            folder.path(),
            &["policy", "explain", "scope.json", "--cwd", "/repo", "--tool", tool, "--args", &arguments.to_string()],
        );
        assert_eq!(ran.code, verdict, "{tool} {arguments}\n{}", ran.stdout);
    }
}

#[test]
fn findings_point_at_the_argument() {
    let folder = written(&[
        ("s.json", SCOPE),
        (
            "one.jsonl",
            &session(&[("Bash", json!({"command": "git status && rm -rf x"})), ("Read", json!({"file_path": "a"}))]),
        ),
    ]);
    let ran = run(folder.path(), &["audit", "one.jsonl", "--scope", "s.json", "--format", "json", "--no-config"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let overreach = |finding: &&Value| finding["kind"] == "permission-overreach";
    let finding = report["findings"].as_array().unwrap().iter().find(overreach).unwrap();
    assert_eq!(finding["decision"], json!({"entry": "denied_tools[0]", "why": "no deleting", "part": "rm -rf x"}));
    assert_eq!((&finding["pattern"], &finding["argument"]["pointer"]), (&json!("denied"), &json!("/command")));
    let line = fs::read_to_string(folder.path().join("one.jsonl")).unwrap();
    let place = &finding["argument"];
    let (column, width) = (place["column"].as_u64().unwrap() as usize, place["width"].as_u64().unwrap() as usize);
    let shown: String = line.lines().next().unwrap().chars().skip(column - 1).take(width).collect();
    assert_eq!(shown, "\"git status && rm -rf x\"");
    assert_eq!(report["scope_sha256"].as_str().unwrap().len(), 64);
    for (format, text) in [("sarif", "scopeSha256"), ("markdown", "Scope file: SHA-256 `")] {
        let ran = run(folder.path(), &["audit", "one.jsonl", "--scope", "s.json", "--format", format, "--no-config"]);
        assert!(ran.stdout.contains(text), "{format}");
    }
}
