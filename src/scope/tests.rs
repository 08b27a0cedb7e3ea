use super::*;

fn judge(scope: &str, tool: &str, arguments: &str) -> String {
    let policy = Policy::read(scope.as_bytes()).unwrap();
    let call = PolicyCall {
        tool,
        arguments: arguments.as_bytes(),
        cwd: Some("/repo"),
        home: Some("/home/u"),
        ..PolicyCall::default()
    };
    policy.judge(&call, &EntryUses::default()).name().to_owned()
}

fn command(scope: &str, command: &str) -> String {
    judge(scope, "Bash", &serde_json::json!({ "command": command }).to_string())
}

const SHELL: &str = r#"{"version": 2, "allowed_tools": ["Bash"], "denied_tools": [{"tool": "Bash", "command":
    {"arg": "command", "prefixes": ["git push --force", "rm -rf", "git commit --no-verify", "npm publish", ["docker", "run"]]}}]}"#;

#[test]
fn a_deny_sees_through_what_changes_nothing() {
    for denied in [
        "git push --force",
        "git push -f origin main",
        "git push origin main --force",
        "git -C x push --forc",
        "git push -uf",
        "rm -rf x",
        "rm -fr x",
        "rm -r -f x",
        "rm x --recursive --force",
        "/bin/rm -rfv x",
        "RM.EXE -rf x",
        "git commit -nm x",
        "npm --prefix x publish",
        "npm --silent publish",
        "docker --context x run y",
    ] {
        assert_eq!(command(SHELL, denied), "denied", "{denied}");
    }
    for open in
        ["rm $x y", "git push $x", "git $x", "npm $x", "$x -rf y", "rm \"$x\"", "ls | xargs git push", "{rm,-rf,x}"]
    {
        assert_eq!(command(SHELL, open), "not-proven", "{open}");
    }
    for allowed in [
        "rm -r x",
        "rm x",
        "git push",
        "git push --force-with-lease",
        "git log --grep push",
        "npm test",
        "echo rm -rf x",
        "git commit -m \"$x\"",
        "ls $x",
        "\"$HOME/bin/tool\" a",
        "docker ps",
    ] {
        assert_eq!(command(SHELL, allowed), "allowed", "{allowed}");
    }
}

const NARROW: &str = r#"{"version": 2, "root": "/repo", "allowed_tools": [{"tool": "Bash", "command":
    {"arg": "command", "prefixes": ["git log", "cat", "cd", "ls"], "redirect_to": ["/tmp/**", "out/*"], "flags_deny": ["--output", "-c"]}}]}"#;

#[test]
fn an_allow_is_proven() {
    for allowed in [
        "git log",
        "git log -3 2>&1 | cat > /dev/null",
        "git log > /tmp/x",
        "git log >> out/x",
        "cat <<'E'\nx\nE",
        "for f in a b; do cat \"a$f\"; done",
        "cat < /tmp/x",
        "cd src && git log",
    ] {
        assert_eq!(command(NARROW, allowed), "allowed", "{allowed}");
    }
    for refused in [
        "git logs",
        "git --no-pager log",
        "GIT_PAGER=x git log",
        "x=1",
        "git log > x",
        "git log > out/a/b",
        "git log > /tmp/../etc/x",
        "git log --outp=x",
        "git log -pc",
        "cat < /etc/passwd",
        "sudo cat x",
        "cat $(rm x)",
        "cat >& x",
        "for PATH in x; do cat y; done",
        "{ cat x; } > y",
    ] {
        assert_eq!(command(NARROW, refused), "not-listed", "{refused}");
    }
    for open in [
        "cat $x",
        "git \"$x\"",
        "cat \"$x\"",
        "cat > \"/tmp/$x\"",
        "cd /etc && cat > out/x",
        "cat > /tmp/*",
        "cat *",
        "cat 'x",
    ] {
        assert_eq!(command(NARROW, open), "not-proven", "{open}");
    }
}

#[test]
fn words_that_are_a_command_are_one() {
    let scope = r#"{"version": 2, "allowed_tools": [{"tool": "shell", "command": {"arg": "command", "argv": true, "prefixes": ["git status"]}}]}"#;
    for (arguments, verdict) in [
        (r#"{"command": ["git", "status"]}"#, "allowed"),
        (r#"{"command": ["git", "status", "; rm x"]}"#, "allowed"),
        (r#"{"command": ["bash", "-lc", "git status"]}"#, "allowed"),
        (r#"{"command": ["bash", "-lc", "git status; rm x"]}"#, "not-listed"),
        (r#"{"command": ["git status"]}"#, "not-listed"),
        (r#"{"command": []}"#, "not-proven"),
        (r#"{"command": ["git", 1]}"#, "not-proven"),
        (r#"{"command": "git status"}"#, "allowed"),
    ] {
        assert_eq!(judge(scope, "shell", arguments), verdict, "{arguments}");
    }
}

#[test]
fn patches_name_their_paths() {
    let scope = r#"{"version": 2, "root": "/repo", "allowed_tools": [{"tool": "apply_patch", "path": {"arg": "input", "from": "apply_patch", "globs": ["src/**"]}}]}"#;
    let patch = |path: &str| format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n");
    let judged = |text: &str| judge(scope, "apply_patch", &serde_json::json!({ "input": text }).to_string());
    assert_eq!(judged(&patch("src/a.rs")), "allowed");
    assert_eq!(judged(&patch("src/../x")), "not-listed");
    assert_eq!(judged(&format!("apply_patch <<'EOF'\n{}EOF", patch("src/a.rs"))), "allowed");
    assert_eq!(judged(&format!("apply_patch <<'EOF'\n{}EOF\nrm x", patch("src/a.rs"))), "not-proven");
    assert_eq!(judged("no patch"), "not-proven");
}

#[test]
fn several_conditions_all_hold() {
    let scope = r#"{"version": 2, "root": "/repo", "allowed_tools": [{"tool": "Read", "path": {"arg": "p", "globs": ["**"]},
        "schema": {"properties": {"limit": {"maximum": 10}}}}, {"server": "my_srv", "tool": "get_*"}]}"#;
    assert_eq!(judge(scope, "Read", r#"{"p": "a", "limit": 5}"#), "allowed");
    assert_eq!(judge(scope, "Read", r#"{"p": "a", "limit": 50}"#), "not-listed");
    assert_eq!(judge(scope, "mcp__my_srv__get_x", "{}"), "allowed");
    assert_eq!(judge(scope, "mcp__my_srv__set_x", "{}"), "not-listed");
}

#[test]
fn the_verdict_says_what_decided() {
    let scope = "{\"version\": 2,\n \"allowed_tools\": [\"Bash\"],\n \"denied_tools\": [\n  {\"tool\": \"Bash\", \"why\": \"keep it\", \"command\": {\"arg\": \"command\", \"prefixes\": [\"rm\"]}}]}";
    let policy = Policy::read(scope.as_bytes()).unwrap();
    let call = PolicyCall { tool: "Bash", arguments: br#"{"command": "ls && rm x"}"#, ..PolicyCall::default() };
    let Verdict::Overreach(overreach) = policy.judge(&call, &EntryUses::default()) else { panic!("allowed") };
    assert_eq!((overreach.part.as_str(), overreach.pointer.as_str()), ("rm x", "/command"));
    let entry = &policy.entries()[overreach.entry.unwrap()];
    assert_eq!((entry.place.as_str(), entry.line, entry.column), ("denied_tools[0]", 4, 3));
    assert_eq!(entry.why.as_deref(), Some("keep it"));
}

#[test]
fn what_does_nothing_is_remarked() {
    let scope = r#"{"version": 2, "allowed_tools": ["Read", "get_*", "get_x", {"tool": "Read", "path": {"arg": "p", "globs": ["x"]}}, "del"],
        "denied_tools": ["d*", "unused"]}"#;
    let policy = Policy::read(scope.as_bytes()).unwrap();
    let tally = EntryUses::of(&policy);
    policy.judge(&PolicyCall { tool: "Read", arguments: b"{}", ..PolicyCall::default() }, &tally);
    let remarks: Vec<String> =
        policy.remarks(&tally).iter().map(|remark| format!("{}: {}", remark.entry, remark.text)).collect();
    assert_eq!(
        remarks,
        [
            "allowed_tools[2]: allowed_tools[1] covers it",
            "allowed_tools[3]: allowed_tools[0] covers it",
            "allowed_tools[4]: denied_tools[0] denies all of it",
            "allowed_tools[1]: 'get_*' allows nothing that was called",
            "denied_tools[0]: 'd*' denies nothing that was called",
            "denied_tools[1]: 'unused' denies nothing that was called",
        ]
    );
    let first = Policy::read(br#"{"agent": "a", "allowed_tools": ["get_*"]}"#).unwrap();
    assert_eq!(first.pointless()[0].text, "'get_*' looks like a pattern, but names match exactly in version 1");
}

#[test]
fn everything_unknown_is_refused_with_its_place() {
    let mut wrong = Vec::new();
    let version = |rest: &str| format!("{{\"version\": 2,\n{rest}}}");
    for (text, message) in [
        (version("\"allowed_tools\": []"), "line 2: column 18: 'allowed_tools' is empty: nothing would be allowed"),
        (version("\"agent\": \"a\""), "line 1: column 1: missing field 'allowed_tools', which must be an array"),
        (version("\"alowed_tools\": [\"a\"]"), "line 2: column 1: unexpected field 'alowed_tools' in a scope;"),
        ("{\"version\": 3, \"allowed_tools\": [\"a\"]}".to_owned(), "line 1: column 13: version 3 is not known"),
        (
            "{\"version\": \"2\", \"allowed_tools\": [\"a\"]}".to_owned(),
            "line 1: column 13: version \"2\" is not known",
        ),
        ("{\"version\": 2.0, \"allowed_tools\": [\"a\"]}".to_owned(), "line 1: column 13: version 2.0 is not known"),
        (
            version("\"allowed_tools\": [{\"tool\": \"a\", \"paths\": {}}]"),
            "line 2: column 33: unexpected field 'paths'",
        ),
        (
            version("\"allowed_tools\": [{\"tool\": \"a\", \"path\": {\"arg\": \"p\", \"globs\": []}}]"),
            "line 2: column 63: 'globs' is empty",
        ),
        (
            version("\"allowed_tools\": [{\"tool\": \"a\", \"path\": {\"arg\": \"p\", \"globs\": [\"a/\"]}}]"),
            "line 2: column 64: the pattern ends in '/'",
        ),
        (
            version("\"allowed_tools\": [{\"tool\": \"a\", \"command\": {\"arg\": \"p\", \"prefixes\": [\"git *\"]}}]"),
            "line 2: column 70: '*' has a '*'",
        ),
        (version("\"allowed_tools\": [\"a\"], \"allowed_tools\": [\"b\"]"), "line 2: column 25: duplicate key"),
        (
            version("\"allowed_tools\": [\"a\"], \"agents\": {\"b\": {\"allowed_tools\": [\"c\"]}}"),
            "line 2: column 35: the lists stand in",
        ),
        (version("\"agents\": {\"b\": {}}"), "line 2: column 17: missing field 'agents.b.allowed_tools'"),
        (version("\"allowed_tools\": [\"a\"], \"root\": \"x\""), "line 2: column 33: 'root' must be an absolute path"),
        (
            version("\"allowed_tools\": [{\"tool\": \"a\", \"schema\": {\"maxmum\": 1}}]"),
            "line 2: column 43: the schema cannot be used: 'maxmum'",
        ),
        (
            version("\"allowed_tools\": [\"a\"], \"tests\": [{\"call\": {\"tool\": \"b\"}, \"expect\": \"allowed\"}]"),
            "line 2: column 35: 'tests[0]' fails: expected allowed, found not-listed",
        ),
        (
            version("\"allowed_tools\": [\"a\"], \"tests\": [{\"call\": {\"tool\": \"b\"}, \"expect\": \"no\"}]"),
            "line 2: column 69: 'expect' must be",
        ),
        (
            version(
                "\"allowed_tools\": [\"a\"], \"denied_tools\": [{\"tool\": \"a\", \"command\": {\"arg\": \"c\", \"prefixes\": [\"a\"], \"flags_deny\": [\"-a\"]}}]",
            ),
            "line 2: column 113: 'flags_deny'",
        ),
    ] {
        let found = Policy::read(text.as_bytes()).unwrap_err().to_string();
        if !found.starts_with(message) {
            wrong.push(format!("{text}\n{found}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn many_entries_end() {
    let names: Vec<String> = (0..10_000).map(|number| format!("\"tool_{number}_*\"")).collect();
    let scope = format!("{{\"version\": 2, \"allowed_tools\": [{}]}}", names.join(","));
    let policy = Policy::read(scope.as_bytes()).unwrap();
    let call = PolicyCall { tool: "tool_9999_x", arguments: b"{}", ..PolicyCall::default() };
    assert_eq!(policy.judge(&call, &EntryUses::default()), Verdict::Allowed(9_999));
}

/// Worked calls: scopes, and what each says of a call.
#[test]
fn worked_calls_get_their_verdicts() {
    let text = include_str!("../../tests/fixtures/scope/calls.jsonl");
    let mut policies = std::collections::HashMap::new();
    let (mut judged, mut wrong) = (0, Vec::new());
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let file = line["file"].as_str().unwrap().to_owned();
        if !line["scope"].is_null() {
            policies.insert(file, Policy::read(line["scope"].to_string().as_bytes()).unwrap());
            continue;
        }
        let call = &line["call"];
        let agents: Vec<&str> = call["agent"].as_str().into_iter().collect();
        let arguments = call["arguments"].to_string();
        let verdict = policies[&file].judge(
            &PolicyCall {
                agents: &agents,
                tool: call["tool"].as_str().unwrap(),
                arguments: arguments.as_bytes(),
                cwd: Some(call["cwd"].as_str().unwrap_or("/repo")),
                home: Some(call["home"].as_str().unwrap_or("/home/u")),
                ..PolicyCall::default()
            },
            &EntryUses::default(),
        );
        judged += 1;
        if verdict.name() != line["verdict"] {
            wrong.push(format!("{}: {call}: {} not {}", line["id"], verdict.name(), line["verdict"]));
        }
    }
    assert_eq!((judged, wrong), (96, Vec::new()));
}
