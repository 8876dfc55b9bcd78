//! Text and folders that make a careless reader of pbrt scenes exhaust its stack or memory, or take unbounded time. For
//! valid scenes, see [`pbrt`](super).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Adversarial text: a repeated part, with text before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// A scene of very many spheres, as a baseline.
    Plain,
    /// An unclosed string on one line.
    OpenString,
    /// An unclosed string over many lines.
    OpenStringOfLines,
    /// A string that ends within an escape.
    OpenEscape,
    /// An unclosed list.
    OpenBracket,
    /// Nested brackets.
    NestedBrackets,
    /// Unmatched closing brackets.
    ClosingBrackets,
    /// All numbers of a mesh on one line.
    LongArray,
    /// An array of strings.
    LongStringArray,
    /// All directives on one line.
    OneLine,
    /// One long name.
    LongString,
    /// One long name of escapes.
    EscapedString,
    /// One number with many digits.
    LongNumber,
    /// One long word that is not a directive.
    LongWord,
    /// One long comment.
    LongComment,
    /// Short comments.
    Comments,
    /// Empty lines.
    Blank,
    /// Nested attribute blocks.
    DeepAttributes,
    /// Nested attribute blocks without their ends.
    OpenAttributes,
    /// Nested blocks of the deprecated `TransformBegin`.
    DeepTransforms,
    /// Unmatched ends of blocks.
    ClosingAttributes,
    /// Nested objects, which are invalid.
    NestedObjects,
    /// Empty objects.
    EmptyObjects,
    /// Instances of an undefined object.
    UnknownInstances,
    /// Objects that each contain instances of the previous object: exponentially many visible shapes, if a reader
    /// expands them.
    InstancesInObjects,
    /// Materials.
    Materials,
    /// Coordinate systems.
    CoordinateSystems,
    /// Many parameters of one shape.
    Parameters,
    /// One parameter of one shape, repeated.
    SameParameter,
    /// Transforms whose product overflows to infinity.
    Scales,
    /// Meshes with indices out of range.
    OutOfRange,
    /// Words that are not directives.
    Unknown,
    /// References to missing files.
    MissingFiles,
}

impl Trap {
    /// All traps.
    pub const ALL: [Trap; 33] = [
        Trap::Plain,
        Trap::OpenString,
        Trap::OpenStringOfLines,
        Trap::OpenEscape,
        Trap::OpenBracket,
        Trap::NestedBrackets,
        Trap::ClosingBrackets,
        Trap::LongArray,
        Trap::LongStringArray,
        Trap::OneLine,
        Trap::LongString,
        Trap::EscapedString,
        Trap::LongNumber,
        Trap::LongWord,
        Trap::LongComment,
        Trap::Comments,
        Trap::Blank,
        Trap::DeepAttributes,
        Trap::OpenAttributes,
        Trap::DeepTransforms,
        Trap::ClosingAttributes,
        Trap::NestedObjects,
        Trap::EmptyObjects,
        Trap::UnknownInstances,
        Trap::InstancesInObjects,
        Trap::Materials,
        Trap::CoordinateSystems,
        Trap::Parameters,
        Trap::SameParameter,
        Trap::Scales,
        Trap::OutOfRange,
        Trap::Unknown,
        Trap::MissingFiles,
    ];

    /// Writes the text with its part repeated `count` times, for example a million.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(self, count: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, out);
        out.write_all(b"Camera \"perspective\"\nFilm \"rgb\"\nWorldBegin\n")?;
        out.write_all(self.start())?;
        for index in 0..count {
            self.unit(index, &mut out)?;
        }
        for _ in 0..count {
            out.write_all(self.closing_unit())?;
        }
        out.write_all(self.end())?;
        out.flush()
    }

    /// Returns the text as bytes.
    ///
    /// ```
    /// let text = polyhaul_testkit::pbrt::hostile::Trap::OpenBracket.text(3);
    /// assert!(text.ends_with(b"Shape \"trianglemesh\" \"point3 P\" [ 0 0 0 "));
    /// ```
    pub fn text(self, count: u64) -> Vec<u8> {
        let mut text = Vec::new();
        // Writing to a vector cannot fail.
        let _ = self.write(count, &mut text);
        text
    }

    /// Text before the repeated part.
    fn start(self) -> &'static [u8] {
        match self {
            Trap::OpenString | Trap::OpenStringOfLines | Trap::OpenEscape => b"Material \"",
            Trap::LongString | Trap::EscapedString => b"NamedMaterial \"",
            Trap::OpenBracket | Trap::LongArray => b"Shape \"trianglemesh\" \"point3 P\" [ ",
            Trap::NestedBrackets => b"Shape \"trianglemesh\" \"point3 P\" ",
            Trap::LongStringArray => b"Shape \"sphere\" \"string names\" [ ",
            Trap::LongNumber => b"Shape \"sphere\" \"float radius\" 0.",
            Trap::LongComment => b"#",
            Trap::Parameters | Trap::SameParameter => b"Shape \"sphere\"",
            Trap::InstancesInObjects => b"ObjectBegin \"0\" Shape \"sphere\" ObjectEnd\n",
            _ => b"",
        }
    }

    /// Writes the repeated part.
    fn unit(self, index: u64, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Trap::EmptyObjects => writeln!(out, "ObjectBegin \"{index}\" ObjectEnd"),
            Trap::NestedObjects => writeln!(out, "ObjectBegin \"{index}\""),
            Trap::UnknownInstances => writeln!(out, "ObjectInstance \"{index}\""),
            Trap::InstancesInObjects => writeln!(
                out,
                "ObjectBegin \"{}\" ObjectInstance \"{index}\" ObjectInstance \"{index}\" ObjectEnd",
                index + 1
            ),
            Trap::Materials => writeln!(out, "MakeNamedMaterial \"{index}\" \"string type\" \"diffuse\""),
            Trap::CoordinateSystems => writeln!(out, "CoordinateSystem \"{index}\""),
            Trap::Parameters => write!(out, " \"float p{index}\" {index}"),
            Trap::MissingFiles => writeln!(out, "Shape \"plymesh\" \"string filename\" \"missing/{index}.ply\""),
            _ => out.write_all(self.fixed_unit()),
        }
    }

    /// Repeated part, if it is always the same.
    fn fixed_unit(self) -> &'static [u8] {
        match self {
            Trap::Plain => b"Shape \"sphere\" \"float radius\" 2.5\n",
            Trap::OneLine => b"Shape \"sphere\" \"float radius\" 2.5 ",
            Trap::OpenString | Trap::LongString => b"long ",
            Trap::OpenStringOfLines => b"long\n",
            Trap::OpenEscape | Trap::EscapedString => b"\\n\\\"",
            Trap::OpenBracket | Trap::LongArray => b"0 ",
            Trap::NestedBrackets => b"[ ",
            Trap::ClosingBrackets => b"] ",
            Trap::LongStringArray => b"\"name\" ",
            Trap::LongNumber => b"0",
            Trap::LongWord => b"W",
            Trap::LongComment => b" comment",
            Trap::Comments => b"#\n",
            Trap::Blank => b"\n",
            Trap::DeepAttributes | Trap::OpenAttributes => b"AttributeBegin\n",
            Trap::DeepTransforms => b"TransformBegin\n",
            Trap::ClosingAttributes => b"AttributeEnd\n",
            Trap::SameParameter => b" \"float radius\" 1",
            Trap::Scales => b"Scale 2 2 2\n",
            Trap::OutOfRange => b"Shape \"trianglemesh\" \"integer indices\" [ 0 1 9 ] \"point3 P\" [ 0 0 0 ]\n",
            Trap::Unknown => b"Unknown\n",
            _ => b"",
        }
    }

    /// Text that closes the repeated part, repeated as often after it.
    fn closing_unit(self) -> &'static [u8] {
        match self {
            Trap::NestedBrackets => b"] ",
            Trap::DeepAttributes => b"AttributeEnd\n",
            Trap::DeepTransforms => b"TransformEnd\n",
            Trap::NestedObjects => b"ObjectEnd\n",
            _ => b"",
        }
    }

    /// Text at the end.
    fn end(self) -> &'static [u8] {
        match self {
            Trap::OpenEscape => b"\\",
            Trap::LongString | Trap::EscapedString => b"\"\n",
            Trap::LongArray | Trap::LongStringArray => b"]\n",
            Trap::InstancesInObjects => b"ObjectInstance \"1\"\n",
            Trap::OpenString | Trap::OpenStringOfLines | Trap::OpenBracket => b"",
            _ => b"\n",
        }
    }
}

/// Directive with which a file refers to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeKind {
    /// Inserts the text of the file.
    Include,
    /// Reads the file with a separate graphics state.
    Import,
}

impl IncludeKind {
    fn directive(self) -> &'static str {
        match self {
            IncludeKind::Include => "Include",
            IncludeKind::Import => "Import",
        }
    }
}

/// Writes `count` files that each refer to the next, and the last to the first. Returns the path of the main file.
///
/// # Errors
/// I/O errors.
pub fn ring(folder: &Path, way: IncludeKind, count: usize) -> io::Result<PathBuf> {
    chain_to(folder, way, count, &format!("{} \"file_0.pbrt\"\n", way.directive()))
}

/// Writes `count` files that each refer to the next; the last contains a sphere. Returns the path of the main file.
///
/// # Errors
/// I/O errors.
pub fn chain(folder: &Path, way: IncludeKind, count: usize) -> io::Result<PathBuf> {
    chain_to(folder, way, count, "Shape \"sphere\"\n")
}

fn chain_to(folder: &Path, way: IncludeKind, count: usize, last: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for index in 1..count {
        let text = format!("{} \"file_{index}.pbrt\"\n", way.directive());
        fs::write(folder.join(format!("file_{}.pbrt", index - 1)), text)?;
    }
    fs::write(folder.join(format!("file_{}.pbrt", count.saturating_sub(1))), last)?;
    main_file(folder, way, 1, "file_0.pbrt")
}

/// Writes a main file that refers `count` times to another file, which contains a sphere. Returns the path of the main
/// file.
///
/// # Errors
/// I/O errors.
pub fn wide(folder: &Path, way: IncludeKind, count: usize) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("leaf.pbrt"), "Shape \"sphere\"\n")?;
    main_file(folder, way, count, "leaf.pbrt")
}

/// Writes `levels` files that each refer `width` times to the next; the last contains a sphere. A few bytes expand to
/// more than `width` to the power of `levels` spheres. Returns the path of the main file.
///
/// # Errors
/// I/O errors.
pub fn fan(folder: &Path, way: IncludeKind, levels: usize, width: usize) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for level in 0..levels.saturating_sub(1) {
        let text = format!("{} \"file_{}.pbrt\"\n", way.directive(), level + 1).repeat(width);
        fs::write(folder.join(format!("file_{level}.pbrt")), text)?;
    }
    fs::write(folder.join(format!("file_{}.pbrt", levels.saturating_sub(1))), "Shape \"sphere\"\n")?;
    main_file(folder, way, width, "file_0.pbrt")
}

/// Writes the main file.
fn main_file(folder: &Path, way: IncludeKind, count: usize, name: &str) -> io::Result<PathBuf> {
    let path = folder.join("scene.pbrt");
    let mut out = BufWriter::new(File::create(&path)?);
    out.write_all(b"Camera \"perspective\"\nFilm \"rgb\"\nWorldBegin\n")?;
    for _ in 0..count {
        writeln!(out, "{} \"{name}\"", way.directive())?;
    }
    out.flush()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::super::naive;
    use super::*;
    use crate::corpus::Folder;

    #[test]
    fn each_trap_repeats_its_part() {
        for trap in Trap::ALL {
            let [none, few, many] = [0, 10, 1010].map(|count| trap.text(count).len());
            assert!(none < few && few + 999 < many, "{trap:?}: {none} {few} {many}");
        }
    }

    #[test]
    fn only_open_text_has_no_tokens() {
        let open = [Trap::OpenString, Trap::OpenStringOfLines, Trap::OpenEscape];
        for trap in Trap::ALL {
            let text = trap.text(5);
            assert_eq!(naive::tokens(&text).is_none(), open.contains(&trap), "{trap:?}");
        }
        let closed = [Trap::DeepAttributes, Trap::LongArray, Trap::OneLine, Trap::LongString, Trap::Scales];
        let sound = |trap: &Trap| naive::statements(&trap.text(5)).is_some();
        assert!(closed.iter().all(sound));
        let unsound = [Trap::OpenBracket, Trap::NestedBrackets, Trap::ClosingBrackets, Trap::LongWord, Trap::Unknown];
        assert!(!unsound.iter().any(sound));
    }

    #[test]
    fn rings_close_and_chains_end() {
        let folder = Folder::new("ring").unwrap();
        ring(folder.path(), IncludeKind::Include, 1).unwrap();
        assert_eq!(folder.text("file_0.pbrt"), "Include \"file_0.pbrt\"\n");
        ring(folder.path(), IncludeKind::Import, 3).unwrap();
        assert_eq!(folder.text("file_2.pbrt"), "Import \"file_0.pbrt\"\n");
        chain(folder.path(), IncludeKind::Import, 3).unwrap();
        assert_eq!(folder.text("file_1.pbrt"), "Import \"file_2.pbrt\"\n");
        assert_eq!(folder.text("file_2.pbrt"), "Shape \"sphere\"\n");
        assert!(wide(folder.path(), IncludeKind::Include, 4).unwrap().ends_with("scene.pbrt"));
        assert_eq!(folder.text("scene.pbrt").matches("Include \"leaf.pbrt\"").count(), 4);
        fan(folder.path(), IncludeKind::Include, 3, 5).unwrap();
        assert_eq!(folder.text("file_1.pbrt"), "Include \"file_2.pbrt\"\n".repeat(5));
    }
}
