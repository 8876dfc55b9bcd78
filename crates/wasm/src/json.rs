//! JSON, written piece by piece: commas come by themselves. It knows nothing of what it writes.

use std::fmt::{Display, Write};

/// A text that grows.
#[derive(Default)]
pub(crate) struct Json {
    text: String,
    /// Whether the next value needs a comma before it.
    follows: bool,
}

impl Json {
    /// The text of one object, by what writes its members.
    pub(crate) fn text(members: impl FnOnce(&mut Json)) -> String {
        let mut json = Json::default();
        json.object(members);
        json.text
    }

    pub(crate) fn object(&mut self, members: impl FnOnce(&mut Json)) {
        self.nested('{', '}', members);
    }

    /// An array, by what writes each of its values.
    pub(crate) fn array<T>(&mut self, items: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut Json, T)) {
        self.nested('[', ']', |json| items.into_iter().for_each(|item| each(json, item)));
    }

    /// The name of a member, whose value comes next.
    pub(crate) fn key(&mut self, name: &str) -> &mut Json {
        self.string(name);
        self.text.push(':');
        self.follows = false;
        self
    }

    pub(crate) fn string(&mut self, value: &str) {
        self.separate();
        self.text.push('"');
        for character in value.chars() {
            match character {
                '"' | '\\' => self.text.extend(['\\', character]),
                // Writing to a string cannot fail.
                '\0'..' ' | '\u{2028}' | '\u{2029}' => drop(write!(self.text, "\\u{:04x}", u32::from(character))),
                _ => self.text.push(character),
            }
        }
        self.text.push('"');
        self.follows = true;
    }

    pub(crate) fn number(&mut self, value: impl Display) {
        self.separate();
        let begin = self.text.len();
        let _ = write!(self.text, "{value}");
        if self.text[begin..].contains(|letter: char| letter.is_ascii_alphabetic() && letter != 'e') {
            // Neither NaN nor infinity is JSON.
            self.text.replace_range(begin.., "null");
        }
        self.follows = true;
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.separate();
        self.text.push_str(if value { "true" } else { "false" });
        self.follows = true;
    }

    fn separate(&mut self) {
        if self.follows {
            self.text.push(',');
        }
    }

    fn nested(&mut self, open: char, close: char, inside: impl FnOnce(&mut Json)) {
        self.separate();
        self.text.push(open);
        self.follows = false;
        inside(self);
        self.text.push(close);
        self.follows = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_commas_between_them_and_odd_ones_are_written() {
        let text = Json::text(|json| {
            json.key("a \"name\"\n").array([1.5f32, f32::NAN, f32::INFINITY, 1e30, -0.0], Json::number);
            json.key("b").object(|json| json.key("c").bool(true));
            json.key("d").array([""; 0], Json::string);
            json.key("e").string("é\\\u{1}");
        });
        let wanted = r#"{"a \"name\"\u000a":[1.5,null,null,1000000000000000000000000000000,-0],"b":{"c":true},"d":[],"e":"é\\\u0001"}"#;
        assert_eq!(text, wanted);
    }
}
