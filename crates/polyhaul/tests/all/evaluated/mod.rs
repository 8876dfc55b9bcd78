//! Independent tests of writing evaluated objects: attributes with domains, transforms, slots.
//!
//! `reference` is a slow writer derived from the rules alone, `scenes` generates scenes, and `support` has shared
//! helpers. Blender's own files are compared elsewhere; these tests cover cases without golden files.

mod by_hand;
mod differential;
mod errors;
mod large;
mod library;
mod reference;
mod scenes;
mod support;
