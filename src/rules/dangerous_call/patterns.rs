//! What is dangerous about one simple command.

use super::commands::{FILTERS, Simple, Word, is_local, starts};
use super::ids;
use super::paths::{self, UNKNOWN, in_home, is_below, join};

/// The shells, which take a line or read one.
const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "busybox"];

/// Where a command runs, as far as the recording tells.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Around<'a> {
    /// The folder that the agent works in.
    pub(super) cwd: Option<&'a str>,
    pub(super) home: Option<&'a str>,
}

/// Appends the ids of the patterns that a command is a case of.
pub(super) fn find(command: &Simple, around: Around<'_>, found: &mut Vec<&'static str>) {
    let mut hit = |condition: bool, id: &'static str| {
        if condition && !found.contains(&id) {
            found.push(id);
        }
    };
    let (outside, git) = deleted(command, around);
    hit(outside, ids::RM_OUTSIDE);
    hit(git, ids::RM_GIT);
    hit(runs_download(command), ids::PIPE_TO_SHELL);
    hit(opens_to_all(command), ids::CHMOD_777);
    hit(tls_off(command), ids::TLS_OFF);
    hit(asks_nobody(command), ids::SKIP_PERMISSIONS);
    hit(command.arguments.iter().any(|word| is_metadata(&word.text)) && command.downloads(), ids::READ_CREDENTIALS);
    if command.name == "git" {
        git_patterns(command, &mut hit);
    } else {
        hit(matches!(&*command.name, "git-filter-repo" | "bfg"), ids::REWRITE_HISTORY);
    }
    hit(hooks_off(command), ids::NO_VERIFY);
    for path in written(command) {
        written_path(&path, around, &mut hit);
    }
    hit(read(command).iter().any(|path| paths::is_credential(path, around.home)), ids::READ_CREDENTIALS);
}

/// What writing to a path is a case of.
pub(super) fn written_path(path: &str, around: Around<'_>, hit: &mut dyn FnMut(bool, &'static str)) {
    // a file of the project is the project's, wherever that lies, but not if the project is the home folder
    let own = around
        .cwd
        .is_some_and(|cwd| is_below(path, cwd) && !in_home(cwd, around.home).is_some_and(str::is_empty) && cwd != "/");
    if own {
        return;
    }
    if paths::is_startup(path, around.home) {
        hit(true, ids::WRITE_STARTUP);
    } else if paths::is_access(path, around.home) {
        hit(true, ids::WRITE_CREDENTIALS);
    } else {
        hit(paths::is_system(path) && !paths::is_temporary(path), ids::WRITE_SYSTEM);
    }
}

pub(super) fn is_metadata(text: &str) -> bool {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    ["169.254.169.254", "metadata.google.internal", "169.254.170.2", "100.100.100.200"]
        .iter()
        .any(|name| host.starts_with(name))
}

/// Options that are letters behind one mark: whether one of the words holds the letter.
fn has_letter(command: &Simple, letter: char) -> bool {
    command
        .arguments
        .iter()
        .take_while(|word| word.text != "--")
        .any(|word| word.text.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter)))
}

fn has(command: &Simple, words: &[&str]) -> bool {
    command.arguments.iter().take_while(|word| word.text != "--").any(|word| words.contains(&&*word.text))
}

/// Words that are no options.
fn operands(command: &Simple) -> impl Iterator<Item = &Word> {
    let mut behind = false;
    command.arguments.iter().filter(move |word| {
        let option = !behind && word.text.starts_with('-') && word.text != "-";
        behind |= word.text == "--";
        !option
    })
}

/// Whether a recursive deletion reaches beyond the working folder, and whether it takes a repository's own folder.
fn deleted(command: &Simple, around: Around<'_>) -> (bool, bool) {
    let targets: Vec<&Word> = match &*command.name {
        "rm" if has_letter(command, 'r') || has_letter(command, 'R') || has(command, &["--recursive"]) => {
            operands(command).collect()
        }
        "find" if has(command, &["-delete"]) && !has(command, &FILTERS) => starts(command).collect(),
        "remove-item" | "ri"
            if command.arguments.iter().any(|word| word.text.to_ascii_lowercase().starts_with("-r")) =>
        {
            operands(command).collect()
        }
        _ => return (false, false),
    };
    let (mut outside, mut git) = (false, false);
    for word in targets {
        let Some(path) = join(command.folder.as_deref(), &word.text) else {
            // above a folder that nobody knows
            outside |= command.folder.is_none()
                && word.text.starts_with("../")
                && !paths::is_made(&word.text)
                && !paths::is_temporary(&word.text)
                && !word.text.contains(UNKNOWN);
            continue;
        };
        // `x/*` is all that is in `x`
        let path = path.trim_end_matches("/*").trim_end_matches("/.*");
        let path = if path.is_empty() { "/" } else { path };
        if paths::is_temporary(path) {
            continue;
        }
        git |= path.ends_with("/.git");
        outside |= is_outside(path, around);
    }
    (outside, git)
}

fn is_outside(path: &str, around: Around<'_>) -> bool {
    let home = in_home(path, around.home);
    // whole homes, whole systems, wherever the agent works
    if path == "/"
        || home.is_some_and(str::is_empty)
        || matches!(path, "/home" | "/Users" | "/root" | "/var" | "/opt" | "/usr/local")
    {
        return true;
    }
    if paths::is_made(path) {
        return false;
    }
    match around.cwd {
        Some(cwd) if cwd != "/" => {
            let whole = match (path.strip_prefix('~'), around.home) {
                (Some(rest), Some(home)) => format!("{home}{rest}"),
                _ => path.to_owned(),
            };
            let at_home = in_home(cwd, around.home).is_some_and(str::is_empty);
            let settings = home.is_some_and(|rest| rest.starts_with('.') && !rest.contains('/'));
            !is_below(&whole, cwd) || at_home && settings
        }
        // nobody knows where it works: what is surely no project
        _ => paths::is_system(path) || home.is_some_and(|rest| rest.starts_with('.') || !rest.contains('/')),
    }
}

/// `curl … | sh`, `bash <(curl …)`, `sh -c "$(curl …)"`
fn runs_download(command: &Simple) -> bool {
    let arguments = &command.arguments;
    let name = &*command.name;
    if name == "eval" || name == "source" || name == "." {
        return arguments.iter().any(|word| word.fetched);
    }
    if matches!(name, "iex" | "invoke-expression") {
        return command.fed
            || arguments.iter().any(|word| word.fetched || word.text.to_ascii_lowercase().contains("downloadstring"));
    }
    let shell = SHELLS.contains(&name);
    let interpreter = shell
        || matches!(name, "python" | "python3" | "node" | "perl" | "ruby" | "php" | "deno" | "bun")
        || name.starts_with("python3.");
    if !interpreter {
        return false;
    }
    if shell && arguments.iter().any(|word| word.fetched) {
        return true;
    }
    // a script, or code on the line, is what runs; the download is what it reads
    let code = arguments.iter().any(|word| {
        let text = &*word.text;
        !shell
            && matches!(text, "-c" | "-e" | "-m" | "-p" | "-pe" | "-ne" | "-nle" | "-r" | "--eval" | "--print" | "eval")
            || shell && text.starts_with('-') && !text.starts_with("--") && text.contains('c')
    });
    let script = arguments
        .iter()
        .take_while(|word| word.text != "-s")
        .any(|word| !word.text.starts_with('-') && !word.text.contains(UNKNOWN));
    command.fed && !code && !script || arguments.first().is_some_and(|word| word.fetched)
}

/// `chmod 777`, `chmod a+rwx`, `chmod o+w`
fn opens_to_all(command: &Simple) -> bool {
    if command.name != "chmod" {
        return false;
    }
    let mut words = operands(command).map(|word| word.text.as_str());
    let mode = words.next().unwrap_or_default();
    let numeric =
        mode.len() >= 3 && mode.len() <= 4 && mode.bytes().all(|byte| byte.is_ascii_digit()) && mode.ends_with("777");
    let symbolic = mode.split(',').any(|part| {
        part.split_once(['+', '=']).is_some_and(|(who, what)| {
            (who.contains('a') || who.contains('o') || who.is_empty() && part.contains('='))
                && what.contains('w')
                && what.contains('x')
                && what.contains('r')
        })
    });
    let mut targets = words.map(|word| join(command.folder.as_deref(), word)).peekable();
    let temporary = targets.peek().is_some() && targets.all(|path| path.is_some_and(|path| paths::is_temporary(&path)));
    (numeric || symbolic) && !temporary
}

fn tls_off(command: &Simple) -> bool {
    let set = |names: &[(&str, &[&str])]| {
        command
            .assigned
            .iter()
            .any(|(name, value)| names.iter().any(|(known, values)| name == known && values.contains(&&*value.text)))
    };
    if set(&[
        ("NODE_TLS_REJECT_UNAUTHORIZED", &["0"]),
        ("GIT_SSL_NO_VERIFY", &["1", "true"]),
        ("PYTHONHTTPSVERIFY", &["0"]),
        ("npm_config_strict_ssl", &["false"]),
        ("NPM_CONFIG_STRICT_SSL", &["false"]),
    ]) {
        return true;
    }
    let local = command.arguments.iter().any(|word| is_local(&word.text));
    let arguments = || command.arguments.iter().map(|word| word.text.to_ascii_lowercase());
    match &*command.name {
        "curl" => !local && (has(command, &["--insecure", "--proxy-insecure"]) || curl_letter(command)),
        "wget" => !local && has(command, &["--no-check-certificate"]),
        "git" => {
            arguments().any(|word| word == "http.sslverify=false")
                || arguments().zip(arguments().skip(1)).any(|(key, value)| key == "http.sslverify" && value == "false")
        }
        "npm" | "yarn" | "pnpm" => {
            arguments().zip(arguments().skip(1)).any(|(key, value)| key == "strict-ssl" && value == "false")
                || arguments()
                    .any(|word| matches!(word.as_str(), "strict-ssl=false" | "--strict-ssl=false" | "--no-strict-ssl"))
        }
        "kubectl" | "helm" | "oc" | "argocd" => {
            arguments().any(|word| {
                matches!(word.as_str(), "--insecure-skip-tls-verify" | "--insecure-skip-tls-verify=true" | "--insecure")
            }) && !local
        }
        "apt" | "apt-get" => has(command, &["--allow-unauthenticated", "--no-check-gpg"]),
        "pip" | "pip3" => has(command, &["--trusted-host"]),
        _ => false,
    }
}

/// `-k` among letters of `curl`, before one that takes the rest of the word.
fn curl_letter(command: &Simple) -> bool {
    command.arguments.iter().any(|word| {
        let Some(letters) = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else { return false };
        letters.chars().take_while(|letter| !"oHdXuAbcCeEFmrTUwxyYzQPK".contains(*letter)).any(|letter| letter == 'k')
    })
}

/// An agent that asks nobody is started.
fn asks_nobody(command: &Simple) -> bool {
    let agent = matches!(
        &*command.name,
        "claude" | "codex" | "gemini" | "copilot" | "opencode" | "cursor-agent" | "npx" | "bunx" | "aider"
    );
    agent
        && has(
            command,
            &[
                "--dangerously-skip-permissions",
                "--dangerously-bypass-approvals-and-sandbox",
                "--yolo",
                "--allow-all-tools",
                "--allow-all",
            ],
        )
}

/// The words of `git` behind its own options: the subcommand and its words.
fn git_words(command: &Simple) -> Vec<&str> {
    let mut rest = &command.arguments[..];
    while let Some(word) = rest.first() {
        let skip = match &*word.text {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => 2,
            text if text.starts_with('-') => 1,
            _ => break,
        };
        rest = rest.get(skip..).unwrap_or_default();
    }
    rest.iter().map(|word| word.text.as_str()).collect()
}

/// The folder that a `git` works in.
fn git_folder(command: &Simple) -> Option<String> {
    let arguments = &command.arguments;
    let at = arguments.iter().position(|word| word.text == "-C");
    match at.and_then(|at| arguments.get(at + 1)) {
        Some(to) => join(command.folder.as_deref(), &to.text),
        None => command.folder.clone(),
    }
}

fn git_patterns(command: &Simple, hit: &mut dyn FnMut(bool, &'static str)) {
    // what happens to a repository that was made to try something out is of no account
    if git_folder(command).is_some_and(|folder| paths::is_temporary(&folder)) {
        return;
    }
    let words = git_words(command);
    let Some((&name, rest)) = words.split_first() else { return };
    let options = || rest.iter().copied().take_while(|word| *word != "--").filter(|word| word.starts_with('-'));
    let letter = |letter: char| options().any(|word| !word.starts_with("--") && word[1..].contains(letter));
    let dry = options().any(|word| word == "--dry-run") || letter('n') && matches!(name, "push" | "clean");
    match name {
        "push" if !dry => {
            let operands: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-')).collect();
            let refs = operands.get(1..).unwrap_or_default();
            let forced = letter('f')
                || options().any(|word| {
                    matches!(word, "--force" | "--mirror")
                        || word.starts_with("--force-with-lease")
                        || word.starts_with("--force=")
                })
                || refs.iter().any(|spec| spec.starts_with('+'));
            hit(forced, ids::FORCE_PUSH);
            let main = refs.iter().any(|spec| {
                let to = spec.rsplit(':').next().unwrap_or_default().trim_start_matches('+');
                matches!(to.strip_prefix("refs/heads/").unwrap_or(to), "main" | "master" | "trunk")
            });
            hit(main && !forced, ids::PUSH_MAIN);
        }
        "filter-branch" | "filter-repo" => hit(true, ids::REWRITE_HISTORY),
        "reset" => hit(options().any(|word| word == "--hard"), ids::DISCARD),
        "checkout" | "restore" => {
            let all = rest.iter().any(|word| matches!(*word, "." | "./" | ":/" | "*"));
            let staged = name == "restore"
                && options().any(|word| matches!(word, "--staged" | "-S"))
                && !options().any(|word| matches!(word, "--worktree" | "-W"));
            hit(
                (all || name == "checkout" && (letter('f') || options().any(|word| word == "--force"))) && !staged,
                ids::DISCARD,
            );
        }
        "clean" => hit((letter('f') || options().any(|word| word == "--force")) && !dry && letter('d'), ids::DISCARD),
        _ => {}
    }
}

/// `--no-verify`, `commit -n`, hooks that lead nowhere.
fn hooks_off(command: &Simple) -> bool {
    let set = command
        .assigned
        .iter()
        .any(|(name, value)| name == "HUSKY" && value.text == "0" || name == "HUSKY_SKIP_HOOKS" && value.text == "1");
    if command.name != "git" {
        return false;
    }
    if git_folder(command).is_some_and(|folder| paths::is_temporary(&folder)) {
        return false;
    }
    let words = git_words(command);
    let Some((&name, rest)) = words.split_first() else { return false };
    let acts = matches!(name, "commit" | "push" | "merge" | "am" | "rebase" | "cherry-pick");
    let mut options = rest.iter().copied().take_while(|word| *word != "--");
    let none = command.arguments.iter().any(|word| {
        word.text.strip_prefix("core.hooksPath=").is_some_and(|path| matches!(path, "" | "/dev/null" | "/dev/null/"))
    });
    let mut value = false;
    let long = options.any(|word| {
        // the text of a message is no option
        if std::mem::take(&mut value) {
            return false;
        }
        value = matches!(word, "-m" | "-F" | "-C" | "-c" | "--message" | "--file" | "--author" | "--date" | "-t")
            || word.starts_with('-') && !word.starts_with("--") && word.ends_with(['m', 'F']);
        let short = name == "commit"
            && word.len() > 1
            && word.starts_with('-')
            && !word.starts_with("--")
            && word[1..].chars().take_while(|letter| !"mFCctuS".contains(*letter)).any(|letter| letter == 'n');
        word == "--no-verify" || short
    });
    acts && (long || none || set)
}

/// The files that a command writes to, as far as they are known.
fn written(command: &Simple) -> Vec<String> {
    let mut words: Vec<&Word> = command.writes.iter().collect();
    let named: Vec<&Word> = operands(command).collect();
    match &*command.name {
        "tee" | "touch" | "truncate" | "mkdir" | "chown" | "shred" | "unlink" => words.extend(named),
        "rm" | "rmdir" => words.extend(named),
        "chmod" => words.extend(named.into_iter().skip(1)),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" if named.len() > 1 => words.extend(named.last()),
        "ssh-keygen" => words.extend(behind(command, "-f")),
        "sed" | "perl" if has_letter(command, 'i') || has(command, &["--in-place"]) => {
            words.extend(named.into_iter().skip(1))
        }
        "dd" => {
            let outs = command.arguments.iter().filter_map(|word| word.text.strip_prefix("of="));
            let folder = command.folder.as_deref();
            return outs.filter_map(|to| join(folder, to)).collect();
        }
        name if name.starts_with("mkfs") => words.extend(named),
        _ => {}
    }
    words
        .into_iter()
        .filter_map(|word| join(command.folder.as_deref(), &word.text))
        .filter(|path| !path.starts_with("/dev/") || paths::is_disk(path))
        .collect()
}

fn behind<'c>(command: &'c Simple, option: &str) -> Option<&'c Word> {
    let arguments = &command.arguments;
    arguments.iter().position(|word| word.text == option).and_then(|at| arguments.get(at + 1))
}

/// The files whose content a command prints, sends or copies.
fn read(command: &Simple) -> Vec<String> {
    let mut words: Vec<&str> = command.reads.iter().map(|word| word.text.as_str()).collect();
    let named = || operands(command).map(|word| word.text.as_str());
    match &*command.name {
        "cat" | "less" | "more" | "head" | "tail" | "bat" | "base64" | "xxd" | "od" | "hexdump" | "strings" | "nl"
        | "tac" | "pbcopy" | "gpg" => words.extend(named()),
        "cp" | "scp" | "rsync" | "mv" => {
            let all: Vec<&str> = named().collect();
            words.extend(&all[..all.len().saturating_sub(1)]);
        }
        "grep" | "rg" | "awk" | "sed" | "jq" | "cut" => words.extend(named().skip(1)),
        "tar" | "zip" => words.extend(named().skip(1)),
        "curl" => {
            words.extend(command.arguments.iter().filter_map(|word| word.text.rsplit_once('@').map(|(_, file)| file)))
        }
        _ => {}
    }
    words.into_iter().filter_map(|word| join(command.folder.as_deref(), word)).collect()
}
