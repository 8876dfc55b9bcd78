//! The part `deny` of `cargo xtask nightly`: checks the licenses, sources and advisories of all dependencies against
//! `deny.toml`.
//!
//! Runs cargo-deny, which is installed below `target` if possible. Advisories are skipped if their database cannot be
//! fetched. Without cargo-deny, this checks the licenses in the output of `cargo tree` against the same list. Never
//! changes dependencies.

use crate::steps::Outcome;
use crate::{root, term};
use spdx::{Expression, ParseMode};
use std::collections::BTreeMap;
use std::process::Command;

/// Runs the checks that are possible on this machine.
pub(crate) fn step() -> Outcome {
    let Some(program) = root::cargo_tool("deny") else {
        return without_cargo_deny();
    };
    let deny = |args: &[&str]| root::runs(Command::new(&program).current_dir(root::root()).arg("deny").args(args));
    if !deny(&["check", "licenses", "bans", "sources"]) {
        return Outcome::Failed;
    }
    if !deny(&["fetch", "db"]) {
        return Outcome::Skipped(
            "advisories: the database cannot be fetched; licenses, bans and sources are ok".into(),
        );
    }
    Outcome::of(deny(&["check", "advisories"]))
}

/// Checks the licenses of the crates in builds for this machine; test dependencies are not distributed.
fn without_cargo_deny() -> Outcome {
    let policy = match std::fs::read_to_string(root::root().join("deny.toml")) {
        Ok(policy) => policy,
        Err(error) => {
            term::err(format!("deny.toml: {error}\n"));
            return Outcome::Failed;
        }
    };
    let mut tree = root::cargo();
    tree.args(["tree", "--workspace", "--all-features", "--edges", "normal,build", "--prefix", "none"]);
    let Some(listed) = text(tree.args(["--format", "{p}\t{l}"])) else {
        return Outcome::Skipped("cargo-deny is not installed, and cargo tree does not list the dependencies".into());
    };
    let refused = refused(&listed, &allowed(&policy));
    for (package, licence) in &refused {
        term::out(format!("{package}: the licence `{licence}` is not allowed by deny.toml\n"));
    }
    if refused.is_empty() {
        return Outcome::Skipped("cargo-deny is not installed; all licenses are ok".into());
    }
    Outcome::Failed
}

fn text(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Returns the licenses in all lists called `allow` of the policy, including exceptions.
fn allowed(policy: &str) -> Vec<&str> {
    let lists = policy.split("allow = [").skip(1).filter_map(|rest| rest.split(']').next());
    lists.flat_map(|list| list.split('"').skip(1).step_by(2)).collect()
}

/// Returns the packages in the output of `cargo tree` whose license is not allowed.
fn refused<'a>(listed: &'a str, allowed: &[&str]) -> BTreeMap<&'a str, &'a str> {
    let lines = listed.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('\t'));
    lines.filter(|(_, licence)| !is_allowed(licence, allowed)).collect()
}

/// Returns whether these licenses satisfy an SPDX expression. `/` is the deprecated form of OR.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX);
    parsed.is_ok_and(|expression| expression.evaluate(|licence| allowed.contains(&licence.to_string().as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "[licenses]\nallow = [\n    \"MIT\",\n    \"Apache-2.0 WITH LLVM-exception\",\n]\nexceptions = [{ crate = \"a\", allow = [\"OFL-1.1\"] }]\n";

    #[test]
    fn the_lists_of_the_policy_are_found() {
        assert_eq!(allowed(POLICY), ["MIT", "Apache-2.0 WITH LLVM-exception", "OFL-1.1"]);
        let policy = std::fs::read_to_string(root::root().join("deny.toml")).unwrap();
        assert!(allowed(&policy).contains(&"Unicode-3.0"));
    }

    #[test]
    fn expressions_are_met_or_not() {
        for (expression, is_met) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("GPL-3.0-only OR MIT", true),
            ("GPL-3.0-only/MIT", true),
            ("GPL-3.0-only AND MIT", false),
            ("(MIT OR GPL-3.0-only) AND OFL-1.1", true),
            ("MIT OR GPL-3.0-only AND GPL-2.0-only", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0 WITH Other-exception", false),
            ("(MIT", false),
            ("MIT MIT", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed(POLICY)), is_met, "{expression}");
        }
    }

    #[test]
    fn packages_with_other_licences_are_found() {
        let listed = "a v1.0.0\tMIT\nb v2.0.0\tSSPL-1.0\nb v2.0.0\tSSPL-1.0 (*)\nc v1.0.0 (/x)\t\n";
        let refused = refused(listed, &allowed(POLICY));
        assert_eq!(refused.into_iter().collect::<Vec<_>>(), [("b v2.0.0", "SSPL-1.0"), ("c v1.0.0 (/x)", "")]);
    }
}
