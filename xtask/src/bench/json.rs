//! Just enough JSON to write a record.

/// A value as JSON text.
pub(super) trait ToJson {
    /// The text.
    fn json(&self) -> String;
}

impl ToJson for f64 {
    fn json(&self) -> String {
        if self.is_finite() { self.to_string() } else { "null".into() }
    }
}

impl ToJson for u64 {
    fn json(&self) -> String {
        self.to_string()
    }
}

impl ToJson for bool {
    fn json(&self) -> String {
        self.to_string()
    }
}

impl ToJson for str {
    fn json(&self) -> String {
        let mut text = String::from("\"");
        for c in self.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                c if c < ' ' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => text.push(c),
            }
        }
        text + "\""
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn json(&self) -> String {
        self.as_ref().map_or("null".into(), T::json)
    }
}

/// An array of texts that are JSON already, one on each line.
pub(super) fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[\n{}\n]", items.join(",\n"))
}

/// An object on one line; the values are JSON already.
pub(super) fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{}: {value}", key.json())).collect();
    format!("{{{}}}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_json() {
        assert_eq!("a\"b\\\n".json(), "\"a\\\"b\\\\\\u000a\"");
        let fields = [("a", 1.5.json()), ("b", None::<bool>.json()), ("c", f64::NAN.json())];
        assert_eq!(object(&fields), "{\"a\": 1.5, \"b\": null, \"c\": null}");
        assert_eq!(array(["1".into(), "2".into()]), "[\n1,\n2\n]");
    }
}
