//! Writes values of byte and text columns, truncated and padded.

use super::column::{StridedColumn, ValueType};
use super::python;
use super::spec::{ConversionSpec, PrintfDialect};

/// Conversion of bytes or UTF-8.
#[derive(Clone, Copy, Debug)]
pub(super) struct BytesConversion {
    pub(super) spec: ConversionSpec,
    pub(super) dialect: PrintfDialect,
}

impl BytesConversion {
    /// Calls `piece` with the pieces of a value's text, at most `spec.max_bytes` bytes in total.
    pub(super) fn pieces(&self, column: &StridedColumn<'_>, row: usize, mut piece: impl FnMut(&[u8])) {
        let bytes = column.text(row);
        if let ValueType::Text(_) = column.kind() {
            let (text, count) = self.characters(without_nuls(bytes));
            return self.padded(count, |piece| piece(text), &mut piece);
        }
        if self.dialect == PrintfDialect::C {
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            let text = &bytes[..end.min(self.limit())];
            return self.padded(text.len(), |piece| piece(text), &mut piece);
        }
        let bytes = without_nuls(bytes);
        let mut count = 0;
        // Counted first, because padding may come before the text.
        python::quoted(bytes, |_| count += 1);
        let limit = self.limit();
        let write = |piece: &mut dyn FnMut(&[u8])| {
            let mut left = limit;
            python::quoted(bytes, |character| {
                if left > 0 {
                    left -= 1;
                    piece(character);
                }
            });
        };
        self.padded(count.min(limit), write, &mut piece);
    }

    /// Truncates UTF-8 to the precision in characters. Returns the text and its number of characters.
    fn characters<'t>(&self, text: &'t [u8]) -> (&'t [u8], usize) {
        // Bytes of the form 10xxxxxx continue a character.
        let starts = text.iter().enumerate().filter(|(_, byte)| **byte & 0xC0 != 0x80);
        let mut count = 0;
        for (start, _) in starts {
            if count == self.limit() {
                return (&text[..start], count);
            }
            count += 1;
        }
        (text, count)
    }

    fn limit(&self) -> usize {
        self.spec.precision.unwrap_or(usize::MAX)
    }

    fn padded(&self, count: usize, text: impl Fn(&mut dyn FnMut(&[u8])), piece: &mut impl FnMut(&[u8])) {
        let gap = self.spec.width.saturating_sub(count);
        if !self.spec.left {
            spaces(gap, piece);
        }
        text(piece);
        if self.spec.left {
            spaces(gap, piece);
        }
    }
}

/// Strips trailing NUL bytes.
fn without_nuls(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

fn spaces(mut count: usize, piece: &mut impl FnMut(&[u8])) {
    while count > 0 {
        let step = count.min(64);
        piece(&[b' '; 64][..step]);
        count -= step;
    }
}
