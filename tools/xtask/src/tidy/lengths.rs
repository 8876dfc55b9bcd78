//! Limits the lengths of files, functions and comments.
//!
//! clippy limits functions in the main workspace; this also covers the other workspaces, Python and JavaScript.

use super::tokens::Code;
use super::{File, Finding, Tree};

/// Maximum number of lines of a function, without blank lines and comments.
const MAX_FUNCTION_LINES: usize = 70;
const MAX_FILE_LINES: usize = 800;
const MAX_COLUMNS: usize = 120;

/// Extensions of source files. The C header is generated.
const CODE: &[&str] = &["rs", "py", "js", "mjs", "c", "cpp", "hpp"];

/// Rule: no source file and no comment is too long. The formatter limits lines of code.
pub(super) fn files_and_comments(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files.iter().filter(|file| CODE.iter().any(|ending| file.is(ending))) {
        let count = file.text.lines().count();
        if count > MAX_FILE_LINES {
            let message = format!("{count} lines; the limit is {MAX_FILE_LINES}: split the file by purpose");
            findings.push(Finding::new(file.path, MAX_FILE_LINES + 1, message));
        }
        let is_wide = |line: &str| line.len() > MAX_COLUMNS && line.chars().count() > MAX_COLUMNS;
        let wide = file.lines().filter(|(_, line)| is_wide(line) && line.trim_start().starts_with("//"));
        let message = format!("more than {MAX_COLUMNS} columns");
        findings.extend(wide.map(|(number, _)| Finding::new(file.path, number, &*message)));
    }
}

/// Rule: no function is too long.
pub(super) fn functions(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in &tree.files {
        let functions = match file.path.rsplit_once('.') {
            Some((_, "rs")) => rust(file.code()),
            Some((_, "py")) => python(file),
            Some((_, "js" | "mjs")) => javascript(file),
            _ => continue,
        };
        for Function { name, line, count } in
            functions.into_iter().filter(|function| function.count > MAX_FUNCTION_LINES)
        {
            let message = format!("`{name}` has {count} lines; the limit is {MAX_FUNCTION_LINES}");
            findings.push(Finding::new(file.path, line, message));
        }
    }
}

struct Function<'a> {
    name: &'a str,
    /// First line.
    line: usize,
    count: usize,
}

/// Counts lines with code between the braces of Rust functions.
fn rust<'a>(code: Code<'a, '_>) -> Vec<Function<'a>> {
    let mut functions = Vec::new();
    for index in 0..code.len() {
        if code.first(index) != b'f' || !code.is(index, "fn") || !code.is_word(index + 1) {
            continue;
        }
        let mut open = index + 2;
        while open < code.len() && !matches!(code.first(open), b'{' | b';') {
            open = code.partner(open).max(open) + 1;
        }
        let close = code.partner(open);
        // Most functions are short enough even with comments, so the exact count is rarely needed.
        let mut count = code.line(close).saturating_sub(code.line(open));
        if count > MAX_FUNCTION_LINES {
            count = lines_with_code(code, open + 1, close);
        }
        functions.push(Function { name: code.text(index + 1), line: code.line(index), count });
    }
    functions
}

fn lines_with_code(code: Code<'_, '_>, start: usize, end: usize) -> usize {
    let mut count = 0;
    let mut last_line = code.line(start.saturating_sub(1));
    for index in start..end {
        let line = code.line(index);
        count += usize::from(line != last_line);
        // Remaining lines of a multi-line literal.
        let more = code.text(index).matches('\n').count();
        count += more;
        last_line = line + more;
    }
    count
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Finds Python functions, which end before the next line that is indented no deeper than their `def`.
fn python<'a>(file: &File<'a>) -> Vec<Function<'a>> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut functions = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(rest) = line.trim_start().trim_start_matches("async ").strip_prefix("def ") else { continue };
        let is_inside = |inner: &&&str| {
            inner.trim().is_empty() || indent(inner) > indent(line) || inner.trim_start().starts_with(')')
        };
        let body = lines[start + 1..].iter().take_while(is_inside);
        let count = 1 + body.filter(|inner| !inner.trim().is_empty()).count();
        functions.push(Function { name: rest.split('(').next().unwrap_or(rest), line: start + 1, count });
    }
    functions
}

/// Finds JavaScript functions, which end at the next closing brace with their indentation. A function around a whole
/// file is a module.
fn javascript<'a>(file: &File<'a>) -> Vec<Function<'a>> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut functions = Vec::new();
    for (start, line) in lines.iter().enumerate().filter(|(_, line)| starts_javascript(line)) {
        let is_inside = |inner: &&&str| indent(inner) != indent(line) || !inner.trim_start().starts_with('}');
        let is_code = |inner: &&&str| {
            let inner = inner.trim_start();
            !inner.is_empty() && !["//", "/*", "*"].iter().any(|comment| inner.starts_with(comment))
        };
        let count = lines[start + 1..].iter().take_while(is_inside).filter(is_code).count();
        let head = line.trim().trim_end_matches(['{', ' ']);
        functions.push(Function { name: head.split(" = ").next().unwrap_or(head), line: start + 1, count });
    }
    functions
}

/// Returns whether a line opens the body of a JavaScript function.
fn starts_javascript(line: &str) -> bool {
    let line = line.trim();
    let first = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_statement = ["if", "for", "while", "switch", "catch", "with"].contains(&first);
    let is_module = ["(() =>", "(async () =>", "(function"].iter().any(|start| line.starts_with(start));
    let opens = line.ends_with("=> {") || line.ends_with(") {") && !is_statement && !line.starts_with('}');
    opens && !is_module
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn long_files_and_comments_are_found() {
        let long = "x\n".repeat(801) + "// " + &"é".repeat(118);
        for ending in CODE {
            assert_eq!(findings_of(files_and_comments, &[(&format!("a.{ending}"), &long), ("a.md", &long)]).len(), 2);
        }
    }

    /// Generates a function of this many lines.
    type Source<'a> = &'a dyn Fn(usize) -> String;

    #[test]
    fn long_functions_are_found() {
        let rust =
            |lines: usize| format!("impl A {{\n    fn f<T>(a: [u8; 3]) {{\n// b\n\n{}}}\n}}\n", "x();\n".repeat(lines));
        let python = |lines: usize| format!("def f(\n    a,\n):\n{}\ndef g(): pass\n", "    x\n".repeat(lines - 3));
        let method = |lines: usize| format!("  async f(a) {{\n    // b\n\n{}  }}\n", "    x\n".repeat(lines));
        let arrow =
            |lines: usize| format!("(() => {{\n  f = (a) => {{\n{}  }};\n}})();\n", "    if (x) {}\n".repeat(lines));
        let planted: [(&str, Source, &str); 5] = [
            ("tools/bench/src/a.rs", &rust, "tools/bench/src/a.rs:2: `f` has 71 lines; the limit is 70"),
            ("a.py", &python, "a.py:1: `f` has 71 lines; the limit is 70"),
            ("a.js", &method, "a.js:1: `async f(a)` has 71 lines; the limit is 70"),
            ("a.mjs", &arrow, "a.mjs:2: `f` has 71 lines; the limit is 70"),
            (
                "a.rs",
                &|lines| format!("fn f() {{\n    a(\"{}\");\n}}\n", "\n".repeat(lines - 1)),
                "a.rs:1: `f` has 71 lines; the limit is 70",
            ),
        ];
        for (path, text, message) in planted {
            assert_eq!(findings_of(functions, &[(path, &text(71))]), [message]);
            assert_eq!(findings_of(functions, &[(path, &text(70))]), [""; 0]);
        }
    }
}
