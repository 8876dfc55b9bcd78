//! Images of materials as they lie in a `.glb` file: PNG and JPEG files as they are, others as PNG.
//!
//! They are found and opened under the rules for files that a scene refers to. An image that is not found stays a
//! reference, about which the relinking warns; so does one in an archive.

use crate::containers::Near;
use crate::options::{ReadOptions, WriteOptions};
use crate::resolve::{Read, Resolver};
use polyhaul_gltf::{GltfImages, ImageData};
use polyhaul_model::error::{Diagnostic, ErrorKind, Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{FolderPlace, Material, SourceFolder, TextureMap};
use std::collections::HashMap;
use std::path::PathBuf;

/// Converts an image file, with a name for messages, to PNG.
pub(super) type ToPng<'a> = dyn Fn(Vec<u8>, &str, &mut Warnings) -> Result<Vec<u8>> + 'a;

/// Reads the images of `materials`, and clears their names there: they are references no more.
pub(crate) fn embed(
    materials: &mut [Material],
    scene: &SourceFolder,
    options: &WriteOptions,
    to_png: &ToPng<'_>,
    warnings: &mut Warnings,
) -> Result<GltfImages> {
    let mut images = GltfImages::default();
    let mut numbers: HashMap<(PathBuf, String), Option<usize>> = HashMap::new();
    for (number, material) in materials.iter_mut().enumerate() {
        let folder = material.folder.or(scene).clone();
        let Some(place) = folder.place().filter(|place| !place.in_archive) else { continue };
        for (map_number, map) in material.maps.iter_mut().enumerate().filter(|(_, map)| polyhaul_gltf::shows(map.kind))
        {
            let key = (place.library.clone().unwrap_or_else(|| place.scene.clone()), map.file.clone());
            let image = match numbers.get(&key) {
                Some(&image) => image,
                None => {
                    let image = match load(place, map, options, to_png, warnings)? {
                        Some(data) => {
                            try_push(&mut images.images, data, "images")?;
                            Some(images.images.len() - 1)
                        }
                        None => None,
                    };
                    numbers.insert(key, image);
                    image
                }
            };
            if let Some(image) = image {
                images.uses.insert((number, map_number), image);
                map.file.clear();
            }
        }
    }
    Ok(images)
}

/// The file of a map; `None` if it cannot be read.
fn load(
    place: &FolderPlace,
    map: &TextureMap,
    options: &WriteOptions,
    to_png: &ToPng<'_>,
    warnings: &mut Warnings,
) -> Result<Option<ImageData>> {
    let reading = ReadOptions::default().with_run(options.run.clone()).with_allow_outside(place.allow_outside);
    let below = place.library.as_deref().and_then(|library| library.strip_prefix(&place.scene).ok());
    let beside = below.map(|folder| folder.join(&map.file)).and_then(|name| name.to_str().map(str::to_owned));
    let near = Near::File(place.scene.join("scene"));
    for name in beside.iter().map(String::as_str).chain([&*map.file]) {
        let mut resolver = Resolver::beside(&near, &reading);
        let Ok(located) = resolver.find(name) else { continue };
        let file = resolver.read(located.origin, "glb", warnings);
        return match file.and_then(|file| image_data(file, to_png, warnings)) {
            Ok(data) => Ok(Some(data)),
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Memory) => Err(error),
            Err(error) => {
                let message = format!("texture not embedded: {error}");
                warnings.push("left-out-textures", Diagnostic::new(message));
                Ok(None)
            }
        };
    }
    Ok(None)
}

/// The image in a file: as it is, or as PNG.
fn image_data(file: Read, to_png: &ToPng<'_>, warnings: &mut Warnings) -> Result<ImageData> {
    if let Some(mime_type) = polyhaul_gltf::media_type(&file.bytes) {
        return Ok(ImageData { bytes: file.bytes, mime_type });
    }
    let bytes = to_png(file.bytes, &file.name, warnings)?;
    Ok(ImageData { bytes, mime_type: "image/png" })
}
