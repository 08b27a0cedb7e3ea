//! What a decoder is, and what it makes of requests and replies.

use super::issues::Issues;
use serde_json::{Map, Value, json};

/// One model protocol.
pub trait Protocol: Send + Sync {
    /// The name in captures.
    fn name(&self) -> &'static str;

    /// The paths below the base URL, with their leading slash. `{}` stands for any text without a slash: for a model,
    /// say, that the path names.
    fn paths(&self) -> &'static [&'static str];

    /// What must be known of a request before it is sent on. An error says why it is no request of this protocol.
    ///
    /// # Errors
    /// The body is no JSON object or lacks what the protocol cannot be without.
    fn inspect(&self, body: &[u8]) -> Result<Head, &'static str>;

    /// Decodes the argument strings of tool calls in a copy of a request, so that field rules reach into them.
    fn open_request(&self, request: &mut Value, issues: &mut Issues);

    /// Reads a whole JSON reply.
    fn reply(&self, body: Value) -> Reply;

    /// A decoder for a streamed reply that keeps at most about `limit` bytes.
    fn stream(&self, limit: usize) -> Box<dyn ReplyStream>;

    /// An error of our own in the protocol's shape.
    fn error(&self, status: u16, code: &str, message: &str) -> Value;
}

/// Rebuilds a streamed reply.
pub trait ReplyStream: Send {
    /// Takes in one SSE frame.
    fn frame(&mut self, event: Option<&str>, data: &[u8]);

    /// The protocol's own end mark has been seen. More may follow all the same.
    fn ended(&self) -> bool;

    /// The reply has said why it ends: a client may act on its calls from here on, and need not wait for the end mark.
    fn settled(&self) -> bool;

    /// The calls that are complete, once [`Self::settled`].
    fn calls(&self) -> Vec<ToolCall>;

    /// The reply's id, as far as it is known.
    fn response_id(&self) -> Option<String>;

    /// Bytes held.
    fn held(&self) -> usize;

    /// What came of it. `clean` says that the stream ended by itself, not by an abort.
    fn finish(self: Box<Self>, clean: bool) -> Reply;
}

/// What a request says before any reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// The client asked for a stream.
    pub stream: bool,
    /// The reply that this request continues, by its id.
    pub previous_response: Option<String>,
    /// The tool results that the agent reports with this request: those after the last reply in its history.
    pub results: Vec<ToolResult>,
    /// The calls that the history's last reply asked for.
    pub history: Vec<ToolCall>,
}

/// A tool result that an agent reported.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub id: Option<String>,
    /// The tool's name, where the protocol repeats it.
    pub name: Option<String>,
    /// What the tool returned.
    pub content: Value,
    /// The agent's word that the tool failed, where the protocol has one.
    pub is_error: Option<bool>,
}

impl ToolResult {
    /// The result as captures hold it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("id".into(), json!(self.id));
        if let Some(name) = &self.name {
            fields.insert("name".into(), json!(name));
        }
        fields.insert("content".into(), self.content.clone());
        if let Some(is_error) = self.is_error {
            fields.insert("is_error".into(), json!(is_error));
        }
        Value::Object(fields)
    }
}

/// A tool call that a model asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Which of several alternative replies asked for it.
    pub choice: u64,
    /// Its place among that reply's calls.
    pub index: u64,
    /// Its id. Unique in theory.
    pub id: Option<String>,
    /// The tool.
    pub name: Option<String>,
    /// `function`, or the protocol's word for another kind.
    pub kind: String,
    /// The arguments, decoded; the text as it came where it is not JSON.
    pub arguments: Value,
    /// False when the reply was cut inside it.
    pub complete: bool,
    /// It came behind the end of the reply.
    pub after_end: bool,
}

impl ToolCall {
    /// The call as captures hold it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut call = json!({
            "choice": self.choice, "index": self.index, "id": self.id, "name": self.name,
            "type": self.kind, "arguments": self.arguments,
        });
        if !self.complete {
            call["partial"] = Value::Bool(true);
        }
        if self.after_end {
            call["after_end"] = Value::Bool(true);
        }
        call
    }
}

/// What came of a reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The reply, rebuilt where it was streamed, with decoded arguments.
    pub response: Value,
    /// The calls that the agent is asked to execute.
    pub calls: Vec<ToolCall>,
    /// The calls that the model's server executed itself.
    pub server_calls: Vec<ToolCall>,
    /// The reply's id.
    pub id: Option<String>,
    /// What could not be read or does not fit together.
    pub issues: Issues,
    /// The type of the error that the reply carries.
    pub error: Option<String>,
    /// False when the reply was cut.
    pub complete: bool,
}
