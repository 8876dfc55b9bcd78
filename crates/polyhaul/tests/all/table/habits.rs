//! Habits of programs that write tables: NaN of C libraries, headers of scanners and spreadsheets, large identifiers,
//! and typing errors in the first row. Nothing is misread silently.

use crate::table::support::*;
use polyhaul::model::{Table, Values};
use polyhaul::options::{Delimiter, MissingValue, OnError, RunOptions, TableHeader, TableReadOptions, WriteOptions};
use polyhaul::{Format, Input, ReadOptions, Reader};

fn options() -> TableReadOptions {
    TableReadOptions::default()
}

fn names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

fn shown_floats(values: &Values) -> String {
    match values {
        Values::F64(values) => format!("{:?}", &values[..]),
        values => format!("{values:?}"),
    }
}

#[test]
fn nan_and_infinity_of_c_libraries_are_values_in_every_column() {
    let spellings = ["1.#QNAN", "-1.#IND", "1.#SNAN00", "1.#QNAN0e+000", "-nan(ind)", "nan(snan)", "NaN", "1.#R"];
    for spelling in spellings {
        for text in [
            format!("x,y,z\n1,2,{spelling}\n3,4,5\n"),
            format!("1 2 3\n3 4 {spelling}\n"),
            format!("{spelling};2;{spelling}\r\n4;5;6\r\n"),
        ] {
            let table = table(text.as_str(), "x.csv");
            assert_eq!((table.row_count, table.columns.len()), (2, 3), "{text:?}");
            assert!(shown_floats(&table.columns[2].values).contains("NaN"), "{text:?}: {table:?}");
        }
    }
    for (spelling, expected) in [("1.#INF", "inf"), ("-1.#INF000", "-inf"), ("+1.#inf", "inf"), ("-Infinity", "-inf")] {
        let table = table(format!("1\t{spelling}\n"), "x.txt");
        assert_eq!(shown_floats(&table.columns[1].values), format!("[{expected}]"));
    }
    assert_eq!(complaint("x\n1\n1.#J\n", options()), "x.csv:3:1: `1.#J` is not a number");
}

#[test]
fn comments_do_not_start_inside_a_value() {
    let error = error("a,b\n1,2#3\n", "x.csv", options());
    assert_eq!(error.to_string(), "x.csv:2:3: `2#3` is not a number");
    assert!(error.diagnostic().hint.as_deref().is_some_and(|hint| hint.contains("a comment must follow white space")));
    assert_eq!(names(&table("n#,b#2\n1,2\n", "x.csv")), ["n#", "b#2"]);
    assert_eq!(table("1,2 #3\n4,\"5\"#6\n", "x.csv").columns[1].values, ints([2, 5]));
    let percent = options().with_comment("%".into());
    assert_eq!(complaint("1\n5%\n", percent), "x.csv:2:1: `5%` is not a number");
}

#[test]
fn errors_of_spreadsheets_are_no_comments() {
    assert_eq!(complaint("a,b\n1,2\n#N/A,3\n", options()), "x.csv:3:1: `#N/A` is not a number");
    let missing = options().with_missing(MissingValue::Nan);
    let columns = with("a,b,c\n#N/A,2,#DIV/0!\n3,#VALUE!,4\n", missing).columns;
    let shown: Vec<String> = columns.iter().map(|column| shown_floats(&column.values)).collect();
    assert_eq!(shown, ["[NaN, 3.0]", "[2.0, NaN]", "[NaN, 4.0]"]);
    assert_eq!(table("1 2\n#N/A means nothing\n", "x.txt").row_count, 1);
}

#[test]
fn a_first_row_with_a_typing_error_is_not_a_header() {
    for (row, bad) in [
        ("1.0,2.0,3.O", "3.O"),
        ("x,-2,3", "x"),
        ("1e3,2,abc", "abc"),
        ("+1,2,x", "x"),
        ("1,2,NA", "NA"),
        ("n/a,2,3", "n/a"),
        ("1.#QNAN,b,c", "b"),
        ("1,2,null", "null"),
    ] {
        for text in [format!("{row}\n4,5,6\n"), format!("# c\n\n{}\n4 5 6\n", row.replace(',', " "))] {
            let error = error(text.as_str(), "x.csv", options());
            assert!(error.to_string().contains(&format!("`{bad}` is not a number")), "{text:?}: {error}");
            let hint = error.diagnostic().hint.as_deref().unwrap_or_default();
            assert!(hint.contains("--header yes"), "{hint}");
            let named = options().with_header(TableHeader::Present);
            assert_eq!(load(text.as_str(), "x.csv", named).map(only).unwrap().row_count, 1);
        }
    }
    assert!(complaint("1\0,2\n3,4\n", options()).contains("is not a number"));
    assert!(
        error("1,5;x\n2,5;3\n", "x.csv", options()).diagnostic().hint.as_deref().unwrap().contains("decimal point")
    );
    assert!(error("x y z\n1 2 3\n", "x.pts", options()).to_string().contains("`x` is not a number"));
    for header in ["x,2001,2002", "a,b,NA", "1.2.3,b,c", "2024-01-01,b,c", "nan,inf,c", "e5,b,c"] {
        assert_eq!(names(&table(format!("{header}\n1,2,3\n"), "x.csv")).join(","), header);
    }
    // The row is dropped, with a warning.
    let run = RunOptions::default().with_threads(Some(1));
    let read = ReadOptions::default().with_run(run).with_on_error(OnError::Warn);
    let input = Input::Memory(b"1.0,3.O\n4,5\n".to_vec(), "x.csv".into());
    let loaded = Reader::new(input).options(&read).tables().unwrap();
    assert_eq!(loaded.report.warnings.counts()["not-a-number"], 1);
    assert_eq!(only(loaded).row_count, 1);
}

#[test]
fn large_integers_keep_their_digits_or_are_counted() {
    let text = "id,v\n18446744073709551615,1\n9223372036854775808,2\n7,-3\n";
    let unsigned = table(text, "x.csv");
    assert_eq!(unsigned.columns[0].values, Values::U64([u64::MAX, 1 << 63, 7].into()));
    assert_eq!(written(&unsigned, Format::Csv, &WriteOptions::default()), text);
    for (text, expected, rounded) in [
        ("9007199254740993\n1.5\n", "[9007199254740992.0, 1.5]", 1),
        ("1.5\n9007199254740993\n", "[1.5, 9007199254740992.0]", 1),
        ("9007199254740992\n1.5\n", "[9007199254740992.0, 1.5]", 0),
        ("18446744073709551615\n-1\n", "[1.8446744073709552e19, -1.0]", 1),
        ("-1\n18446744073709551615\n", "[-1.0, 1.8446744073709552e19]", 1),
        ("18446744073709551616\n1\n", "[1.8446744073709552e19, 1.0]", 0),
        ("18446744073709551617\n1\n", "[1.8446744073709552e19, 1.0]", 1),
        ("-9223372036854775809\n1\n", "[-9.223372036854775808e18, 1.0]", 1),
        ("170141183460469231731687303715884105727\n1\n", "[1.7014118346046923e38, 1.0]", 1),
        ("9007199254740993\n18446744073709551615\n1.5\n", "", 2),
        ("9007199254740993\n18446744073709551615\n", "U64", 0),
    ] {
        for chunk_bytes in [1, 5, 1 << 20] {
            let run = RunOptions::default().with_threads(Some(1)).with_chunk_bytes(Some(chunk_bytes));
            let input = Input::Memory(text.into(), "x.csv".into());
            let loaded = Reader::new(input).options(&ReadOptions::default().with_run(run)).tables().unwrap();
            let count = loaded.report.warnings.counts().get("rounded").copied().unwrap_or(0);
            assert_eq!(count, rounded, "{text:?} in chunks of {chunk_bytes}");
            let message = loaded.report.warnings.kept().first().map(|warning| warning.diagnostic.to_string());
            assert!(message.is_none_or(|message| message.contains("column 0")), "{text:?}");
            let table = only(loaded);
            let values = &table.columns[0].values;
            match expected {
                "U64" => assert!(matches!(values, Values::U64(_)), "{values:?}"),
                "" => assert!(matches!(values, Values::F64(_)), "{values:?}"),
                expected => {
                    let expected: Vec<f64> =
                        expected[1..expected.len() - 1].split(", ").map(|value| value.parse().unwrap()).collect();
                    assert_eq!(*values, Values::F64(expected.into()), "{text:?} in chunks of {chunk_bytes}");
                }
            }
        }
    }
    // A missing value makes the column floating-point, too.
    let missing = options().with_missing(MissingValue::Nan);
    let loaded = load("id,x\n1234567890123456789,0.5\n,1.5\n", "x.csv", missing).unwrap();
    let message = loaded.report.warnings.kept()[0].diagnostic.to_string();
    assert!(message.contains("1 integer was rounded") && message.contains("column `id`"), "{message}");
}

#[test]
fn names_in_quotes_can_have_line_breaks() {
    for (text, expected) in [
        ("\"a\nb\",c\n1,2\n", ["a\nb", "c"]),
        ("c,\"a\r\nb\"\r\n1,2\r\n", ["c", "a\nb"]),
        ("\"a\n\n,#b\";\"\"\"c\"\"\n\"\n1;2\n", ["a\n\n,#b", "\"c\"\n"]),
    ] {
        for chunk_bytes in [1, 3, 1 << 20] {
            let run = RunOptions::default().with_threads(Some(1)).with_chunk_bytes(Some(chunk_bytes));
            let input = Input::Memory(text.into(), "x.csv".into());
            let loaded = Reader::new(input).options(&ReadOptions::default().with_run(run)).tables().unwrap();
            let table = only(loaded);
            assert_eq!((names(&table), table.row_count), (expected.to_vec(), 1), "{text:?}");
            let again = written(&table, Format::Csv, &WriteOptions::default());
            assert_eq!(names(&self::table(again.as_str(), "x.csv")), expected, "{again:?}");
        }
    }
    let long = format!("\"a\n{}\n", "b\n".repeat(100_000));
    assert!(error(long, "x.csv", options()).to_string().starts_with("x.csv:1:1: unterminated quote"));
}

/// A reader takes the first of a tab, `;` and `,` outside quotes for the separator.
#[test]
fn names_with_other_separators_are_written_in_quotes() {
    for expected in [vec!["0;"], vec!["a;b", "c"], vec!["a", "b;c,d"]] {
        let quoted: Vec<_> = expected.iter().map(|name| format!("\"{name}\"")).collect();
        let table = self::table(format!("{}\n{}\n", quoted.join("\t"), vec!["1"; expected.len()].join("\t")), "x.tsv");
        assert_eq!(names(&table), expected);
        for format in [Format::Csv, Format::Tsv] {
            let again = written(&table, format, &WriteOptions::default());
            let name = if format == Format::Csv { "x.csv" } else { "x.tsv" };
            assert_eq!(names(&self::table(again.as_str(), name)), expected, "{again:?}");
        }
    }
}

#[test]
fn headers_of_scanners_name_columns() {
    let expected = "2 rows; X=F64([1.5, 4.5]); Y=F64([2.5, 5.5]); Z=F64([3.5, 6.5]); R=I64([255, 0])";
    for header in
        ["//X Y Z R", "// X Y Z R", "%X Y Z R", "//X Y Z R\n2", "  //X\tY Z R \n 2 ", "# X Y Z R", "#X Y Z R\n2"]
    {
        for extension in ["xyz", "asc", "txt"] {
            let text = format!("{header}\n1.5 2.5 3.5 255\n4.5 5.5 6.5 0\n");
            assert_eq!(shown(&table(text.as_str(), &format!("x.{extension}"))), expected, "{text:?}");
        }
    }
    assert_eq!(shown(&table("2\n1.5 2 3 255\n4.5 5 6 0\n", "x.asc")).split(';').count(), 5);
    assert_eq!(shown(&table("//X,Y,Z,R\n2\n1.5,2.5,3.5,255\n4.5,5.5,6.5,0\n", "x.csv")), expected);
    assert_eq!(
        error("//X Y Z\n3\n1 2 3\n", "x.asc", options()).to_string(),
        "x.asc:2:1: the line declares 3 points, but the file contains 1"
    );
    // The mark stays part of a name, and comments stay comments.
    let bare = options().with_comment(String::new());
    assert_eq!(names(&with("# x\n1 2\n", bare.clone())), ["#", "x"]);
    assert_eq!(names(&with("#x y\n1 2\n", bare)), ["x", "y"]);
    let loaded = load("# three points here\n1 2 3\n", "x.txt", options()).unwrap();
    assert_eq!(loaded.value.comments, ["three points here"]);
    assert_eq!(names(&only(loaded)), ["", "", ""]);
}

#[test]
fn headers_of_spreadsheets_are_understood() {
    let expected = "2 rows; a=I64([1, 3]); b, c=F64([2.5, 4.0])";
    for text in [
        "\u{FEFF}sep=;\r\n\"a\";\"b, c\"\r\n1;2.5\r\n3;4\r\n",
        "sep=|\na|b, c\n1|2.5\n3|4\n",
        "SEP=\t\r\na\tb, c\r\n1\t2.5\r\n3\t4\r\n",
        "\"sep=;\"\na;b, c\n1;2.5\n3;4\n",
        "\u{FEFF}\"a\",\"b, c\"\r\n\"1\",\"2.5\"\r\n\"3\",\"4\"\r\n",
    ] {
        assert_eq!(shown(&table(text, "x.csv")), expected, "{text:?}");
    }
    let given = options().with_delimiter(Some(Delimiter::Byte(b',')));
    assert_eq!(names(&with("sep=;\n1\n", given)), ["sep=;"]);
    assert_eq!(names(&table("a,b\n1,2\n", "x.csv")), ["a", "b"]);
}
