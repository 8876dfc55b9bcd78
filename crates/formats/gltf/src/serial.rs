//! Reads, writes and collects lists and text with fallible allocation: out of memory is an error, not an abort.

use polyhaul_model::error::{self, try_string};
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use std::fmt;
use std::io::{self, Write};

/// Message that marks out-of-memory errors of the JSON parser.
pub(crate) const NO_MEMORY: &str = "out of memory";

/// Collects items. Out-of-memory errors name the plan.
pub(crate) fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> error::Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(items.len()).map_err(|_| error::Error::memory("the plan"))?;
    list.extend(items);
    Ok(list)
}

/// Deserializes an array.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    converted_list(deserializer, |item: T| item)
}

/// Deserializes an array of floats. Numbers out of their range become infinite, because the bounds of empty accessors
/// may be the largest doubles.
pub(crate) fn floats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    converted_list(deserializer, |number: f64| number as f32)
}

/// Deserializes an array and converts each item.
fn converted_list<'de, D: Deserializer<'de>, T: Deserialize<'de>, U>(
    deserializer: D,
    convert: fn(T) -> U,
) -> Result<Vec<U>, D::Error> {
    struct ListVisitor<T, U>(fn(T) -> U);
    impl<'de, T: Deserialize<'de>, U> Visitor<'de> for ListVisitor<T, U> {
        type Value = Vec<U>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<U>, A::Error> {
            let ListVisitor(convert) = self;
            let mut list = Vec::new();
            while let Some(item) = items.next_element()? {
                list.try_reserve(1).map_err(|_| A::Error::custom(NO_MEMORY))?;
                list.push(convert(item));
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(ListVisitor(convert))
}

/// Deserializes text or `null`. Allocation must be fallible, because the text may be a whole buffer in base64.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct DocumentText(String);
    struct TextVisitor;
    impl Visitor<'_> for TextVisitor {
        type Value = DocumentText;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<DocumentText, E> {
            try_string(text).map(DocumentText).map_err(|_| E::custom(NO_MEMORY))
        }
    }
    impl<'de> Deserialize<'de> for DocumentText {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DocumentText, D::Error> {
            deserializer.deserialize_str(TextVisitor)
        }
    }
    Option::<DocumentText>::deserialize(deserializer).map(|text| text.map(|text| text.0))
}

/// Bytes written between calls to `relieve`, because a spilled document is paged in while it is written.
const BYTES_PER_CHECK: usize = 1 << 14;

/// Output buffer of a document.
#[derive(Default)]
pub(crate) struct DocumentBytes(pub(crate) Vec<u8>);

impl Write for DocumentBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        // True whenever the length passes a multiple of the interval.
        if self.0.len() % BYTES_PER_CHECK < bytes.len() {
            polyhaul_spill::relieve();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
