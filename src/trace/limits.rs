//! Bounds on what one event may hold, and the marks for what was left out.
//!
//! Works on values that are already redacted: cutting first could leave half a secret that no rule knows.

use serde_json::{Map, Value, json};

/// How much a recorder keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Events a recorder.
    pub events: u64,
    /// Characters of data an event.
    pub characters: usize,
    /// Items of one array or object.
    pub items: usize,
    /// Levels of nesting.
    pub levels: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { events: 10_000, characters: 16_000, items: 128, levels: 10 }
    }
}

/// Which items of an array survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    First,
    #[cfg_attr(not(feature = "proxy"), allow(dead_code, reason = "only the proxy records histories"))]
    /// For histories, whose news stands at the end.
    Last,
}

/// Applies the item and level limits. Returns true when something was left out.
#[cfg_attr(not(feature = "proxy"), allow(dead_code, reason = "the proxy's captures keep parts apart"))]
pub(crate) fn shape(value: &mut Value, limits: Limits, keep: Keep) -> bool {
    shape_at(value, limits, keep, limits.levels)
}

fn shape_at(value: &mut Value, limits: Limits, keep: Keep, levels: usize) -> bool {
    let mut cut = false;
    match value {
        Value::Array(items) if levels == 0 => {
            *value = json!({"capture_omitted": "levels", "items": items.len()});
            return true;
        }
        Value::Object(fields) if levels == 0 => {
            *value = json!({"capture_omitted": "levels", "items": fields.len()});
            return true;
        }
        Value::Array(items) => {
            let omitted = items.len().saturating_sub(limits.items);
            if omitted > 0 {
                match keep {
                    Keep::First => items.truncate(limits.items),
                    Keep::Last => drop(items.drain(..omitted)),
                }
            }
            for item in items.iter_mut() {
                cut |= shape_at(item, limits, keep, levels - 1);
            }
            if omitted > 0 {
                let kept = std::mem::take(items);
                *value = json!({"captured_items": kept, "capture_omitted_items": omitted});
                if keep == Keep::Last {
                    value["captured_from"] = Value::from("end");
                }
                cut = true;
            }
        }
        Value::Object(fields) => {
            let omitted = fields.len().saturating_sub(limits.items);
            if omitted > 0 {
                *fields = std::mem::take(fields).into_iter().take(limits.items).collect();
            }
            for (_, field) in fields.iter_mut() {
                cut |= shape_at(field, limits, keep, levels - 1);
            }
            if omitted > 0 {
                let kept = std::mem::take(fields);
                *value = json!({"captured_items": kept, "capture_omitted_items": omitted});
                cut = true;
            }
        }
        _ => {}
    }
    cut
}

/// Makes the value's JSON text at most about `characters` long: long strings become previews, first the
/// longest; if that is not enough the whole value becomes one preview. Returns true when something was cut.
pub(crate) fn fit(value: &mut Value, characters: usize) -> bool {
    if size_within(value, characters) {
        return false;
    }
    let mut longest = characters / 4;
    while longest >= 64 {
        cut_strings(value, longest);
        if size_within(value, characters) {
            return true;
        }
        longest /= 4;
    }
    let text = serde_json::to_string(value).unwrap_or_default();
    *value = preview(&text, characters);
    true
}

/// The mark for a text that was cut.
pub(crate) fn preview(text: &str, characters: usize) -> Value {
    // The mark itself and the escapes take room too.
    let mut room = characters.saturating_sub(64);
    let end = text
        .char_indices()
        .find(|&(_, c)| {
            let cost = if matches!(c, '"' | '\\') {
                2
            } else if c < ' ' {
                6
            } else {
                1
            };
            let stop = cost > room;
            room = room.saturating_sub(cost);
            stop
        })
        .map_or(text.len(), |(at, _)| at);
    json!({"preview": &text[..end], "truncated": true, "characters": text.chars().count()})
}

fn cut_strings(value: &mut Value, longest: usize) {
    match value {
        Value::String(text) if text.len() > longest && text.chars().nth(longest).is_some() => {
            let end = text.char_indices().nth(longest).map_or(text.len(), |(at, _)| at);
            *value = json!({"preview": &text[..end], "truncated": true, "characters": text.chars().count()});
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut_strings(item, longest)),
        // A preview that was made with a larger bound is cut again, in place.
        Value::Object(fields) => {
            let is_preview = fields.len() == 3
                && fields.contains_key("characters")
                && fields.get("truncated") == Some(&Value::Bool(true));
            match fields.get_mut("preview") {
                Some(Value::String(text)) if is_preview => {
                    let end = text.char_indices().nth(longest).map_or(text.len(), |(at, _)| at);
                    text.truncate(end);
                }
                _ => fields.iter_mut().for_each(|(_, field)| cut_strings(field, longest)),
            }
        }
        _ => {}
    }
}

/// Whether the value's JSON text stays within the bound; stops counting there.
pub(crate) fn size_within(value: &Value, characters: usize) -> bool {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // Characters, not bytes: UTF-8 continuation bytes are not counted.
            let chars = bytes.iter().filter(|&&b| b & 0xc0 != 0x80).count();
            self.0 = self.0.checked_sub(chars).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Counter(characters), value).is_ok()
}

/// Shapes and fits every field of an event's data.
pub(crate) fn bound(data: &mut Map<String, Value>, limits: Limits) -> bool {
    let mut value = Value::Object(std::mem::take(data));
    // The data object itself is level 0.
    let mut cut = shape_at(&mut value, limits, Keep::First, limits.levels);
    cut |= fit(&mut value, limits.characters);
    *data = match value {
        Value::Object(fields) => fields,
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deep(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn levels_and_items() {
        let mut value = deep(10);
        assert!(!shape(&mut value, Limits::default(), Keep::First));
        let mut value = deep(11);
        assert!(shape(&mut value, Limits::default(), Keep::First));
        assert!(value.to_string().contains(r#"{"capture_omitted":"levels","items":1}"#));

        let mut value = Value::from((0..130).collect::<Vec<_>>());
        assert!(shape(&mut value, Limits::default(), Keep::First));
        assert_eq!(value["capture_omitted_items"], 2);
        assert_eq!(value["captured_items"][0], 0);
        let mut value = Value::from((0..130).collect::<Vec<_>>());
        shape(&mut value, Limits::default(), Keep::Last);
        assert_eq!(value["captured_items"][0], 2);
        assert_eq!(value["captured_from"], "end");
    }

    #[test]
    fn long_data_is_cut_where_it_is_long() {
        let mut value = json!({"a": "x".repeat(100_000), "b": "short"});
        assert!(fit(&mut value, 16_000));
        assert_eq!(value["b"], "short");
        assert_eq!(value["a"]["truncated"], true);
        assert_eq!(value["a"]["characters"], 100_000);
        assert!(value.to_string().len() <= 16_000);
        let mut value = Value::from(vec!["ab"; 10_000]);
        assert!(fit(&mut value, 1_000));
        assert_eq!(value["truncated"], true);
        assert!(value.to_string().len() <= 1_100);
    }

    #[test]
    fn characters_are_not_bytes() {
        let mut value = json!("é".repeat(1000));
        assert!(!fit(&mut value, 1002));
        assert!(fit(&mut value, 1001));
    }
}
