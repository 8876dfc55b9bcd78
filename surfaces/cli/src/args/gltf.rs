//! The options for writing glTF, and the use of instances, which is an option of pbrt, too.

use clap::{Args, ValueEnum};
use polyhaul::options::{GltfInstances, GltfWriteOptions, Instances};
use polyhaul::{Error, ErrorKind, Format, Result};

/// How glTF is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing glTF")]
pub struct GltfArgs {
    /// Store positions, uvs and colors in 16 bits and normals in 8 bits (KHR_mesh_quantization)
    #[arg(long)]
    pub quantize: bool,
    /// Compress vertices and indices (EXT_meshopt_compression)
    #[arg(long)]
    pub meshopt: bool,
}

/// How instances, and objects that share a mesh, are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InstanceUse {
    /// Make separate shapes or objects of each instance
    Flatten,
    /// Write each definition once and drop its instances
    Once,
    /// Make instances of all objects that share a mesh, and drop their names (glTF)
    Gpu,
    /// Make a node of each instance, for viewers without EXT_mesh_gpu_instancing (glTF)
    Nodes,
}

impl InstanceUse {
    /// What becomes of the instances of a scene for a renderer.
    pub fn option(asked: Option<InstanceUse>) -> Instances {
        match asked {
            None | Some(InstanceUse::Gpu | InstanceUse::Nodes) => Instances::AsFormat,
            Some(InstanceUse::Flatten) => Instances::Flatten,
            Some(InstanceUse::Once) => Instances::Once,
        }
    }
}

impl GltfArgs {
    /// The library's options; an error for options that the output's format does not support.
    pub fn style(&self, to: Format, instances: Option<InstanceUse>) -> Result<GltfWriteOptions> {
        let asked = [
            ("--quantize", self.quantize),
            ("--meshopt", self.meshopt),
            ("--instances gpu", instances == Some(InstanceUse::Gpu)),
            ("--instances nodes", instances == Some(InstanceUse::Nodes)),
        ];
        if let (Some((name, _)), true) = (asked.iter().find(|(_, is_asked)| *is_asked), to != Format::Glb) {
            let message = format!("{name} applies only to glTF output, but the output format is {}", to.name());
            let hint = format!("remove {name}, or write glTF: use an output name ending in .glb or .gltf");
            return Err(Error::new(ErrorKind::Usage, message).with_hint(hint));
        }
        let instances = match instances {
            Some(InstanceUse::Gpu) => GltfInstances::Gpu,
            Some(InstanceUse::Nodes) => GltfInstances::Nodes,
            _ => GltfInstances::Auto,
        };
        let options = GltfWriteOptions::default().with_instances(instances);
        Ok(options.with_quantize(self.quantize).with_meshopt(self.meshopt))
    }
}
