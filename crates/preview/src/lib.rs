//! Pictures of meshes and point clouds, the same for any number of threads.
//!
//! [`preview`] frames a scene (`camera`), draws its triangles, lines and points (`draw`) into samples that keep the
//! nearest surface (`frame`), and colors these (`shade`). Each step runs on all threads. This crate opens no files and
//! does not depend on a file format; for pictures of files, see `polyhaul::preview`.
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

/// What a picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Surfaces in the light, in the colors of vertices or materials.
    #[default]
    Shaded,
    /// Normals in the camera's coordinates: right is red, up is green, near is blue.
    Normals,
    /// Distance: near is white, far is dark.
    Depth,
    /// A color for each material.
    Id,
    /// Texture coordinates: red is u, green is v, with a checkerboard of 8 x 8 squares.
    Uv,
    /// Lit surfaces with the edges of their faces.
    Wire,
}

polyhaul_model::options! {
    /// How a picture is made.
    #[derive(Clone, Debug)]
    pub struct PreviewOptions {
        /// Width and height in pixels (800 x 600).
        pub size: [usize; 2] = [800, 600], with_size;
        /// The direction that the scene is seen from (the scene's camera, or else from the front, right and above).
        pub view: View = View::Camera, with_view;
        /// What is shown (surfaces in the light).
        pub style: Style = Style::Shaded, with_style;
        /// Red, green, blue (sRGB) and alpha of the background (a light gray, opaque).
        pub background: [u8; 4] = [236, 238, 241, 255], with_background;
        /// Whether there is a shadow on the ground below a scene (none). Scenes with instances, splats and meshes drawn
        /// in pieces have none.
        pub ground: bool = false, with_ground;
        /// The axes that point forward and up (the scene's).
        pub axes: Option<Axes> = None, with_axes;
        /// How much work it may take before it becomes coarser (more for larger scenes).
        pub budget: WorkBudget = WorkBudget::Proportional, with_budget;
        /// Threads and cancellation.
        pub run: RunOptions = RunOptions::default(), with_run;
    }
}

/// The longest side of a picture in pixels.
pub const MAX_SIDE: usize = 16_384;

/// The memory that drawing takes for each pixel: its samples, twice with instances, and its color.
pub const PIXEL_BYTES: u64 = 104;

/// Draws a scene. Faces with more than three corners are drawn as fans, which is right for convex ones.
///
/// # Errors
/// [`ErrorKind::Usage`] for a size of 0 or more than [`MAX_SIDE`], or for parallel axes;
/// [`ErrorKind::Limit`] for 2^40 corners;
/// [`ErrorKind::Cancelled`]; [`ErrorKind::Memory`]: a picture takes [`PIXEL_BYTES`] per pixel.
pub fn preview(scene: &Scene, options: &PreviewOptions) -> Result<Image> {
    Ok(preview_textured(scene, &Textures::default(), options)?.image)
}

/// Like [`preview`], with the textures of the scene's materials, and the work that it took.
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
    // Without anything to see, any camera will do.
    let bounds = parts.bounds().unwrap_or(polyhaul_model::Bounds { min: [-1.0; 3], max: [1.0; 3] });
    let camera = Camera::framing(bounds, options.view, axes, options.size);
    draw::draw(&mut parts, textures, &camera, &frame, &work)?;
    let ground = options.ground.then(|| Ground::new(&mut parts, textures, bounds, axes, &work)).transpose()?;
    let surfaces = SceneSurfaces { scene, parts: &parts, camera: &camera, textures };
    Ok(work.picture(shade::shade(&surfaces, &camera, ground.as_ref(), &frame, options)?))
}

/// The axes to show forward and up: the options' axes, or else the scene's.
fn checked_axes(options: &PreviewOptions, scene_axes: Axes) -> Result<Axes> {
    let axes = options.axes.unwrap_or(scene_axes);
    if camera::are_parallel(axes) {
        return Err(Error::new(ErrorKind::Usage, "the forward axis and the up axis are parallel"));
    }
    Ok(axes)
}
