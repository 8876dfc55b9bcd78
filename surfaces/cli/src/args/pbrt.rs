//! The options for pbrt scenes, and which of them go together.

use clap::Args;
use polyhaul::options::{PbrtMeshes, PbrtWriteOptions};
use polyhaul::{Error, ErrorKind, Format, Result};
use std::str::FromStr;

/// How pbrt is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing pbrt")]
pub struct PbrtArgs {
    /// Where to store meshes: inline (in the text), ply (in PLY files next to the scene), or ply:N (in PLY files if
    /// they have at least N vertices) [default: unchanged]
    #[arg(long, value_name = "WHERE", value_parser = crate::values::Choices::<MeshPlace>::from_names(&["inline", "ply"]), hide_possible_values = true)]
    pub meshes: Option<MeshPlace>,
    /// Split the scene into about N files of equal size, imported by the main file
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=5000))]
    pub parts: Option<u16>,
    /// Do not indent
    #[arg(long)]
    pub compact: bool,
}

/// Where the arrays of meshes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshPlace(PbrtMeshes);

impl FromStr for MeshPlace {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (word, vertices) = text.split_once(':').map_or((text, None), |(word, count)| (word, Some(count)));
        match (word, vertices.map(str::parse)) {
            ("inline", None) => Ok(MeshPlace(PbrtMeshes::Inline)),
            ("ply", None) => Ok(MeshPlace(PbrtMeshes::Ply { vertices: 0 })),
            ("ply", Some(Ok(vertices))) => Ok(MeshPlace(PbrtMeshes::Ply { vertices })),
            _ => Err("expected inline, ply or ply:N, where N is the minimum number of vertices".into()),
        }
    }
}

impl PbrtArgs {
    /// The library's options; an error for options that the output's format does not support.
    pub fn style(&self, to: Format, (lazy, from): (bool, Option<Format>)) -> Result<PbrtWriteOptions> {
        let asked =
            [("--meshes", self.meshes.is_some()), ("--parts", self.parts.is_some()), ("--compact", self.compact)];
        if let (Some((name, _)), true) = (asked.iter().find(|(_, is_asked)| *is_asked), to != Format::Pbrt) {
            return Err(not_pbrt(name, "applies only to pbrt output", to));
        }
        if let (true, Some(from)) = (lazy, from.filter(|from| *from != Format::Pbrt)) {
            let error = Error::new(
                ErrorKind::Usage,
                format!("--lazy applies only to pbrt input, but the input format is {}", from.name()),
            );
            return Err(error.with_hint("remove --lazy"));
        }
        if lazy && to != Format::Pbrt {
            return Err(not_pbrt("--lazy", "keeps meshes in their files, which only pbrt can refer to", to));
        }
        let meshes = self.meshes.map_or(PbrtMeshes::Keep, |place| place.0);
        if lazy && meshes == PbrtMeshes::Inline {
            let error = Error::new(ErrorKind::Usage, "--lazy cannot be used with --meshes inline");
            return Err(error.with_hint("--lazy does not read meshes; remove one of the two options"));
        }
        Ok(PbrtWriteOptions::default()
            .with_compact(self.compact)
            .with_meshes(meshes)
            .with_parts(self.parts.map_or(0, usize::from)))
    }
}

fn not_pbrt(option: &str, why: &str, to: Format) -> Error {
    let message = format!("{option} {why}, but the output format is {}", to.name());
    let hint = format!("remove {option}, or write pbrt: use an output name ending in .pbrt, or --to pbrt");
    Error::new(ErrorKind::Usage, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_a_threshold() {
        let ply = |vertices| Ok(MeshPlace(PbrtMeshes::Ply { vertices }));
        assert_eq!(["ply", "ply:0", "ply:1000"].map(str::parse), [ply(0), ply(0), ply(1000)]);
        assert_eq!("inline".parse(), Ok(MeshPlace(PbrtMeshes::Inline)));
        for text in ["", "PLY", "ply:", "ply:-1", "ply:many", "ply:1.5", "inline:5", "obj"] {
            assert!(text.parse::<MeshPlace>().is_err(), "{text}");
        }
    }
}
