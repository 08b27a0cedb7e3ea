//! The walk over a parsed script.

use super::runs::{self, Run};
use super::word::{Inner, Quoting, scan};
use super::{Assignment, MAX_COMMAND, Redirect, RedirectKind, Script, Simple, Unread, Via, Why, Word, check};
use brush_parser::ast::{
    self, AndOr, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
    CompoundList, ExtendedTestExpr, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, SeparatorOperator,
    SourceLocation,
};
use brush_parser::{ParserOptions, SourceSpan, parse_tokens, uncached_tokenize_str};
use std::ops::Range;

/// How deep a script may stand in another one.
const MAX_DEPTH: usize = 20;
/// How many compound commands and scripts may stand around a command.
const MAX_LEVELS: usize = 60;
/// How many simple commands are visited, and how many bytes are read, those of inner scripts once more.
const MAX_COMMANDS: usize = 500_000;
const MAX_READ: usize = 8 * MAX_COMMAND;
/// How much of what cannot be read is kept, in characters.
const PART: usize = 300;

pub(super) fn read(command: &str) -> Script {
    let mut walk = Walk::default();
    let whole = Origin { at: Some(0), span: 0..command.len() };
    walk.script(command, &whole, Via::Listed, 0..0, 0);
    walk.empty(command);
    walk.script
}

pub(super) fn read_words(words: &[String]) -> Script {
    if let [shell, options, script, ..] = words
        && runs::is_plain_shell(shell)
        && runs::takes_script(options)
    {
        return read(script);
    }
    let mut walk = Walk::default();
    let part = words.join(" ");
    if !words.is_empty() {
        let plain = words.iter().map(|word| Word::plain(word)).collect();
        let simple = simple(Vec::new(), plain, part.clone(), 0..part.len(), Via::Listed);
        walk.push(simple, 0);
    }
    walk.empty(&part);
    walk.script
}

fn simple(assignments: Vec<Assignment>, words: Vec<Word>, part: String, span: Range<usize>, via: Via) -> Simple {
    Simple { assignments, words, redirects: Vec::new(), part, span, via, fed_by: 0..0, background: false }
}

/// Where a text stands in the one that is read.
#[derive(Clone)]
struct Origin {
    /// Where its first byte stands, if it is written there as it is run.
    at: Option<usize>,
    /// What it stands in.
    span: Range<usize>,
}

/// One text on its walk.
struct Text<'t> {
    text: &'t str,
    base: &'t Origin,
    /// Where its characters start in bytes; nothing if all are one byte long.
    starts: Vec<usize>,
    depth: usize,
}

impl Text<'_> {
    fn byte(&self, char: usize) -> usize {
        if self.starts.is_empty() { char } else { self.starts.get(char).copied().unwrap_or(self.text.len()) }
    }

    /// The part of the text that a location names.
    fn local(&self, location: Option<SourceSpan>) -> Option<Range<usize>> {
        let location = location?;
        let (start, end) = (self.byte(location.start.index), self.byte(location.end.index));
        self.text.get(start..end).map(|_| start..end)
    }

    fn span(&self, local: Option<&Range<usize>>) -> Range<usize> {
        match (self.base.at, local) {
            (Some(at), Some(local)) => at + local.start..at + local.end,
            _ => self.base.span.clone(),
        }
    }
}

/// What a command inherits from where it stands.
#[derive(Clone)]
struct Around {
    via: Via,
    fed_by: Range<usize>,
    background: bool,
}

impl Around {
    fn inside(&self) -> Around {
        let via = if self.via == Via::Listed { Via::Compound } else { self.via };
        Around { via, ..self.clone() }
    }
}

#[derive(Default)]
struct Walk {
    script: Script,
    read: usize,
    /// How many compound commands and scripts stand around.
    level: usize,
}

impl Walk {
    fn unread(&mut self, why: Why, part: &str, span: Range<usize>) {
        if self.script.unread.len() < 1_000 {
            let part = crate::sanitize::clip(part, PART).into_owned();
            self.script.unread.push(Unread { why, part, span });
        }
    }

    /// A text without any command proves nothing.
    fn empty(&mut self, text: &str) {
        if self.script.commands.is_empty() && self.script.unread.is_empty() {
            self.unread(Why::Empty, text, 0..text.len());
        }
    }

    fn script(&mut self, text: &str, base: &Origin, via: Via, fed_by: Range<usize>, depth: usize) {
        self.read = self.read.saturating_add(text.len());
        if text.len() > MAX_COMMAND || self.read > MAX_READ || self.script.commands.len() > MAX_COMMANDS {
            return self.unread(Why::TooLong, text, base.span.clone());
        }
        if depth > MAX_DEPTH {
            return self.unread(Why::TooDeep, text, base.span.clone());
        }
        // the shell drops zero bytes or ends at one
        if text.contains('\0') {
            return self.unread(Why::Broken, text, base.span.clone());
        }
        let options = ParserOptions::default();
        let tokens = check::on_enough_stack(text, || uncached_tokenize_str(text, &options.tokenizer_options()));
        let tokens = match tokens {
            Ok(Ok(tokens)) => tokens,
            Ok(Err(_)) => return self.unread(Why::Broken, text, base.span.clone()),
            Err(why) => return self.unread(why, text, base.span.clone()),
        };
        if let Err(why) = check::check(&tokens) {
            return self.unread(why, text, base.span.clone());
        }
        let Ok(program) = parse_tokens(&tokens, &options) else {
            return self.unread(Why::Broken, text, base.span.clone());
        };
        let starts = if text.is_ascii() { Vec::new() } else { text.char_indices().map(|(at, _)| at).collect() };
        let text = Text { text, base, starts, depth };
        let around = Around { via, fed_by, background: false };
        for list in &program.complete_commands {
            self.list(list, &text, &around);
        }
    }

    fn list(&mut self, list: &CompoundList, text: &Text<'_>, around: &Around) {
        for ast::CompoundListItem(item, separator) in &list.0 {
            let background = around.background || matches!(separator, SeparatorOperator::Async);
            let around = Around { background, ..around.clone() };
            self.pipeline(&item.first, text, &around);
            for AndOr::And(pipeline) | AndOr::Or(pipeline) in &item.additional {
                self.pipeline(pipeline, text, &around);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, text: &Text<'_>, around: &Around) {
        let mut around = around.clone();
        for command in &pipeline.seq {
            let start = self.script.commands.len();
            self.command(command, text, &around);
            around.fed_by = start..self.script.commands.len();
        }
    }

    fn command(&mut self, command: &Command, text: &Text<'_>, around: &Around) {
        if self.level >= MAX_LEVELS {
            return self.unread(Why::TooDeep, "", text.span(None));
        }
        self.level += 1;
        match command {
            Command::Simple(command) => self.simple(command, text, around),
            Command::Compound(compound, redirects) => {
                self.redirects_of(redirects.as_ref(), text, around);
                self.compound(compound, text, &around.inside());
            }
            Command::Function(function) => {
                self.redirects_of(function.body.1.as_ref(), text, around);
                self.compound(&function.body.0, text, &around.inside());
            }
            Command::ExtendedTest(test, redirects) => {
                self.redirects_of(redirects.as_ref(), text, around);
                self.test(&test.expr, text, around);
            }
        }
        self.level -= 1;
    }

    fn compound(&mut self, compound: &CompoundCommand, text: &Text<'_>, around: &Around) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => {
                let local = text.local(Some(arithmetic.loc.clone()));
                let written = local.and_then(|local| text.text.get(local)).unwrap_or("").trim();
                self.body(&arithmetic.expr.value, text, around);
                // with anything between the parentheses it is a subshell in a subshell
                if !(written.starts_with("((") && written.ends_with("))")) {
                    self.script(&arithmetic.expr.value, &nowhere(text), around.via, 0..0, text.depth + 1);
                }
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.body(&expression.value, text, around);
                }
                self.list(&clause.body.list, text, around);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list, text, around),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list, text, around),
            CompoundCommand::ForClause(clause) => {
                self.set(&clause.variable_name, text, around);
                for value in clause.values.iter().flatten() {
                    self.word(value, text, around);
                }
                self.list(&clause.body.list, text, around);
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value, text, around);
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        // a pattern may hold any character
                        self.body(&pattern.value, text, around);
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list, text, around);
                    }
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition, text, around);
                self.list(&clause.then, text, around);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition, text, around);
                    }
                    self.list(&other.body, text, around);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0, text, around);
                self.list(&clause.1.list, text, around);
            }
            CompoundCommand::Coprocess(coprocess) => {
                self.command(&coprocess.body, text, &Around { background: true, ..around.clone() });
            }
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr, text: &Text<'_>, around: &Around) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left, text, around);
                self.test(right, text, around);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner, text, around),
            ExtendedTestExpr::UnaryTest(_, word) => self.operand(word, text, around),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.operand(left, text, around);
                self.operand(right, text, around);
            }
        }
    }

    /// An operand of a test: a pattern or a regular expression may hold any character.
    fn operand(&mut self, word: &ast::Word, text: &Text<'_>, around: &Around) {
        self.body(&word.value, text, around);
    }

    /// A variable that a loop sets: one that programs may read is an assignment like any other.
    fn set(&mut self, name: &str, text: &Text<'_>, around: &Around) {
        if !name.chars().any(|c| c.is_ascii_lowercase()) {
            let assignment = Assignment { name: name.to_owned(), value: None };
            let via = around.via;
            self.push(simple(vec![assignment], Vec::new(), name.to_owned(), text.span(None), via), text.depth);
        }
    }

    /// The redirects of a compound command.
    fn redirects_of(&mut self, redirects: Option<&ast::RedirectList>, text: &Text<'_>, around: &Around) {
        let Some(redirects) = redirects else { return };
        let mut whole =
            simple(Vec::new(), Vec::new(), redirects.to_string().trim().to_owned(), text.span(None), around.via);
        let mut inner = Pending::default();
        for redirect in &redirects.0 {
            whole.redirects.extend(redirected(redirect, &mut inner));
        }
        self.push(whole, text.depth);
        self.pending(inner, text, around);
    }

    fn simple(&mut self, command: &ast::SimpleCommand, text: &Text<'_>, around: &Around) {
        let local = text.local(command.location());
        let span = text.span(local.as_ref());
        let part = match local {
            Some(local) => text.text[local].to_owned(),
            None => command.to_string(),
        };
        let mut own = simple(Vec::new(), Vec::new(), part, span, around.via);
        own.fed_by = around.fed_by.clone();
        own.background = around.background;
        let mut inner = Pending::default();
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            if let Item::AssignmentWord(assignment, _) = item {
                own.assignments.push(assigned(assignment, &mut inner));
            } else {
                add_item(item, &mut own, &mut inner);
            }
        }
        if let Some(name) = &command.word_or_name {
            own.words.push(inner.word(name));
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            add_item(item, &mut own, &mut inner);
        }
        self.push(own, text.depth);
        self.pending(inner, text, around);
    }

    fn word(&mut self, word: &ast::Word, text: &Text<'_>, around: &Around) {
        let mut inner = Pending::default();
        let _ = inner.word(word);
        self.pending(inner, text, around);
    }

    fn body(&mut self, body: &str, text: &Text<'_>, around: &Around) {
        let mut inner = Pending::default();
        inner.body(body);
        self.pending(inner, text, around);
    }

    /// Visits what stands inside the words of a command.
    fn pending(&mut self, inner: Pending, text: &Text<'_>, around: &Around) {
        let via = Via::Substituted;
        for part in inner.broken {
            self.unread(Why::Broken, &part, text.span(None));
        }
        for (script, place) in inner.scripts {
            // a script that is written as it is run has a place of its own
            let at = place.map(|(word, inside)| text.byte(word) + inside);
            let at = at.filter(|&at| text.text.get(at..).is_some_and(|rest| rest.starts_with(&script)));
            let base = match (text.base.at, at) {
                (Some(base), Some(at)) => Origin { at: Some(base + at), span: base + at..base + at + script.len() },
                _ => nowhere(text),
            };
            self.script(&script, &base, via, around.fed_by.clone(), text.depth + 1);
        }
        for list in inner.lists {
            self.list(&list, text, &Around { via, ..around.clone() });
        }
    }

    /// Adds a command and what it runs.
    fn push(&mut self, command: Simple, depth: usize) {
        if self.script.commands.len() > MAX_COMMANDS {
            return self.unread(Why::TooLong, &command.part, command.span);
        }
        let place = self.script.commands.len();
        let base = Origin { at: None, span: command.span.clone() };
        let (fed_by, background) = (command.fed_by.clone(), command.background);
        let runs = runs::runs(&command);
        self.script.commands.push(command);
        for run in runs {
            if depth >= MAX_DEPTH {
                return self.unread(Why::TooDeep, "", base.span);
            }
            match run {
                Run::Command(assignments, words) => {
                    let part = words.iter().map(|word| &*word.raw).collect::<Vec<_>>().join(" ");
                    let mut inner = simple(assignments, words, part, base.span.clone(), Via::RunBy(place));
                    inner.fed_by = fed_by.clone();
                    inner.background = background;
                    self.push(inner, depth + 1);
                }
                Run::Script(script) => self.script(&script, &base, Via::RunBy(place), fed_by.clone(), depth + 1),
                Run::Unread(why, part) => self.unread(why, &part, base.span.clone()),
            }
        }
    }
}

fn add_item(item: &Item, own: &mut Simple, inner: &mut Pending) {
    match item {
        Item::IoRedirect(redirect) => own.redirects.extend(redirected(redirect, inner)),
        Item::Word(word) => own.words.push(inner.word(word)),
        Item::AssignmentWord(assignment, word) => match &assignment.value {
            AssignmentValue::Scalar(_) => own.words.push(inner.word(word)),
            AssignmentValue::Array(_) => {
                let _ = assigned(assignment, inner);
                own.words.push(Word::unknown(&word.value));
            }
        },
        Item::ProcessSubstitution(kind, subshell) => {
            let sign = if matches!(kind, ast::ProcessSubstitutionKind::Read) { '<' } else { '>' };
            inner.lists.push(subshell.list.clone());
            own.words.push(output(&format!("{sign}{subshell}")));
        }
    }
}

fn assigned(assignment: &ast::Assignment, inner: &mut Pending) -> Assignment {
    let name = match &assignment.name {
        AssignmentName::VariableName(name) => name.clone(),
        AssignmentName::ArrayElementName(name, index) => {
            inner.body(index);
            name.clone()
        }
    };
    let value = match &assignment.value {
        AssignmentValue::Scalar(word) => Some(inner.word(word)),
        AssignmentValue::Array(items) => {
            for (index, item) in items {
                index.iter().for_each(|index| drop(inner.body(&index.value)));
                inner.word(item);
            }
            None
        }
    };
    Assignment { name, value }
}

fn redirected(redirect: &IoRedirect, inner: &mut Pending) -> Option<Redirect> {
    let (kind, target) = match redirect {
        IoRedirect::File(_, kind, target) => {
            let kind = match kind {
                IoFileRedirectKind::Read => RedirectKind::Read,
                IoFileRedirectKind::Write | IoFileRedirectKind::Clobber => RedirectKind::Write,
                IoFileRedirectKind::Append => RedirectKind::Append,
                IoFileRedirectKind::ReadAndWrite => RedirectKind::ReadWrite,
                IoFileRedirectKind::DuplicateInput | IoFileRedirectKind::DuplicateOutput => RedirectKind::Descriptor,
            };
            match target {
                IoFileRedirectTarget::Filename(word) => (kind, inner.word(word)),
                IoFileRedirectTarget::Fd(number) => (RedirectKind::Descriptor, Word::plain(&number.to_string())),
                IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                    inner.lists.push(subshell.list.clone());
                    return None;
                }
                IoFileRedirectTarget::Duplicate(word) => {
                    let word = inner.word(word);
                    let descriptor = word.literal().is_some_and(|text| {
                        text == "-" || text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit())
                    });
                    // `>&name` writes a file
                    (if descriptor { RedirectKind::Descriptor } else { RedirectKind::Write }, word)
                }
            }
        }
        IoRedirect::HereDocument(_, document) => {
            let word = if document.requires_expansion {
                inner.body(&document.doc.value)
            } else {
                Word::plain(&document.doc.value)
            };
            (RedirectKind::Text, word)
        }
        IoRedirect::HereString(_, word) => (RedirectKind::Text, inner.word(word)),
        IoRedirect::OutputAndError(word, append) => {
            (if *append { RedirectKind::Append } else { RedirectKind::Write }, inner.word(word))
        }
    };
    Some(Redirect { kind, target })
}

fn nowhere(text: &Text<'_>) -> Origin {
    Origin { at: None, span: text.base.span.clone() }
}

fn output(raw: &str) -> Word {
    // the name of a pipe: one word, whatever it is
    Word { raw: raw.to_owned(), pieces: vec![super::Piece::Output { quoted: true }] }
}

/// What stands inside the words of a command and is visited behind it.
#[derive(Default)]
struct Pending {
    /// Scripts, and where those stand that are written as they are run: the character at which the word starts, and the
    /// byte in it.
    scripts: Vec<(String, Option<(usize, usize)>)>,
    broken: Vec<String>,
    lists: Vec<CompoundList>,
}

impl Pending {
    fn word(&mut self, word: &ast::Word) -> Word {
        self.scanned(&word.value, word.loc.as_ref().map(|loc| loc.start.index), Quoting::Word)
    }

    fn body(&mut self, raw: &str) -> Word {
        self.scanned(raw, None, Quoting::Body)
    }

    fn scanned(&mut self, raw: &str, start: Option<usize>, quoting: Quoting) -> Word {
        let scanned = scan(raw, quoting);
        if scanned.broken {
            self.broken.push(raw.to_owned());
        }
        for Inner { script, at } in scanned.inner {
            self.scripts.push((script.into_owned(), start.zip(at)));
        }
        scanned.word
    }
}
