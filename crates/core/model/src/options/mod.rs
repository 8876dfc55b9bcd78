//! The options of all formats, and the macro that declares them: fields with defaults, which callers change one by one.
//!
//! Options that apply to every job are in [`crate::limits`] and in the pipeline.

mod gltf;
mod image;
mod obj;
mod pbrt;
mod ply;
mod scene;
mod splats;
mod stl;
mod table;

pub use gltf::{GltfInstances, GltfWriteOptions};
pub use image::{ImageReadOptions, ImageWriteOptions, PngLevel};
pub use obj::{ObjReadOptions, ObjWriteOptions, Smoothing};
pub use pbrt::{Instances, PbrtMeshes, PbrtWriteOptions};
pub use ply::{PlyEncoding, PlyWriteOptions};
pub use scene::{Dialect, Digits, Placement};
pub use splats::SplatWriteOptions;
pub use stl::{StlReadOptions, StlWriteOptions};
pub use table::{ColumnName, ColumnTypes, Delimiter, MissingValue, TableHeader, TableReadOptions, TableWriteOptions};

/// Declares an options struct that can gain fields without breaking callers: it is `#[non_exhaustive]`, and each field
/// has a default and a `with_…` method that sets it.
///
/// ```
/// polyhaul_model::options! {
///     /// How tea is made.
///     #[derive(Clone, Debug)]
///     pub struct TeaOptions {
///         /// How long it stands, in minutes (3).
///         pub minutes: u32 = 3, with_minutes;
///     }
/// }
/// assert_eq!(TeaOptions::default().with_minutes(5).minutes, 5);
/// ```
#[macro_export]
macro_rules! options {
    (
        $(#[$docs:meta])*
        pub struct $name:ident {
            $($(#[doc = $docs_of:expr])* $(#[cfg($cfg:meta)])? pub $field:ident: $type:ty = $default:expr, $with:ident;)+
        }
    ) => {
        $(#[$docs])*
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $docs_of])* $(#[cfg($cfg)])? pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($(#[cfg($cfg)])? $field: $default,)+ }
            }
        }

        impl $name {
            $(
                $(#[cfg($cfg)])?
                #[doc = concat!("The same options with this [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $with(self, $field: $type) -> Self {
                    $name { $field, ..self }
                }
            )+
        }
    };
}
