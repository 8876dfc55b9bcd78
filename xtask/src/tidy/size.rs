//! Nothing too long to read at once: functions of 70 lines, files of 800 and comments of 120 columns
//! at most, tests included.

use super::Finding;
use super::tree::{File, Tree};

/// From the line of `fn` to the closing brace, both included.
const FUNCTION_LINES: usize = 70;
/// Lines of a source file, comments and tests included.
const FILE_LINES: usize = 800;

/// Columns of a comment; code is the formatter's.
const COMMENT_COLUMNS: usize = 120;

/// No line of a Rust comment is too wide.
pub(super) fn comments(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".rs")) {
        let comments = (1..).zip(file.text.lines()).filter(|(_, line)| line.trim_start().starts_with("//"));
        let wide = comments.filter(|(_, line)| line.chars().count() > COMMENT_COLUMNS);
        let message = format!("more than {COMMENT_COLUMNS} columns");
        findings.extend(wide.map(|(at, _)| Finding::new(&file.path, at, "comment-width", message.clone())));
    }
    findings
}

/// No source file is too long.
pub(super) fn files(tree: &Tree) -> Vec<Finding> {
    let sources = tree.files.iter().filter(|file| file.path.ends_with(".rs") || file.path.ends_with(".py"));
    let long = sources.map(|file| (file, file.text.lines().count())).filter(|(_, lines)| *lines > FILE_LINES);
    long.map(|(file, lines)| {
        let message = format!("{lines} lines; the limit is {FILE_LINES}: split the file by purpose");
        Finding::new(&file.path, FILE_LINES + 1, "file-length", message)
    })
    .collect()
}

/// No Rust function is too long, those inside others and inside tests included.
pub(super) fn rust_functions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        for i in rust.indices().filter(|&i| rust.token(i) == "fn" && rust.token(i + 1) != "(") {
            let open = rust.head_end(i).filter(|&end| rust.token(end) == "{");
            let Some(close) = open.and_then(|open| rust.close(open)) else {
                continue;
            };
            findings.extend(judge(file, rust.token(i + 1), rust.line(i), rust.line(close)));
        }
    }
    findings
}

/// A Python function ends before the next line that is indented no deeper than its `def`.
pub(super) fn python_functions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".py")) {
        let lines = python_code(&file.text);
        for (index, line) in lines.iter().enumerate() {
            let head = line.trim_start().strip_prefix("async ").unwrap_or(line.trim_start());
            let Some(rest) = head.strip_prefix("def ") else {
                continue;
            };
            let name = rest.split('(').next().unwrap_or(rest);
            findings.extend(judge(file, name, index + 1, python_end(&lines, index)));
        }
    }
    findings
}

/// The finding for a function that stands on the lines `first` to `last`, if it is too long.
fn judge(file: &File, name: &str, first: usize, last: usize) -> Option<Finding> {
    let lines = last - first + 1;
    let message = format!("`{name}` has {lines} lines; the limit is {FUNCTION_LINES}");
    (lines > FUNCTION_LINES).then(|| Finding::new(&file.path, first, "function-length", message))
}

/// The last line, from 1, of the function whose `def` is at `start`, from 0.
fn python_end(lines: &[String], start: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let ends = |line: &str| {
        // The `)` of a head over several lines stands as deep as its `def`.
        !line.trim().is_empty() && indent(line) <= indent(&lines[start]) && !line.trim_start().starts_with(')')
    };
    let body = lines[start + 1..].iter().take_while(|line| !ends(line));
    start + 1 + body.enumerate().filter(|(_, line)| !line.trim().is_empty()).last().map_or(0, |(index, _)| index + 1)
}

/// Python's lines with the later lines of a triple-quoted string indented beyond any code.
fn python_code(text: &str) -> Vec<String> {
    let mut open: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(if open.is_some() { format!("{}.", " ".repeat(400)) } else { line.to_string() });
        let mut rest = line;
        loop {
            let quote = match open {
                Some(quote) => Some(quote),
                None => ["\"\"\"", "'''"].into_iter().filter(|q| rest.contains(q)).min_by_key(|q| rest.find(q)),
            };
            let Some((quote, at)) = quote.and_then(|quote| Some((quote, rest.find(quote)?))) else {
                break;
            };
            open = if open.is_some() { None } else { Some(quote) };
            rest = &rest[at + quote.len()..];
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&Tree) -> Vec<Finding>, path: &str, code: &str) -> Vec<String> {
        rule(&Tree::of(&[(path, code)])).iter().map(|f| format!("{}: {}", f.line, f.message)).collect()
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(found(files, "crates/text/tests/a.rs", &"//\n".repeat(800)), [""; 0]);
        let planted = found(files, "python/tests/a.py", &"#\n".repeat(801));
        assert_eq!(planted, ["801: 801 lines; the limit is 800: split the file by purpose"]);
    }

    #[test]
    fn a_wide_comment_is_found() {
        let code = |columns: usize| format!("fn f() {{}}\n    // {}\n", "\u{e9}".repeat(columns - 7));
        assert_eq!(found(comments, "crates/text/src/a.rs", &code(120)), [""; 0]);
        assert_eq!(found(comments, "crates/text/src/a.rs", &code(121)), ["2: more than 120 columns"]);
    }

    #[test]
    fn a_long_function_is_found() {
        let body =
            |lines: usize| format!("\nfn short();\nfn long(\n    a: [u8; 2],\n) {{\n{}}}\n", "    {}\n".repeat(lines));
        assert_eq!(found(rust_functions, "crates/text/src/a.rs", &body(66)), [""; 0]);
        let planted = found(rust_functions, "crates/text/src/a.rs", &body(67));
        assert_eq!(planted, ["3: `long` has 71 lines; the limit is 70"]);
    }

    #[test]
    fn a_function_pointer_is_no_function() {
        let code = format!("struct A {{\n    a: fn(u8) -> u8,\n{}}}\n", "    // b\n".repeat(80));
        assert_eq!(found(rust_functions, "crates/text/src/a.rs", &code), [""; 0]);
    }

    #[test]
    fn a_long_python_function_is_found() {
        let code = format!(
            "class A:\n    def b(\n        c,\n    ):\n        \"\"\"d\ne\n\"\"\"\n{}\n\nf = 1\n",
            "        g()\n".repeat(65)
        );
        assert_eq!(found(python_functions, "python/a.py", &code), ["2: `b` has 71 lines; the limit is 70"]);
        let code = format!("def a():\n    b()\n\n{}", "c()\n".repeat(80));
        assert_eq!(found(python_functions, "python/a.py", &code), [""; 0]);
    }
}
