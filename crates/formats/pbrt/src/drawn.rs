//! Tessellates shapes that are not meshes: spheres, cylinders and disks into facets, curves into lines with widths.
//!
//! Only previews use these meshes. Conversions drop such shapes.

use super::flatten::ShapeSubstitute;
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::render::{ParameterValues, Parameters, Render, Shape, Transform};
use polyhaul_model::{Column, Domain, Elements, Mesh, Values};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::collections::{HashMap, HashSet};
use std::f64::consts::TAU;

/// Number of facets around a quadric, depending on the maximum number of quadrics in the scene.
const FACETS: [(usize, u32); 3] = [(200, 96), (5_000, 32), (usize::MAX, 12)];
/// Maximum number of segments per cubic curve, depending on the maximum number of curves in the spline. Up to this
/// maximum, there are enough segments to deviate by at most 1/200 of the curve's length.
const MAX_PIECES: [(usize, u32); 2] = [(10_000, 8), (usize::MAX, 2)];
/// Default width of curves.
const WIDTH: f32 = 1.0;

/// Creates meshes for the shapes of a scene, in order.
pub(super) struct DrawnShapes<'a> {
    render: &'a Render,
    facets: u32,
    /// First shape of each definition, and the first shape after it.
    firsts: HashSet<usize>,
    /// First and last curve of each run of curves that become one mesh.
    runs: HashMap<usize, usize>,
    /// Meshes of the runs that were not taken yet, by first curve.
    curves: HashMap<usize, Mesh>,
    /// Index of the first quadric of each identity.
    quadrics: HashMap<QuadricKey<'a>, usize>,
}

/// Identity of a quadric: class, reversed orientation, and the bits of its parameters.
type QuadricKey<'a> = (&'a str, bool, [u64; 6]);

impl<'a> DrawnShapes<'a> {
    pub(super) fn new(render: &'a Render) -> Result<DrawnShapes<'a>> {
        let is_quadric = |shape: &Shape<'_>| matches!(shape.class(), "sphere" | "cylinder" | "disk");
        let count = render.shapes().filter(is_quadric).count();
        let facets = FACETS.into_iter().find(|&(max_count, _)| count <= max_count).map_or(12, |(_, facets)| facets);
        // Runs must not cross the start or the end of a definition.
        let firsts = render.objects.iter().flat_map(|object| [object.shapes.start, object.shapes.end]).collect();
        let mut drawn = DrawnShapes {
            render,
            facets,
            firsts,
            runs: HashMap::new(),
            curves: HashMap::new(),
            quadrics: HashMap::new(),
        };
        drawn.find_runs()?;
        Ok(drawn)
    }

    /// Finds runs: consecutive curves with the same state and transform.
    fn find_runs(&mut self) -> Result<()> {
        let mut open: Option<(usize, (usize, Transform))> = None;
        for shape in self.render.shapes().filter(|shape| shape.class() == "curve") {
            let key = (shape.state_index(), shape.motion().start);
            match open {
                Some((first, open_key)) if open_key == key && self.follows(first, shape.index) => {
                    self.runs.insert(first, shape.index);
                }
                _ => {
                    self.runs.try_reserve(1).map_err(|_| Error::memory("curves"))?;
                    self.runs.insert(shape.index, shape.index);
                    open = Some((shape.index, key));
                }
            }
        }
        Ok(())
    }

    /// Returns whether a curve continues the run that starts at `first`.
    fn follows(&self, first: usize, index: usize) -> bool {
        self.runs.get(&first) == Some(&(index - 1)) && !self.firsts.contains(&index)
    }

    /// Creates the meshes of all curves, in parallel.
    pub(super) fn cut_curves(&mut self, run: &RunOptions) -> Result<()> {
        let mut made: Vec<(usize, usize, Option<Mesh>)> = Vec::new();
        made.try_reserve_exact(self.runs.len())?;
        made.extend(self.runs.iter().map(|(&first, &last)| (first, last, None)));
        let cut = |(): &mut (), (first, last, mesh): &mut (usize, usize, Option<Mesh>)| {
            *mesh = Some(self.cut(*first, *last)?);
            Ok(())
        };
        try_for_each_item(run.worker_threads(), &run.cancel, made.iter_mut(), || (), cut)?;
        self.curves.try_reserve(made.len()).map_err(|_| Error::memory("curves"))?;
        self.curves.extend(made.into_iter().filter_map(|(first, _, mesh)| Some((first, mesh?))));
        Ok(())
    }

    /// Returns the substitute for a shape that is not a mesh, if there is one.
    pub(super) fn substitute(&mut self, shape: &Shape<'a>) -> Result<Option<ShapeSubstitute>> {
        let parameters = shape.parameters();
        if matches!(shape.class(), "sphere" | "cylinder" | "disk")
            && let Some(earlier) = self.same_quadric(shape)?
        {
            return Ok(Some(ShapeSubstitute::Same(earlier)));
        }
        Ok(match shape.class() {
            "sphere" => Some(ShapeSubstitute::Mesh(Box::new(self.sphere(parameters)?))),
            "cylinder" => Some(ShapeSubstitute::Mesh(Box::new(self.cylinder(parameters)?))),
            "disk" => Some(ShapeSubstitute::Mesh(Box::new(self.disk(parameters)?))),
            "curve" => Some(
                self.curves
                    .remove(&shape.index)
                    .map_or(ShapeSubstitute::Elsewhere, |mesh| ShapeSubstitute::Mesh(Box::new(mesh))),
            ),
            _ => None,
        })
    }

    /// Returns an earlier, identical quadric. Particle systems may consist of millions of spheres, which can share a
    /// mesh.
    fn same_quadric(&mut self, shape: &Shape<'a>) -> Result<Option<usize>> {
        let names = ["radius", "innerradius", "zmin", "zmax", "phimax", "height"];
        // NaN represents a missing parameter, so that the defaults of each class are not needed here.
        let numbers = names.map(|name| number(shape.parameters(), name, f64::NAN).to_bits());
        let reverse = shape.state().is_some_and(|state| state.reverse_orientation);
        self.quadrics.try_reserve(1).map_err(|_| Error::memory("shapes"))?;
        let first = *self.quadrics.entry((shape.class(), reverse, numbers)).or_insert(shape.index);
        Ok((first != shape.index).then_some(first))
    }

    fn sphere(&self, parameters: Parameters<'_>) -> Result<Mesh> {
        let radius = number(parameters, "radius", 1.0);
        let [low, high] = [("zmin", -radius), ("zmax", radius)]
            // Clamped, because `acos` is NaN for a height beyond the radius.
            .map(|(name, default)| (number(parameters, name, default) / radius).clamp(-1.0, 1.0).acos());
        let point = |u: f64, v: f64, turn: f64| {
            let angle = low + v * (high - low);
            let normal = [angle.sin() * (u * turn).cos(), angle.sin() * (u * turn).sin(), angle.cos()];
            (normal.map(|value| value * radius), normal)
        };
        self.grid(parameters, self.facets / 2, point)
    }

    fn cylinder(&self, parameters: Parameters<'_>) -> Result<Mesh> {
        let radius = number(parameters, "radius", 1.0);
        let low = number(parameters, "zmin", -1.0);
        let high = number(parameters, "zmax", 1.0);
        let point = |u: f64, v: f64, turn: f64| {
            let angle = u * turn;
            let (sin, cos) = angle.sin_cos();
            ([radius * cos, radius * sin, low + v * (high - low)], [cos, sin, 0.0])
        };
        self.grid(parameters, 1, point)
    }

    fn disk(&self, parameters: Parameters<'_>) -> Result<Mesh> {
        let outer = number(parameters, "radius", 1.0);
        let inner = number(parameters, "innerradius", 0.0);
        let height = number(parameters, "height", 0.0);
        let point = |u: f64, v: f64, turn: f64| {
            let angle = u * turn;
            let (sin, cos) = angle.sin_cos();
            let radius = outer + v * (inner - outer);
            ([radius * cos, radius * sin, height], [0.0, 0.0, 1.0])
        };
        self.grid(parameters, 1, point)
    }

    /// Creates a grid of quads around the z axis. `point` takes two parameters from 0 to 1 and the total angle, and
    /// returns a position and a normal.
    fn grid(
        &self,
        parameters: Parameters<'_>,
        rows: u32,
        point: impl Fn(f64, f64, f64) -> ([f64; 3], [f64; 3]),
    ) -> Result<Mesh> {
        let turn = number(parameters, "phimax", 360.0).to_radians().min(TAU);
        let columns = self.facets;
        let mut positions = Vec::new();
        let mut normals = Vec::new();
        let mut corners = Vec::new();
        // For a full turn, the last column repeats the first one, so that partial turns need no special case.
        let count = ((columns + 1) * (rows + 1)) as usize;
        positions.try_reserve_exact(count)?;
        normals.try_reserve_exact(count)?;
        for row in 0..=rows {
            for column in 0..=columns {
                let u = f64::from(column) / f64::from(columns);
                let v = f64::from(row) / f64::from(rows);
                let (position, normal) = point(u, v, turn);
                positions.push(position.map(|value| value as f32));
                normals.push(normal.map(|value| value as f32));
            }
        }
        corners.try_reserve_exact(4 * (columns * rows) as usize)?;
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let first = row * (columns + 1) + column;
            corners.extend([first, first + 1, first + columns + 2, first + columns + 1]);
        }
        let offsets: Vec<u32> = (0..=columns * rows).map(|face| 4 * face).collect();
        let faces = Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() };
        let normal_domain = Domain::Vertex;
        Ok(Mesh { positions: positions.into(), normals: normals.into(), normal_domain, faces, ..Mesh::default() })
    }

    /// Creates the mesh of a run of curves.
    fn cut(&self, first: usize, last: usize) -> Result<Mesh> {
        let mut lines = CurveLines::default();
        for shape in (first..=last).filter_map(|index| self.render.shape(index)) {
            lines.add(shape.parameters())?;
        }
        let CurveLines { positions, widths, offsets, corners } = lines;
        let lines = Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() };
        let width = Column { name: "width".into(), values: Values::F32(widths.into()), offsets: None };
        Ok(Mesh { positions: positions.into(), lines, vertex_columns: vec![width], ..Mesh::default() })
    }
}

/// Polylines of curves.
#[derive(Default)]
struct CurveLines {
    positions: Vec<[f32; 3]>,
    widths: Vec<f32>,
    offsets: Vec<u32>,
    corners: Vec<u32>,
}

impl CurveLines {
    /// Adds a curve as a single polyline.
    fn add(&mut self, parameters: Parameters<'_>) -> Result<()> {
        let points = parameters.get("P").and_then(|points| points.values.rows::<3>()).unwrap_or_default();
        let degree = match parameters.get("degree").map(|degree| degree.values) {
            Some(ParameterValues::Integers(&[2])) => 2,
            _ => 3,
        };
        let is_spline = parameters.string("basis") == Some("bspline");
        let width = number(parameters, "width", f64::from(WIDTH)) as f32;
        let widths = [("width0", width), ("width1", width)].map(|(name, width)| number(parameters, name, width.into()));
        let step = if is_spline { 1 } else { degree };
        if points.len() <= degree {
            return Ok(());
        }
        let count = (points.len() - 1 - degree) / step + 1;
        if self.offsets.is_empty() {
            try_push(&mut self.offsets, 0, "curves")?;
        }
        let max_pieces =
            MAX_PIECES.into_iter().find(|&(max_count, _)| count <= max_count).map_or(1, |(_, pieces)| pieces);
        for piece in 0..count {
            let piece_points = points.get(piece * step..=piece * step + degree).unwrap_or_default();
            let bezier = bezier(piece_points, is_spline);
            let parts = parts(&bezier, max_pieces);
            // The first point of a piece is the last point of the previous piece.
            for part in u32::from(piece > 0)..=parts {
                let along = f64::from(part) / f64::from(parts);
                let whole = (piece as f64 + along) / count as f64;
                let width = (widths[0] + whole * (widths[1] - widths[0])) as f32;
                try_push(&mut self.corners, self.positions.len() as u32, "curves")?;
                try_push(&mut self.positions, at(&bezier, along as f32), "curves")?;
                try_push(&mut self.widths, width, "curves")?;
            }
        }
        try_push(&mut self.offsets, self.corners.len() as u32, "curves")
    }
}

/// Converts a piece of a curve to a cubic Bézier curve (Bartels, Beatty and Barsky, 1987).
fn bezier(points: &[[f32; 3]], is_spline: bool) -> [[f32; 3]; 4] {
    let mix = |weights: &[f32]| {
        std::array::from_fn(|axis| weights.iter().zip(points).map(|(weight, point)| weight * point[axis]).sum())
    };
    let third = 1.0 / 3.0;
    let weights: [&[f32]; 4] = match (points.len(), is_spline) {
        (3, false) => [&[1.0], &[third, 2.0 * third], &[0.0, 2.0 * third, third], &[0.0, 0.0, 1.0]],
        (3, true) => [&[0.5, 0.5], &[0.5 * third, 2.5 * third], &[0.0, 2.5 * third, 0.5 * third], &[0.0, 0.5, 0.5]],
        (_, false) => [&[1.0], &[0.0, 1.0], &[0.0, 0.0, 1.0], &[0.0, 0.0, 0.0, 1.0]],
        (_, true) => [
            &[0.5 * third, 2.0 * third, 0.5 * third],
            &[0.0, 2.0 * third, third],
            &[0.0, third, 2.0 * third],
            &[0.0, 0.5 * third, 2.0 * third, 0.5 * third],
        ],
    };
    weights.map(mix)
}

/// Evaluates a Bézier curve at `t`, from 0 to 1.
fn at([a, b, c, d]: &[[f32; 3]; 4], t: f32) -> [f32; 3] {
    let s = 1.0 - t;
    let weights = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
    std::array::from_fn(|axis| {
        weights[0] * a[axis] + weights[1] * b[axis] + weights[2] * c[axis] + weights[3] * d[axis]
    })
}

/// Returns the number of segments for a Bézier curve. The error is inversely proportional to the square of this number.
fn parts(points: &[[f32; 3]; 4], max_pieces: u32) -> u32 {
    let length = |a: [f32; 3]| a.iter().map(|value| value * value).sum::<f32>().sqrt();
    let bend =
        |at: usize| std::array::from_fn(|axis| points[at - 1][axis] - 2.0 * points[at][axis] + points[at + 1][axis]);
    let whole: f32 = (1..4).map(|at| length(std::array::from_fn(|axis| points[at][axis] - points[at - 1][axis]))).sum();
    // The second derivative is at most 6 times this value, and the error at most an eighth of the derivative divided by
    // the square of the number.
    let bend = length(bend(1)).max(length(bend(2)));
    let count = (0.75 * bend / (whole / 200.0)).sqrt().ceil();
    if count.is_finite() { (count as u32).clamp(1, max_pieces) } else { 1 }
}

/// Returns the value of a numeric parameter, or `default`.
fn number(parameters: Parameters<'_>, name: &str, default: f64) -> f64 {
    match parameters.get(name).map(|parameter| parameter.values) {
        Some(ParameterValues::Floats(&[number])) => f64::from(number),
        _ => default,
    }
}
