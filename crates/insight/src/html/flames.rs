//! Draws stacks as a flame graph of nested boxes: outer functions on top, as wide as their time.
//!
//! The boxes are plain HTML, so they need no script. Narrow ones are left out. The layout is that of Gregg, "The Flame
//! Graph" (ACM Queue 14.2, 2016), upside down.

use crate::words::{escaped, share, time};
use std::collections::HashMap;
use std::fmt::Write;

/// Boxes narrower than this share of the width are left out.
const MIN_SHARE: f64 = 0.002;

/// Maximum number of boxes in a column; deeper functions are left out.
const MAX_DEPTH: usize = 48;

/// Maximum length of a name in characters.
const NAME_CHARS: usize = 200;

/// A function with those that it calls.
#[derive(Default)]
struct Called<'a> {
    time_ns: u64,
    functions: HashMap<&'a str, Called<'a>>,
}

/// Draws stacks: functions, outermost first, with their nanoseconds.
pub(super) fn flames(stacks: &[(Vec<String>, u64)]) -> String {
    let mut root = Called::default();
    for (functions, time_ns) in stacks {
        root.time_ns += time_ns;
        let mut called = &mut root;
        for function in functions.iter().take(MAX_DEPTH) {
            called = called.functions.entry(function).or_default();
            called.time_ns += time_ns;
        }
    }
    let mut html = String::new();
    if root.time_ns > 0 {
        html.push_str("<div class=flames>");
        draw(&mut html, &root, root.time_ns);
        html.push_str("</div>");
    }
    html
}

fn draw(html: &mut String, called: &Called<'_>, total_ns: u64) {
    let mut functions: Vec<_> = called.functions.iter().collect();
    functions.retain(|(_, inner)| inner.time_ns as f64 >= MIN_SHARE * total_ns as f64);
    functions.sort_by_key(|(name, inner)| (std::cmp::Reverse(inner.time_ns), **name));
    if functions.is_empty() {
        return;
    }
    html.push_str("<div class=row>");
    for (name, inner) in functions {
        let width = 100.0 * inner.time_ns as f64 / called.time_ns.max(1) as f64;
        let name = escaped(&name.chars().take(NAME_CHARS).collect::<String>());
        let part = escaped(&share(inner.time_ns as f64 / total_ns as f64));
        let color = name.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())) % 5;
        let _ = write!(
            html,
            "<div style=\"width:{width:.3}%\"><span class=f{color} title=\"{name}: {}, {part}\">{name}</span>",
            time(inner.time_ns)
        );
        draw(html, inner, total_ns);
        html.push_str("</div>");
    }
    html.push_str("</div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(functions: &[&str], time_ns: u64) -> (Vec<String>, u64) {
        (functions.iter().map(|name| (*name).to_owned()).collect(), time_ns)
    }

    #[test]
    fn boxes_are_as_wide_as_their_time() {
        let stacks = [stack(&["main", "a<b>"], 600), stack(&["main", "c"], 200), stack(&["start"], 200)];
        let html = flames(&[&stacks[..], &[stack(&["main", "narrow"], 1)]].concat());
        let widths = ["width:80.020%", "width:74.906%", "width:24.969%", "width:19.980%"];
        let places = widths.map(|width| html.find(width).unwrap_or_else(|| panic!("{width}: {html}")));
        assert!(places.is_sorted() && !html.contains("narrow"), "{html}");
        assert!(html.contains("title=\"a&#60;b&#62;: 600 ns, 60%\">a&#60;b&#62;</span>"), "{html}");
        assert_eq!(flames(&[]), "");
    }

    #[test]
    fn deep_stacks_end() {
        let names: Vec<String> = (0..10_000).map(|depth| format!("f{depth}")).collect();
        let html = flames(&[(names, 1)]);
        assert_eq!(html.matches("<span").count(), MAX_DEPTH);
    }
}
