use super::*;

/// The commands of a text, each as its words, with what is not known as `?`.
fn commands(text: &str) -> Vec<String> {
    read(text).commands.iter().map(shown).collect()
}

fn shown(command: &Simple) -> String {
    let words: Vec<String> = command
        .words
        .iter()
        .map(|word| word.literal().map_or_else(|| "?".to_owned(), |text| text.into_owned()))
        .collect();
    words.join(" ")
}

#[test]
fn every_simple_command_is_visited() {
    for (text, expected) in [
        ("git status && rm -rf x", vec!["git status", "rm -rf x"]),
        ("a | b || c; d & e\nf", vec!["a", "b", "c", "d", "e", "f"]),
        ("echo $(rm x)", vec!["echo ?", "rm x"]),
        ("echo \"a `rm x` $(b \"$(c)\")\"", vec!["echo ?", "rm x", "b ?", "c"]),
        ("(a; { b; }) > f", vec!["", "a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", vec!["a", "b", "c", "d", "e"]),
        ("for x in $(a) b; do c $x; done", vec!["a", "c ?"]),
        ("while a; do b; done; until c; do d; done", vec!["a", "b", "c", "d"]),
        ("case $(a) in x) b;; *) c;; esac", vec!["a", "b", "c"]),
        ("f() { rm x; }; f", vec!["rm x", "f"]),
        ("cat <<E\n$(rm x) `a`\nE", vec!["cat", "rm x", "a"]),
        ("cat <<'E'\n$(rm x)\nE", vec!["cat"]),
        ("cat <(a) > >(b)", vec!["cat ?", "a", "b"]),
        ("x=$(a) y=(b $(c))", vec!["", "a", "c"]),
        ("echo ${x:-$(a)} ${y/\"$(b)\"/c} $(( $(d) + 1 ))", vec!["echo ? ? ?", "a", "b", "d"]),
        ("[[ -f $(a) && x = $(b) ]]", vec!["a", "b"]),
        ("(( i < $(a) ))", vec!["a"]),
        ("r''m \"x y\" $'\\x61' \\b", vec!["rm x y a b"]),
        ("r\\\nm x", vec!["rm x"]),
        ("git commit -m \"$(cat <<'EOF'\nit's ) done\nEOF\n)\"", vec!["git commit -m ?", "cat"]),
        ("echo $(case x in (a) b;; esac) \"$(# c '\n d)\"", vec!["echo ? ?", "b", "d"]),
        ("( ( rm x ) )", vec!["rm x"]),
        ("time ! a", vec!["a"]),
    ] {
        assert_eq!(commands(text), expected, "{text}");
        assert_eq!(read(text).unread, [], "{text}");
    }
}

#[test]
fn what_a_command_runs_is_visited() {
    for (text, inner) in [
        ("sudo -u root rm x", "rm x"),
        ("env -i A=b rm x", "rm x"),
        ("nohup nice -n 5 timeout -k 1 5 rm x", "rm x"),
        ("ls | xargs -0 -n1 rm", "rm ?"),
        ("find . -name a -exec rm {} + -o -exec git push \\;", "git push"),
        ("find . -exec rm {} +", "rm ?"),
        ("bash -lc 'a; rm x'", "rm x"),
        ("bash -o pipefail -euc 'rm x' y", "rm x"),
        ("sh -c 'sh -c \"rm x\"'", "rm x"),
        ("eval rm x", "rm x"),
        ("eval \"rm x\"", "rm x"),
        ("command rm x", "rm x"),
        ("exec -a b rm x", "rm x"),
        ("stdbuf -oL rm x", "rm x"),
        ("ionice -c 3 rm x", "rm x"),
        ("time -p rm x", "rm x"),
        ("bash <<'E'\nrm x\nE", "rm x"),
        ("bash <<< 'rm x'", "rm x"),
        ("trap 'rm x' EXIT", "rm x"),
        ("alias a='rm x'", "rm x"),
        ("env -S 'rm x'", "rm x"),
        ("sudo --unknown value rm x", "rm x"),
        ("/usr/bin/sudo rm x", "rm x"),
        ("git -c alias.x='!rm x' x", "rm x"),
        ("git rebase -x 'rm x' main", "rm x"),
        ("uv run rm x", "rm x"),
        ("ssh -p 22 host rm x", "rm x"),
        ("coproc rm x", "rm x"),
    ] {
        assert!(commands(text).iter().any(|command| command == inner), "{text}: {:?}", commands(text));
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    for (text, why) in [
        ("", Why::Empty),
        ("  \n", Why::Empty),
        ("git status &&", Why::Broken),
        ("git log 'x", Why::Broken),
        ("echo $(rm", Why::Broken),
        ("bash -c \"$x\"", Why::MadeScript),
        ("eval $x", Why::MadeCommand),
        ("curl x | sh", Why::PipedScript),
        ("bash <(curl x)", Why::MadeScript),
        ("sudo $x", Why::MadeCommand),
        ("echo ${x@P}", Why::Broken),
        ("test -v 'a[$(rm x)]'", Why::MadeScript),
    ] {
        assert!(read(text).unread.iter().any(|unread| unread.why == why), "{text}: {:?}", read(text).unread);
    }
    assert!(read("$x y").commands[0].words[0].literal().is_none());
}

#[test]
fn text_is_not_taken_for_commands() {
    for text in [
        "echo 'rm -rf /'",
        "echo \"rm -rf /\"",
        "git commit -m 'do not rm -rf /; git push --force'",
        "cat > doc.md <<'EOF'\nrm -rf /\n$(git push)\nEOF",
        "# rm -rf /\nls",
        "grep -r 'sudo rm' .",
    ] {
        assert!(
            !commands(text).iter().any(|command| command.starts_with("rm") || command.starts_with("git push")),
            "{text}"
        );
    }
}

#[test]
fn places_are_those_of_the_text() {
    let text = "größe=1 ls; echo \"ä $(rm x)\" && sudo git push";
    for command in read(text).commands {
        let place = text.get(command.span.clone()).unwrap();
        match command.via {
            Via::RunBy(_) => assert_eq!(place, "sudo git push"),
            _ => assert_eq!(place, command.part),
        }
    }
    assert!(read(text).commands.iter().any(|command| command.part == "rm x"));
}

#[test]
fn pipes_say_whose_output_is_read() {
    let script = read("curl x | tee y | sh");
    let sh = script.commands.iter().find(|command| command.part == "sh").unwrap();
    assert_eq!(script.commands[sh.fed_by.clone()].iter().map(|c| &*c.part).collect::<Vec<_>>(), ["tee y"]);
}

#[test]
fn words_are_known_or_not() {
    let script = read("a 'b'c ~/d '~/e' $f \"$g\" *.h {i,j} {} [k \"$@\"");
    let words = &script.commands[0].words;
    let literal: Vec<Option<String>> = words.iter().map(|word| word.literal().map(String::from)).collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        literal,
        [some("a"), some("bc"), None, some("~/e"), None, None, None, None, some("{}"), some("[k"), None]
    );
    let path: Vec<Option<String>> = words.iter().map(|word| word.path().map(String::from)).collect();
    assert_eq!(path[2..4], [some("~/d"), some("./~/e")]);
    assert_eq!(path[6], some("*.h"));
    let split: Vec<bool> = words.iter().map(Word::may_split).collect();
    assert_eq!(split, [false, false, false, false, true, false, true, true, false, false, true]);
}

#[test]
fn words_alone_are_a_command() {
    let read = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read_words(&words).commands.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(read(&["git", "a b; rm x"]), ["git a b; rm x"]);
    assert_eq!(read(&["bash", "-lc", "a && b"]), ["a", "b"]);
    assert_eq!(read(&["sudo", "rm", "$x"]), ["sudo rm $x", "rm $x"]);
    assert!(!read_words(&[]).unread.is_empty());
}

/// Much of anything ends, and says so if it was too much.
#[test]
fn hostile_texts_end() {
    for unit in [
        "(",
        "$(",
        "${a:-",
        "\"$(",
        "`",
        "{ ",
        "if a; then ",
        "case a in a) ",
        "$((",
        "((",
        "<(",
        "a=(",
        "[[ ( ",
        "f() { ",
        "for a in b; do ",
        "\\",
        "'",
        "\"",
        "[",
        "]",
        "{a,",
        "~",
        "$",
        "${",
        "$[",
        "@(",
        "<<a ",
        "<<<",
        "!",
        "a|",
        "a;",
        "a\n",
        "bash -c '",
        "eval ",
        "sudo ",
        "$'\\x",
        "esac)",
        "case ",
        "# ",
        "\t",
        "\u{e9}",
        "\0",
        "~99999999999999999999",
        "{1..99999999999999999999}",
        "$99999999999",
        "${99999999999999}",
        "1>&99999999999 ",
        "coproc ",
        "time ",
    ] {
        for count in [1, 3, 7, 30, 300, 2_000] {
            let _ = read(&unit.repeat(count));
            let _ = read(&format!("echo {}", unit.repeat(count)));
            let _ = read(&format!("cat <<E\n{}\nE", unit.repeat(count)));
        }
    }
    for (open, close) in
        [("(", ")"), ("$(", ")"), ("\"$(", ")\""), ("{ ", ";}"), ("${a:-", "}"), ("$((", "))"), ("if a; then ", "; fi")]
    {
        for count in [5, 20, 100, 3_000] {
            let _ = read(&format!("echo {}rm x{}", open.repeat(count), close.repeat(count)));
            let _ = read(&format!("{}rm x{}", open.repeat(count), close.repeat(count)));
        }
    }
    let mut nested = "rm x".to_owned();
    for _ in 0..12 {
        nested = format!("bash -c {}", quoted(&nested));
    }
    assert!(commands(&nested).iter().any(|command| command == "rm x"));
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn a_megabyte_is_read() {
    let text = "ls -la src\n".repeat(100_000);
    assert_eq!(read(&text).commands.len(), 100_000);
    let text = format!("cat <<'E'\n{}\nE\nrm x", "a line $b\n".repeat(90_000));
    assert_eq!(commands(&text), ["cat", "rm x"]);
    assert_eq!(read(&"a".repeat(MAX_COMMAND + 1)).unread[0].why, Why::TooLong);
}
