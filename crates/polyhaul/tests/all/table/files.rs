//! Files of `testdata/table`: files in `good` are read as listed here; files in `bad` are errors.

use crate::table::support::shown;
use polyhaul::{Input, Reader};
use polyhaul_testkit::corpus;

const NAMES: [&str; 5] = ["csv", "tsv", "xyz", "pts", "npy"];

#[test]
fn good_files_come_to_what_they_say() {
    let expected = [
        (
            "cloud.pts",
            "3 rows; x=F64([0.25, 1.0, -4.125]); y=F64([-1.5, 2.0, 5.0]); z=F64([2.0, 3.0, 60.0]); \
            intensity=I64([-200, 10, 2047]); red=I64([255, 0, 1]); green=I64([128, 0, 2]); blue=I64([0, 0, 3])",
        ),
        ("columns.npy", "2 rows; =I16([1, 2]); =I16([3, 4]); =I16([5, -6])"),
        (
            "large.csv",
            "3 rows; id=U64([18446744073709551615, 9223372036854775809, 12345678901234567890]); other=I64([1, 2, 3])",
        ),
        ("large_mixed.csv", "3 rows; id=F64([1.2345678901234568e18, 0.5, 9007199254740992.0]); other=I64([1, 2, 3])"),
        ("missing.tsv", "x.tsv:2:3: missing value; expected a number"),
        (
            "names.csv",
            "3 rows; id=I64([1, 2, 12345678901234567]); x, east=F64([0.5, 7.0, 9.0]); \
            y;z=F64([-0.002, 8.25, 10.0]); t=F64([NaN, inf, -0.0])",
        ),
        (
            "normals.xyz",
            "2 rows; x=F64([1.0, 4.0]); y=F64([2.0, 5.0]); z=F64([3.0, 6.0]); nx=I64([0, -1]); ny=F64([0.5, 0.0]); \
            nz=I64([1, 0])",
        ),
        ("plain.csv", "3 rows; id=I64([1, 2, 3]); weight=F64([0.5, 0.25, 8.5]); count=I64([3, 4, 5])"),
        ("records.npy", "2 rows; x=F32([1.5, 2.5]); n=I64([-7, 1152921504606846976])"),
        ("rows.npy", "2 rows; =F64([1.0, 4.0]); =F64([2.5, 5.0]); =F64([-3.0, 1e300])"),
    ];
    let mut contents = Vec::new();
    for extension in NAMES {
        for file in corpus::samples("table/good", extension) {
            let input = Input::Memory(file.bytes(), format!("x.{extension}"));
            let shown_table = match Reader::new(input).tables() {
                Ok(loaded) => shown(&loaded.value.tables[0]),
                Err(error) => error.to_string(),
            };
            contents.push((file.name.rsplit('/').next().unwrap().to_owned(), shown_table));
        }
    }
    contents.sort();
    let expected: Vec<_> = expected.map(|(name, shown_table)| (name.to_owned(), shown_table.to_owned())).into();
    assert_eq!(contents, expected);
}

#[test]
fn bad_files_are_errors() {
    let mut count = 0;
    for extension in NAMES {
        for file in corpus::samples("table/bad", extension) {
            let input = Input::Memory(file.bytes(), format!("x.{extension}"));
            assert!(Reader::new(input).tables().is_err(), "{}", file.name);
            count += 1;
        }
    }
    assert_eq!(count, 6);
}
