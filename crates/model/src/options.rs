//! How structs of options are declared: fields with their defaults, which callers change one by one.
//!
//! Nothing here has options of its own; see [`crate::limits`] for those that every job takes.

/// Declares a struct of options that can grow without breaking callers: it is `#[non_exhaustive]`, each field has its
/// default, and a method that changes it.
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
