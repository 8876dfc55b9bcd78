//! Adds command-line flags to the library's hints about limits, which name only the option.

use polyhaul::options::{Limits, OptionGroup};

/// Replaces the limit named in a hint with its flag. "raise the limit `files`" becomes "raise the limit with
/// `--limit files=N`", with the suggested value if there is one. Other hints are returned unchanged.
pub fn with_flag(hint: &str) -> String {
    flagged(hint).unwrap_or_else(|| hint.to_owned())
}

fn flagged(hint: &str) -> Option<String> {
    let (start, rest) = hint.split_once("the limit `")?;
    let (name, rest) = rest.split_once('`')?;
    if name == "memory_limit" {
        return Some(format!("{start}the limit with `--memory-limit SIZE`{rest}"));
    }
    Limits::row(&format!("{}.{name}", Limits::GROUP))?;
    let suggested = rest.strip_prefix(" to ").map(|text| text.split_at(text.find(' ').unwrap_or(text.len())));
    let (value, rest) = suggested.unwrap_or(("N", rest));
    Some(format!("{start}the limit with `--limit {name}={value}`{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_get_their_flags() {
        let pairs = [
            ("raise the limit `files`", "raise the limit with `--limit files=N`"),
            ("use a, or raise the limit `pixels` to 12", "use a, or raise the limit with `--limit pixels=12`"),
            ("raise the limit `elements` (at most 9)", "raise the limit with `--limit elements=N` (at most 9)"),
            ("raise the limit `files` to 7 or more", "raise the limit with `--limit files=7` or more"),
            ("raise the limit `memory_limit`", "raise the limit with `--memory-limit SIZE`"),
        ];
        for (hint, shown) in pairs {
            assert_eq!(with_flag(hint), shown);
        }
        for other in ["write 2.5", "raise the limit `other`", "the limit `", ""] {
            assert_eq!(with_flag(other), other);
        }
    }
}
