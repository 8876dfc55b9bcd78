//! `cargo xtask book`: builds the guide as a site with search, in `target/book`. Never changes a page.
//!
//! `docs/SUMMARY.md` is its table of contents, `docs/book.toml` its configuration. mdBook builds it, and is installed
//! below `target` if needed. The rules of `tidy` check the links between pages.

use crate::root;
use crate::steps::Outcome;
use std::process::{Command, ExitCode};

/// Builds the site.
pub(crate) fn main() -> ExitCode {
    match step() {
        Outcome::Ok => ExitCode::SUCCESS,
        Outcome::Skipped(reason) => {
            crate::term::err(format!("{reason}\n"));
            ExitCode::FAILURE
        }
        Outcome::Failed => ExitCode::FAILURE,
    }
}

/// Same as [`main`]; skipped without mdBook.
pub(crate) fn step() -> Outcome {
    let Some(program) = root::tool("mdbook", &["--version"]) else {
        return Outcome::Skipped("mdBook is not installed".into());
    };
    Outcome::of(root::runs(Command::new(program).args(["build", "docs"]).current_dir(root::root())))
}

#[cfg(test)]
mod tests {
    use crate::root;
    use std::fs;

    #[test]
    fn every_page_is_in_the_table_of_contents() {
        let docs = root::root().join("docs");
        let contents = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
        for folder in ["", "guide/"] {
            for entry in fs::read_dir(docs.join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let is_page = name.ends_with(".md") && name != "SUMMARY.md";
                assert!(!is_page || contents.contains(&format!("]({folder}{name})")), "{folder}{name}");
            }
        }
    }
}
