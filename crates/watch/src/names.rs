//! Names the functions of stacks.
//!
//! `symbols` reads symbol tables; with the feature `demangle`, names of Rust and C++ (Itanium ABI) are made
//! readable here: demangled, without hashes and parameters.

use crate::stacks::{Frame, Shelf};
use crate::symbols::Symbols;
use std::collections::HashMap;
use std::path::Path;

/// The recorder, as the system names its module.
const RECORDER: &str = "memfd:polyhaul-recorder (deleted)";

/// Resolves frames to names.
pub(crate) struct Names<'a> {
    shelf: &'a Shelf,
    symbols: HashMap<u32, Symbols>,
    functions: HashMap<Frame, Option<(String, u64)>>,
}

impl<'a> Names<'a> {
    /// Names frames of these stacks.
    pub(crate) fn new(shelf: &'a Shelf) -> Names<'a> {
        Names { shelf, symbols: HashMap::new(), functions: HashMap::new() }
    }

    /// The stacks.
    pub(crate) fn shelf(&self) -> &'a Shelf {
        self.shelf
    }

    /// Formats the frames of a stack, innermost first.
    pub(crate) fn frames(&mut self, stack: u32) -> Vec<String> {
        let shelf = self.shelf;
        shelf.frames(stack).iter().map(|frame| self.frame(*frame)).collect()
    }

    /// Names the functions of a stack, innermost first: `fread`, or the module if there is no symbol. Consecutive
    /// frames with the same name are one: functions without symbols, and recursion.
    pub(crate) fn functions(&mut self, stack: u32) -> Vec<String> {
        let shelf = self.shelf;
        let name = |frame: &Frame| self.function(*frame).map_or_else(|| self.module(frame.module), |(name, _)| name);
        let mut functions: Vec<String> = shelf.frames(stack).iter().map(name).collect();
        functions.dedup();
        if functions.is_empty() { vec!["other stacks".into()] } else { functions }
    }

    /// Formats a frame: `libc.so.6 pread64+0x14`, or the address if there is no symbol.
    fn frame(&mut self, frame: Frame) -> String {
        let module = self.module(frame.module);
        match self.function(frame) {
            Some((name, into)) => format!("{module} {name}+{into:#x}"),
            None => format!("{module}+{:#x}", frame.address),
        }
    }

    /// Name of the file of a module.
    pub(crate) fn module(&self, module: u32) -> String {
        let path = self.shelf.modules.get(module as usize).map_or("", String::as_str);
        let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        match &*name {
            "" => "?".into(),
            RECORDER => "polyhaul's recorder".into(),
            name => name.to_owned(),
        }
    }

    /// Name of the function at a frame, and the offset of the frame in it.
    pub(crate) fn function(&mut self, frame: Frame) -> Option<(String, u64)> {
        if let Some(name) = self.functions.get(&frame) {
            return name.clone();
        }
        let path = self.shelf.modules.get(frame.module as usize).map_or("", String::as_str);
        let symbols = self.symbols.entry(frame.module).or_insert_with(|| Symbols::from_file(path));
        let name = symbols.name(frame.address).map(|(name, into)| (readable(plain_name(&name)), into));
        self.functions.insert(frame, name.clone());
        name
    }
}

/// The name of a function without the suffix of a copy that the compiler optimized, and without a version:
/// `load.constprop.0`, `poll@@GLIBC_2.2.5`.
fn plain_name(name: &str) -> &str {
    let name = name.split_once('@').map_or(name, |(function, _)| function);
    const SUFFIXES: [&str; 6] = ["constprop.", "isra.", "part.", "cold", "lto_priv.", "llvm."];
    let is_suffix = |(_, rest): &(&str, &str)| SUFFIXES.iter().any(|suffix| rest.starts_with(suffix));
    name.split_once('.').filter(is_suffix).map_or(name, |(function, _)| function)
}

/// Demangles a name.
#[cfg(feature = "demangle")]
fn readable(name: &str) -> String {
    if let Ok(demangled) = rustc_demangle::try_demangle(name) {
        return format!("{demangled:#}");
    }
    // Without this prefix, a name is C: the demangler takes `w` for the code of a type.
    let symbol = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok()).flatten();
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok()).unwrap_or_else(|| name.to_owned())
}

#[cfg(not(feature = "demangle"))]
fn readable(name: &str) -> String {
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_versions_have_the_name_of_their_function() {
        let names = ["load.constprop.0", "_ZL4loadv.isra.0.cold", "a.b", "load.cold", "poll@@GLIBC_2.2.5"];
        assert_eq!(names.map(plain_name), ["load", "_ZL4loadv", "a.b", "load", "poll"]);
    }

    #[cfg(feature = "demangle")]
    #[test]
    fn names_are_readable() {
        let names = ["w", "_ZN7Texture4loadERKSsi", "_ZN3std2io4Read9read_byte17h0123456789abcdefE", "_Zx"];
        assert_eq!(names.map(readable), ["w", "Texture::load", "std::io::Read::read_byte", "_Zx"]);
    }
}
