//! The result of a fast path that may decline.

/// The result of a fast path.
///
/// If the path [declined](Attempt::Declined), the caller falls back to the general path. So a path that declines must
/// have no visible effect: it has not put output in place, passed on warnings or reported results to a callback, and
/// the input can still be read from its start. A completed fast path returns the same bytes and warnings as the general
/// path. A fast path also declines if the general path reports an error better, for example malformed data that follows
/// earlier warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Attempt<T> {
    /// The path completed.
    Done(T),
    /// The path did nothing, because the input, the options or the machine do not suit it.
    Declined,
}

impl<T> Attempt<T> {
    /// Returns the result, or `None` if the path declined.
    pub fn done(self) -> Option<T> {
        match self {
            Attempt::Done(result) => Some(result),
            Attempt::Declined => None,
        }
    }

    /// Applies `change` to the result.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Attempt<U> {
        match self {
            Attempt::Done(result) => Attempt::Done(change(result)),
            Attempt::Declined => Attempt::Declined,
        }
    }
}

impl<T> From<Option<T>> for Attempt<T> {
    fn from(result: Option<T>) -> Attempt<T> {
        result.map_or(Attempt::Declined, Attempt::Done)
    }
}
