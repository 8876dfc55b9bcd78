//! Detects the format of a source: as set by the caller, or else from its extension, or else from its content.
//!
//! A format set by the caller or the extension is trusted: an empty `x.obj` is an empty scene, and unknown statements
//! only cause warnings. If reading such a file causes warnings or an error, and its content looks like another format,
//! a hint or a warning says so. Without an extension, the content must identify itself: an empty source, or text that
//! does not start with an OBJ statement, is an error. The signatures are in the registry. Nothing here reads ahead or
//! parses.

use crate::foreign::{self, ForeignContent};
use crate::format::{Format, HEAD_BYTES, Head};
use crate::options::ReadOptions;
use crate::plain::Plain;
use polyhaul_bytes::Codec;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result};
use polyhaul_model::warnings::Warnings;
use std::path::Path;

/// Number of bytes to examine if reading causes warnings or an error. Checking for compression already read this many
/// from a stream, so no error of the stream occurs here.
const FEW_BYTES: usize = 8;

/// The format of a source, and the format that its first bytes look like.
#[derive(Clone, Copy)]
pub(crate) struct Detected {
    pub(crate) format: Format,
    looks: Looks,
    /// First bytes of a stream.
    head: [u8; FEW_BYTES],
}

/// The format that a source looks like. Compressed sources are not examined: damage could be reported too early, and
/// the result must not depend on how the bytes arrive.
#[derive(Clone, Copy)]
enum Looks {
    Known(Option<Format>),
    /// Examined when needed.
    AtHand,
}

impl Detected {
    /// Detects the format.
    ///
    /// # Errors [`ErrorKind::Usage`] if the format follows neither from the options, nor from the name or the content.
    pub(crate) fn detect(plain: &Plain, path: Option<&Path>, name: &str, options: &ReadOptions) -> Result<Detected> {
        let format = options.format.or_else(|| Format::of_path(path.unwrap_or(Path::new(name))));
        let Some(format) = format else {
            let mut head = [0; HEAD_BYTES];
            let count = plain.peek(&mut head)?;
            let format = of_content(head.get(..count).unwrap_or_default(), plain.source().len(), path, name)?;
            return Ok(Detected { format, looks: Looks::Known(None), head: [0; FEW_BYTES] });
        };
        let mut head = [0; FEW_BYTES];
        let looks = match (plain.source().codec(), plain.source().is_positioned()) {
            (Some(_), _) => Looks::Known(None),
            (None, true) => Looks::AtHand,
            (None, false) => {
                plain.peek(&mut head)?;
                Looks::Known(few_look_like(plain)?)
            }
        };
        Ok(Detected { format, looks, head })
    }

    /// The format that the bytes look like, if it differs from the detected format.
    fn other(&self, plain: &Plain) -> Result<Option<Format>> {
        let looks = match self.looks {
            Looks::Known(looks) => looks,
            Looks::AtHand => few_look_like(plain)?,
        };
        // `compressed.ply` files are also PLY files.
        let is_container = |format: Format| self.format.name().rsplit('.').next() == Some(format.name());
        Ok(looks.filter(|format| !is_container(*format)))
    }

    /// Adds a hint if the bytes look like another format. Keeps the hint of a limit, which explains how to raise it.
    pub(crate) fn hint(&self, plain: &Plain, error: Error) -> Error {
        let advice = match self.other(plain) {
            Ok(Some(other)) => self.advice(other),
            Ok(None) => match self.foreign(plain).filter(|_| error.diagnostic().hint.is_none()) {
                Some(content) => content.hint(),
                None => return error,
            },
            Err(_) => return error,
        };
        match error.diagnostic().hint.clone().filter(|_| error.kind() == ErrorKind::Limit) {
            Some(raise) => error.with_hint(format!("{raise}; {advice}")),
            None => error.with_hint(advice),
        }
    }

    /// Warns that the bytes look like another format, if reading caused warnings, or tables without rows: any line of
    /// words can be the header of a table.
    pub(crate) fn note(&self, plain: &Plain, is_rowless: bool, warnings: &mut Warnings) -> Result<()> {
        if warnings.is_empty() && !is_rowless {
            return Ok(());
        }
        let (looks, hint) = match self.other(plain)? {
            Some(other) => (other.title(), format!("use `--from {}`", other.name())),
            None => match self.foreign(plain).filter(|_| is_rowless) {
                Some(ForeignContent { name, remedy, .. }) => ((*name).to_owned(), (*remedy).to_owned()),
                None => return Ok(()),
            },
        };
        let message = format!("read as {}, but the content looks like {looks}", self.format.title());
        let place = Place { file: plain.source().name().into(), ..Place::default() };
        warnings.push("other-format", Diagnostic { place, hint: Some(hint), ..Diagnostic::new(message) });
        Ok(())
    }

    /// Returns the known but unsupported kind of the content, if the first bytes show it.
    fn foreign(&self, plain: &Plain) -> Option<&'static ForeignContent> {
        if let Looks::Known(_) = self.looks {
            return foreign::recognize(&self.head);
        }
        let mut head = [0; FEW_BYTES];
        let count = plain.peek(&mut head).ok()?;
        foreign::recognize(head.get(..count)?)
    }

    fn advice(&self, other: Format) -> String {
        let was = self.format.title();
        format!("the content looks like {} but was read as {was}: use `--from {}`", other.title(), other.name())
    }
}

/// The format that the first bytes look like; `size` is the size of the source, if known.
fn looks_like(plain: &Plain, head: &mut [u8], size: Option<u64>) -> Result<Option<Format>> {
    let count = plain.peek(head)?;
    let bytes = head.get(..count).unwrap_or_default();
    Ok(Format::of_content(&Head { bytes, size }))
}

fn few_look_like(plain: &Plain) -> Result<Option<Format>> {
    looks_like(plain, &mut [0; FEW_BYTES], None)
}

/// Detects the format of a source without a known extension, from its first bytes and its size, if known.
fn of_content(head: &[u8], size: Option<u64>, path: Option<&Path>, name: &str) -> Result<Format> {
    if let Some(format) = Format::of_content(&Head { bytes: head, size }) {
        return Ok(format);
    }
    let extension = extension(path);
    // A file with another extension is not OBJ: OBJ keywords are too short to be evidence.
    let may_be_obj = extension.is_none();
    let why = match Format::of_words(head) {
        Some(Ok(format)) if may_be_obj => return Ok(format),
        // A long comment, whose end is beyond the examined bytes.
        Some(Err(format)) if may_be_obj && head.len() == HEAD_BYTES => return Ok(format),
        Some(Err(_)) if head.is_empty() => "the input is empty".to_owned(),
        Some(Err(_)) if head.len() < HEAD_BYTES => "the input has only blank lines and comments".to_owned(),
        _ => format!("the content does not match any of {}", Format::recognized(may_be_obj)),
    };
    // Memory inputs may have no name.
    let of_what = if name.is_empty() { String::new() } else { format!(" of `{name}`") };
    let message = match extension {
        Some(extension) => format!("cannot infer the format{of_what}: unknown extension `{extension}`, and {why}"),
        None => format!("cannot infer the format{of_what}: {why}"),
    };
    let hint = foreign::recognize(head).map(ForeignContent::hint).unwrap_or_else(|| {
        let formats = Format::ALL.map(Format::name).join(", ");
        format!("specify the format with `--from FORMAT`, or `format` in the API: {formats}")
    });
    Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
}

/// The extension of a path, not counting the extension of a codec.
fn extension(path: Option<&Path>) -> Option<String> {
    let shown = path?.to_string_lossy();
    let plain = Codec::of_name(&shown).map_or(&*shown, |(_, plain)| plain);
    Some(Path::new(plain).extension()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(head: &str, path: Option<&str>) -> String {
        let error = of_content(head.as_bytes(), None, path.map(Path::new), path.unwrap_or("stdin")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        error.diagnostic().message.clone()
    }

    #[test]
    fn bytes_without_a_name_are_not_named() {
        let error = of_content(b"?", None, None, "").unwrap_err();
        assert!(error.diagnostic().message.starts_with("cannot infer the format: the content"), "{error}");
    }

    #[test]
    fn content_identifies_itself() {
        let texts = [
            "v 0 0 0",
            "\u{feff}# by hand\n\r\n  mtllib a.mtl\n",
            "o\n",
            "g",
            "#\nf -1 -2 -3\n",
            "vp 0.5\n",
            "s off\n",
            "usemtl",
        ];
        for text in texts {
            assert_eq!(of_content(text.as_bytes(), None, None, "stdin").ok(), Some(Format::Obj), "{text:?}");
            assert_eq!(
                of_content(text.as_bytes(), None, Some(Path::new("a")), "a").ok(),
                Some(Format::Obj),
                "{text:?}"
            );
            assert!(message(text, Some("a.what")).contains("any of ply, "), "{text:?}");
        }
        let comment = format!("# {}", "-".repeat(HEAD_BYTES - 2));
        assert_eq!(of_content(comment.as_bytes(), None, None, "stdin").ok(), Some(Format::Obj), "a long comment");
    }

    #[test]
    fn content_without_meaning_is_refused() {
        for text in ["hello world\n", "1 2 3\n", "very\n", "v is for velocity\n", "f\n", "\0\0", "p is a letter"] {
            let message = message(text, None);
            assert!(message.contains("`stdin`") && message.contains("obj, ply"), "{text:?}: {message}");
        }
        assert!(message("", None).ends_with("the input is empty"));
        assert!(message("\n  \r\n# nothing\n#", None).ends_with("only blank lines and comments"));
        for name in ["scan.what", "scan.what.gz"] {
            assert!(message("hello", Some(name)).contains("unknown extension `what`"));
        }
        assert!(!message("hello", Some("scan")).contains("extension"));
    }
}
