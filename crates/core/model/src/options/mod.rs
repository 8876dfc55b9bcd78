//! The table of options: every option of every format, declared once.
//!
//! [`options!`](crate::options!) declares a struct of options. A field with `=> [formats]` after it is an option that
//! people set by name: its row ([`OptionRow`]) has its kind, its default, its documentation and the formats it applies
//! to. The command's flags, Python's keywords and stubs, `job.toml`, C's `ph_options_set` and the guide's page are made
//! from these rows, so no other place spells an option. To add one, add a field here; a value of a new type needs an
//! [`OptionValue`]. Options that apply to every job are in [`crate::limits`] and in the pipeline.

mod gltf;
mod image;
mod obj;
mod pbrt;
mod ply;
mod row;
mod scene;
mod splats;
mod stl;
mod table;
mod value;

pub use gltf::GltfWriteOptions;
pub use image::{ImageReadOptions, ImageWriteOptions, PngLevel};
pub use obj::{ObjWriteOptions, Smoothing};
pub use pbrt::{PbrtMeshes, PbrtWriteOptions};
pub use ply::PlyWriteOptions;
pub use row::{OptionGroup, OptionRow, SetError};
pub use scene::{Dialect, Digits, FormatOptions, Instances, Origin, Placement, SceneWriteOptions};
pub use splats::{SplatReadOptions, SplatWriteOptions, SpzAxes};
pub use stl::StlReadOptions;
pub use table::{ColumnName, ColumnTypes, Delimiter, MissingValue, TableHeader, TableReadOptions, TableWriteOptions};
pub use value::{OptionChoice, OptionKind, OptionValue};

/// Declares a struct of options that can gain fields without breaking callers: it is `#[non_exhaustive]`, and each
/// field has a default and a `with_…` method that sets it.
///
/// `in "name"` after the struct's name is the group in the full names of its options (`tea.minutes`). After a field:
///
/// - `=> [obj, ply]`: an option by this name that applies to these formats; `=> []` applies to all. Its type is an
///   [`OptionValue`]. `in 1..=9` limits numbers, and `alias "name"` is another name for it.
/// - `=> group`: a field that is a struct of options.
/// - `into` before any of these: the method takes whatever converts to the type.
/// - nothing: a field that only Rust sets. `#[doc(hidden)]` above it keeps it out of the public interface.
///
/// ```
/// use polyhaul_model::options::OptionGroup;
///
/// polyhaul_model::options! {
///     /// How tea is made.
///     #[derive(Clone, Debug)]
///     pub struct TeaOptions in "tea" {
///         /// How long it steeps, in minutes.
///         pub minutes: u32 = 3, with_minutes => [cup, pot] in 1..=60;
///     }
/// }
/// let mut options = TeaOptions::default().with_minutes(5);
/// assert_eq!(options.get("minutes").as_deref(), Some("5"));
/// options.set("tea.minutes", "7")?;
/// assert_eq!(options.minutes, 7);
/// assert_eq!(options.set("minutes", "61").unwrap_err().to_string(), "minutes is 61; expected 1 to 60");
/// # Ok::<(), polyhaul_model::options::SetError>(())
/// ```
#[macro_export]
macro_rules! options {
    (
        $(#[$docs:meta])*
        pub struct $name:ident $(in $group:literal)? {
            $(
                $(#[doc = $docs_of:expr])*
                $(#[doc($hidden:ident)])?
                pub $field:ident: $type:ty = $default:expr, $with:ident $($into:ident)?
                $(=> $scope:tt $(in $range:expr)? $(, alias $alias:literal)?)?;
            )+
        }
    ) => {
        $(#[$docs])*
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $docs_of])* $(#[doc($hidden)])? pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)+ }
            }
        }

        impl $name {
            $($crate::option_setter! {
                #[doc = concat!("The same options with this [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                $(#[doc($hidden)])?
                $with $field: $type $(, $into)?
            })+
        }

        impl $crate::options::OptionGroup for $name {
            const GROUP: &str = concat!($($group)?);

            #[allow(unused_mut, clippy::vec_init_then_push, reason = "groups extend, fields push, some have neither")]
            fn rows() -> Vec<$crate::options::OptionRow> {
                let mut rows = Vec::new();
                $($crate::option_field!(
                    rows rows, $field: $type = $default, [$($docs_of),*],
                    { $($scope ($($range)?) ($($alias)?))? }
                );)+
                rows
            }

            #[allow(unused_variables, reason = "as above")]
            fn value(&self, row: &$crate::options::OptionRow) -> Option<String> {
                $($crate::option_field!(value self, row, $field, { $($scope)? });)+
                None
            }

            #[allow(unused_variables, reason = "as above")]
            fn set_value(
                &mut self,
                row: &$crate::options::OptionRow,
                text: &str,
            ) -> Option<::std::result::Result<(), String>> {
                $($crate::option_field!(set self, row, $field: $type, text, { $($scope ($($range)?))? });)+
                None
            }
        }
    };
}

/// The method that sets one field.
#[doc(hidden)]
#[macro_export]
macro_rules! option_setter {
    ($(#[$attribute:meta])+ $with:ident $field:ident: $type:ty) => {
        $(#[$attribute])+
        #[must_use]
        pub fn $with(self, $field: $type) -> Self {
            Self { $field, ..self }
        }
    };
    ($(#[$attribute:meta])+ $with:ident $field:ident: $type:ty, into) => {
        $(#[$attribute])+
        #[must_use]
        pub fn $with(self, $field: impl Into<$type>) -> Self {
            Self { $field: $field.into(), ..self }
        }
    };
}

/// The kind of an option, with its range.
#[doc(hidden)]
#[macro_export]
macro_rules! option_kind {
    ($type:ty) => {
        <$type as $crate::options::OptionValue>::KIND
    };
    ($type:ty, $range:expr) => {{
        // Constants, because an optional kind has a static reference to the kind of its values.
        const KIND: $crate::options::OptionKind = <$type as $crate::options::OptionValue>::KIND;
        const IN_RANGE: $crate::options::OptionKind = KIND.inner().within(&$range);
        match KIND {
            $crate::options::OptionKind::Optional(_, none) => $crate::options::OptionKind::Optional(&IN_RANGE, none),
            _ => IN_RANGE,
        }
    }};
}

/// What [`options!`](crate::options!) generates for one field.
#[doc(hidden)]
#[macro_export]
macro_rules! option_field {
    (rows $rows:ident, $field:ident: $type:ty = $default:expr, [$($docs:expr),*], {}) => {};
    (rows $rows:ident, $field:ident: $type:ty = $default:expr, [$($docs:expr),*], { group () () }) => {
        $rows.extend(<$type as $crate::options::OptionGroup>::rows())
    };
    (
        rows $rows:ident, $field:ident: $type:ty = $default:expr, [$($docs:expr),*],
        { [$($format:ident),*] ($($range:expr)?) ($($alias:literal)?) }
    ) => {
        $rows.push($crate::options::OptionRow {
            name: stringify!($field),
            group: Self::GROUP,
            alias: concat!($($alias)?),
            kind: $crate::option_kind!($type $(, $range)?),
            default: <$type as $crate::options::OptionValue>::print(&$default),
            docs: concat!($($docs, "\n"),*),
            formats: &[$(stringify!($format)),*],
        })
    };
    (value $self:ident, $row:ident, $field:ident, {}) => {};
    (value $self:ident, $row:ident, $field:ident, { group }) => {
        if let Some(text) = $crate::options::OptionGroup::value(&$self.$field, $row) {
            return Some(text);
        }
    };
    (value $self:ident, $row:ident, $field:ident, { $formats:tt }) => {
        if $row.is(Self::GROUP, stringify!($field)) {
            return Some($crate::options::OptionValue::print(&$self.$field));
        }
    };
    (set $self:ident, $row:ident, $field:ident: $type:ty, $text:ident, {}) => {};
    (set $self:ident, $row:ident, $field:ident: $type:ty, $text:ident, { group () }) => {
        if let Some(result) = $crate::options::OptionGroup::set_value(&mut $self.$field, $row, $text) {
            return Some(result);
        }
    };
    (set $self:ident, $row:ident, $field:ident: $type:ty, $text:ident, { $formats:tt ($($range:expr)?) }) => {
        if $row.is(Self::GROUP, stringify!($field)) {
            return Some(<$type as $crate::options::OptionValue>::parse($text).and_then(|value| {
                $($crate::options::OptionKind::check(&$range, &value)?;)?
                $self.$field = value;
                Ok(())
            }));
        }
    };
}

/// Declares an enum whose values people set by name, with its default and the documentation of each value. `|`
/// adds another name for a value, `for glb` limits it to one format.
///
/// ```
/// use polyhaul_model::options::OptionValue;
///
/// polyhaul_model::choices! {
///     /// How strong tea is.
///     pub enum Strength = Strong {
///         /// Hardly tea.
///         "weak" => Weak,
///         /// As usual.
///         "strong" => Strong,
///     }
/// }
/// assert_eq!(Strength::default(), Strength::Strong);
/// assert_eq!(Strength::parse("weak"), Ok(Strength::Weak));
/// assert_eq!(Strength::parse("black"), Err("expected weak or strong".into()));
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[$docs:meta])*
        pub enum $name:ident = $default:ident {
            $($(#[doc = $docs_of:expr])* $text:literal $(| $alias:literal)* $(for $format:ident)? => $variant:ident,)+
        }
    ) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $docs_of])* $variant,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name::$default
            }
        }

        impl $crate::options::OptionValue for $name {
            const KIND: $crate::options::OptionKind = $crate::options::OptionKind::Choice(&[
                $($crate::options::OptionChoice {
                    name: $text,
                    docs: concat!($($docs_of, "\n"),*),
                    format: concat!($(stringify!($format))?),
                },)+
            ]);

            fn parse(text: &str) -> ::std::result::Result<Self, String> {
                match text {
                    $($text $(| $alias)* => Ok($name::$variant),)+
                    _ => Err(format!("expected {}", Self::KIND.expected())),
                }
            }

            fn print(&self) -> String {
                match self {
                    $($name::$variant => $text.into(),)+
                }
            }
        }
    };
}
