//! No silent losses: every loss of a conversion is a warning, and an error if the caller requests that.

mod images;
mod kinds;
mod meaning;
mod oracle;
mod refused;
mod strict;
