//! One changed byte: tables equal those of the slow reader.

use crate::ply::reference;
use crate::ply::support::{lenient, memory, options};
use polyhaul::Reader;
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::mutate;

#[test]
fn one_byte_changed_has_the_tables_of_the_slow_reader() {
    for (folder, max_bytes) in [("ply/good", 450), ("ply/bad", 250)] {
        for file in samples(folder, "ply").into_iter().filter(|file| file.size <= max_bytes) {
            mutate::each_byte(&file.bytes(), |at, byte, bytes| {
                for way in [options(1, None), lenient()] {
                    if let Ok(loaded) = Reader::new(memory(bytes)).options(&way).tables()
                        && let Some(expected) = reference::read(bytes)
                    {
                        // After errors, text rows are dropped or truncated, which the slow reader never does.
                        let counts = loaded.report.warnings.counts();
                        if ["malformed", "extra-value", "truncated"].iter().any(|code| counts.contains_key(code)) {
                            continue;
                        }
                        let actual = reference::of_tables(&loaded.value.tables);
                        let what = format!("{} with {byte:#04x} at {at}", file.name);
                        assert_eq!(format!("{actual:?}"), format!("{expected:?}"), "{what}");
                    }
                }
            });
        }
    }
}
