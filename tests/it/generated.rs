//! Files that are made from the code, and documents whose commands are run.

use crate::{expect_file, root, run};
use std::path::Path;
#[cfg(unix)]
use std::process::Command;
use toolreplay::rules::RULES;
use toolreplay::schema;

#[test]
fn schemas() {
    for name in schema::NAMES {
        let text = schema::text(name).unwrap();
        assert_eq!(run(["schema", name]).stdout, text);
        expect_file(Path::new(&format!("schemas/{name}.json")), &text);
    }
}

#[test]
fn command_line_reference() {
    let mut text = String::from(
        "# The command line\n\nThis page is made from the program: `SNAPSHOTS=overwrite cargo test` writes it anew.\n",
    );
    let commands = [
        "",
        "audit",
        "replay",
        "scope",
        "seal",
        "seal-all",
        "import",
        "redact",
        "formats",
        "verify",
        "stats",
        "diff",
        "keygen",
        "trace proxy",
        "trace run",
        "trace show",
        "explain",
        "schema",
        "completions",
    ];
    for command in commands {
        let help = run(command.split_whitespace().chain(["--help"]));
        assert_eq!(help.code, 0);
        let help: Vec<&str> = help.stdout.lines().map(str::trim_end).collect();
        let title = if command.is_empty() { "toolreplay".to_owned() } else { format!("toolreplay {command}") };
        text.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", help.join("\n")));
    }
    expect_file(Path::new("docs/cli.md"), &text);
}

/// The table of rules in the README is that of the code.
#[test]
fn readme_rules() {
    let mut table = String::from("| rule | level | what it finds |\n| --- | --- | --- |\n");
    for rule in RULES {
        table.push_str(&format!("| [`{0}`](docs/rules/{0}.md) | {1} | {2} |\n", rule.id, rule.level, rule.summary));
    }
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (start, end) = ("<!-- rules -->\n", "<!-- /rules -->");
    let from = readme.find(start).expect("the README marks its table of rules") + start.len();
    let to = readme.find(end).expect("the README marks the end of its table of rules");
    let expected = format!("{}{table}{}", &readme[..from], &readme[to..]);
    expect_file(Path::new("README.md"), &expected);
}

/// Every block of a console in the documents does what it shows: lines behind `$` are run in the root of the package.
#[cfg(unix)]
#[test]
fn console_blocks() {
    let binary = Path::new(env!("CARGO_BIN_EXE_toolreplay")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for document in ["README.md", "docs/configuration.md", "docs/formats.md", "docs/seals.md", "docs/runs.md"] {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        for block in text.split("```console\n").skip(1) {
            let block = block.split("```").next().unwrap();
            for step in block.split("$ ").skip(1) {
                let (command, expected) = step.split_once('\n').unwrap_or((step, ""));
                let shell = Command::new("sh").args(["-c", command]).current_dir(root()).env("PATH", &path).output();
                let output = shell.unwrap();
                let printed = [output.stdout, output.stderr].concat();
                let printed = String::from_utf8(printed).unwrap();
                assert_eq!(printed.trim_end(), expected.trim_end(), "{document}: $ {command}");
                ran += 1;
            }
        }
    }
    assert!(ran >= 5, "only {ran} commands were found");
}
