//! The walk over shell commands: no panic on any text, and every command stands within the text that was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolreplay::shell;

fuzz_target!(|text: &[u8]| {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let script = shell::read(text);
    for command in &script.commands {
        assert!(text.get(command.span.clone()).is_some(), "{:?}", command.span);
        assert!(command.fed_by.end <= script.commands.len());
    }
    let words: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let _ = shell::read_words(&words);
});
