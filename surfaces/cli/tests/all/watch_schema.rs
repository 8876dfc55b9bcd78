//! `polyhaul watch --json` prints what `docs/watch.schema.json` describes: no key more, none less.
//!
//! Only the keywords that the schema uses are checked; one of `oneOf` or more must fit. If watching is not allowed, the
//! test passes with a note.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use crate::common::{Folder, run};
use serde_json::{Map, Value};
use std::io::Write;

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/watch.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Faults of a value at a path.
fn faults(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        return faults(root, root.pointer(&name[1..]).unwrap(), value, path);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[keyword].as_array() {
            let is_one = choices.iter().any(|choice| faults(root, choice, value, path).is_empty());
            return if is_one { Vec::new() } else { vec![format!("{path}: {value} is none of the choices")] };
        }
    }
    let is_among = |key: &str| schema[key].as_array().is_none_or(|values| values.contains(value));
    let types = &schema["type"];
    let has_type =
        types.as_array().map_or_else(|| is_type(types, value), |list| list.iter().any(|name| is_type(name, value)));
    let is_large =
        schema["minimum"].as_f64().is_none_or(|minimum| value.as_f64().is_none_or(|number| number >= minimum));
    if !is_large || !is_among("enum") || !has_type || !schema["const"].is_null() && schema["const"] != *value {
        return vec![format!("{path}: {value} is not {schema}")];
    }
    match value {
        Value::Object(values) if schema["properties"].is_object() => faults_of_keys(root, schema, values, path),
        Value::Array(items) if schema["items"].is_object() => {
            items.iter().flat_map(|item| faults(root, &schema["items"], item, &format!("{path}[]"))).collect()
        }
        _ => Vec::new(),
    }
}

fn is_type(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        None => true,
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        Some(other) => panic!("{other}"),
    }
}

fn faults_of_keys(root: &Value, schema: &Value, values: &Map<String, Value>, path: &str) -> Vec<String> {
    let properties = schema["properties"].as_object().unwrap();
    let required = schema["required"].as_array().unwrap().iter().map(|key| key.as_str().unwrap());
    let missing = required.filter(|key| !values.contains_key(*key)).map(|key| format!("{path}: no {key}"));
    let of_key = |(key, value): (&String, &Value)| match properties.get(key) {
        Some(property) => faults(root, property, value, &format!("{path}.{key}")),
        None => vec![format!("{path}: {key} is not in the schema")],
    };
    missing.chain(values.iter().flat_map(of_key)).collect()
}

#[test]
fn the_output_is_as_the_schema_says() {
    let schema = schema();
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let writes = "dd if=/dev/zero of=/dev/null bs=1 count=100000 2>&1 | cat";
    for options in [
        &["--json"][..],
        &["--json", "--stacks", "--all"],
        &["--json", "--recorder", "trace", "--no-locks"],
        &["--json", "--cold", "--read-rate", "1GB/s", "--write-latency", "1us"],
    ] {
        for script in [busy, writes, "kill -9 $$"] {
            let arguments = [&["watch"], options, &["sh", "-c", script]].concat();
            let ran = run(&arguments);
            let Some(line) = ran.stderr.lines().find(|line| line.starts_with('{')) else { panic!("{ran:?}") };
            let value: Value = serde_json::from_str(line).unwrap();
            if !value["error"].is_null() {
                let _ = writeln!(std::io::stderr(), "SKIPPED: {value}");
                return;
            }
            let faults = faults(&schema, &schema, &value, "");
            assert!(faults.is_empty(), "{faults:#?}");
        }
    }
}

#[test]
fn a_second_run_is_as_the_schema_says() {
    let folder = Folder::new("watch-schema");
    let file = folder.path("data");
    std::fs::write(&file, "a line\n".repeat(150_000)).unwrap();
    // Reads two bytes at a time, and shares the position with a child at the end.
    let script = format!("import os; d = os.open('{file}', 0); [os.read(d, 2) for _ in range(400000)]; os.fork()");
    let ran = run(&["watch", "--json", "--fix", "python3", "-c", &script]);
    let Some(line) = ran.stderr.lines().find(|line| line.starts_with('{')) else { panic!("{ran:?}") };
    let value: Value = serde_json::from_str(line).unwrap();
    if !value["error"].is_null() || value["exit_code"] != 0 {
        let _ = writeln!(std::io::stderr(), "SKIPPED: {value}");
        return;
    }
    let schema = schema();
    let faults = faults(&schema, &schema, &value, "");
    assert!(faults.is_empty(), "{faults:#?}");
    let cured = &value["fixed"]["files"][0];
    assert!(cured["answered"].as_u64() > Some(390_000) && cured["asides"][0]["reason"] == "shared", "{value}");
}

#[test]
fn faults_are_found() {
    let schema = schema();
    let value = serde_json::json!({ "command": "info", "lost": -1, "lots": 1, "verdict": { "cause": "luck" } });
    let faults = faults(&schema, &schema, &value, "");
    for expected in [": no files", ": lots is not", ".lost: -1 is not", ".command: \"info\" is not", ".verdict: "] {
        assert!(faults.iter().any(|fault| fault.starts_with(expected)), "{expected}: {faults:#?}");
    }
}
