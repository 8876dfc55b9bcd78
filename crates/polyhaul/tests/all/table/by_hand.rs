//! Parsing of small texts. Expected values that are not obvious come from Python's `float` and `struct`.

use crate::table::support::*;
use polyhaul::ErrorKind;
use polyhaul::model::{Scalar, Values};
use polyhaul::options::{ColumnName, ColumnTypes, Delimiter, MissingValue, TableHeader, TableReadOptions};

fn options() -> TableReadOptions {
    TableReadOptions::default()
}

#[test]
fn separators_are_found() {
    let expected = table_of(2, vec![column("", ints([1, 3])), column("", floats([2.5, -4.0]))]);
    for text in [
        "1,2.5\n3,-4\n",
        "1, 2.5\n3 ,-4",
        "1;2.5\r\n3;-4\r\n",
        "1\t2.5\n\n3\t-4\n",
        "  1   2.5\n\t3 -4  \n",
        "1 2.5\r3 -4\r",
        "\u{FEFF}1,2.5\n3,-4",
        "# one\n1,2.5 # two\n#three\n  # four\n3,-4\n",
        "\"1\",\"2.5\"\n3,\"-4\"\n",
        "+1 25e-1\n3 -0.4e+1\n",
    ] {
        assert_eq!(table(text, "x.csv"), expected, "{text:?}");
        assert_eq!(table(text, "x.txt"), expected, "{text:?}");
    }
    // Tabs separate fields only in `.tsv` files.
    assert_eq!(table("1 \t2\n", "x.tsv").columns.len(), 2);
    assert_eq!(table("1\n2\n", "x.tsv"), table_of(2, vec![column("", ints([1, 2]))]));
    let bar = options().with_delimiter(Some(Delimiter::Byte(b'|')));
    assert_eq!(with("1|2.5\n3 | -4", bar), expected);
    let blanks = options().with_delimiter(Some(Delimiter::Blanks));
    assert_eq!(with("1 2.5\n3 -4", blanks), expected);
}

#[test]
fn separators_inside_quotes_are_part_of_names() {
    for text in ["\"depth; m\",x", "\"depth; m\",x\n1,2\n", "\"depth; m\"\tx\n", "\"depth; m\";x\n"] {
        let table = table(text, "x.csv");
        assert_eq!(table.columns.iter().map(|column| &*column.name).collect::<Vec<_>>(), ["depth; m", "x"], "{text:?}");
    }
    // A quote within a name separates nothing.
    assert_eq!(table("pipe 5\";x\n", "x.csv").columns[0].name, "pipe 5\"");
}

#[test]
fn names_come_first() {
    let expected = table_of(1, vec![column("a", ints([1])), column("b c", ints([2]))]);
    for text in ["a,b c\n1,2", "\"a\" , \"b c\"\n1,2", "# x\n\na,b c # y\n# z\n1,2\n", "a;b c\n1;2\n"] {
        assert_eq!(table(text, "x.csv"), expected, "{text:?}");
    }
    assert_eq!(table("\"a\" \"b c\"\n1 2\n", "x.csv"), expected);
    assert_eq!(table("\"say \"\"a,b\"\"\",2\n1,2\n", "x.csv").columns[0].name, "say \"a,b\"");
    let named = options().with_header(TableHeader::Present);
    assert_eq!(with("1,2\n3,4\n", named.clone()), table_of(1, vec![column("1", ints([3])), column("2", ints([4]))]));
    assert_eq!(with("a,b", named), table_of(0, vec![column("a", floats([])), column("b", floats([]))]));
    let bare = options().with_header(TableHeader::Absent);
    assert_eq!(complaint("a,b\n1,2", bare), "x.csv:1:1: `a` is not a number");
    let latin = load(&b"\xe9,b\n1,2\n"[..], "x.csv", options()).unwrap();
    assert_eq!(latin.report.warnings.counts()["non-utf8-name"], 1);
    assert_eq!(only(latin).columns[0].name, "\u{e9}");
}

#[test]
fn nothing_is_a_table_too() {
    for text in ["", "\n\n", "# x\n", "\u{FEFF}"] {
        assert_eq!(table(text, "x.csv"), table_of(0, vec![]), "{text:?}");
    }
    let loaded = load("# a\n#b\n1\n# c\n", "x.csv", options()).unwrap();
    assert_eq!(loaded.value.comments, ["a", "b"]);
}

#[test]
fn integers_stay_as_long_as_all_are() {
    let text = "9223372036854775807,-9223372036854775808,9007199254740993,1,-0,7,18446744073709551615\n\
                1,2,3,1e0,0,,5\n";
    let missing = options().with_missing(MissingValue::Nan);
    let columns = with(text, missing).columns;
    assert_eq!(columns[0].values, ints([i64::MAX, 1]));
    assert_eq!(columns[1].values, ints([i64::MIN, 2]));
    assert_eq!(columns[2].values, ints([9_007_199_254_740_993, 3]));
    assert_eq!(columns[3].values, floats([1.0, 1.0]));
    assert!(matches!(&columns[4].values, Values::F64(values) if values[0].is_sign_negative()));
    assert!(matches!(&columns[5].values, Values::F64(values) if values[0] == 7.0 && values[1].is_nan()));
    assert_eq!(columns[6].values, Values::U64([u64::MAX, 5].into()));
    // Exact integers are rounded once when a float follows: 2^53 + 1 is a tie, and is rounded to even.
    assert_eq!(table("9007199254740993\n0.5\n", "x.csv").columns[0].values, floats([9_007_199_254_740_992.0, 0.5]));
}

#[test]
fn numbers_are_rounded_correctly() {
    let text =
        "0.1 1e23 2.2250738585072011e-308 4.9e-324 1e999 -1e-999 nan INF -Infinity 123456789012345678901234567890";
    let bits = [
        0x3FB9_9999_9999_999A,
        0x44B5_2D02_C7E1_4AF6,
        0x000F_FFFF_FFFF_FFFF,
        1,
        0x7FF0_0000_0000_0000,
        0x8000_0000_0000_0000,
        0x7FF8_0000_0000_0000,
        0x7FF0_0000_0000_0000,
        0xFFF0_0000_0000_0000,
        0x45F8_EE90_FF6C_373E,
    ]
    .map(Some::<u64>);
    let loaded = table(text, "x.txt").columns.into_iter().map(|column| match column.values {
        Values::F64(values) => Some(values[0].to_bits()),
        _ => None,
    });
    assert_eq!(loaded.collect::<Vec<_>>(), bits);
    // Just above the midpoint between two f32s: rounded to f64 first, it would be rounded down.
    let above = "1.00000017881393432617187499 1.00000017881393432617187501 16777217 16777219.0 1e-46 1.4012984643e-45";
    let singles = [0x3F80_0001_u32, 0x3F80_0002, 0x4B80_0000, 0x4B80_0002, 0, 1];
    for others in ["", " 5"] {
        // With a column of another type, all columns are parsed as f64s.
        let mut types = vec![Some(Scalar::F32); 6];
        types.extend((!others.is_empty()).then_some(None));
        let options = options().with_types(ColumnTypes::Each(types));
        let columns = with(&format!("{above}{others}"), options).columns;
        let loaded = columns.iter().filter_map(|column| match &column.values {
            Values::F32(values) => Some(values[0].to_bits()),
            _ => None,
        });
        assert_eq!(loaded.collect::<Vec<_>>(), singles);
    }
}

#[test]
fn types_are_what_was_asked_for() {
    let typed = |scalar| options().with_types(ColumnTypes::All(scalar));
    let text = "1,200\n-3,4\n";
    assert_eq!(with(text, typed(Scalar::F32)).columns[1].values, Values::F32([200.0, 4.0].into()));
    assert_eq!(with(text, typed(Scalar::I16)).columns[0].values, Values::I16([1, -3].into()));
    assert_eq!(
        complaint(text, typed(Scalar::I8)),
        "x.csv:1:3: `200` does not fit the column's type; expected an integer from -128 to 127"
    );
    assert_eq!(
        complaint(text, typed(Scalar::U64)),
        "x.csv:2:1: `-3` does not fit the column's type; expected an integer from 0 to 18446744073709551615"
    );
    assert_eq!(
        complaint("1.5", typed(Scalar::I64)),
        "x.csv:1:1: `1.5` does not fit the column's type; expected an integer from -9223372036854775808 to 9223372036854775807"
    );
    assert_eq!(
        with("18446744073709551615\n1e3\n2.0\n9007199254740992\n", typed(Scalar::U64)).columns[0].values,
        Values::U64([u64::MAX, 1000, 2, 9_007_199_254_740_992].into())
    );
    let each = options().with_types(ColumnTypes::Each(vec![Some(Scalar::U8), None]));
    let columns = with("1,2\n3,4.5", each.clone()).columns;
    assert_eq!((&columns[0].values, &columns[1].values), (&Values::U8([1, 3].into()), &floats([2.0, 4.5])));
    assert_eq!(error("1\n", "x.csv", each).kind(), ErrorKind::Usage);
}

#[test]
fn missing_values_are_errors_or_what_the_caller_says() {
    assert_eq!(complaint("1,2\n3,\n", options()), "x.csv:2:3: missing value; expected a number");
    assert_eq!(complaint("a,b,c\n,2,3\n", options()), "x.csv:2:1: missing value; expected a number");
    let value = options().with_missing(MissingValue::Value(-1.0));
    assert_eq!(with("1,\n,\"\"\n", value.clone()).columns[1].values, ints([-1, -1]));
    assert_eq!(with("1,\n\n,3\n", value.clone()).columns[0].values, ints([1, -1]));
    let single = value.clone().with_types(ColumnTypes::All(Scalar::F32));
    assert_eq!(with("1,\n,2\n", single).columns[0].values, Values::F32([1.0, -1.0].into()));
    let unsigned = value.with_types(ColumnTypes::All(Scalar::U8));
    assert_eq!(error("1,\n", "x.csv", unsigned.clone()).kind(), ErrorKind::Usage);
    let nan = unsigned.with_missing(MissingValue::Nan);
    assert_eq!(
        complaint("1,\n", nan),
        "x.csv:1:3: missing value; an integer column cannot store NaN; expected an integer"
    );
    // A line of tabs has fields, a line of spaces has none.
    let nan = options().with_missing(MissingValue::Nan).with_delimiter(Some(Delimiter::Byte(b'\t')));
    assert_eq!(with("1\t2\n\t\n  \n3\t4", nan).row_count, 3);
}

#[test]
fn rows_agree_on_their_columns() {
    assert_eq!(
        complaint("1,2\n1,2,3\n", options()),
        "x.csv:2:1: this row has 3 values; expected 2, as in the first row"
    );
    assert_eq!(
        complaint("1 2\n\n 7 # x", options()),
        "x.csv:3:1: this row has 1 value; expected 2, as in the first row"
    );
    assert_eq!(complaint("a,b\n1\n", options()), "x.csv:2:1: this row has 1 value; expected 2, as in the first row");
    assert_eq!(
        complaint("1,5;2,5\n3,5;4,5\n", options().with_header(TableHeader::Absent)),
        "x.csv:1:1: `1,5` is not a number"
    );
    let hint = error("1;2\n1,5;2\n", "x.csv", options());
    assert_eq!(hint.diagnostic().hint.as_deref(), Some("write numbers with a decimal point, not a comma"));
    for bad in ["0x10", "1_000", "1e", "--1", "1.2.3", "\u{661}", "1d5", "1\""] {
        let text = format!("1\n{bad}\n");
        assert!(complaint(&text, options()).starts_with("x.csv:2:1: `"), "{bad}");
    }
}

#[test]
fn lines_rows_and_columns_are_picked() {
    let text = "title, of, a\n# file\nname,x,y\nada,1,2\nbob,3,4\neve,5,6\n";
    let names = |names: &[&str]| Some(names.iter().map(|&name| ColumnName::Name(name.into())).collect());
    let picked = options().with_skip_lines(2).with_columns(names(&["y", "x"]));
    let expected = table_of(3, vec![column("y", ints([2, 4, 6])), column("x", ints([1, 3, 5]))]);
    assert_eq!(with(text, picked.clone()), expected);
    let first = picked.clone().with_max_rows(Some(2));
    assert_eq!(with(text, first).columns[1].values, ints([1, 3]));
    let places = options().with_skip_lines(3).with_columns(Some(vec![ColumnName::Index(2)]));
    assert_eq!(with(text, places), table_of(3, vec![column("", ints([2, 4, 6]))]));
    let none = picked.with_columns(names(&["z"]));
    assert_eq!(error(text, "x.csv", none).kind(), ErrorKind::Usage);
    // Text after the requested rows is not read.
    let rows = options().with_max_rows(Some(1));
    assert_eq!(with("1\nx\n", rows), table_of(1, vec![column("", ints([1]))]));
    assert_eq!(with("0.5\n1\n", options().with_max_rows(Some(0))).row_count, 0);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for bad in ["1", "n", "+", "\"", " ", "."] {
        let options = options().with_comment(bad.into());
        assert_eq!(error("1", "x.csv", options).kind(), ErrorKind::Usage, "{bad}");
    }
    for bad in [b'1', b'e', b'-', b'\n', b'"'] {
        let options = options().with_delimiter(Some(Delimiter::Byte(bad)));
        assert_eq!(error("1", "x.csv", options).kind(), ErrorKind::Usage);
    }
    let none = options().with_comment(String::new());
    assert_eq!(complaint("1\n2 # x\n", none), "x.csv:2:1: this row has 3 values; expected 1, as in the first row");
    let other = options().with_comment("//".into());
    assert_eq!(
        with("// x\n1 / 2\n", other.with_delimiter(Some(Delimiter::Byte(b';'))).with_header(TableHeader::Auto))
            .row_count,
        0
    );
}

#[test]
fn quotes_and_comments_count_in_columns_that_are_not_kept() {
    let columns = Some([1, 2].map(ColumnName::Index).to_vec());
    let options = TableReadOptions::default().with_columns(columns).with_header(TableHeader::Absent);
    let text = "x,2,3\ny,5,6\n# 4,5,6\n7,8,9 # 1\n\"a,b\",10,11\nz,12,13\n";
    let columns = with(text, options.clone()).columns;
    assert_eq!((&columns[0].values, &columns[1].values), (&ints([2, 5, 8, 10, 12]), &ints([3, 6, 9, 11, 13])));
    let message = complaint("x,2,3\n\"a,4\",5\n", options.clone());
    assert!(message.contains("this row has 2 values"), "{message}");
    let message = complaint("x,2,3\ny,4 #,5\n", options);
    assert!(message.contains("this row has 2 values"), "{message}");
}

#[test]
fn a_quote_that_nothing_closes_is_an_error_at_its_place() {
    let picked = |place| TableReadOptions::default().with_columns(Some(vec![ColumnName::Index(place)]));
    for (text, options, place) in [
        ("x,y\n1,\"2\n3,4\n", TableReadOptions::default(), (2, 3, 6)),
        ("x,y\n1,\"2\n3\",4\n", picked(0), (2, 3, 6)),
        ("x,y\n1, \"2\"\",3\n", picked(0), (2, 4, 7)),
        ("x, \"y\n1,2\n", TableReadOptions::default(), (1, 4, 3)),
    ] {
        let error = error(text, "x.csv", options);
        let error_place = &error.diagnostic().place;
        let error_place = (error_place.line, error_place.column, error_place.offset);
        assert_eq!(error_place, (Some(place.0), Some(place.1), Some(place.2)), "{error}");
        assert!(error.to_string().contains("unterminated quote"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }
}

#[test]
fn other_content_without_rows_is_named() {
    let contents = [(r#"{"error":"not found"}"#, "JSON"), ("<html><body>404</body></html>\n", "a web page")];
    for (text, name) in contents {
        let report = load(text.as_bytes(), "x.csv", options()).unwrap().report;
        let said: Vec<_> = report.warnings.kept().iter().map(|warning| &*warning.diagnostic.message).collect();
        assert!(said.len() == 1 && said[0].contains(name), "{said:?}");
    }
    assert!(
        load(&b"version x,y\n"[..], "x.csv", options()).unwrap().report.warnings.counts().contains_key("other-format")
    );
    assert!(load(&b"x,y\n"[..], "x.csv", options()).unwrap().report.warnings.is_empty());
}
