//! Fast paths that may decline: the one form in which they say so.

/// The result of a fast path.
///
/// The caller of a path that [declined](Attempt::Declined) takes the way that always works, so declining must have had
/// no effect that anybody can see: no output is in place, no warning was passed on, no callback was called with a
/// result, and the input can be read again from its start. What a fast path returns when it is done is what the other
/// way returns, down to the bytes and warnings. Errors that the other way reports better, such as those of malformed
/// data after earlier warnings, are reasons to decline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Attempt<T> {
    /// It did everything.
    Done(T),
    /// It did nothing: the input, the options or the machine do not suit it.
    Declined,
}

impl<T> Attempt<T> {
    /// The result; `None` if the path declined.
    pub fn done(self) -> Option<T> {
        match self {
            Attempt::Done(result) => Some(result),
            Attempt::Declined => None,
        }
    }

    /// Changes the result.
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
