//! Renders scenes with instances. Some instances are rasterized ([`crate::near`]). The other instances are ray-cast
//! with one ray per sample, unless rasterized instances hide them.
//!
//! Each visible definition has a BVH over its triangles and segments ([`crate::geometry`]) in local coordinates.
//! Visible instances are split into [`GROUPS`], each with a BVH over the instance boxes, so that building runs in
//! parallel. The `obvhs` crate builds the trees (PLOC by Meister and Bittner).

use crate::camera::{Camera, SceneCamera, View};
use crate::frame::{Frame, Hit, PAYLOAD_BITS, PLACES, SAMPLES};
use crate::geometry::{Geometry, tree};
use crate::near::{NearLayer, NearSelection, choose};
use crate::packet::{LANES, Leaves, LocalPacket, Packet, ROWS, Rows};
use crate::parallel::draw_each;
use crate::scene::{SceneParts, moved_box};
use crate::shade::{GRAY, SeenSurface, Surfaces, shade};
use crate::surface::SceneSurfaces;
use crate::texture::Textures;
use crate::work::{CountedPicture, PictureWork};
use crate::{PreviewOptions, checked_axes};
use glam::Vec3A;
use obvhs::aabb::Aabb;
use obvhs::bvh2::Bvh2;
use obvhs::ploc::PlocBuilder;
use polyhaul_geometry::linear::{Matrix3, Vector, cross, dot, subtract};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Bounds, Mesh, Scene};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of instance BVHs: enough to be built in parallel, and few enough that every packet of rays can test all of
/// them.
const GROUPS: usize = 8;
/// Work units for ray casting granted per instance, and per corner of the definitions.
const INSTANCE_WORK: u64 = 4096;
const CORNER_WORK: u64 = 64;
/// Instances per culling task.
const TURN: usize = 16 << 10;
/// Marks payloads of [`NearLayer`].
const NEAR: u64 = 1 << (PAYLOAD_BITS - 1);
/// Record of rays without a hit in front of the rasterized layer.
const NOTHING: u64 = u64::MAX;

/// An instanced scene.
#[derive(Clone, Copy, Debug)]
pub struct Instanced<'a> {
    /// Meshes, objects and materials. The objects belong to definitions.
    pub scene: &'a Scene,
    /// Range of objects of each definition.
    pub definitions: &'a [Range<usize>],
    /// Instances to render.
    pub instances: &'a [PlacedInstance],
    /// Textures of the materials.
    pub textures: &'a Textures,
    /// The scene's camera, for [`View::Camera`].
    pub camera: Option<SceneCamera>,
}

/// A definition with a transform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedInstance {
    /// Index into [`Instanced::definitions`].
    pub definition: u32,
    /// Transform to scene space: three rows, the fourth is 0 0 0 1.
    pub place: [[f32; 4]; 3],
}

/// An instanced scene prepared for rendering in two passes.
pub struct InstancedDrawing<'a> {
    instanced: Instanced<'a>,
    options: &'a PreviewOptions,
    work: PictureWork<'a>,
    parts: SceneParts<'a>,
    camera: Camera,
    near: NearLayer<'a>,
    geometries: Vec<Geometry>,
    groups: Vec<InstanceGroup>,
    frame: Frame,
    /// Per sample: instance index (upper 32 bits), and payload in `parts`.
    hits: Vec<AtomicU64>,
}

/// A group of ray-cast instances with a BVH.
#[derive(Default)]
struct InstanceGroup {
    /// Indices into [`Instanced::instances`].
    seen: Vec<u32>,
    tree: Bvh2,
}

/// An instance that may be inside the view frustum.
#[derive(Clone, Copy)]
pub(crate) struct SeenInstance {
    pub(crate) number: u32,
    pub(crate) bounds: Aabb,
}

impl SeenInstance {
    /// Camera-space bounding box: right, up, forward.
    pub(crate) fn seen_box(&self, camera: &Camera) -> [[f64; 2]; 3] {
        let [min, max] = [self.bounds.min, self.bounds.max].map(|corner| corner.to_array());
        camera.seen_box(&Bounds { min, max })
    }
}

/// Nearest hit of a ray: forward distance, and a record as in `InstancedDrawing::hits`.
#[derive(Clone, Copy)]
struct CastHit {
    distance: f32,
    record: u64,
}

/// Reused traversal stacks: one for instance trees, and one for geometry trees.
#[derive(Default)]
struct TraversalStacks {
    outer: Vec<(u32, Rows)>,
    inner: Vec<(u32, Rows)>,
}

impl<'a> InstancedDrawing<'a> {
    /// Culls instances, rasterizes the near layer and builds all trees.
    ///
    /// # Errors
    /// As for [`crate::preview`]; [`ErrorKind::Limit`] for 2^32 - 1 or more corners.
    pub fn new(instanced: Instanced<'a>, options: &'a PreviewOptions) -> Result<InstancedDrawing<'a>> {
        let axes = checked_axes(options, instanced.scene.axes)?;
        let work = PictureWork::new(options);
        let (parts, ranges) = SceneParts::from_objects(instanced.scene, instanced.definitions)?;
        if parts.count() >= u64::from(u32::MAX) {
            return Err(Error::new(ErrorKind::Limit, "a picture can show at most 4 billion distinct corners"));
        }
        let frame = Frame::from_options(options)?;
        let mut hits = Vec::new();
        let count = options.size[0] * options.size[1] * SAMPLES;
        hits.try_reserve_exact(count).map_err(|_| Error::memory("a picture"))?;
        hits.resize_with(count, AtomicU64::default);
        let bounds = definition_bounds(&parts, &ranges)?;
        let size = size(&bounds, &instanced);
        let camera = match instanced.camera.filter(|_| options.view == View::Camera) {
            Some(camera) => Camera::from_scene(&camera, 1e-4 * size, options.size),
            None => {
                let boxes = instanced.instances.iter().filter_map(|instance| box_of(instance, &bounds));
                let scene_box = boxes.reduce(Bounds::union).unwrap_or(Bounds { min: [-1.0; 3], max: [1.0; 3] });
                Camera::framing(scene_box, options.view, axes, options.size)
            }
        };
        let seen = seen(&instanced, &bounds, &camera, options)?;
        let (near, seen) = draw_near(&instanced, &parts, &ranges, &camera, 1e-6 * size, seen, &work)?;
        let geometries = geometries(&parts, &ranges, &seen, &instanced, options)?;
        let groups = groups(seen, options)?;
        Ok(InstancedDrawing { instanced, options, work, parts, camera, near, geometries, groups, frame, hits })
    }

    /// Renders a first picture with one sample per pixel.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`]; [`ErrorKind::Memory`].
    pub fn first(&self) -> Result<CountedPicture> {
        self.cast(0..1)?;
        self.shade()
    }

    /// Renders the final picture with all samples. [`InstancedDrawing::first`] must be called first.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`]; [`ErrorKind::Memory`].
    pub fn rest(&self) -> Result<CountedPicture> {
        self.cast(1..SAMPLES)?;
        self.shade()
    }

    /// Memory per ray-cast instance in bytes, without the caller's data.
    pub fn instance_bytes(&self) -> usize {
        let seen = self.groups.iter().map(|group| group.seen.len()).sum::<usize>();
        let nodes = self.groups.iter().map(|group| size_of_val(&group.tree.nodes[..])).sum::<usize>();
        (nodes + seen * 2 * size_of::<u32>()).checked_div(seen).unwrap_or(0)
    }

    /// Casts rays for a range of samples within the work budget. The first sample stands in for the other samples until
    /// they are cast.
    fn cast(&self, samples: Range<usize>) -> Result<()> {
        let [width, height] = self.options.size;
        let tiles = (0..height).step_by(ROWS).flat_map(|y| (0..width).step_by(LANES).map(move |x| [x, y]));
        let corners = CORNER_WORK.saturating_mul(self.parts.count());
        let linear = INSTANCE_WORK.saturating_mul(self.instanced.instances.len() as u64).saturating_add(corners);
        let is_done =
            self.work.share(self.work.limit(linear), tiles, TraversalStacks::default, |scratch, tile, granted| {
                self.work.run.cancel.check()?;
                Ok(self.cast_samples(*tile, samples.clone(), granted, scratch))
            })?;
        if !is_done {
            self.work.note_coarse();
        }
        Ok(())
    }

    /// Casts rays for a range of samples of a tile. Returns the work units spent.
    fn cast_samples(
        &self,
        tile: [usize; 2],
        samples: Range<usize>,
        granted: u64,
        scratch: &mut TraversalStacks,
    ) -> u64 {
        let [width, height] = self.options.size;
        let mut spent = 0;
        // Sequential: deduplication in `keep` depends on earlier samples.
        for sample in samples.clone() {
            let packet = self.cast_tile(tile, sample, granted - spent, scratch);
            spent += packet.work;
            // Out of budget: keeps an incomplete first sample, which is better than nothing, but no later sample.
            if spent > granted && sample > 0 {
                break;
            }
            for (row, lane) in (0..ROWS).flat_map(|row| (0..LANES).map(move |lane| (row, lane))) {
                let [x, y] = [tile[0] + lane, tile[1] + row];
                if x < width && y < height {
                    let hit = CastHit { distance: packet.ends[row][lane], record: packet.records[row][lane] };
                    let covered = if samples.start == 0 { 0..SAMPLES } else { sample..sample + 1 };
                    covered.for_each(|sample| self.keep([x, y], sample, hit));
                }
            }
        }
        spent
    }

    /// Stores the hit of a ray. The payload is the index of the pixel's first sample with the same hit, so that equal
    /// samples are shaded once.
    fn keep(&self, [x, y]: [usize; 2], sample: usize, CastHit { distance, record }: CastHit) {
        let index = self.frame.index(x, y, sample);
        if record == NOTHING {
            let near = self.near.hit(index);
            let hit = near.map(|(distance, at)| Hit { depth: self.camera.depth(distance), payload: NEAR | at });
            return self.frame.set(index, hit);
        }
        self.hits[index].store(record, Ordering::Relaxed);
        let earlier = self.frame.hits(x, y);
        let same = |hit: &Option<Hit>| {
            let payload = hit.map(|hit| hit.payload).filter(|payload| payload & NEAR == 0);
            payload.filter(|&at| self.hits[at as usize].load(Ordering::Relaxed) == record)
        };
        let payload = earlier[..sample].iter().find_map(same).unwrap_or(index as u64);
        self.frame.set(index, Some(Hit { depth: self.camera.depth(distance), payload }));
    }

    /// Casts one ray per pixel of a tile, at one sample position.
    fn cast_tile(&self, tile: [usize; 2], sample: usize, max_work: u64, scratch: &mut TraversalStacks) -> Packet {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: `is_x86_feature_detected` above confirmed AVX2.
            return unsafe { self.cast_tile_avx2(tile, sample, max_work, scratch) };
        }
        self.cast_tile_portable(tile, sample, max_work, scratch)
    }

    /// [`InstancedDrawing::cast_tile_portable`] compiled for AVX2, whose registers hold a row of rays.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn cast_tile_avx2(&self, tile: [usize; 2], sample: usize, max_work: u64, scratch: &mut TraversalStacks) -> Packet {
        self.cast_tile_portable(tile, sample, max_work, scratch)
    }

    #[inline(always)]
    fn cast_tile_portable(
        &self,
        [x, y]: [usize; 2],
        sample: usize,
        max_work: u64,
        scratch: &mut TraversalStacks,
    ) -> Packet {
        let narrow = |values: [f64; 3]| values.map(|value| value as f32);
        let [dx, dy] = PLACES[sample].map(|place| place as f64 / 256.0);
        // Directions advance 1 unit forward, so ray parameters equal forward distances.
        let direction =
            |lane: usize, row: usize| narrow(self.camera.ray([(x + lane) as f64 + dx, (y + row) as f64 + dy]));
        let mut packet = Packet::new(narrow(self.camera.eye()), max_work, direction);
        let [width, height] = self.options.size;
        for (row, lane) in (0..ROWS).flat_map(|row| (0..LANES).map(move |lane| (row, lane))) {
            let [x, y] = [x + lane, y + row];
            packet.ends[row][lane] = if x < width && y < height {
                // A ray need not go beyond the rasterized layer.
                self.near.hit(self.frame.index(x, y, sample)).map_or(f32::INFINITY, |(distance, _)| distance)
            } else {
                0.0
            };
        }
        let world = packet.moved(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], packet.origin);
        let TraversalStacks { outer, inner } = scratch;
        // Nearest group first: its hits shorten the rays for the other groups.
        let mut order: [_; GROUPS] = std::array::from_fn(|at| (packet.entry(&world, &self.groups[at].tree), at));
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, at) in order {
            let InstanceGroup { seen, tree } = &self.groups[at];
            let mut leaves = InstanceLeaves { drawing: self, seen, stack: inner };
            packet.traverse(&world, tree, outer, &mut leaves);
        }
        packet
    }

    /// Transforms rays into an instance's local coordinates and casts them there.
    #[inline(always)]
    fn cast_instance(&self, number: u32, packet: &mut Packet, stack: &mut Vec<(u32, Rows)>) {
        let Some(PlacedInstance { definition, place }) = self.instanced.instances.get(number as usize) else { return };
        let columns: [Vector<f32>; 4] = std::array::from_fn(|column| place.map(|row| row[column]));
        let [a, b, c, shift] = columns;
        let back = inverse([a, b, c]);
        let [x, y, z] = subtract(packet.origin, shift);
        let origin = std::array::from_fn(|row| back[0][row] * x + back[1][row] * y + back[2][row] * z);
        // A singular transform has no finite inverse.
        let is_finite = [back[0], back[1], back[2], origin].as_flattened().iter().all(|value| value.is_finite());
        if let Some(geometry) = self.geometries.get(*definition as usize)
            && is_finite
        {
            let local = packet.moved(&back, origin);
            geometry.cast(&self.parts.parts, packet, &local, u64::from(number) << 32, stack);
        }
    }

    fn shade(&self) -> Result<CountedPicture> {
        Ok(self.work.picture(shade(self, &self.camera, None, &self.frame, self.options)?))
    }
}

/// Returns the columns of the inverse of a matrix, given its columns.
fn inverse([a, b, c]: Matrix3<f32>) -> Matrix3<f32> {
    let rows = [cross(b, c), cross(c, a), cross(a, b)];
    let factor = 1.0 / dot(c, rows[2]);
    std::array::from_fn(|column| rows.map(|row| row[column] * factor))
}

/// Passes the leaves of an instance tree to a packet.
struct InstanceLeaves<'a> {
    drawing: &'a InstancedDrawing<'a>,
    seen: &'a [u32],
    stack: &'a mut Vec<(u32, Rows)>,
}

impl Leaves for InstanceLeaves<'_> {
    #[inline(always)]
    fn offer(&mut self, packet: &mut Packet, _: &LocalPacket, number: u32, _: Rows) {
        self.drawing.cast_instance(self.seen[number as usize], packet, self.stack);
    }
}

impl Surfaces for InstancedDrawing<'_> {
    fn surface(&self, payload: u64, place: [f64; 2]) -> SeenSurface {
        if payload & NEAR != 0 {
            let Instanced { scene, textures, .. } = self.instanced;
            return SceneSurfaces { scene, parts: &self.near.parts, camera: &self.camera, textures }
                .surface(payload & !NEAR, place);
        }
        let record = self.hits.get(payload as usize).map_or(0, |record| record.load(Ordering::Relaxed));
        let surfaces = SceneSurfaces {
            scene: self.instanced.scene,
            parts: &self.parts,
            camera: &self.camera,
            textures: self.instanced.textures,
        };
        let part = self.parts.find(record & u64::from(u32::MAX));
        match (part, self.instanced.instances.get((record >> 32) as usize)) {
            (Some((part, index)), Some(instance)) => surfaces.of_part(&part.placed(&instance.place), index, place),
            _ => SeenSurface::new(None, GRAY, 0),
        }
    }
}

/// Rasterizes some instances. Returns the rasterized layer, and the other instances unless the layer hides them.
fn draw_near<'a>(
    instanced: &Instanced<'a>,
    parts: &SceneParts<'a>,
    ranges: &[Range<usize>],
    camera: &Camera,
    nearest: f64,
    seen: Vec<SeenInstance>,
    work: &PictureWork<'_>,
) -> Result<(NearLayer<'a>, Vec<SeenInstance>)> {
    let size_of = |range: &Range<usize>| parts.parts[range.clone()].iter().map(|part| part.corners().len()).sum();
    let sizes: Vec<usize> = ranges.iter().map(size_of).collect();
    let definition_of = |seen: &SeenInstance| instanced.instances[seen.number as usize].definition;
    let NearSelection { drawn, mut left } = choose(seen, definition_of, &sizes, camera);
    let placed = drawn.iter().map(|&number| {
        let PlacedInstance { definition, place } = instanced.instances[number as usize];
        (ranges[definition as usize].clone(), place)
    });
    let near = NearLayer::new(parts, placed, camera, nearest, instanced.textures, work)?;
    let blocks = near.depth_blocks();
    left.retain(|instance| !blocks.hides(&instance.seen_box(camera)));
    Ok((near, left))
}

/// Bounding box of each definition, or `None` for a definition without positions.
fn definition_bounds(parts: &SceneParts<'_>, ranges: &[Range<usize>]) -> Result<Vec<Option<Bounds>>> {
    let mut meshes: HashMap<*const Mesh, Option<Bounds>> = HashMap::new();
    let mut bounds = Vec::new();
    bounds.try_reserve_exact(ranges.len())?;
    for range in ranges {
        let boxes = parts.parts[range.clone()].iter().filter_map(|part| {
            let mesh_bounds = *meshes.entry(part.mesh).or_insert_with(|| part.mesh.bounds());
            mesh_bounds.map(|mesh_bounds| part.moved_bounds(mesh_bounds).grown(part.widest()))
        });
        bounds.push(boxes.reduce(Bounds::union));
    }
    Ok(bounds)
}

/// Scene-space bounding box of an instance, or `None` if it is empty or not finite.
fn box_of(instance: &PlacedInstance, bounds: &[Option<Bounds>]) -> Option<Bounds> {
    let definition_bounds = (*bounds.get(instance.definition as usize)?)?;
    let moved = moved_box(&instance.place, definition_bounds);
    moved.min.iter().chain(&moved.max).all(|value| value.is_finite()).then_some(moved)
}

/// Longest side of the scene's bounding box; 1 if empty.
fn size(bounds: &[Option<Bounds>], instanced: &Instanced<'_>) -> f64 {
    let boxes = instanced.instances.iter().filter_map(|instance| box_of(instance, bounds));
    let Some(Bounds { min, max }) = boxes.reduce(Bounds::union) else { return 1.0 };
    (0..3).map(|axis| f64::from(max[axis] - min[axis])).fold(0.0, f64::max)
}

/// The instances that may be inside the view frustum, in order.
fn seen(
    instanced: &Instanced<'_>,
    bounds: &[Option<Bounds>],
    camera: &Camera,
    options: &PreviewOptions,
) -> Result<Vec<SeenInstance>> {
    let chunks = instanced.instances.chunks(TURN);
    let mut visible_by_chunk: Vec<Vec<SeenInstance>> = Vec::new();
    visible_by_chunk.try_reserve_exact(chunks.len())?;
    visible_by_chunk.resize_with(chunks.len(), Vec::new);
    let run = &options.run;
    let items = chunks.enumerate().zip(&mut visible_by_chunk);
    draw_each(
        run,
        items,
        || (),
        |(), ((chunk, instances), visible_in_chunk)| {
            visible_in_chunk.try_reserve(instances.len())?;
            let boxes = instances.iter().map(|instance| box_of(instance, bounds)).enumerate();
            visible_in_chunk.extend(boxes.filter_map(|(at, bounds)| {
                let bounds = bounds.filter(|bounds| may_see(camera, bounds))?;
                let [min, max] = [bounds.min, bounds.max].map(Vec3A::from_array);
                Some(SeenInstance { number: (chunk * TURN + at) as u32, bounds: Aabb { min, max } })
            }));
            polyhaul_spill::shrink(visible_in_chunk);
            Ok(())
        },
    )?;
    let mut visible = Vec::new();
    visible.try_reserve_exact(visible_by_chunk.iter().map(Vec::len).sum())?;
    visible_by_chunk.into_iter().for_each(|in_chunk| visible.extend(in_chunk));
    Ok(visible)
}

/// Whether a box may intersect the view frustum. Conservative.
fn may_see(camera: &Camera, bounds: &Bounds) -> bool {
    let [right, up, [_, farthest]] = camera.seen_box(bounds);
    let [across, down] = camera.reach().map(|reach| reach * farthest);
    farthest > 0.0 && right[0] <= across && right[1] >= -across && up[0] <= down && up[1] >= -down
}

/// Builds the geometries of visible definitions in parallel.
fn geometries(
    parts: &SceneParts<'_>,
    ranges: &[Range<usize>],
    seen: &[SeenInstance],
    instanced: &Instanced<'_>,
    options: &PreviewOptions,
) -> Result<Vec<Geometry>> {
    let mut is_seen = vec![false; ranges.len()];
    for instance in seen {
        let definition = instanced.instances[instance.number as usize].definition;
        if let Some(is_seen) = is_seen.get_mut(definition as usize) {
            *is_seen = true;
        }
    }
    let mut geometries: Vec<Geometry> = Vec::new();
    geometries.try_reserve_exact(ranges.len())?;
    geometries.resize_with(ranges.len(), Geometry::default);
    let size = |range: &Range<usize>| parts.parts[range.clone()].iter().map(|part| part.elements.len()).sum::<usize>();
    // Largest first: a large geometry started last would run alone.
    let mut items: Vec<_> = geometries.iter_mut().zip(ranges).zip(is_seen).filter(|(_, is_seen)| *is_seen).collect();
    items.sort_by_key(|((_, range), _)| std::cmp::Reverse(size(range)));
    let run = &options.run;
    draw_each(run, items.into_iter(), PlocBuilder::new, |builder, item| {
        let ((geometry, range), _) = item;
        *geometry = Geometry::from_parts(&parts.parts, range.clone(), builder, &run.cancel)?;
        Ok(())
    })?;
    Ok(geometries)
}

/// Partitions instances into spatial groups and builds their trees in parallel.
fn groups(mut seen: Vec<SeenInstance>, options: &PreviewOptions) -> Result<Vec<InstanceGroup>> {
    let mut slices = vec![&mut seen[..]];
    // `GROUPS` is a power of two: each round doubles the number of slices.
    while slices.len() < GROUPS {
        slices = slices.into_iter().flat_map(halves).collect();
    }
    let mut groups: Vec<InstanceGroup> = Vec::new();
    groups.resize_with(slices.len(), InstanceGroup::default);
    let run = &options.run;
    let items = slices.into_iter().zip(&mut groups);
    draw_each(run, items, PlocBuilder::new, |builder, (slice, group)| {
        let mut boxes = Vec::new();
        boxes.try_reserve_exact(slice.len())?;
        boxes.extend(slice.iter().map(|instance| instance.bounds));
        group.seen.try_reserve_exact(slice.len())?;
        group.seen.extend(slice.iter().map(|instance| instance.number));
        group.tree = tree(&boxes, builder, &run.cancel)?;
        Ok(())
    })?;
    Ok(groups)
}

/// Splits instances at the median along the axis with the greatest extent.
fn halves(instances: &mut [SeenInstance]) -> [&mut [SeenInstance]; 2] {
    // Twice the center, which sorts in the same order.
    let center = |instance: &SeenInstance| instance.bounds.min + instance.bounds.max;
    let ends = instances.iter().map(center).fold(None, |ends: Option<(Vec3A, Vec3A)>, at| {
        Some(ends.map_or((at, at), |(min, max)| (min.min(at), max.max(at))))
    });
    let (min, max) = ends.unwrap_or_default();
    let axis = (max - min).max_position();
    let middle = instances.len() / 2;
    if middle > 0 {
        let key = |instance: &SeenInstance| center(instance)[axis];
        instances.select_nth_unstable_by(middle, |a, b| key(a).total_cmp(&key(b)).then(a.number.cmp(&b.number)));
    }
    instances.split_at_mut(middle).into()
}
