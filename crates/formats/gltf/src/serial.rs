//! Lists and text, read, written and collected without ending the process if there is no memory for them.

use polyhaul_model::error::{self, try_string};
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;

/// The message of the JSON parser's error.
pub(crate) const NO_MEMORY: &str = "out of memory";

/// Collects items. If memory runs out, the error names the plan.
pub(crate) fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> error::Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(items.len()).map_err(|_| error::Error::memory("the plan"))?;
    list.extend(items);
    Ok(list)
}

/// Reads an array.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct ListVisitor<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element()? {
                list.try_reserve(1).map_err(|_| A::Error::custom(NO_MEMORY))?;
                list.push(item);
            }
            Ok(list)
        }
    }
    deserializer.deserialize_seq(ListVisitor(PhantomData))
}

/// Reads text, which may be a whole buffer in base64, or `null`.
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

/// A document that is on disk leaves memory while it is written.
const BYTES_PER_CHECK: usize = 1 << 14;

/// Bytes of a document that is written.
#[derive(Default)]
pub(crate) struct DocumentBytes(pub(crate) Vec<u8>);

impl Write for DocumentBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        if self.0.len() % BYTES_PER_CHECK < bytes.len() {
            polyhaul_spill::relieve();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
