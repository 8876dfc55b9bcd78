//! A macro for declaring options structs: fields with defaults, which callers change one by one.
//!
//! No options are declared here; see [`crate::limits`] for options common to all jobs.

/// Declares an options struct that can gain fields without breaking callers: it is `#[non_exhaustive]`, and each field
/// has a default and a `with_…` method that sets it.
///
/// ```
/// polyhaul_model::options! {
///     /// Tea options.
///     #[derive(Clone, Debug)]
///     pub struct TeaOptions {
///         /// Steeping time in minutes (3).
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
