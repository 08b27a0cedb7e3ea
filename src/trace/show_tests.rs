use super::*;

#[test]
fn colours_are_only_ours() {
    let mut page = Page { out: String::new(), color: true };
    page.line(1, &[(RED, "x\u{1b}[0m"), ("", "y")]);
    assert_eq!(page.out, "  \u{1b}[31mx\\u001b[0m\u{1b}[0my\n");
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
