//! Every simple command that a command line would run, with what is known of its words, its folder and its input: also in
//! substitutions, subshells, loops and functions, and seen through wrappers such as `sudo`, `env`, `sh -c`, `xargs` and
//! `find -exec`. Nothing is expanded but what the line itself says.

use brush_parser::ast::{
    AndOr, AndOrList, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, IoFileRedirectKind as Kind, IoFileRedirectTarget as Target, IoRedirect, Pipeline, RedirectList,
    SimpleCommand,
};
use brush_parser::word::{self, Parameter, ParameterExpr, TildeExpr, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};
use std::collections::HashMap;

/// Longer lines are not looked into.
const LONGEST: usize = 128 << 10;
/// How deep lines within lines are followed.
const DEEPEST: u8 = 16;
/// The most commands of one line.
const MOST: usize = 2_000;

/// Stands in a word for what is not known.
pub(super) const UNKNOWN: char = '\u{1}';

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Without its quotes; `~` for the home folder, [`UNKNOWN`] for what a variable or a substitution would give.
    pub(super) text: String,
    /// A substitution in it downloads something.
    pub(super) fetched: bool,
}

/// A simple command.
#[derive(Debug, Clone, Default)]
pub(super) struct Simple {
    pub(super) words: Vec<Word>,
    /// Files that redirections write to, and read from.
    pub(super) writes: Vec<Word>,
    pub(super) reads: Vec<Word>,
    /// `NAME=value` before it, or as the whole of it.
    pub(super) assigned: Vec<(String, Word)>,
    /// The folder it runs in; none: not known.
    pub(super) folder: Option<String>,
    /// What comes in through a pipe or a process substitution was downloaded.
    pub(super) fed: bool,
    /// Words come from a pipe as well.
    pub(super) more: bool,
}

impl Simple {
    /// The name of the program, without its folder.
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", |word| word.text.rsplit(['/', '\\']).next().unwrap_or_default())
    }

    /// The words behind the name.
    pub(super) fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(super) fn downloads(&self) -> bool {
        let local = self.arguments().iter().any(|word| is_local(&word.text));
        matches!(self.name(), "curl" | "wget" | "fetch" | "aria2c" | "iwr" | "irm" | "Invoke-WebRequest") && !local
    }
}

/// Whether an address is one of this machine.
pub(super) fn is_local(text: &str) -> bool {
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "host.docker.internal"]
        .iter()
        .any(|name| host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/'])))
}

/// The simple commands of a line, in order. What cannot be parsed is left out.
pub(super) fn commands(line: &str, folder: Option<&str>) -> Vec<Simple> {
    let mut walk = Walk { options: ParserOptions::default(), found: Vec::new() };
    let mut state = State { folder: folder.map(str::to_owned), ..State::default() };
    walk.line(line, &mut state, DEEPEST);
    walk.found
}

/// The simple commands of a command that is given as its words.
pub(super) fn of_words(words: Vec<String>, folder: Option<&str>) -> Vec<Simple> {
    let mut walk = Walk { options: ParserOptions::default(), found: Vec::new() };
    let mut state = State { folder: folder.map(str::to_owned), ..State::default() };
    let words = words.into_iter().map(|text| Word { text, fetched: false }).collect();
    walk.run(Simple { words, folder: state.folder.clone(), ..Simple::default() }, None, &mut state, DEEPEST);
    walk.found
}

/// What a line has set so far.
#[derive(Debug, Clone, Default)]
struct State {
    folder: Option<String>,
    variables: HashMap<String, String>,
    /// What comes through the pipe was downloaded.
    fed: bool,
    /// Something comes through a pipe.
    piped: bool,
}

struct Walk {
    options: ParserOptions,
    found: Vec<Simple>,
}

/// Whether a line nests deeper than a parser that calls itself should follow.
fn is_nested(line: &str) -> bool {
    fn deeper(mut steps: impl Iterator<Item = i32>) -> bool {
        let mut open = 0_i32;
        steps.any(|step| {
            open = (open + step).max(0);
            open > 40
        })
    }
    let marks = line.bytes().map(|byte| match byte {
        b'(' | b'{' => 1,
        b')' | b'}' => -1,
        _ => 0,
    });
    let words = line.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(')).map(|word| match word {
        "if" | "while" | "until" | "for" | "case" | "select" | "!" | "time" | "coproc" | "function" => 1,
        "fi" | "done" | "esac" => -1,
        _ => 0,
    });
    deeper(marks) || deeper(words) || line.bytes().filter(|byte| *byte == b'`').count() > 200
}

impl Walk {
    fn line(&mut self, line: &str, state: &mut State, depth: u8) {
        if depth == 0 || line.len() > LONGEST || is_nested(line) {
            return;
        }
        let mut parser = Parser::new(line.as_bytes(), &self.options);
        match parser.parse_program() {
            Ok(program) => program.complete_commands.iter().for_each(|list| self.list(list, state, depth)),
            // one line of another shell's grammar does not hide the others; a here-document would be taken for lines
            Err(_) if line.contains('\n') && !line.contains("<<") => {
                line.lines().for_each(|line| self.line(line, state, depth - 1));
            }
            Err(_) => {}
        }
    }

    fn list(&mut self, list: &CompoundList, state: &mut State, depth: u8) {
        for item in &list.0 {
            self.and_or(&item.0, state, depth);
        }
    }

    fn and_or(&mut self, list: &AndOrList, state: &mut State, depth: u8) {
        self.pipeline(&list.first, state, depth);
        for next in &list.additional {
            match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline, state, depth),
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, state: &mut State, depth: u8) {
        if let [command] = &pipeline.seq[..] {
            return self.command(command, state, depth);
        }
        // each part has a shell of its own
        let (mut fed, mut piped) = (state.fed, state.piped);
        for command in &pipeline.seq {
            let mut own = State { fed, piped, ..state.clone() };
            let from = self.found.len();
            self.command(command, &mut own, depth);
            fed |= self.found[from..].iter().any(Simple::downloads);
            piped = true;
        }
    }

    fn command(&mut self, command: &Command, state: &mut State, depth: u8) {
        if self.found.len() >= MOST {
            return;
        }
        match command {
            Command::Simple(simple) => self.simple(simple, state, depth),
            Command::Compound(compound, redirects) => {
                let from = self.found.len();
                self.compound(compound, state, depth);
                self.redirects(redirects.as_ref(), from, state, depth);
            }
            Command::Function(function) => self.compound(&function.body.0, &mut state.clone(), depth),
            Command::ExtendedTest(..) => {}
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>, _from: usize, state: &mut State, depth: u8) {
        let mut own = Simple { folder: state.folder.clone(), ..Simple::default() };
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut own, state, depth);
        }
        if !own.writes.is_empty() {
            self.found.push(own);
        }
    }

    fn compound(&mut self, compound: &CompoundCommand, state: &mut State, depth: u8) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, state, depth),
            CompoundCommand::Subshell(shell) => self.list(&shell.list, &mut state.clone(), depth),
            CompoundCommand::ForClause(clause) => {
                // the first value stands for all, if there is but one
                let values: Vec<Word> =
                    clause.values.iter().flatten().map(|value| self.word(&value.value, state, depth)).collect();
                match &values[..] {
                    [one] if !one.text.contains(UNKNOWN) => {
                        state.variables.insert(clause.variable_name.clone(), one.text.clone());
                    }
                    _ => drop(state.variables.remove(&clause.variable_name)),
                }
                self.list(&clause.body.list, state, depth);
            }
            CompoundCommand::ArithmeticForClause(clause) => self.list(&clause.body.list, state, depth),
            CompoundCommand::CaseClause(clause) => {
                for case in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(case, &mut state.clone(), depth);
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition, state, depth);
                self.list(&clause.then, &mut state.clone(), depth);
                for other in clause.elses.iter().flatten() {
                    let mut own = state.clone();
                    other.condition.iter().for_each(|condition| self.list(condition, &mut own, depth));
                    self.list(&other.body, &mut own, depth);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0, state, depth);
                self.list(&clause.1.list, state, depth);
            }
            CompoundCommand::Coprocess(clause) => self.command(&clause.body, &mut state.clone(), depth),
            CompoundCommand::Arithmetic(_) => {}
        }
    }

    fn simple(&mut self, command: &SimpleCommand, state: &mut State, depth: u8) {
        let mut own = Simple { folder: state.folder.clone(), fed: state.fed, more: state.piped, ..Simple::default() };
        let mut script = None;
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::AssignmentWord(assignment, _) => {
                    let name = match &assignment.name {
                        AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _) => name.clone(),
                    };
                    let value = match &assignment.value {
                        AssignmentValue::Scalar(word) => self.word(&word.value, state, depth),
                        AssignmentValue::Array(_) => Word { text: UNKNOWN.to_string(), fetched: false },
                    };
                    own.assigned.push((name, value));
                }
                Item::IoRedirect(redirect) => {
                    script = self.redirect(redirect, &mut own, state, depth).or(script);
                }
                Item::Word(_) | Item::ProcessSubstitution(..) => {}
            }
        }
        if let Some(name) = &command.word_or_name {
            own.words.push(self.word(&name.value, state, depth));
        } else {
            for (name, value) in &own.assigned {
                state.variables.insert(name.clone(), value.text.clone());
            }
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) => own.words.push(self.word(&word.value, state, depth)),
                Item::AssignmentWord(_, word) => own.words.push(self.word(&word.value, state, depth)),
                Item::IoRedirect(redirect) => {
                    script = self.redirect(redirect, &mut own, state, depth).or(script);
                }
                Item::ProcessSubstitution(_, shell) => {
                    let from = self.found.len();
                    self.list(&shell.list, &mut state.clone(), depth);
                    let fetched = self.found[from..].iter().any(Simple::downloads);
                    own.words.push(Word { text: UNKNOWN.to_string(), fetched });
                }
            }
        }
        self.run(own, script, state, depth);
    }

    /// Returns the text of a here-document or here-string.
    fn redirect(&mut self, redirect: &IoRedirect, own: &mut Simple, state: &State, depth: u8) -> Option<String> {
        match redirect {
            IoRedirect::File(_, kind, Target::Filename(to)) => {
                let to = self.word(&to.value, state, depth);
                match kind {
                    Kind::Write | Kind::Append | Kind::Clobber | Kind::ReadAndWrite => own.writes.push(to),
                    Kind::Read => own.reads.push(to),
                    Kind::DuplicateInput | Kind::DuplicateOutput => {}
                }
                None
            }
            IoRedirect::File(_, _, Target::ProcessSubstitution(_, shell)) => {
                let from = self.found.len();
                self.list(&shell.list, &mut state.clone(), depth);
                own.fed |= self.found[from..].iter().any(Simple::downloads);
                None
            }
            IoRedirect::File(_, _, Target::Fd(_) | Target::Duplicate(_)) => None,
            IoRedirect::OutputAndError(to, _) => {
                own.writes.push(self.word(&to.value, state, depth));
                None
            }
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.substitutions(&document.doc.value, state, depth);
                }
                Some(document.doc.value.clone())
            }
            IoRedirect::HereString(_, word) => {
                let word = self.word(&word.value, state, depth);
                own.fed |= word.fetched;
                Some(word.text)
            }
        }
    }

    /// The commands that stand in substitutions of a text, which is otherwise only text.
    fn substitutions(&mut self, text: &str, state: &State, depth: u8) {
        let quoted = format!("\"{}\"", text.replace('"', "\\\""));
        if text.contains("$(") || text.contains('`') {
            self.word(&quoted, state, depth);
        }
    }

    fn word(&mut self, raw: &str, state: &State, depth: u8) -> Word {
        let mut word = Word::default();
        if !raw.contains(['\'', '"', '\\', '$', '`', '~', '{']) {
            word.text.push_str(raw);
            return word;
        }
        match word::parse(raw, &self.options) {
            Ok(pieces) => pieces.iter().for_each(|piece| self.piece(piece, &mut word, state, depth)),
            Err(_) => word.text.push(UNKNOWN),
        }
        word
    }

    fn piece(&mut self, piece: &WordPieceWithSource, word: &mut Word, state: &State, depth: u8) {
        match &piece.piece {
            WordPiece::Text(part) | WordPiece::SingleQuotedText(part) | WordPiece::AnsiCQuotedText(part) => {
                word.text.push_str(part);
            }
            WordPiece::EscapeSequence(part) => word.text.push_str(part.strip_prefix('\\').unwrap_or(part)),
            WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                pieces.iter().for_each(|piece| self.piece(piece, word, state, depth));
            }
            WordPiece::TildeExpansion(TildeExpr::Home) => word.text.push('~'),
            WordPiece::TildeExpansion(TildeExpr::WorkingDir) => word.text.push('.'),
            WordPiece::ParameterExpansion(ParameterExpr::Parameter {
                parameter: Parameter::Named(name),
                indirect: false,
            }) => match state.variables.get(name) {
                Some(value) => word.text.push_str(value),
                None => match name.as_str() {
                    "HOME" => word.text.push('~'),
                    "PWD" => word.text.push('.'),
                    "TMPDIR" | "TEMP" | "TMP" => word.text.push_str("/tmp"),
                    _ => word.text.push(UNKNOWN),
                },
            },
            WordPiece::CommandSubstitution(line) | WordPiece::BackquotedCommandSubstitution(line) => {
                let from = self.found.len();
                let mut own = State { fed: false, piped: false, ..state.clone() };
                self.line(line, &mut own, depth - 1);
                word.fetched |= self.found[from..].iter().any(Simple::downloads);
                word.text.push(UNKNOWN);
            }
            WordPiece::TildeExpansion(_) | WordPiece::ParameterExpansion(_) | WordPiece::ArithmeticExpression(_) => {
                word.text.push(UNKNOWN);
            }
        }
    }

    /// Takes in a command and what it runs in turn. `script` is what its standard input says, if the line says that.
    fn run(&mut self, mut command: Simple, script: Option<String>, state: &mut State, depth: u8) {
        if depth == 0 || self.found.len() >= MOST {
            return;
        }
        match command.name() {
            "cd" | "pushd" => {
                let to = command.arguments().iter().find(|word| !word.text.starts_with('-'));
                state.folder = to.and_then(|to| super::paths::join(command.folder.as_deref(), &to.text));
            }
            "popd" => state.folder = None,
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                for word in command.words.get(1..).unwrap_or_default() {
                    if let Some((name, value)) = word.text.split_once('=') {
                        state.variables.insert(name.to_owned(), value.to_owned());
                        command
                            .assigned
                            .push((name.to_owned(), Word { text: value.to_owned(), fetched: word.fetched }));
                    }
                }
            }
            "unset" => command.words.iter().for_each(|word| drop(state.variables.remove(&word.text))),
            _ => {}
        }
        let inner = unwrapped(&command);
        match (inner, script) {
            (Inner::Words(words, more), _) => {
                let inner = Simple { words, more: command.more && more || command.more, ..command.clone() };
                self.found.push(Simple { words: Vec::new(), writes: Vec::new(), reads: Vec::new(), ..command });
                self.run(inner, None, state, depth - 1);
            }
            (Inner::Line(line), _) => {
                self.found.push(command);
                self.line(&line, &mut state.clone(), depth - 1);
            }
            (Inner::Input, Some(script)) => {
                self.found.push(command);
                self.line(&script, &mut state.clone(), depth - 1);
            }
            (Inner::Each(lists), _) => {
                let base = Simple { words: Vec::new(), ..command.clone() };
                self.found.push(command);
                for words in lists {
                    self.run(Simple { words, more: true, ..base.clone() }, None, state, depth - 1);
                }
            }
            (Inner::Input | Inner::None, _) => self.found.push(command),
        }
    }
}

/// What a command runs in turn.
enum Inner {
    None,
    /// Another command; and whether words are added to it.
    Words(Vec<Word>, bool),
    /// Several others.
    Each(Vec<Vec<Word>>),
    /// A line of the shell's.
    Line(String),
    /// What comes in.
    Input,
}

/// The shells, which take a line or read one.
pub(super) const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "busybox"];

fn unwrapped(command: &Simple) -> Inner {
    let arguments = command.arguments();
    let name = command.name();
    // options of the wrapper, and those of them that take a word more
    let behind = |with_word: &[&str], skipped: usize| {
        let mut at = 0;
        while let Some(word) = arguments.get(at).map(|word| word.text.as_str()) {
            if word == "--" {
                at += 1;
                break;
            }
            if !word.starts_with('-') || word == "-" {
                break;
            }
            at += if with_word.contains(&word) { 2 } else { 1 };
        }
        arguments.get(at + skipped..).unwrap_or_default().to_vec()
    };
    let words = |words: Vec<Word>| if words.is_empty() { Inner::None } else { Inner::Words(words, false) };
    match name {
        "sudo" | "doas" => words(strip_assignments(behind(&["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U"], 0))),
        "env" => words(strip_assignments(behind(&["-u", "--unset", "-C", "--chdir"], 0))),
        "nohup" | "setsid" | "command" | "exec" | "builtin" | "time" | "caffeinate" | "noglob" | "nocorrect" => {
            words(behind(&["-a"], 0))
        }
        "nice" | "ionice" | "stdbuf" | "chrt" => words(behind(&["-n", "-c", "-i", "-o", "-e", "-p"], 0)),
        "timeout" | "gtimeout" => words(behind(&["-s", "--signal", "-k", "--kill-after"], 1)),
        "watch" => match behind(&["-n", "--interval"], 0) {
            line if line.len() == 1 => Inner::Line(line[0].text.clone()),
            line => words(line),
        },
        "xargs" | "parallel" => {
            let with_word =
                ["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E", "-R", "-S", "--max-args", "--max-procs", "-j"];
            let inner = behind(&with_word, 0);
            if inner.is_empty() { Inner::None } else { Inner::Words(inner, true) }
        }
        "find" | "fd" => each_executed(arguments),
        "eval" => Inner::Line(arguments.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")),
        shell if SHELLS.contains(&shell) => {
            let mut at = 0;
            while let Some(word) = arguments.get(at).map(|word| word.text.as_str()) {
                if word.starts_with('-') && !word.starts_with("--") && word.contains('c') {
                    return arguments.get(at + 1).map_or(Inner::None, |line| Inner::Line(line.text.clone()));
                }
                if word == "-s" || word == "-" {
                    return Inner::Input;
                }
                if !word.starts_with('-') {
                    // a script's file, or a shell behind `busybox`
                    return if shell == "busybox" { Inner::Words(arguments.to_vec(), false) } else { Inner::None };
                }
                at += if matches!(word, "-o" | "-O" | "--rcfile" | "--init-file") { 2 } else { 1 };
            }
            Inner::Input
        }
        _ => Inner::None,
    }
}

fn strip_assignments(words: Vec<Word>) -> Vec<Word> {
    let is_name = |text: &str| {
        text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    words.into_iter().skip_while(|word| is_name(&word.text)).collect()
}

/// The commands of `find -exec … ;`: the files that it goes through stand for `{}`.
fn each_executed(arguments: &[Word]) -> Inner {
    let starts: Vec<Word> =
        arguments.iter().take_while(|word| !word.text.starts_with(['-', '(', '!'])).cloned().collect();
    let mut lists = Vec::new();
    let mut rest = arguments;
    while let Some(at) =
        rest.iter().position(|word| matches!(&*word.text, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X"))
    {
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| matches!(&*word.text, ";" | "+")).unwrap_or(rest.len());
        let mut words = Vec::new();
        for word in &rest[..end] {
            if word.text == "{}" { words.extend(starts.iter().cloned()) } else { words.push(word.clone()) }
        }
        if !words.is_empty() {
            lists.push(words);
        }
        rest = &rest[end..];
    }
    if lists.is_empty() { Inner::None } else { Inner::Each(lists) }
}
