//! Commands, paths, addresses and scope files: no panic, and no text that a deny sees is allowed with more around it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolreplay::scope::{EntryUses, Policy, PolicyCall, Verdict, host_of};
use toolreplay::shell;

const SCOPE: &[u8] = br#"{"version": 2, "root": "/repo",
    "allowed_tools": ["Bash", "Read", "Fetch"],
    "denied_tools": [{"tool": "Bash", "command": {"arg": "v", "prefixes": ["rm", "git push"]}},
        {"tool": "Read", "path": {"arg": "v", "globs": ["src/secret/**"]}},
        {"tool": "Fetch", "url": {"arg": "v", "hosts": ["evil.test"]}}]}"#;

fn allowed(policy: &Policy, tool: &str, value: &str) -> bool {
    let arguments = serde_json::json!({ "v": value }).to_string();
    let call = PolicyCall { tool, arguments: arguments.as_bytes(), cwd: Some("/repo"), ..PolicyCall::default() };
    matches!(policy.judge(&call, &EntryUses::default()), Verdict::Allowed(_))
}

fuzz_target!(|text: &str| {
    let _ = Policy::read(text.as_bytes());
    let policy = Policy::read(SCOPE).expect("a scope");
    for command in shell::read(text).commands {
        assert!(command.span.end <= text.len());
    }
    let _ = (allowed(&policy, "Read", text), allowed(&policy, "Fetch", text), host_of(text));
    // a command behind a text that is complete is a command
    if allowed(&policy, "Bash", text) {
        assert!(!allowed(&policy, "Bash", &format!("({text}\n); rm x")));
    }
    assert!(!allowed(
        &policy,
        "Read",
        &format!("a{}/../src/secret/x", text.replace(['/', '\\'], "-").replace("..", "-"))
    ));
});
