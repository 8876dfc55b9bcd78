//! Which format a source has: what the caller says, what its name says, what its first bytes look like, in this order.
//!
//! A name that says a format is believed. Where reading then complains and the bytes look like another format, that is
//! said too. What bytes look like is `formats/looks`. Nothing here reads on or parses.

use crate::error::{Diagnostic, Error, ErrorKind, Place, Result};
use crate::formats::{Format, looks};
use crate::open::Plain;
use crate::options::{Codec, ReadOptions};
use crate::warnings::Warnings;
use std::path::Path;

/// Bytes that are looked at where reading complains. Of a stream so many were read before anyway, to see whether it is
/// compressed: so no error of the stream comes here.
const FEW_BYTES: usize = 8;

/// The format of a source that is about to be read, and what its first few bytes look like.
pub(crate) struct Detected {
    pub(crate) format: Format,
    looks: Looks,
}

/// What a source looks like. It does not depend on how the bytes come, so it is not asked of those that are
/// decompressed, where a look may take an error out of its turn.
enum Looks {
    Known(Option<Format>),
    /// Not asked yet.
    AtHand,
}

impl Detected {
    /// Finds the format. Without a name that says one and bytes that look like one a source is taken for OBJ, unless
    /// its name says something that polyhaul does not know.
    pub(crate) fn of(plain: &Plain, path: Option<&Path>, name: &str, options: &ReadOptions) -> Result<Detected> {
        let known = options.format.or_else(|| Format::of_path(path.unwrap_or(Path::new(name))));
        let Some(format) = known else {
            let mut head = [0; looks::HEAD_BYTES];
            let found = looks_like(plain, &mut head, plain.source().len())?;
            let format = found.map_or_else(|| default_of(path, name), Ok)?;
            return Ok(Detected { format, looks: Looks::Known(None) });
        };
        let looks = match (plain.source().codec(), plain.source().is_positioned()) {
            (Some(_), _) => Looks::Known(None),
            (None, true) => Looks::AtHand,
            (None, false) => Looks::Known(few_look_like(plain)?),
        };
        Ok(Detected { format, looks })
    }

    /// The format that the bytes look like, where it is another one.
    fn other(&self, plain: &Plain) -> Result<Option<Format>> {
        let looks = match self.looks {
            Looks::Known(looks) => looks,
            Looks::AtHand => few_look_like(plain)?,
        };
        Ok(looks.filter(|format| *format != self.format))
    }

    /// Adds to an error that the bytes look like another format.
    pub(crate) fn hint(&self, plain: &Plain, error: Error) -> Error {
        match self.other(plain) {
            Ok(Some(other)) => error.with_hint(self.advice(other)),
            _ => error,
        }
    }

    /// Notes that the bytes look like another format, where reading had complaints.
    pub(crate) fn note(&self, plain: &Plain, warnings: &mut Warnings) -> Result<()> {
        if warnings.is_empty() {
            return Ok(());
        }
        if let Some(other) = self.other(plain)? {
            let message = format!("this was read as {}, and looks like {}", self.format.name(), other.name());
            let place = Place { file: plain.source().name().into(), ..Place::default() };
            warnings
                .push("other-format", Diagnostic { place, hint: Some(self.advice(other)), ..Diagnostic::new(message) });
        }
        Ok(())
    }

    fn advice(&self, other: Format) -> String {
        let (was, looks) = (self.format.name(), other.name());
        format!("the content looks like {looks}, and it was read as {was}: say the format with --from {looks}")
    }
}

/// The format that the first bytes look like, of a source of `size` bytes where that is known.
fn looks_like(plain: &Plain, head: &mut [u8], size: Option<u64>) -> Result<Option<Format>> {
    let count = plain.peek(head)?;
    Ok(looks::of_content(head.get(..count).unwrap_or_default(), size))
}

fn few_look_like(plain: &Plain) -> Result<Option<Format>> {
    looks_like(plain, &mut [0; FEW_BYTES], None)
}

/// The format where nothing is known.
fn default_of(path: Option<&Path>, name: &str) -> Result<Format> {
    let shown = path.map(Path::to_string_lossy);
    let plain = shown.as_ref().map(|shown| Path::new(Codec::of_name(shown).map_or(&**shown, |(_, plain)| plain)));
    let Some(extension) = plain.and_then(Path::extension) else { return Ok(Format::Obj) };
    let message = format!(
        "{name}: the extension `{}` names no format that polyhaul reads, and the content looks like none",
        extension.display()
    );
    let known = Format::ALL.map(Format::name).join(", ");
    Err(Error::new(ErrorKind::Usage, message).with_hint(format!("say the format with --from: {known}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_need_not_be_text_and_may_be_missing() {
        assert_eq!(default_of(Some(Path::new("scan")), "scan").ok(), Some(Format::Obj));
        assert_eq!(default_of(None, "scan.what").ok(), Some(Format::Obj));
        for name in ["scan.what", "scan.what.gz"] {
            assert_eq!(default_of(Some(Path::new(name)), name).unwrap_err().kind(), ErrorKind::Usage);
        }
    }
}
