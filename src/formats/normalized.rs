//! What a reader hands on: calls, results and what stands between them, in canonical form.

use super::effect::Profile;
use super::event::{Effect, Flags, Location, Mark, Noted};
use super::facts::{CallFacts, ResultFacts};
use super::usage::Usage;
use super::warnings::{Class, Code};
use crate::call::{Key, Print};
use crate::engine::Ruleset;
use std::collections::HashMap;

/// What an import keeps and how it reads.
#[derive(Debug, Clone)]
pub(crate) struct NormalizeOptions {
    /// The key of the run's prints.
    pub(crate) key: Key,
    /// Keep the answers, not only their prints.
    pub(crate) bodies: bool,
    /// Read answers that are JSON texts as what they say.
    pub(crate) parse_json_results: bool,
    /// The agents of files whose records do not name them.
    pub(crate) threads: HashMap<u32, String>,
    /// What the calls are judged by, where they are.
    pub(crate) ruleset: Option<Ruleset>,
}

/// A call, ready for its record.
#[derive(Debug)]
pub(crate) struct NormalizedCall {
    pub(crate) at: Location,
    pub(crate) id: Option<Box<str>>,
    pub(crate) thread: Option<Box<str>>,
    pub(crate) time: Option<i64>,
    pub(crate) turn: Option<Box<str>>,
    /// The name as a JSON string in canonical form.
    pub(crate) tool: Box<[u8]>,
    /// In canonical form.
    pub(crate) args: Vec<u8>,
    /// The print of tool and arguments as they are.
    pub(crate) print: Print,
    pub(crate) effect: Effect,
    pub(crate) flags: Flags,
    /// The tools of the agent that made it.
    pub(crate) profile: &'static Profile,
    pub(crate) cwd: Option<Box<str>>,
    /// What makes a difference, where the call is judged.
    pub(crate) facts: Option<CallFacts>,
}

/// ResultOwner answer it is, without the borrow.
#[derive(Debug)]
pub(crate) enum ResultOwner {
    Id(Box<str>),
    Call(Noted),
    Tool(Box<[u8]>),
}

/// An answer, ready for its record.
#[derive(Debug)]
pub(crate) struct NormalizedResult {
    pub(crate) at: Location,
    pub(crate) to: ResultOwner,
    /// The response in canonical form; empty where only prints are wanted.
    pub(crate) response: Vec<u8>,
    /// The print of the response.
    pub(crate) print: Print,
    /// What makes a difference, where the call is judged.
    pub(crate) facts: Option<ResultFacts>,
    pub(crate) mark: Option<Mark>,
    pub(crate) failed: bool,
    pub(crate) no_effect: bool,
    pub(crate) secondary: bool,
    pub(crate) last_wins: bool,
    pub(crate) optional: bool,
    pub(crate) redacted: bool,
    pub(crate) turns: Vec<Box<str>>,
    /// When it came, in nanoseconds since 1970.
    pub(crate) time: Option<i64>,
}

/// What an importer hands on, in the order of the file.
#[derive(Debug)]
pub(crate) enum Event {
    Call(Box<NormalizedCall>),
    ToolResult(Box<NormalizedResult>),
    /// From here on ids begin anew.
    Scope,
    /// A conversation, by the prints of its beginnings: up to each of its messages. One that begins with all of another
    /// goes on with that one.
    Conversation(Vec<u64>),
    /// The message of the conversation with this number follows.
    Message(usize),
    /// A new turn of the model: answers that follow belong to its calls first.
    Window,
    /// The scope of this name, again or for the first time.
    ScopeNamed(Box<str>),
    /// A further name of the scope.
    ScopeAlias(Box<str>),
    /// An event of a capture, by its capture and number there, with the print of its text.
    Captured {
        capture: Box<str>,
        sequence: u64,
        print: Print,
        at: Location,
    },
    /// A capture has so many events.
    CaptureEnds {
        capture: Box<str>,
        events: u64,
        at: Location,
    },
    /// A request of this name, and those that it follows.
    Follows {
        own: Box<str>,
        parents: Vec<Box<str>>,
        at: Location,
    },
    /// The reply to the request of this name.
    Replied(Box<str>),
    /// The order of the calls is that of their times, not that of the file.
    ByTime,
    /// What is said elsewhere of a call with this id.
    MarkId(Box<str>, Mark),
    /// A record of an agent without a name: what identifies the record, and the one it follows. Calls behind it whose
    /// thread has no name are that agent's.
    Link {
        own: Box<str>,
        parent: Option<Box<str>>,
    },
    /// A person's words, and the record they follow: a second one behind the same record gives up a branch.
    Prompt {
        own: Box<str>,
        parent: Box<str>,
        at: Location,
    },
    /// What the tool itself says about what it does.
    Hint(Box<[u8]>, Effect),
    /// A call started an agent, whose records have this thread.
    Started {
        call: Box<str>,
        thread: Box<str>,
    },
    /// The agent with this thread is one of this name or kind.
    Kind {
        thread: Box<str>,
        kind: Box<str>,
    },
    /// The session that records belong to, and what it means if there is another one.
    Session(Box<str>, Location, Code),
    /// What is known of a call in the same value that has no answer.
    Marked(Noted, Mark),
    /// Calls and answers that the format itself calls copies.
    Copies {
        calls: u64,
        results: u64,
        at: Location,
    },
    /// Something that gives an agent a reason to ask again; of the agent with this thread, else of the main one.
    Apart(Apart, Option<Box<str>>),
    /// Something to say.
    Note(Code, Class, Location, Box<str>),
    /// What the agent with this thread, else the main one, used of a model. Words with one key are about one request.
    Usage(Usage, Option<Box<str>>, Option<Box<str>>),
}

/// What stands between two calls of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Apart {
    /// The context was compacted or reset.
    Compaction,
    /// A person wrote.
    Person,
}
