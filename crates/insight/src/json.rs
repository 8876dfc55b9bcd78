//! JSON text, for exported reports and the answers of `polyhaul-wasm`.
//!
//! Inserts commas and escapes every string so that the text may be part of a page's `<script>`. It does not check that
//! every bracket is closed, or that a key precedes each value of an object: `perfetto` and `html` ensure that, and
//! their tests parse the result. Writers of long documents flush the text from time to time ([`Json::take`]).

use polyhaul_model::printable::is_active;
use std::fmt::{Display, Write};

/// JSON that is being written.
#[derive(Debug, Default)]
pub struct Json {
    text: String,
    /// Whether a comma must come first.
    is_behind: bool,
}

impl Json {
    /// An empty document.
    pub fn new() -> Json {
        Json::default()
    }

    /// An object, whose keys and values `fill` writes.
    pub fn object(&mut self, fill: impl FnOnce(&mut Json)) {
        self.open('{');
        fill(self);
        self.close('}');
    }

    /// An array, whose values `fill` writes.
    pub fn array(&mut self, fill: impl FnOnce(&mut Json)) {
        self.open('[');
        fill(self);
        self.close(']');
    }

    /// An array of one value for each item, which `each` writes.
    pub fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut Json, T)) {
        self.array(|json| items.into_iter().for_each(|item| each(json, item)));
    }

    /// Opens an array or an object.
    pub fn open(&mut self, bracket: char) {
        self.comma();
        self.text.push(bracket);
        self.is_behind = false;
    }

    /// Closes an array or an object.
    pub fn close(&mut self, bracket: char) {
        self.text.push(bracket);
        self.is_behind = true;
    }

    /// The key of the value that is written next.
    pub fn key(&mut self, name: &str) -> &mut Json {
        self.string(name);
        self.text.push(':');
        self.is_behind = false;
        self
    }

    /// A string.
    pub fn string(&mut self, value: &str) {
        self.comma();
        self.text.push('"');
        escape(&mut self.text, value);
        self.text.push('"');
    }

    /// A whole number.
    pub fn integer(&mut self, value: u64) {
        self.comma();
        let _ = write!(self.text, "{value}");
    }

    /// A number; `null` if it is not finite.
    pub fn number(&mut self, value: impl Into<f64> + Display + Copy) {
        if !value.into().is_finite() {
            return self.null();
        }
        self.comma();
        let _ = write!(self.text, "{value}");
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, value: bool) {
        self.comma();
        let _ = write!(self.text, "{value}");
    }

    /// `null`.
    pub fn null(&mut self) {
        self.comma();
        self.text.push_str("null");
    }

    /// The text since the last call. Later text continues after it.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The number of bytes to take.
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

/// Appends `value` as a string in quotes: nothing in it can end a string, a script or a comment of HTML, or act on a
/// terminal. Active characters become codes of 16 bits.
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
