//! Operations on renderer scenes. The implementations are in `polyhaul-pbrt`.

pub use polyhaul_pbrt::build::{Builder, Given, GivenValues};
pub use polyhaul_pbrt::flatten::{Flat, flatten};
pub use polyhaul_pbrt::inline::inline_meshes;
pub use polyhaul_pbrt::instances::expand;
pub use polyhaul_pbrt::places::{Places32, Places64, places32, places64};
