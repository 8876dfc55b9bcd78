//! A JSON writer, for reports and the responses of `polyhaul-wasm`.
//!
//! Inserts commas and escapes strings so that the text can be embedded in a `<script>`. Does not validate structure
//! (balanced brackets, a key before each object value); callers ensure it, and their tests parse the output. For long
//! documents, flush the text with [`Json::take`] as it grows.

use polyhaul_model::printable::is_active;
use std::fmt::{Display, Write};

/// A JSON document under construction.
#[derive(Debug, Default)]
pub struct Json {
    text: String,
    /// Whether the next value needs a comma before it.
    is_behind: bool,
}

impl Json {
    /// An empty document.
    pub fn new() -> Json {
        Json::default()
    }

    /// Writes an object; `fill` writes its keys and values.
    pub fn object(&mut self, fill: impl FnOnce(&mut Json)) {
        self.open('{');
        fill(self);
        self.close('}');
    }

    /// Writes an array; `fill` writes its values.
    pub fn array(&mut self, fill: impl FnOnce(&mut Json)) {
        self.open('[');
        fill(self);
        self.close(']');
    }

    /// Writes an array with one value per item, written by `each`.
    pub fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut Json, T)) {
        self.array(|json| items.into_iter().for_each(|item| each(json, item)));
    }

    /// Opens an array or object with this bracket.
    pub fn open(&mut self, bracket: char) {
        self.comma();
        self.text.push(bracket);
        self.is_behind = false;
    }

    /// Closes an array or object with this bracket.
    pub fn close(&mut self, bracket: char) {
        self.text.push(bracket);
        self.is_behind = true;
    }

    /// Writes the key of the next value.
    pub fn key(&mut self, name: &str) -> &mut Json {
        self.string(name);
        self.text.push(':');
        self.is_behind = false;
        self
    }

    /// Writes a string.
    pub fn string(&mut self, value: &str) {
        self.comma();
        self.text.push('"');
        escape(&mut self.text, value);
        self.text.push('"');
    }

    /// Writes an integer.
    pub fn integer(&mut self, value: u64) {
        self.comma();
        let _ = write!(self.text, "{value}");
    }

    /// Writes a number; `null` if not finite.
    pub fn number(&mut self, value: impl Into<f64> + Display + Copy) {
        if !value.into().is_finite() {
            return self.null();
        }
        self.comma();
        let _ = write!(self.text, "{value}");
    }

    /// Writes `true` or `false`.
    pub fn boolean(&mut self, value: bool) {
        self.comma();
        let _ = write!(self.text, "{value}");
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.comma();
        self.text.push_str("null");
    }

    /// Takes the text written since the last call. Writing may continue.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Length of the pending text in bytes.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    fn comma(&mut self) {
        if self.is_behind {
            self.text.push(',');
        }
        self.is_behind = true;
    }
}

/// Appends `value` escaped, so that it cannot end a string, script or HTML comment, or control a terminal. The markup
/// characters `<`, `>`, `&` and `'` and active characters become `\uXXXX`.
fn escape(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if matches!(c, '<' | '>' | '&' | '\'') || is_active(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(fill: impl FnOnce(&mut Json)) -> String {
        let mut json = Json::new();
        fill(&mut json);
        json.take()
    }

    #[test]
    fn commas_are_where_they_belong() {
        let text = written(|json| {
            json.object(|json| {
                json.key("a").integer(u64::MAX);
                json.key("b").array(|json| {
                    json.array(|_| {});
                    json.number(0.5);
                    json.number(f64::NAN);
                    json.boolean(true);
                    json.object(|_| {});
                });
                json.key("c").null();
                json.key("d").string("");
            })
        });
        assert_eq!(text, r#"{"a":18446744073709551615,"b":[[],0.5,null,true,{}],"c":null,"d":""}"#);
    }

    #[test]
    fn no_string_gets_out() {
        let text = written(|json| json.string("</script><!--\"\\\n\t\0\u{2028}é'&\u{1f}"));
        let expected = r#""\u003c/script\u003e\u003c!--\"\\\n\t\u0000\u2028é\u0027\u0026\u001f""#;
        assert_eq!(text, expected);
    }

    #[test]
    fn what_is_taken_goes_on_behind() {
        let mut json = Json::new();
        json.open('[');
        json.integer(1);
        assert_eq!((json.size(), json.take().as_str()), (2, "[1"));
        json.integer(2);
        json.close(']');
        assert_eq!(json.take(), ",2]");
    }
}
