//! Values that stand for a secret and are none: placeholders, words of documentation, keys that vendors print in theirs.

/// Words that nobody draws at random. Each is long enough, or odd enough, not to stand in a token by chance.
const WORDS: &[&str] = &[
    "example",
    "sample",
    "dummy",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "redacted",
    "removed",
    "hidden",
    "your",
    "fake",
    "mock",
    "foobar",
    "xxxx",
    "****",
    "....",
    "todo",
    "insert",
    "replace",
    "abcdef",
    "123456",
    "000000",
    "qwerty",
    "deadbeef",
    "password",
    "passw0rd",
    "secret",
    "testkey",
    "test-key",
    "test_key",
    "testtoken",
    "test-token",
    "test_token",
    "notreal",
    "not-real",
    "not_real",
    "invalid",
    "lorem",
    "aaaaaa",
    "111111",
    "zyxwvu",
    "hunter2",
    "supersecret",
    "my-",
    "my_",
];

/// Keys that vendors publish: in their documentation, or as the fixed keys of emulators.
const PUBLISHED: &[&str] = &[
    "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17",
    // storage and database emulators
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq",
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPM",
    "4eC39HqLyjWDarjtT1zdp7dc",
];

/// Whether a value is only there to show where a secret would stand.
pub(super) fn is_example(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let has = |word: &str| memchr::memmem::find(&lower, word.as_bytes()).is_some();
    WORDS.iter().any(|word| has(word)) || is_published(value) || is_sequence(&lower)
}

/// Whether a vendor prints this key where everybody reads it.
pub(super) fn is_published(value: &[u8]) -> bool {
    PUBLISHED.iter().any(|known| memchr::memmem::find(value, known.as_bytes()).is_some())
        || memchr::memmem::find(value, b"EXAMPLE").is_some()
}

/// Whether most of it counts up, down or stands still: `abcdefgh12345678`, `aaaaaaaa`, `a1b2c3d4e5`.
fn is_sequence(value: &[u8]) -> bool {
    let steady = |distance: usize| {
        let steps = value.windows(2 * distance + 1).filter(|window| {
            let [first, middle, last] = [window[0], window[distance], window[2 * distance]];
            let step = middle.wrapping_sub(first);
            step == last.wrapping_sub(middle) && matches!(step, 0 | 1 | 255)
        });
        steps.count() * 2
    };
    value.len() >= 8 && (1..=2).any(|distance| steady(distance) > value.len())
}

/// Whether a value is a hole that something else fills: `$TOKEN`, `<token>`, `{{token}}`, `%s`, `***`.
pub(super) fn is_hole(value: &[u8]) -> bool {
    matches!(value.first(), None | Some(b'$' | b'<' | b'{' | b'*' | b'%' | b'[')) || value.starts_with(b"...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_told_from_keys() {
        for example in [
            "AKIAIOSFODNN7EXAMPLE",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "your-api-key-here",
            "xxxxxxxxxxxx",
            "abcdefghijklmnop",
            "a1b2c3d4e5f6g7h8",
            "1234567890abcdef1234567890abcdef",
            "changeme",
            "0000000000000000",
        ] {
            assert!(is_example(example.as_bytes()), "{example}");
        }
        for key in ["aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6", "0f3a9c27be5d4418aa60c7e1d2935b8f", "Tr0ub4dor&3x"] {
            assert!(!is_example(key.as_bytes()), "{key}");
        }
    }
}
