//! Renders preview images of meshes, point clouds and Gaussian splats. Output does not depend on the thread count.
//!
//! [`preview`] frames a scene (`camera`), rasterizes triangles, lines and points (`draw`) into a sample buffer with
//! depth test (`frame`), and shades the visible samples (`shade`). Every step runs on all threads. The crate opens no
//! files and depends on no file format; to render files, see `polyhaul::preview`.
//!
//! ```
//! use polyhaul_model::{Mesh, Scene};
//! use polyhaul_preview::{PreviewOptions, preview};
//!
//! let cloud = Mesh { positions: [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]].into(), ..Mesh::default() };
//! let scene = Scene { meshes: vec![cloud], ..Scene::default() };
//! let picture = preview(&scene, &PreviewOptions::default().with_size([64, 48]))?;
//! assert_eq!((picture.width, picture.height), (64, 48));
//! # Ok::<(), polyhaul_model::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod batch;
mod brush;
mod camera;
mod clip;
mod color;
mod draw;
mod font;
mod frame;
mod geometry;
mod ground;
mod instanced;
mod near;
mod occlusion;
mod packed;
mod packet;
mod parallel;
mod ribbon;
mod scene;
mod shade;
mod sheet;
mod smooth;
mod splats;
mod stream;
mod surface;
mod texture;
mod thin;
mod work;

#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod tests;

pub use camera::{SceneCamera, View};
pub use instanced::{Instanced, InstancedDrawing, PlacedInstance};
pub use sheet::Sheet;
pub use stream::{MeshDrawing, Streamed};
pub use texture::{MapChannel, MapPurpose, MapUse, TextureImage, Textures};
pub use work::{CountedPicture, WorkBudget};

use camera::Camera;
use frame::Frame;
use ground::Ground;

use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Axes, Image, Scene};
use polyhaul_pipeline::options::RunOptions;
use scene::SceneParts;
use splats::DrawnSplats;
use surface::SceneSurfaces;
use work::PictureWork;

/// The shading mode of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Lit surfaces with vertex or material colors.
    #[default]
    Shaded,
    /// Camera-space normals: right is red, up is green, toward the camera is blue.
    Normals,
    /// Distance from the camera: near is white, far is dark.
    Depth,
    /// One color per material.
    Id,
    /// Texture coordinates: red is u, green is v, with a checkerboard of 8 x 8 squares.
    Uv,
    /// Lit surfaces with the edges of polygons.
    Wire,
}

polyhaul_model::options! {
    /// Options for [`preview`]. Defaults are in parentheses.
    #[derive(Clone, Debug)]
    pub struct PreviewOptions {
        /// Width and height in pixels (800 x 600).
        pub size: [usize; 2] = [800, 600], with_size;
        /// View direction (the scene's camera; without one, from the front, right and above).
        pub view: View = View::Camera, with_view;
        /// Shading mode (lit surfaces).
        pub style: Style = Style::Shaded, with_style;
        /// Background color: red, green, blue (sRGB) and alpha (opaque light gray).
        pub background: [u8; 4] = [236, 238, 241, 255], with_background;
        /// Whether to cast a shadow on a ground plane below the scene (off). Ignored for scenes with instances, splats
        /// or streamed meshes.
        pub ground: bool = false, with_ground;
        /// Forward and up axes (the scene's).
        pub axes: Option<Axes> = None, with_axes;
        /// Work limit beyond which the picture becomes coarser (grows with the scene).
        pub budget: WorkBudget = WorkBudget::Proportional, with_budget;
        /// Threads and cancellation.
        pub run: RunOptions = RunOptions::default(), with_run;
    }
}

/// Maximum width and height of a picture in pixels.
pub const MAX_SIDE: usize = 16_384;

/// Peak memory per pixel in bytes: the sample buffer (three with instances), ambient occlusion and output color.
pub const PIXEL_BYTES: u64 = 104;

/// Renders a scene. Polygons are drawn as triangle fans, which is correct only if they are convex.
///
/// # Errors
/// [`ErrorKind::Usage`] for a width or height of 0 or above [`MAX_SIDE`], or for parallel axes;
/// [`ErrorKind::Limit`] for 2^40 corners or more;
/// [`ErrorKind::Cancelled`]; [`ErrorKind::Memory`]: a picture needs [`PIXEL_BYTES`] per pixel.
pub fn preview(scene: &Scene, options: &PreviewOptions) -> Result<Image> {
    Ok(preview_textured(scene, &Textures::default(), options)?.image)
}

/// Like [`preview`], but with material textures. Also returns the counted work.
///
/// # Errors
/// As for [`preview`].
pub fn preview_textured(scene: &Scene, textures: &Textures, options: &PreviewOptions) -> Result<CountedPicture> {
    let axes = checked_axes(options, scene.axes)?;
    let work = PictureWork::new(options);
    if options.style == Style::Shaded
        && let Some(splats) = DrawnSplats::from_scene(scene)
        && let Some(bounds) = splats.bounds()
    {
        Frame::check_size(options.size)?;
        let camera = Camera::framing(bounds, options.view, axes, options.size);
        return Ok(work.picture(splats.draw(&camera, options, &work)?));
    }
    let mut parts = SceneParts::from_scene(scene)?;
    let frame = Frame::from_options(options)?;
    // An empty scene has no bounds; any camera works.
    let bounds = parts.bounds().unwrap_or(polyhaul_model::Bounds { min: [-1.0; 3], max: [1.0; 3] });
    let camera = Camera::framing(bounds, options.view, axes, options.size);
    draw::draw(&mut parts, textures, &camera, &frame, &work)?;
    let ground = options.ground.then(|| Ground::new(&mut parts, textures, bounds, axes, &work)).transpose()?;
    let surfaces = SceneSurfaces { scene, parts: &parts, camera: &camera, textures };
    Ok(work.picture(shade::shade(&surfaces, &camera, ground.as_ref(), &frame, options)?))
}

/// The forward and up axes: from the options, or else from the scene.
fn checked_axes(options: &PreviewOptions, scene_axes: Axes) -> Result<Axes> {
    let axes = options.axes.unwrap_or(scene_axes);
    if camera::are_parallel(axes) {
        return Err(Error::new(ErrorKind::Usage, "the forward axis and the up axis are parallel"));
    }
    Ok(axes)
}
