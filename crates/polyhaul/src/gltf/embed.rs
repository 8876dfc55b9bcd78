//! Embeds the images of materials in a `.glb` file: PNG and JPEG files unchanged, other images converted to PNG.
//!
//! Images are located like all referenced files of an asset (see `references`). Images in the scene's folder, in its
//! archive, and in the output folder are embedded. Other images need the caller's permission; without it, they remain
//! references, with a warning. Missing images also remain references, and relinking warns about them.

use crate::containers::Near;
use crate::options::{ReadOptions, WriteOptions};
use crate::references::{Found, Relinker};
use crate::resolve::{Read, Resolver};
use polyhaul_gltf::{GltfImages, ImageData};
use polyhaul_model::error::{Diagnostic, ErrorKind, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{FolderPlace, Material, SourceFolder};
use std::collections::HashMap;
use std::path::PathBuf;

/// Converts an image file, with a name for messages, to PNG.
pub(super) type ToPng<'a> = dyn Fn(Vec<u8>, &str, &mut Warnings) -> Result<Vec<u8>> + 'a;

/// Embeds images in a `.glb` file.
pub(super) struct Embedder<'a, 'o> {
    pub(super) links: &'a mut Relinker<'o>,
    pub(super) options: &'a WriteOptions,
    pub(super) to_png: &'a ToPng<'a>,
    pub(super) warnings: &'a mut Warnings,
}

impl Embedder<'_, '_> {
    /// Reads the images of `materials` and clears their file names, since they are no longer references.
    pub(super) fn embed(&mut self, materials: &mut [Material], scene: &SourceFolder) -> Result<GltfImages> {
        let mut images = GltfImages::default();
        let mut numbers: HashMap<(PathBuf, String), Option<usize>> = HashMap::new();
        for (number, material) in materials.iter_mut().enumerate() {
            let folder = material.folder.or(scene).clone();
            let Some(place) = folder.place() else { continue };
            for map_number in 0..material.maps.len() {
                let map = &material.maps[map_number];
                if map.file.is_empty() || !polyhaul_gltf::shows(material, map.kind) {
                    continue;
                }
                let key = (place.library.clone().unwrap_or_else(|| place.scene.clone()), map.file.clone());
                let image = match numbers.get(&key) {
                    Some(&image) => image,
                    None => {
                        let image = self.load(place, &map.file)?;
                        let image = image.map(|data| add(&mut images, data)).transpose()?;
                        numbers.insert(key, image);
                        image
                    }
                };
                if let Some(image) = image {
                    images.uses.insert((number, map_number), image);
                    material.maps[map_number].file.clear();
                }
            }
        }
        Ok(images)
    }

    /// Reads the image of a map. Returns `None` if it stays a reference, because it is missing, outside the permitted
    /// folders, or cannot be read or converted.
    fn load(&mut self, place: &FolderPlace, file: &str) -> Result<Option<ImageData>> {
        let origin = match self.links.find_to_embed(place, file)? {
            Found::Nothing => return Ok(None),
            Found::Outside(hint) => {
                let message = format!("`{}` was not embedded: it is outside the scene's folder", names::shown(file));
                self.warn("uncopied-reference", message, Some(hint));
                return Ok(None);
            }
            Found::At(origin) => origin,
        };
        let reading = ReadOptions::default().with_run(self.options.run.clone()).with_allow_outside(place.allow_outside);
        let near = Near::File(place.scene.join("scene"));
        let read = Resolver::beside(&near, &reading).read(origin, "glb", self.warnings);
        match read.and_then(|file| image_data(file, self.to_png, self.warnings)) {
            Ok(data) => Ok(Some(data)),
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Memory) => Err(error),
            Err(error) => {
                self.warn("left-out-textures", format!("texture not embedded: {error}"), None);
                Ok(None)
            }
        }
    }

    fn warn(&mut self, code: &'static str, message: String, hint: Option<&str>) {
        self.warnings.push(code, Diagnostic { hint: hint.map(str::to_owned), ..Diagnostic::new(message) });
    }
}

/// Adds an image; returns its index.
fn add(images: &mut GltfImages, data: ImageData) -> Result<usize> {
    try_push(&mut images.images, data, "images")?;
    Ok(images.images.len() - 1)
}

/// Returns an image file unchanged, or converted to PNG.
fn image_data(file: Read, to_png: &ToPng<'_>, warnings: &mut Warnings) -> Result<ImageData> {
    if let Some(mime_type) = polyhaul_gltf::media_type(&file.bytes) {
        return Ok(ImageData { bytes: file.bytes, mime_type });
    }
    let bytes = to_png(file.bytes, &file.name, warnings)?;
    Ok(ImageData { bytes, mime_type: "image/png" })
}
