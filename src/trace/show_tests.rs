use super::*;

#[test]
fn nothing_in_a_name_can_move_the_cursor() {
    let mut out = String::new();
    push_safe(&mut out, "a\u{1b}[2J\r\nb\u{202e}c\u{200b}é東🌦");
    assert_eq!(out, "a\\u{1b}[2J\\u{d}\\u{a}b\\u{202e}c\\u{200b}é東🌦");
}

#[test]
fn colours_are_only_ours() {
    let mut page = Page { out: String::new(), color: true };
    page.line(1, &[(RED, "x\u{1b}[0m"), ("", "y")]);
    assert_eq!(page.out, "  \u{1b}[31mx\\u{1b}[0m\u{1b}[0my\n");
}

#[test]
fn what_a_model_says_in_each_protocol() {
    for (response, text) in [
        (json!({"choices": [{"message": {"content": "a"}}]}), Some("a")),
        (
            json!({"content": [{"type": "text", "text": "a"}, {"type": "tool_use"}, {"type": "text", "text": "b"}]}),
            Some("ab"),
        ),
        (json!({"output": [{"type": "reasoning"}, {"type": "message", "content": [{"text": "a"}]}]}), Some("a")),
        (json!({"choices": [{"message": {"content": null}}]}), None),
        (json!(null), None),
    ] {
        assert_eq!(reply_text(Some(&response)).as_deref(), text);
    }
}
