//! Golden tests of the text for people, compared exactly but without colors.

use super::*;
use polyhaul::error::Place;

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn number() -> Diagnostic {
    Diagnostic {
        message: "this is not a number".into(),
        expected: Some("a number with a decimal point".into()),
        hint: Some("write 2.5".into()),
        place: Place { file: "models/a.obj".into(), line: Some(12), column: Some(5), offset: Some(99) },
        excerpt: Some(Excerpt { text: "v 1 2,5 3".into(), marked: 4..7 }),
        ..Diagnostic::default()
    }
}

#[test]
fn an_error_with_everything() {
    let golden = "\
error: this is not a number
  --> models/a.obj:12:5
   |
12 | v 1 2,5 3
   |     ^^^ expected a number with a decimal point
   |
   = help: write 2.5
";
    assert_eq!(plain(&error(&number())), golden);
}

#[test]
fn a_warning_has_its_code_and_its_colour() {
    let diagnostic = Diagnostic { hint: None, expected: None, ..number() };
    let text = warning(&Warning { code: "bad-number", severity: Severity::Fault, diagnostic, count: 1 });
    let golden = "\
warning[bad-number]: this is not a number
  --> models/a.obj:12:5
   |
12 | v 1 2,5 3
   |     ^^^
";
    assert_eq!(plain(&text), golden);
    assert!(text.contains("\u{1b}[33m") || text.contains("\u{1b}[93m"), "{text:?}");
}

#[test]
fn without_a_line_the_place_stands_before_the_message() {
    let place = Place { file: "a.obj".into(), line: Some(7), ..Place::default() };
    let diagnostic = Diagnostic { place, excerpt: None, hint: None, expected: None, ..number() };
    assert_eq!(plain(&error(&diagnostic)), "error: a.obj:7: this is not a number\n");
    assert_eq!(plain(&error(&Diagnostic::new("out of luck"))), "error: out of luck\n");
}

#[test]
fn without_a_line_expectation_and_hint_follow() {
    let golden = "\
error: models/a.obj:12:5: this is not a number
 |
 = note: expected a number with a decimal point
 = help: write 2.5
";
    assert_eq!(plain(&error(&Diagnostic { excerpt: None, ..number() })), golden);
}

#[test]
fn an_excerpt_from_inside_a_long_line_keeps_the_true_column() {
    let mut diagnostic = number();
    diagnostic.place.column = Some(100_004);
    let text = plain(&error(&diagnostic));
    assert!(text.contains("  --> models/a.obj:12:100004\n"), "{text}");
}

#[test]
fn marks_outside_of_the_text_do_no_harm() {
    for marked in [0..0, 9..9, 5..100, 90..100, 100..usize::MAX, 6..7, 1..2] {
        for text in ["v 1 2,5 3", "", "vé€\u{1f600}é", "\t\n\r", "v 1\u{1b}[2J 3"] {
            let excerpt = Some(Excerpt { text: text.into(), marked: marked.clone() });
            let rendered = error(&Diagnostic { excerpt, ..number() });
            let rendered = plain(&rendered);
            assert!(rendered.starts_with("error: this is not a number\n  --> models/a.obj:12:5\n"), "{rendered}");
            assert!(!rendered.contains('\u{1b}'));
        }
    }
}

#[test]
#[expect(clippy::reversed_empty_ranges)]
fn reversed_marks_do_no_harm() {
    assert_eq!(inside("abc", &(2..1)), 2..2);
    assert_eq!(inside("é", &(1..2)), 0..2);
}

#[test]
fn an_excerpt_without_a_line_number() {
    let mut diagnostic = number();
    diagnostic.place = Place { file: "a.bin".into(), offset: Some(64), ..Place::default() };
    let text = plain(&error(&diagnostic));
    assert!(text.contains("--> a.bin: byte 64\n") && text.contains("v 1 2,5 3\n"), "{text}");
}

#[test]
fn files_cannot_drive_the_terminal() {
    let evil = "a\u{1b}]0;x\u{7}\u{202e}\nerror: b";
    let diagnostic = Diagnostic {
        message: evil.into(),
        expected: Some(evil.into()),
        hint: Some(evil.into()),
        place: Place { file: evil.into(), line: Some(1), ..Place::default() },
        excerpt: Some(Excerpt { text: evil.into(), marked: 0..1 }),
        ..Diagnostic::default()
    };
    for diagnostic in [diagnostic.clone(), Diagnostic { excerpt: None, ..diagnostic }] {
        let text = error(&diagnostic);
        assert!(!text.contains("\u{1b}]") && !text.contains(['\u{7}', '\u{202e}']), "{text:?}");
        assert_eq!(plain(&text).matches("\nerror: b").count(), 0, "{text}");
    }
}

/// A log with `count` warnings about undefined materials.
fn undefined(count: usize) -> Warnings {
    let mut log = Warnings::default();
    for number in 0..count {
        let subject = Some(format!("mat_{number}"));
        log.push("missing-material", Diagnostic { subject, ..Diagnostic::new("is not defined") });
    }
    log
}

#[test]
fn warnings_of_a_kind_are_shown_three_times_and_summed_up_with_their_names() {
    let mut log = undefined(63);
    (0..4).for_each(|_| log.push("wrong-count", Diagnostic::new("is odd")));
    let text = plain(&warnings(&log, WarningsShown::Summary, None));
    assert_eq!((text.matches("is not defined").count(), text.matches("is odd").count()), (3, 3));
    let end = "\
warning: 60 more undefined materials: mat_3, mat_4, mat_5, mat_6, mat_7, ...
warning: 1 more wrong number of values
 |
 = help: use `--warnings all` to show every warning
";
    assert!(text.ends_with(end), "{text}");
    let text = plain(&warnings(&log, WarningsShown::All, None));
    assert_eq!((text.matches("is not defined").count(), text.matches("is odd").count()), (63, 4));
    assert!(!text.contains("more"), "{text}");
    assert_eq!(warnings(&Warnings::default(), WarningsShown::Summary, None), "");
}

#[test]
fn names_that_are_left_are_said_once_and_few_are_said_whole() {
    let mut log = undefined(5);
    log.extend(undefined(5));
    let text = plain(&warnings(&log, WarningsShown::Summary, None));
    assert!(text.contains("\nwarning: 7 more undefined materials: mat_3, mat_4, mat_0, mat_1, mat_2\n"), "{text}");
}

#[test]
fn more_warnings_than_are_kept_are_counted_right() {
    let log = undefined(polyhaul::warnings::KEPT + 200);
    let summary = plain(&warnings(&log, WarningsShown::Summary, None));
    assert!(summary.contains("warning: 1,197 more undefined materials: mat_3, "), "{summary}");
    let text = plain(&warnings(&log, WarningsShown::All, None));
    assert!(text.ends_with("\nwarning: 200 more undefined materials\n"), "{text}");
}

#[test]
fn a_message_that_covers_all_of_its_kind_is_not_summed_up_again() {
    let mut log = Warnings::default();
    log.push_many("left-out-normals", 226, Diagnostic::new("226 normals dropped"));
    let text = plain(&warnings(&log, WarningsShown::Summary, None));
    assert_eq!(text, "warning[left-out-normals]: 226 normals dropped\n");
}

#[test]
fn notes_are_shown_as_notes() {
    let mut log = Warnings::for_target("stl");
    log.push_many("left-out-uvs", 14, Diagnostic::new("14 UVs dropped"));
    (0..5).for_each(|_| log.push("left-out-names", Diagnostic::new("a name")));
    let text = plain(&warnings(&log, WarningsShown::Summary, None));
    assert!(text.starts_with("note[left-out-uvs]: 14 UVs dropped\nnote[left-out-names]: a name\n"), "{text}");
    assert!(text.contains("\nnote: 2 more dropped names\n"), "{text}");
}

#[test]
fn the_complaint_that_stops_is_an_error() {
    let mut log = Warnings::default();
    log.push("bad-value", Diagnostic::new("is odd"));
    log.push("wrong-count", Diagnostic::new("is bad"));
    let text = plain(&warnings(&log, WarningsShown::Summary, Some(&Diagnostic::new("is bad"))));
    assert_eq!(text, "warning[bad-value]: is odd\nerror: is bad\n");
}
