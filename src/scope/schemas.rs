//! JSON Schemas for arguments: the 2020-12 dialect, patterns in linear time, nothing from anywhere else.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// A schema that holds or not.
pub(super) struct Schema(Validator);

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Schema")
    }
}

/// Keywords whose value is a schema, a list of schemas, and an object of schemas.
const ONE: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const OBJECTS: [&str; 4] = ["$defs", "dependentSchemas", "patternProperties", "properties"];
/// The other keywords of the dialect.
const OTHERS: [&str; 37] = [
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
];

impl Schema {
    pub(super) fn read(schema: &Value) -> Result<Schema, String> {
        known(schema, 0)?;
        let options = jsonschema::options()
            .offline()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false);
        let options = options.with_pattern_options(PatternOptions::regex());
        options.build(schema).map(Schema).map_err(|error| error.to_string())
    }

    /// What is wrong with a value, with the JSON Pointer of its place in front; nothing if the schema holds.
    pub(super) fn refuses(&self, value: &Value) -> Option<String> {
        if self.0.is_valid(value) {
            return None;
        }
        let error = self.0.iter_errors(value).next();
        Some(error.map_or_else(String::new, |error| {
            let place = error.instance_path().to_string();
            if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
        }))
    }
}

/// Refuses keywords that nothing knows: a misspelt limit limits nothing.
fn known(schema: &Value, depth: usize) -> Result<(), String> {
    let Value::Object(members) = schema else { return Ok(()) };
    if depth > 64 {
        return Err("it is nested too deeply".to_owned());
    }
    for (name, value) in members {
        let name = name.as_str();
        match value {
            Value::Array(items) if LISTS.contains(&name) => items.iter().try_for_each(|item| known(item, depth + 1))?,
            Value::Object(items) if OBJECTS.contains(&name) => {
                items.values().try_for_each(|item| known(item, depth + 1))?;
            }
            _ if ONE.contains(&name) => known(value, depth + 1)?,
            _ if LISTS.contains(&name) || OBJECTS.contains(&name) || OTHERS.contains(&name) => {}
            _ => return Err(format!("'{name}' is no keyword of JSON Schema 2020-12")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_judge() {
        let schema = json!({"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number", "maximum": 500}}});
        let schema = Schema::read(&schema).unwrap();
        assert_eq!(schema.refuses(&json!({"amount": 500})), None);
        assert!(schema.refuses(&json!({"amount": 500.01})).unwrap().starts_with("/amount: "));
        assert!(schema.refuses(&json!({})).is_some());
        let huge: Value = serde_json::from_str("{\"amount\": 99999999999999999999999999}").unwrap();
        assert!(schema.refuses(&huge).is_some());
    }

    #[test]
    fn what_cannot_be_enforced_is_refused() {
        for schema in [
            json!({"maxmum": 5}),
            json!({"properties": {"a": {"maxLenght": 3}}}),
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$ref": "#/$defs/missing"}),
            json!({"pattern": "(a"}),
            json!({"pattern": "(?=a)b"}),
            json!({"type": "nothing"}),
            json!(7),
        ] {
            assert!(Schema::read(&schema).is_err(), "{schema}");
        }
    }
}
