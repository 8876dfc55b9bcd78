//! Rewrites integers that are written as decimals: JSON does not distinguish `5126.0` and `3.6e1` from `5126` and `36`.
//!
//! Typed parsers do. A file that writes integers as integers is parsed once; any other file is parsed again after
//! rewriting.

use polyhaul_model::error::Result;
use serde_json::Value;

/// Maximum rewritten integer, 2^53. Programs that parse JSON numbers as 64-bit floats do not represent all larger
/// integers exactly.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Rewrites whole numbers in a JSON text as integers. Returns `None` if nothing changes.
pub(crate) fn rewritten(text: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut new = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at = string_end(text, at + 1),
            b'0'..=b'9' | b'-' => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
                let end = text[at..].iter().position(|byte| !is_part(byte)).map_or(text.len(), |count| at + count);
                if let Some(integer) = as_integer(&text[at..end]) {
                    new.try_reserve(at - copied + integer.len())?;
                    new.extend_from_slice(&text[copied..at]);
                    new.extend_from_slice(integer.as_bytes());
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Ok(None);
    }
    new.try_reserve(text.len() - copied)?;
    new.extend_from_slice(&text[copied..]);
    Ok(Some(new))
}

/// Returns the offset after the string whose content starts at `start`.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Converts a decimal with a whole value to an integer, padded to the same width, so that columns in messages remain
/// correct.
fn as_integer(token: &[u8]) -> Option<String> {
    if token.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') {
        return None;
    }
    let value: f64 = serde_json::from_slice(token).ok()?;
    // A negative zero would lose its sign.
    let is_whole = value.fract() == 0.0 && value.abs() <= MAX_WHOLE && !(value == 0.0 && value.is_sign_negative());
    is_whole.then(|| format!("{:<width$}", value as i64, width = token.len()))
}

/// Converts all whole numbers in a value to integers.
pub(crate) fn value(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(self::value).collect()),
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), self::value(field))).collect(),
        Value::Number(_) => index(value).map_or_else(|| value.clone(), Value::from),
        other => other.clone(),
    }
}

/// Converts an index or count that may be written as a decimal.
pub(crate) fn index(value: &Value) -> Option<u64> {
    let whole = |number: &f64| number.fract() == 0.0 && number.is_sign_positive() && *number <= MAX_WHOLE;
    value.as_u64().or_else(|| value.as_f64().filter(whole).map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Option<String> {
        rewritten(json.as_bytes()).unwrap().map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn whole_numbers_become_integers_and_others_stay() {
        assert_eq!(text(r#"{"a":[5126.0,3.6e1,-2.0,1E2]}"#).as_deref(), Some(r#"{"a":[5126  ,36   ,-2  ,100]}"#));
        for json in [r#"{"a":[1,-2,0.5,1e-3,-0.0,1e300]}"#, r#"{"1.0":"a\"2.0"}"#, "\"1.0", "[1.2.3]", "-", ""] {
            assert_eq!(text(json), None, "{json}");
        }
        assert_eq!(text("1.0").as_deref(), Some("1  "));
        assert_eq!(text("[1e3]").as_deref(), Some("[1000]"));
    }

    #[test]
    fn values_of_extensions_have_integers() {
        let json = serde_json::json!({"source": 2.0, "scale": [0.5, -1.0, -0.0], "name": "1.0"});
        assert_eq!(index(&json["source"]), Some(2));
        assert_eq!(value(&json).to_string(), r#"{"name":"1.0","scale":[0.5,-1.0,-0.0],"source":2}"#);
    }
}
