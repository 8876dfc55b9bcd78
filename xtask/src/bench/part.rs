//! The parts of the benchmark: each can be chosen alone or left out.

/// What can be measured on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Reading and writing beside programs in Rust and C++.
    Obj,
    /// The Python package beside Python's readers.
    Python,
    /// Writing arrays beside Blender's exporter, which has the same arrays.
    Blender,
    /// Compressed files.
    Gzip,
    /// Scans and splats.
    Ply,
    /// Triangles.
    Stl,
    /// Scenes of pbrt.
    Pbrt,
    /// Text of numbers.
    Tables,
    /// Textures.
    Images,
    /// Number kernels.
    Numbers,
    /// Records to text, beside C and Rust.
    Records,
    /// What tracing costs.
    Trace,
    /// How exact throttles are.
    Throttle,
    /// What watching another program costs.
    Watch,
    /// Whether verdicts are what is seen from outside.
    Verdicts,
    /// Loads at many rates, beside what is predicted.
    Sweeps,
}

impl Part {
    /// All, in the order in which they run.
    pub(super) const ALL: [Part; 16] = [
        Part::Obj,
        Part::Python,
        Part::Blender,
        Part::Gzip,
        Part::Ply,
        Part::Stl,
        Part::Pbrt,
        Part::Tables,
        Part::Images,
        Part::Numbers,
        Part::Records,
        Part::Trace,
        Part::Throttle,
        Part::Watch,
        Part::Verdicts,
        Part::Sweeps,
    ];

    fn name(self) -> &'static str {
        match self {
            Part::Obj => "obj",
            Part::Python => "python",
            Part::Blender => "blender",
            Part::Gzip => "gzip",
            Part::Ply => "ply",
            Part::Stl => "stl",
            Part::Pbrt => "pbrt",
            Part::Tables => "tables",
            Part::Images => "images",
            Part::Numbers => "numbers",
            Part::Records => "records",
            Part::Trace => "trace",
            Part::Throttle => "throttle",
            Part::Watch => "watch",
            Part::Verdicts => "verdicts",
            Part::Sweeps => "sweeps",
        }
    }

    /// The part of that name.
    pub(super) fn named(name: &str) -> Option<Part> {
        Part::ALL.into_iter().find(|part| part.name() == name)
    }

    /// Those of `only`, or all where it is empty, except `without`; in order.
    pub(super) fn chosen(only: &[Part], without: &[Part]) -> Vec<Part> {
        let chosen = |part: &Part| (only.is_empty() || only.contains(part)) && !without.contains(part);
        Part::ALL.into_iter().filter(chosen).collect()
    }

    /// What the names of a record of these parts alone end in.
    pub(super) fn suffix(parts: &[Part]) -> String {
        if parts.len() == Part::ALL.len() {
            String::new()
        } else {
            parts.iter().map(|part| format!("-{}", part.name())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_and_left_out() {
        assert_eq!(Part::chosen(&[], &[]), Part::ALL);
        let chosen = Part::chosen(&[Part::Numbers, Part::Obj], &[]);
        assert_eq!(chosen, [Part::Obj, Part::Numbers]);
        assert_eq!(Part::suffix(&chosen), "-obj-numbers");
        assert_eq!(Part::chosen(&[], &[Part::Blender]).len(), Part::ALL.len() - 1);
        assert_eq!(Part::suffix(&Part::ALL), "");
        assert_eq!(Part::named("gzip"), Some(Part::Gzip));
        assert_eq!(Part::named("zip"), None);
    }
}
