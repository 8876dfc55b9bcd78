//! Tests of writing evaluated objects (attributes of a domain, transforms, slots) by somebody who
//! does not trust it.
//!
//! `reference` is a slow writer from the rules alone, `scenes` makes scenes, `support` has the rest.
//! Blender's own files are compared elsewhere; here is what no golden file has.

mod by_hand;
mod differential;
mod errors;
mod large;
mod library;
mod reference;
mod scenes;
mod support;
