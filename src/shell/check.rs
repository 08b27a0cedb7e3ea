//! Whether a text may be handed to the parser. The parser recurses, and takes exponential time where much that opened
//! does not close: both are ruled out on the tokens, before it starts.

use super::script::Why;
use brush_parser::Token;

/// How deep compound commands may stand in each other.
const MAX_NESTING: usize = 25;
/// How many `case` may stand in each other, and how many parentheses may lack their end: every one doubles the time.
const MAX_CASES: usize = 5;
const MAX_OPEN: usize = 4;
/// How many substitutions a text may hold before it gets a stack of its own, and at all.
const FEW_SUBSTITUTIONS: usize = 60;
const MAX_SUBSTITUTIONS: usize = 4_000;
/// The stack for those, in bytes. Only what is used of it is ever allocated.
const STACK: usize = 256 << 20;

/// Runs the tokenizer on a stack that is large enough for the text.
pub(super) fn on_enough_stack<T: Send>(text: &str, run: impl FnOnce() -> T + Send) -> Result<T, Why> {
    let bytes = text.as_bytes();
    let opens = memchr::memchr3_iter(b'$', b'`', b'(', bytes)
        .filter(|&at| bytes[at] != b'$' || matches!(bytes.get(at + 1), Some(b'(' | b'{' | b'[')))
        .count();
    match opens {
        few if few <= FEW_SUBSTITUTIONS => Ok(run()),
        many if many <= MAX_SUBSTITUTIONS => std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
            thread.map_err(|_| Why::TooDeep)?.join().map_err(|_| Why::Broken)
        }),
        _ => Err(Why::TooDeep),
    }
}

/// Whether the parser can take these tokens.
pub(super) fn check(tokens: &[Token]) -> Result<(), Why> {
    let mut open: Vec<Open> = Vec::new();
    let (mut cases, mut coprocesses) = (0, 0);
    // whether a command could start here
    let mut command = true;
    for token in tokens {
        let next = match token {
            Token::Operator(text, _) => {
                match &**text {
                    "(" => open.push(Open::Parenthesis),
                    ")" => close(&mut open, Open::Parenthesis),
                    _ => {}
                }
                !text.contains(['<', '>'])
            }
            Token::Word(text, _) => {
                let keyword = Open::of(text);
                // nothing closes it but the end of its command: those in a row stand in each other
                coprocesses += usize::from(text == "coproc");
                match keyword {
                    // a brace may also follow the name of a function
                    Some(Keyword::Opens(kind)) if command || kind == Open::Brace => {
                        cases += usize::from(kind == Open::Case);
                        open.push(kind);
                    }
                    Some(Keyword::Closes(kind)) if command => {
                        if kind == Open::Case && open.last() == Some(&kind) {
                            cases -= 1;
                        }
                        close(&mut open, kind);
                    }
                    _ => {}
                }
                keyword.is_some() && (command || text == "{")
            }
        };
        command = next;
        if open.len() > MAX_NESTING || coprocesses > MAX_NESTING || cases > MAX_CASES {
            return Err(Why::TooDeep);
        }
    }
    let parentheses = open.iter().filter(|kind| **kind == Open::Parenthesis).count();
    if parentheses > MAX_OPEN { Err(Why::Broken) } else { Ok(()) }
}

fn close(open: &mut Vec<Open>, kind: Open) {
    if open.last() == Some(&kind) {
        open.pop();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Parenthesis,
    Brace,
    If,
    Loop,
    Case,
}

enum Keyword {
    Opens(Open),
    Closes(Open),
    Between,
}

impl Open {
    fn of(word: &str) -> Option<Keyword> {
        Some(match word {
            "{" => Keyword::Opens(Open::Brace),
            "}" => Keyword::Closes(Open::Brace),
            "if" => Keyword::Opens(Open::If),
            "fi" => Keyword::Closes(Open::If),
            "for" | "while" | "until" | "select" => Keyword::Opens(Open::Loop),
            "done" => Keyword::Closes(Open::Loop),
            "case" => Keyword::Opens(Open::Case),
            "esac" => Keyword::Closes(Open::Case),
            "then" | "elif" | "else" | "do" | "!" | "time" | "coproc" | "function" => Keyword::Between,
            _ => return None,
        })
    }
}
