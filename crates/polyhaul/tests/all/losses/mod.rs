//! Nothing is lost in silence: every loss of a conversion is a warning, and an error where the caller asks for that.

mod images;
mod kinds;
mod meaning;
mod oracle;
mod refused;
mod strict;
