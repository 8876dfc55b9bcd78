//! Files that an asset refers to are found from the place that it is converted to: relinked, copied, or warned about.

mod compared;
mod copies;
mod inside;
mod linked;
mod support;
mod textures;
