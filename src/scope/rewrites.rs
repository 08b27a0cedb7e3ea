//! No other way of writing the same command or path turns a deny into an allow.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const DENIES: &str = r#"{"version": 2, "root": "/repo", "allowed_tools": ["Bash", "Read"], "denied_tools": [
    {"tool": "Bash", "command": {"arg": "command", "prefixes": ["git push", "rm", "curl"]}},
    {"tool": "Read", "path": {"arg": "file_path", "globs": ["src/secret/**", "**/*.pem"]}}]}"#;

fn verdict(tool: &str, argument: &str, value: &str) -> String {
    let policy = Policy::read(DENIES.as_bytes()).unwrap();
    let arguments = serde_json::json!({ argument: value }).to_string();
    let call = PolicyCall {
        tool,
        arguments: arguments.as_bytes(),
        cwd: Some("/repo"),
        home: Some("/home/u"),
        ..PolicyCall::default()
    };
    policy.judge(&call, &EntryUses::default()).name().to_owned()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// One word, written in another way.
fn word(text: &str, how: u8) -> String {
    let mut chars = text.chars();
    let first = chars.next().unwrap();
    let rest = chars.as_str();
    match how % 8 {
        0 => text.to_owned(),
        1 => format!("'{text}'"),
        2 => format!("\"{text}\""),
        3 => format!("{first}''{rest}"),
        4 => format!("\\{first}{rest}"),
        5 => format!("$'\\x{:02x}'{rest}", first as u32),
        6 => format!("{first}\\\n{rest}"),
        _ => format!("\"{first}\"'{rest}'"),
    }
}

/// A command, put into something that runs it.
fn around(command: &str, how: u8) -> String {
    match how % 34 {
        0 => format!("true; {command}"),
        1 => format!("{command} && true"),
        2 => format!("false || {command}"),
        3 => format!("{command} | cat"),
        4 => format!("true\n{command}"),
        5 => format!("{command} &"),
        6 => format!("({command})"),
        7 => format!("{{ {command}\n}}"),
        8 => format!("echo $({command}\n)"),
        9 => format!("echo \"$({command}\n)\""),
        10 => format!("if true; then {command}\nfi"),
        11 => format!("for i in 1; do {command}\ndone"),
        12 => format!("while {command}\ndo break; done"),
        13 => format!("f() {{ {command}\n}}; f"),
        14 => format!("case x in x) {command}\n;; esac"),
        15 => format!("cat <(\n{command}\n)"),
        16 => format!("x=$({command}\n) true"),
        17 => format!("bash -c {}", quoted(command)),
        18 => format!("eval {}", quoted(command)),
        19 => format!("sh -ec {}", quoted(command)),
        20 => format!("cat <<E\n$({command}\n)\nE"),
        21 => format!("echo ${{x:-$({command}\n)}}"),
        22 => format!("[[ -n $({command}\n) ]]"),
        23 => format!("! {command}"),
        24 => format!("time {command}"),
        25 => format!("trap {} EXIT", quoted(command)),
        26 => format!("find . -exec sh -c {} \\;", quoted(command)),
        27 => format!("bash <<< {}", quoted(command)),
        28 => format!("A=b B='c d' bash -c {}", quoted(command)),
        29 => format!("env -u X sudo -u root sh -c {}", quoted(command)),
        30 => format!("(( $({command}\n) ))"),
        31 => format!("{command} > /dev/null 2>&1"),
        32 => format!("coproc {{ {command}\n}}"),
        _ => format!("# note\n{command}"),
    }
}

const WRAPPERS: [&str; 20] = [
    "",
    "A=b",
    "nohup",
    "sudo",
    "sudo -u root -E",
    "env",
    "env A=b -i",
    "timeout 5",
    "timeout -k 1 -s TERM 5",
    "nice -n 5",
    "time -p",
    "command",
    "exec",
    "setsid",
    "stdbuf -oL",
    "ionice -c3",
    "xargs",
    "xargs -0 -n1",
    "nohup sudo env",
    "> /dev/null",
];

fn path(parts: &[u8]) -> String {
    let mut path = if parts.first().is_some_and(|how| how % 2 == 0) { "/repo/".to_owned() } else { String::new() };
    for (place, segment) in ["src", "secret", "key"].into_iter().enumerate() {
        let how = parts.get(place + 1).copied().unwrap_or(0);
        let segment: String = match how % 3 {
            0 => segment.to_owned(),
            1 => segment.to_uppercase(),
            _ => segment
                .chars()
                .enumerate()
                .map(|(at, c)| if at % 2 == 0 { c.to_ascii_uppercase() } else { c })
                .collect(),
        };
        path.push_str(["", "./", ".//", "x/../", "a/b/../../", "././"][usize::from(how / 3) % 6]);
        path.push_str(&segment);
        if place < 2 {
            path.push_str(["/", "//", "/./", "\\"][usize::from(how / 18) % 4]);
        }
    }
    path
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(20_261_201), failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn no_rewriting_of_a_command_lifts_a_deny(
        which in 0_usize..3, folder in 0_usize..3, words in proptest::collection::vec(any::<u8>(), 4),
        options in 0_usize..5, wrapper in 0_usize..20, layers in proptest::collection::vec(any::<u8>(), 0..4),
    ) {
        let base: &[&str] = [&["rm", "-rf", "x"][..], &["git", "push", "origin"], &["curl", "http://a.test"]][which];
        let mut parts: Vec<String> = Vec::new();
        if !WRAPPERS[wrapper].is_empty() {
            parts.push(WRAPPERS[wrapper].to_owned());
        }
        for (place, text) in base.iter().enumerate() {
            let how = words[place % words.len()];
            if place == 0 {
                parts.push(format!("{}{}", ["", "/bin/", "./"][folder], word(text, how)));
                if which == 1 {
                    parts.push(["", "-C x", "--no-pager", "-c 'a=b c'", "--git-dir y -p"][options].to_owned());
                }
            } else {
                parts.push(word(text, how));
            }
        }
        let mut command = parts.join(" ");
        for layer in layers {
            command = around(&command, layer);
        }
        prop_assert_ne!(verdict("Bash", "command", &command), "allowed", "{}", command);
    }

    #[test]
    fn no_rewriting_of_a_path_lifts_a_deny(parts in proptest::collection::vec(any::<u8>(), 4)) {
        let path = path(&parts);
        prop_assert_eq!(verdict("Read", "file_path", &path), "denied", "{}", path);
    }

    #[test]
    fn nothing_panics(text in "[ -~\\n$`'\"(){}<>|&;\\\\é]{0,60}") {
        let _ = verdict("Bash", "command", &text);
        let _ = verdict("Read", "file_path", &text);
        let _ = host_of(&text);
        let _ = Policy::read(text.as_bytes());
    }
}
