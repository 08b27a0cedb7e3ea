//! Reading a session, and what it has.

use crate::audit::{self, Failure, Input, Source};
use crate::call::{Effect, Print, ResultState};
use crate::engine::Ruleset;
use crate::finding::SourceFile;
use crate::formats::{self, Handle, Opening, Recorded, Recording, Store, Usage, Warning, each_record, plain_answer};
use crate::rules::NON_DETERMINISM;
use crate::tools::{ToolSet, Traits};
use crate::transcript::{Layout, MAX_RECORDS};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

/// What is assumed of tools where recordings are not judged: the same as where they are, without any rule that looks into
/// arguments or results. Only sessions that were read with the same one can be compared.
#[must_use]
pub fn ruleset(traits: Traits, mutators: ToolSet) -> Ruleset {
    Ruleset::audit(mutators, None).with_traits(traits).only(|rule| rule.id == NON_DETERMINISM.id)
}

/// A recording that was read.
#[derive(Debug)]
pub struct Session {
    /// Its first file.
    pub file: SourceFile,
    /// `transcript`, `sealed`, or the id of the format. Whether a seal holds was not asked.
    pub format: &'static str,
    /// Its files, by the numbers that calls have for them.
    pub files: Vec<SourceFile>,
    /// Agents within conversations, by the numbers that calls have for them.
    pub contexts: Vec<Context>,
    /// Names of tools, by the numbers that calls have for them.
    pub tools: Vec<String>,
    /// The calls, in the order of the recording.
    pub calls: Vec<SessionCall>,
    /// What models used, by context. An agent that made no call has one too.
    pub used: Vec<(u32, Usage)>,
    /// What had to be said of the import.
    pub warnings: Vec<Warning>,
    /// What was lost of it and was not allowed to be.
    pub loss: Option<Failure>,
    store: Store,
    /// Further answers, by call.
    more: HashMap<u32, Vec<Vec<u8>>>,
}

/// One agent in one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Context {
    /// The agent; empty: the main one.
    pub agent: String,
    /// The conversation, connection or run, counted from 0.
    pub conversation: u32,
}

/// One call. It has no texts of its own: [`Session::arguments`] and [`Session::answer`] have them.
#[derive(Debug, Clone)]
pub struct SessionCall {
    /// The file it stands in, a place in [`Session::files`].
    pub file: u32,
    /// The physical line, from 1; 0: the file as a whole.
    pub line: u64,
    /// The column in characters, from 1; 0: the whole line.
    pub column: u32,
    /// Who made it, a place in [`Session::contexts`].
    pub context: u32,
    /// How often its agent's context was compacted or reset before it.
    pub epoch: u32,
    /// Stands for the turn of the model it was made in; 0: alone.
    pub turn: u64,
    /// A place in [`Session::tools`].
    pub tool: u32,
    /// What it does to the state that other calls see.
    pub effect: Effect,
    /// It asks how far something is.
    pub poll: bool,
    /// What keeps the answer from being the tool's whole answer.
    pub state: Option<ResultState>,
    /// The tool said that the call failed.
    pub failed: bool,
    /// There is an answer, or a part of one.
    pub answered: bool,
    /// When it was made, in nanoseconds since 1970.
    pub started: Option<i64>,
    /// How long its answer took, in nanoseconds, where both times were recorded. What passed while a person was asked for
    /// permission is in it.
    pub duration: Option<u64>,
    /// Whether what it was called with is known; else it is like no other call.
    pub known: bool,
    /// Stands for the tool and those arguments that make a difference.
    pub same: Print,
    /// Stands for what the answer says; none: it is not known as a whole.
    pub said: Option<Print>,
    /// The same agent had made the identical call before.
    pub repeats: bool,
    arguments: Handle,
    answer: Handle,
}

/// Reads a recording with up to `threads` threads. `None`: it was found in a folder rather than named, and is none.
///
/// # Errors
/// A file that cannot be read. What was lost of a readable one is [`Session::loss`], which the caller must not pass over.
pub fn read(
    input: &Input,
    options: &formats::Options,
    ruleset: &Ruleset,
    threads: usize,
) -> Result<Option<Session>, Failure> {
    read_source(input, audit::open(input)?, options, ruleset, threads)
}

/// The same of an input whose content is `source`, such as bytes in memory.
///
/// # Errors
/// Those of [`read`].
pub fn read_source(
    input: &Input,
    source: Source,
    options: &formats::Options,
    ruleset: &Ruleset,
    threads: usize,
) -> Result<Option<Session>, Failure> {
    let budget = options.budget.for_input(&Arc::default());
    let options = formats::Options { budget, ..options.clone() };
    let io = |error| Failure::from(formats::ImportError::Io(error));
    let mut maker = Maker::new(input);
    match audit::opened(input, source, &options)? {
        Opening::Native(source) => {
            let (layout, source) = audit::layout_of(source).map_err(io)?;
            maker.session.format = if layout == Layout::Sealed { "sealed" } else { "transcript" };
            each_record(source, layout, ruleset, |call| maker.take(&call))?.map_err(io)?;
        }
        Opening::Foreign(foreign) => {
            maker.session.format = foreign.importer.id;
            let recording = Recording::to_write(&options);
            let mut imported = audit::read_all(input, foreign, recording, &options, threads)?;
            imported.each_call(ruleset, |call| maker.take(&call)).map_err(io)?;
            for ((agent, conversation), usage) in imported.used() {
                let context = maker.context(&agent, conversation);
                maker.session.used.push((context, usage));
            }
            maker.session.loss = audit::lost(&imported, true);
            maker.session.warnings.clone_from(&imported.warnings);
            maker.session.files = imported.source_files();
            maker.session.store = imported.into_store();
        }
        // an empty file is a transcript of no call
        Opening::Unknown(unknown) => drop(audit::no_recording(unknown, threads)?),
        Opening::Other(_) => return Ok(None),
    }
    Ok(Some(maker.session))
}

impl Session {
    /// What a call was called with, as JSON text, in place of what `out` held. Nothing, if there is no such call.
    ///
    /// # Errors
    /// A temporary file that cannot be read.
    pub fn arguments(&mut self, call: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let handle = self.calls.get(call).map(|call| call.arguments).unwrap_or_default();
        self.store.get(handle, out)
    }

    /// What was answered, as JSON text, in place of what `out` held; nothing, if there was no answer.
    ///
    /// # Errors
    /// A temporary file that cannot be read.
    pub fn answer(&mut self, call: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let handle = self.calls.get(call).map(|call| call.answer).unwrap_or_default();
        self.store.get(handle, out)
    }

    /// What was answered, as JSON text, without what its format wraps around it: text as a string, and JSON that stands as
    /// text as JSON. Two answers can be compared so, whatever they were recorded in.
    ///
    /// # Errors
    /// A temporary file that cannot be read.
    pub fn answer_as_said(&mut self, call: usize) -> io::Result<Vec<u8>> {
        let mut answer = Vec::new();
        self.answer(call, &mut answer)?;
        Ok(if answer.is_empty() { answer } else { plain_answer(&answer) })
    }

    /// Further answers to a call, as JSON texts.
    #[must_use]
    pub fn further_answers(&self, call: usize) -> &[Vec<u8>] {
        u32::try_from(call).ok().and_then(|call| self.more.get(&call)).map_or(&[], Vec::as_slice)
    }

    /// The name of the tool that was called.
    #[must_use]
    pub fn tool(&self, call: &SessionCall) -> &str {
        self.tools.get(call.tool as usize).map_or("", String::as_str)
    }

    /// Who called.
    #[must_use]
    pub fn context(&self, call: &SessionCall) -> Option<&Context> {
        self.contexts.get(call.context as usize)
    }
}

impl Context {
    /// The agent's name for people.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        if self.agent.is_empty() { "main" } else { &self.agent }
    }
}

impl SessionCall {
    /// Whether it ran, as far as the recording tells.
    #[must_use]
    pub fn ran(&self) -> bool {
        !matches!(self.state, Some(ResultState::NotExecuted(_)))
    }
}

/// A session in the making.
struct Maker {
    session: Session,
    contexts: HashMap<Context, u32>,
    tools: HashMap<String, u32>,
    /// Calls so far, by context.
    made: HashSet<(u32, Print)>,
}

impl Maker {
    fn new(input: &Input) -> Maker {
        let file = input.source_file();
        Maker {
            session: Session {
                files: vec![file.clone()],
                file,
                format: "transcript",
                contexts: Vec::new(),
                tools: Vec::new(),
                calls: Vec::new(),
                used: Vec::new(),
                warnings: Vec::new(),
                loss: None,
                store: Store::default(),
                more: HashMap::new(),
            },
            contexts: HashMap::new(),
            tools: HashMap::new(),
            made: HashSet::new(),
        }
    }

    fn context(&mut self, agent: &str, conversation: u32) -> u32 {
        let context = Context { agent: agent.to_owned(), conversation };
        if let Some(known) = self.contexts.get(&context) {
            return *known;
        }
        let number = self.session.contexts.len() as u32;
        self.session.contexts.push(context.clone());
        self.contexts.insert(context, number);
        number
    }

    fn tool(&mut self, name: &str) -> u32 {
        if let Some(known) = self.tools.get(name) {
            return *known;
        }
        let number = self.session.tools.len() as u32;
        self.session.tools.push(name.to_owned());
        self.tools.insert(name.to_owned(), number);
        number
    }

    fn take(&mut self, call: &Recorded<'_>) -> io::Result<()> {
        let index = self.session.calls.len() as u64;
        if index >= MAX_RECORDS {
            return Err(io::Error::other(format!("more than {MAX_RECORDS} calls in one recording")));
        }
        let context = self.context(call.agent, call.conversation);
        let tool = self.tool(call.tool);
        let repeats = call.known && !self.made.insert((context, call.same));
        let (arguments, answer) = match call.kept {
            Some(kept) => kept,
            None => {
                let store = &mut self.session.store;
                (store.put(call.args)?, store.put(call.response.unwrap_or_default())?)
            }
        };
        if !call.more.is_empty() {
            self.session.more.insert(index as u32, call.more.to_vec());
        }
        let took = call.time.zip(call.answered).and_then(|(from, to)| to.checked_sub(from));
        self.session.calls.push(SessionCall {
            file: call.at.file,
            line: call.at.line,
            column: call.at.column,
            context,
            epoch: call.epoch,
            turn: call.turn,
            tool,
            effect: call.effect,
            poll: call.poll,
            state: call.state,
            failed: call.failed,
            answered: call.response.is_some(),
            started: call.time,
            // a clock that went back says nothing
            duration: took.and_then(|took| u64::try_from(took).ok()),
            known: call.known,
            same: call.same,
            said: call.said,
            repeats,
            arguments,
            answer,
        });
        Ok(())
    }
}
