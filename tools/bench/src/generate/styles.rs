//! Styles of text files written by other programs: numbers, gaps, line ends, indices and groups. Generates OBJ files in
//! these styles; PLY and STL files use them too.
//!
//! Styles are named after the programs that they imitate: `tidy` (the easiest to read), `blender` (six digits for
//! positions, four for normals, LF), `maya` (CR LF), `zbrush` (`%.6g`, polypaint), `scan` (MeshLab and scanners: vertex
//! colors, no uvs), `printf17` (programs that print doubles in full), `mixed` (all of these). The other styles differ
//! from `tidy` in one property each, to measure its cost: `negative`, `digits15`, `digits17`, `exponents`, `groups`,
//! `colors`, `tabs`, `crlf`, `ngons`.

use super::{Grid, Text, hash};
use crate::Failure;

/// Vertices along each side of an object.
const SIDE: u32 = 40;

/// Number formats of C's `printf`.
#[derive(Clone, Copy)]
enum Numbers {
    /// `%.6f`.
    Fixed,
    /// `%.{}g`, of a double.
    General(usize),
    /// `%.9e`, of a double.
    Scientific,
}

/// Indices of a corner.
#[derive(Clone, Copy, PartialEq)]
enum Corners {
    Position,
    Normal,
    All,
}

/// Style of a program.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) newline: &'static [u8],
    pub(super) gap: &'static [u8],
    numbers: Numbers,
    /// Decimals of normals in `Fixed` notation.
    normal_digits: u32,
    corners: Corners,
    /// Whether positions have colors.
    pub(super) colored: bool,
    /// Whether indices are negative.
    relative: bool,
    /// Whether a third of the faces have five corners, and another third three.
    ngons: bool,
    /// Number of faces per group and material, or 0 for one group and material per object.
    group_faces: u32,
    /// Whether positions are followed by lines of polypaint.
    polypaint: bool,
}

/// The style that is easiest to read.
pub(super) const TIDY: Style = Style {
    newline: b"\n",
    gap: b" ",
    numbers: Numbers::Fixed,
    normal_digits: 6,
    corners: Corners::All,
    colored: false,
    relative: false,
    ngons: false,
    group_faces: 0,
    polypaint: false,
};

/// Finds a style by name.
pub(super) fn style(name: &str) -> Result<Style, Failure> {
    Ok(match name {
        "tidy" => TIDY,
        "blender" => Style { normal_digits: 4, ..TIDY },
        "maya" => Style { newline: b"\r\n", ..TIDY },
        "zbrush" => Style { numbers: Numbers::General(6), corners: Corners::Position, polypaint: true, ..TIDY },
        "scan" => Style { corners: Corners::Normal, colored: true, ngons: false, ..TIDY },
        "printf17" => Style { numbers: Numbers::General(17), ..TIDY },
        "mixed" => Style {
            newline: b"\r\n",
            gap: b"\t",
            numbers: Numbers::General(17),
            colored: true,
            relative: true,
            ngons: true,
            group_faces: 64,
            ..TIDY
        },
        "negative" => Style { relative: true, ..TIDY },
        "digits15" => Style { numbers: Numbers::General(15), ..TIDY },
        "digits17" => Style { numbers: Numbers::General(17), ..TIDY },
        "exponents" => Style { numbers: Numbers::Scientific, ..TIDY },
        "groups" => Style { group_faces: 4, ..TIDY },
        "colors" => Style { colored: true, ..TIDY },
        "tabs" => Style { gap: b"\t", ..TIDY },
        "crlf" => Style { newline: b"\r\n", ..TIDY },
        "ngons" => Style { ngons: true, ..TIDY },
        _ => return Err(format!("no style {name}").into()),
    })
}

/// Writes objects in a style until the file has this many megabytes.
pub fn write(text: &mut Text, name: &str, megabytes: u64) -> Result<(), Failure> {
    let style = style(name)?;
    let mut index = 0;
    while text.counts[3] < megabytes * 1_000_000 {
        let chance = hash(index, 0, 3);
        let grid = Grid {
            rows: SIDE,
            columns: SIDE,
            seed: index,
            seam: 0,
            origin: [(chance % 100) as f32, (chance >> 8) as f32 / 1e6, -3.5],
            size: 4.0,
        };
        // In `mixed`, every third object has another notation, as in files from several programs.
        let numbers = match (style.numbers, index % 3) {
            (Numbers::General(17), 1) if name == "mixed" => Numbers::Scientific,
            (Numbers::General(17), 2) if name == "mixed" => Numbers::Fixed,
            (numbers, _) => numbers,
        };
        Style { numbers, ..style }.object(text, &grid, index)?;
        index += 1;
    }
    Ok(())
}

impl Style {
    fn object(&self, text: &mut Text, grid: &Grid, index: u32) -> Result<(), Failure> {
        let first = text.counts[0];
        self.named(text, b"o Object_", index);
        for (row, column) in grid.vertices(0) {
            text.bytes(b"v");
            self.values(text, &grid.position(row, column));
            if self.colored {
                self.values(text, &grid.uv(row, column));
                self.values(text, &[0.5]);
            }
            self.end(text)?;
        }
        for row in (0..grid.rows).filter(|_| self.polypaint) {
            text.bytes(b"#MRGB ");
            for column in 0..grid.columns {
                text.bytes(format!("ff{:06x}", hash(row, column, 5) & 0xFF_FFFF).as_bytes());
            }
            self.end(text)?;
        }
        for (row, column) in grid.vertices(0).filter(|_| self.corners == Corners::All) {
            text.bytes(b"vt");
            self.values(text, &grid.uv(row, column));
            self.end(text)?;
        }
        for (row, column) in grid.vertices(0).filter(|_| self.corners != Corners::Position) {
            text.bytes(b"vn");
            self.normal(text, &grid.normal(row, column));
            self.end(text)?;
        }
        text.counts[0] += u64::from(grid.rows * grid.columns);
        self.faces(text, grid, first, index)
    }

    fn faces(&self, text: &mut Text, grid: &Grid, first: u64, index: u32) -> Result<(), Failure> {
        let mut written = 0;
        for row in 0..grid.rows - 1 {
            let mut column = 0;
            while column + 2 < grid.columns {
                if written == 0 || self.group_faces > 0 && written % self.group_faces == 0 {
                    self.named(text, b"g part_", index % 50 + written);
                    self.named(text, b"usemtl material_", (index + written) % super::MATERIALS);
                }
                let wide = if self.ngons && written % 3 == 0 { 2 } else { 1 };
                let corners = [(row, column), (row, column + wide), (row + 1, column + wide), (row + 1, column)];
                let middle = (wide == 2).then_some((row, column + 1));
                text.bytes(b"f");
                corners[..1].iter().chain(&middle).chain(&corners[1..]).for_each(|&(row, column)| {
                    self.corner(text, first + u64::from(row * grid.columns + column));
                });
                self.end(text)?;
                text.counts[2] += 1;
                written += 1;
                column += wide;
            }
        }
        Ok(())
    }

    /// Writes a corner whose indices are all `at`, counted over the whole file.
    fn corner(&self, text: &mut Text, at: u64) {
        text.bytes(self.gap);
        let index = |text: &mut Text| {
            if self.relative {
                text.bytes(b"-");
                text.integer(text.counts[0] - at);
            } else {
                text.integer(at + 1);
            }
        };
        index(text);
        match self.corners {
            Corners::Position => {}
            Corners::Normal => {
                text.bytes(b"//");
                index(text);
            }
            Corners::All => {
                text.bytes(b"/");
                index(text);
                text.bytes(b"/");
                index(text);
            }
        }
    }

    fn named(&self, text: &mut Text, start: &[u8], number: u32) {
        text.bytes(start);
        text.integer(u64::from(number));
        text.bytes(self.newline);
    }

    /// Ends a line.
    pub(super) fn end(&self, text: &mut Text) -> Result<(), Failure> {
        text.bytes(self.newline);
        text.spill()
    }

    /// Returns whether a program with these numbers uses doubles.
    pub(super) fn has_doubles(&self) -> bool {
        !matches!(self.numbers, Numbers::Fixed | Numbers::General(..=9))
    }

    /// Appends three numbers, each after a gap.
    pub(super) fn normal(&self, text: &mut Text, normal: &[f32; 3]) {
        if matches!(self.numbers, Numbers::Fixed) {
            for &value in normal {
                text.bytes(self.gap);
                text.number(value, self.normal_digits);
            }
        } else {
            self.values(text, normal);
        }
    }

    /// Appends numbers, each after a gap.
    pub(super) fn values(&self, text: &mut Text, values: &[f32]) {
        for &value in values {
            text.bytes(self.gap);
            // Doubles of real programs have more digits than a float.
            let double = f64::from(value) * 1.000_000_1;
            match self.numbers {
                Numbers::Fixed => text.number(value, 6),
                Numbers::General(digits) => text.bytes(general(double, digits).as_bytes()),
                Numbers::Scientific => text.bytes(scientific(double, 9).as_bytes()),
            }
        }
    }
}

/// Formats as `%.{digits}e`: the exponent has a sign and two digits.
pub(super) fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Formats as `%.{digits}g`.
pub(super) fn general(value: f64, digits: usize) -> String {
    let text = scientific(value, digits - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, text)| text.parse().ok()).unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", trimmed(mantissa));
    }
    let places = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.places$}"))
}
