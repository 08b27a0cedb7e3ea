//! The proxy's decoders: no panic on any bytes, however they are cut; a stream is read the same in one piece as in many;
//! and no more is held than was allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolreplay::trace::protocol::sse::Parser;
use toolreplay::trace::protocol::{Issues, PROTOCOLS, Protocol, Reply, body, lenient};

const LIMIT: usize = 64 << 10;

fn streamed(protocol: &dyn Protocol, text: &[u8], step: usize) -> Reply {
    let (mut parser, mut reply) = (Parser::new(LIMIT), protocol.stream(LIMIT));
    for piece in text.chunks(step.max(1)) {
        parser.feed(piece, &mut |frame| reply.frame(frame.event, frame.data));
        let _ = (reply.calls(), reply.settled(), reply.response_id());
    }
    parser.finish(&mut |frame| reply.frame(frame.event, frame.data));
    reply.finish(true)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((step, text)) = bytes.split_first() else { return };
    for protocol in PROTOCOLS {
        let _ = protocol.inspect(text);
        let (whole, cut) = (streamed(*protocol, text, usize::MAX), streamed(*protocol, text, usize::from(*step)));
        let calls = |reply: &Reply| reply.calls.iter().map(|call| call.to_json()).collect::<Vec<_>>();
        assert_eq!(calls(&whole), calls(&cut), "{}", protocol.name());
        if let Ok(value) = lenient::parse(text, &mut Issues::default()) {
            let _ = protocol.reply(value);
        }
        if let Ok(parsed) = body::parse(text) {
            let mut request = parsed.value;
            protocol.open_request(&mut request, &mut Issues::default());
        }
    }
});
