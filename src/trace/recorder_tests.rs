use serde_json::json;

use super::*;
use crate::trace::read;

fn memory(limits: Limits) -> Recorder {
    Recorder::new(Options { limits, ..Options::default() }).unwrap()
}

fn parent_of(recorder: &Recorder, name: &str) -> Value {
    let snapshot = recorder.snapshot();
    let events = snapshot["events"].as_array().unwrap();
    let parent = &events.iter().find(|event| event["name"] == name).unwrap()["parent_span_id"];
    events.iter().find(|event| event["span_id"] == *parent).map_or(Value::Null, |event| event["name"].clone())
}

#[test]
fn parents_across_threads_and_tasks() {
    let recorder = memory(Limits::default());
    let other = memory(Limits::default());
    let agent = recorder.span(Kind::Agent, "agent", Value::Null);
    let inside = agent.enter();
    let turn = recorder.span(Kind::Loop, "turn", Value::Null);
    {
        let _inside = turn.enter();
        recorder.span(Kind::Model, "model", Value::Null).end(Value::Null);
        // Another recorder's spans are not inside this one's.
        other.span(Kind::Tool, "foreign", Value::Null).end(Value::Null);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                recorder.span(Kind::Tool, "thread alone", Value::Null).end(Value::Null);
                turn.child(Kind::Tool, "thread child", Value::Null).end(Value::Null);
            });
        });
    }
    recorder.span(Kind::Tool, "after turn", Value::Null).end(Value::Null);
    drop(inside);
    recorder.span(Kind::Tool, "after agent", Value::Null).end(Value::Null);

    // A future that is polled on two threads keeps its parent, and leaves none behind.
    let mut polls = 0;
    let recording = recorder.clone();
    let mut future = turn.scope(std::future::poll_fn(move |_| {
        polls += 1;
        recording.span(Kind::Tool, &format!("poll {polls}"), Value::Null).end(Value::Null);
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    }));
    let waker = std::task::Waker::noop();
    assert!(Pin::new(&mut future).poll(&mut Context::from_waker(waker)).is_pending());
    std::thread::scope(|threads| {
        threads.spawn(|| assert!(Pin::new(&mut future).poll(&mut Context::from_waker(waker)).is_ready()));
    });
    recorder.span(Kind::Tool, "after future", Value::Null).end(Value::Null);

    for (name, parent) in [
        ("agent", Value::Null),
        ("turn", json!("agent")),
        ("model", json!("turn")),
        ("thread alone", Value::Null),
        ("thread child", json!("turn")),
        ("after turn", json!("agent")),
        ("after agent", Value::Null),
        ("poll 1", json!("turn")),
        ("poll 2", json!("turn")),
        ("after future", Value::Null),
    ] {
        assert_eq!(parent_of(&recorder, name), parent, "{name}");
    }
    assert_eq!(parent_of(&other, "foreign"), Value::Null);
}

#[test]
fn ways_to_end() {
    let recorder = memory(Limits::default());
    recorder.span(Kind::Tool, "ok", Value::Null).end(json!(1));
    recorder.span(Kind::Tool, "failed", Value::Null).fail("ValueError");
    recorder.span(Kind::Tool, "cancelled", Value::Null).cancel();
    drop(recorder.span(Kind::Tool, "dropped", Value::Null));
    let panicking = recorder.clone();
    let _ = std::thread::spawn(move || {
        let _span = panicking.span(Kind::Tool, "panicked", Value::Null);
        panic!("with a secret in its message");
    })
    .join();
    let snapshot = recorder.snapshot();
    let end = |name: &str| {
        snapshot["events"]
            .as_array()
            .unwrap()
            .iter()
            .find(|event| event["name"] == name && event["phase"] == "end")
            .unwrap()
            .clone()
    };
    assert_eq!((&end("ok")["status"], &end("ok")["data"]), (&json!("ok"), &json!({"output": 1})));
    assert_eq!(
        (&end("failed")["status"], &end("failed")["data"]),
        (&json!("error"), &json!({"error_type": "ValueError"}))
    );
    assert_eq!(end("cancelled")["status"], "cancelled");
    assert_eq!(end("dropped")["status"], "cancelled");
    assert_eq!(
        (&end("panicked")["status"], &end("panicked")["data"]),
        (&json!("error"), &json!({"error_type": "panic"}))
    );
    assert!(!snapshot.to_string().contains("secret in its message"));
}

#[test]
fn limits_are_kept_and_marked() {
    let recorder = memory(Limits { events: 3, ..Limits::default() });
    for _ in 0..4 {
        recorder.span(Kind::Tool, "t", json!({"text": "x".repeat(50_000), "list": vec![0; 200]})).end(Value::Null);
    }
    let summary = recorder.finish();
    // no start without room for its end
    assert_eq!((summary.events, summary.dropped_events), (2, 6));
    let first = recorder.snapshot()["events"][0].clone();
    assert_eq!(
        (
            &first["truncated"],
            &first["data"]["input"]["text"]["truncated"],
            &first["data"]["input"]["list"]["capture_omitted_items"]
        ),
        (&json!(true), &json!(true), &json!(72))
    );
    assert!(first["data"].to_string().len() <= 16_100);
}

#[test]
fn files_are_new_and_hold_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let options = Options {
        output: Some(path.clone()),
        known_secrets: vec!["top-secret-value".into()],
        redacted_fields: vec!["ssn".into()],
        ..Options::default()
    };
    let recorder = Recorder::new(options.clone()).unwrap();
    assert!(Recorder::new(options).is_err(), "a capture is never overwritten");
    let span = recorder.span(
        Kind::Tool,
        "call top-secret-value",
        json!({"ssn": "123-45", "text": "is top-secret-value", "top-secret-value": 1}),
    );
    span.fail("Error(top-secret-value)");
    // Without `finish`: the last handle writes the summary.
    let open = recorder.span(Kind::Tool, "open", Value::Null);
    drop(recorder);
    open.end(Value::Null);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("top-secret-value") && !text.contains("123-45"), "{text}");
    let capture = read::read(&path).unwrap();
    assert_eq!((capture.events.len(), capture.errors.len()), (4, 0));
    assert_eq!(capture.summary.unwrap().events, 4);
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions()) & 0o777,
        0o600
    );
}

#[test]
fn nothing_is_recorded_behind_the_summary() {
    let recorder = memory(Limits::default());
    let open = recorder.span(Kind::Tool, "open", Value::Null);
    assert_eq!(recorder.finish().events, 1);
    open.end(Value::Null);
    recorder.missed();
    recorder.span(Kind::Tool, "late", Value::Null).end(Value::Null);
    let again = recorder.finish();
    assert_eq!((again.events, again.dropped_events, again.capture_errors), (1, 0, 0));
}

#[test]
fn spans_that_began_before_the_limit_have_their_ends() {
    let recorder = memory(Limits { events: 7, ..Limits::default() });
    let agent = recorder.span(Kind::Agent, "agent", Value::Null);
    for _ in 0..5 {
        recorder.span(Kind::Tool, "t", Value::Null).end(Value::Null);
    }
    agent.end(json!("done"));
    let summary = recorder.finish();
    assert_eq!((summary.events, summary.dropped_events), (6, 6));
    let events = recorder.snapshot()["events"].clone();
    assert_eq!(events[5]["name"], "agent");
    assert_eq!(events[5]["data"]["output"], "done");
}

#[test]
fn many_threads_lose_nothing_and_keep_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let recorder = Recorder::new(Options { output: Some(path.clone()), ..Options::default() }).unwrap();
    std::thread::scope(|threads| {
        for thread in 0..8 {
            let recorder = recorder.clone();
            threads.spawn(move || {
                for number in 0..100 {
                    recorder.span(Kind::Tool, "t", json!({"thread": thread, "number": number})).end(json!(number));
                }
            });
        }
    });
    recorder.finish();
    let capture = read::read(&path).unwrap();
    assert_eq!((capture.events.len(), capture.errors.len()), (1600, 0));
}

#[test]
fn a_parent_named_by_its_id_and_a_value_that_was_cut_before() {
    let recorder = Recorder::new(Options::default()).unwrap();
    let outer = recorder.span_in(None, Kind::Agent, "outer", json!(1));
    let id = outer.id().to_owned();
    outer.end(Value::Null);
    let kept = Captured::some_items(json!([1]), 7);
    let inner = recorder.span_in(Some(&id), Kind::Tool, "inner", Captured { value: kept, cut: true });
    inner.end(json!(2));
    let events = recorder.snapshot()["events"].clone();
    assert_eq!(events[0]["parent_span_id"], Value::Null);
    assert_eq!(events[2]["parent_span_id"], Value::from(id));
    assert_eq!((&events[0]["truncated"], &events[2]["truncated"]), (&json!(false), &json!(true)));
    assert_eq!(events[2]["data"]["input"]["capture_omitted_items"], 7);
    recorder.missed();
    assert_eq!(recorder.finish().capture_errors, 1);
}
