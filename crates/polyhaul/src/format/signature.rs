//! Recognizes formats by the first bytes of a source.

/// Number of bytes that are examined.
pub(crate) const HEAD_BYTES: usize = 1024;

/// The first bytes of a source, and its size, if known.
pub(crate) struct Head<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) size: Option<u64>,
}

impl<'a> Head<'a> {
    /// The bytes as text, without a byte order mark.
    pub(crate) fn text(&self) -> &'a [u8] {
        self.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(self.bytes)
    }
}

/// Rule by which the first bytes identify a format.
pub(crate) enum Looks {
    /// The first bytes do not identify it.
    Unknown,
    /// By a signature; stronger signatures are tried first.
    Signature(Strength, fn(&Head<'_>) -> bool),
    /// By its keywords; `None` if there are only blank lines and comments. Weak evidence if the name suggests another
    /// format.
    Words(fn(&[u8]) -> Option<bool>),
}

/// Reliability of a signature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    /// Tried before signatures that examine text and sizes.
    Strong,
    Usual,
    /// Only a few bytes with a narrow range of values.
    Weak,
}

impl Strength {
    /// The order in which signatures are tried.
    pub(super) const ALL: [Strength; 3] = [Strength::Strong, Strength::Usual, Strength::Weak];
}
