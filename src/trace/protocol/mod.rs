//! Decoders for the protocols between agents and models. No I/O: bytes and JSON in, what they mean out.
//!
//! A decoder serves the live proxy and importers alike. It never fails: what it cannot read it marks in
//! [`Issues`], because whatever is decoded here is a copy of something that has already been sent on.

mod issues;
pub mod body;
pub mod lenient;
pub mod sse;
mod decoder;
mod fields;
mod chat;
mod responses;
mod anthropic;
mod gemini;

pub use self::anthropic::MESSAGES;
pub use self::chat::CHAT_COMPLETIONS;
pub use self::decoder::{Head, Protocol, Reply, ReplyStream, ToolCall, ToolResult};
pub use self::gemini::GENERATE_CONTENT;
pub use self::issues::Issues;
pub use self::responses::RESPONSES;

// for the decoders in this folder
use self::fields::{
    Allowance, check_calls, decode_arguments, error_type, inspect_listed, inspect_messages, open_all_arguments,
    open_arguments, openai_error, text_of, typed_events,
};

/// Every protocol with a decoder. To add one: a file beside this one and a line here.
pub const PROTOCOLS: &[&dyn Protocol] = &[CHAT_COMPLETIONS, RESPONSES, MESSAGES, GENERATE_CONTENT];
