//! References of a converted asset work from its new location: they are relinked, copied, or cause a warning.

mod compared;
mod copies;
mod inside;
mod linked;
mod support;
mod textures;
