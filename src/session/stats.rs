//! What sessions came to: calls, failures, repeats, time and tokens, by tool, agent and session.

use super::read::{Session, SessionCall};
use crate::audit::Failure;
use crate::formats::Usage;
use std::collections::BTreeMap;

/// What some calls came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Calls.
    pub calls: u64,
    /// Those that ran and of which the tool said that they failed.
    pub failed: u64,
    /// Those that never ran: denied, rejected, cancelled.
    pub not_run: u64,
    /// Those whose answer was not recorded, or only a receipt or a part of it.
    pub without_answer: u64,
    /// Those that the same agent had made before with the same arguments.
    pub repeats: u64,
    /// Those that change, or may change, state and ran.
    pub changes: u64,
    /// Those whose time is known.
    pub timed: u64,
    /// How long these took together, in nanoseconds. Calls that were made at once count in full.
    pub time: u64,
}

impl Counts {
    fn call(&mut self, call: &SessionCall) {
        self.calls += 1;
        let (ran, whole) = (call.ran(), call.state.is_none());
        self.failed += u64::from(call.failed && ran);
        self.not_run += u64::from(!ran);
        self.without_answer += u64::from(ran && !whole);
        self.repeats += u64::from(call.repeats);
        self.changes += u64::from(ran && call.effect.mutates());
        if let Some(took) = call.duration {
            self.timed += 1;
            self.time = self.time.saturating_add(took);
        }
    }

    fn add(&mut self, other: Counts) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.not_run += other.not_run;
        self.without_answer += other.without_answer;
        self.repeats += other.repeats;
        self.changes += other.changes;
        self.timed += other.timed;
        self.time = self.time.saturating_add(other.time);
    }
}

/// One agent, or one session: its calls and what its models used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// Its calls.
    pub counts: Counts,
    /// What its models used, as far as the recording says.
    pub used: Usage,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.counts.add(other.counts);
        self.used.add(other.used);
    }
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStats {
    /// The recording's path, as the user knows it.
    pub path: String,
    /// `transcript`, `sealed`, or the id of the format.
    pub format: &'static str,
    /// When its first call was made and its last answer came, in nanoseconds since 1970, where that is known.
    pub span: Option<(i64, i64)>,
    /// All of it.
    pub sum: Sum,
    /// By the tool's name.
    pub tools: BTreeMap<String, Counts>,
    /// By the agent's name; the main one's is empty.
    pub agents: BTreeMap<String, Sum>,
    /// How many conversations, connections or runs there are in it.
    pub conversations: u64,
    /// What was lost of it.
    pub loss: Option<Failure>,
}

/// What some sessions came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// The sessions, in the order in which they were added.
    pub sessions: Vec<SessionStats>,
    /// All of them.
    pub sum: Sum,
    /// By the tool's name, over all sessions.
    pub tools: BTreeMap<String, Counts>,
    /// By the agent's name, over all sessions; the main one's is empty.
    pub agents: BTreeMap<String, Sum>,
}

impl SessionStats {
    /// Counts a session.
    #[must_use]
    pub fn of(session: &Session) -> SessionStats {
        let mut stats = SessionStats {
            path: session.file.shown.clone(),
            format: session.format,
            span: None,
            sum: Sum::default(),
            tools: BTreeMap::new(),
            agents: BTreeMap::new(),
            conversations: 0,
            loss: session.loss.clone(),
        };
        let conversations: std::collections::BTreeSet<u32> =
            session.contexts.iter().map(|context| context.conversation).collect();
        stats.conversations = conversations.len() as u64;
        let agent = |context: u32| session.contexts.get(context as usize).map_or("", |context| &*context.agent);
        for call in &session.calls {
            stats.sum.counts.call(call);
            counted(&mut stats.tools, session.tool(call)).call(call);
            counted(&mut stats.agents, agent(call.context)).counts.call(call);
            if let Some(from) = call.started {
                let took = call.duration.and_then(|took| i64::try_from(took).ok()).unwrap_or(0);
                let to = from.saturating_add(took);
                stats.span = Some(stats.span.map_or((from, to), |(first, last)| (first.min(from), last.max(to))));
            }
        }
        for (context, used) in &session.used {
            stats.sum.used.add(*used);
            counted(&mut stats.agents, agent(*context)).used.add(*used);
        }
        stats
    }

    /// How long it took from its first call to its last answer, in nanoseconds.
    #[must_use]
    pub fn took(&self) -> Option<u64> {
        let (from, to) = self.span?;
        to.checked_sub(from).and_then(|took| u64::try_from(took).ok())
    }
}

fn counted<'m, T: Default>(map: &'m mut BTreeMap<String, T>, name: &str) -> &'m mut T {
    map.entry(name.to_owned()).or_default()
}

impl Stats {
    /// Adds a session.
    pub fn add(&mut self, session: SessionStats) {
        self.sum.add(session.sum);
        for (tool, counts) in &session.tools {
            counted(&mut self.tools, tool).add(*counts);
        }
        for (agent, sum) in &session.agents {
            counted(&mut self.agents, agent).add(*sum);
        }
        self.sessions.push(session);
    }
}
