//! One uv and one normal per vertex, where corners have more.
//!
//! A PLY vertex has one of each, so a position whose corners differ becomes several vertices. Positions keep their
//! places and take what their first corner has; what other corners have comes behind all positions. So whatever
//! names positions (lines, points, a caller) still finds them, and loose positions stay.

use super::tables::longest;
use crate::error::{Error, ErrorKind, Result, try_push};
use crate::model::{Array, Column, Domain, Mesh, NONE};
use crate::ops::dedup::{Unique, number_rows};
use crate::ops::{Welded, weld_streams};
use crate::options::{PlyOptions, RunOptions};
use crate::pipeline::parallel::try_for_each_item;

/// Corners that a thread renumbers at a time.
const PIECE: usize = 1 << 16;

/// The vertices of a mesh whose corners have uvs or normals of their own.
#[derive(Default)]
pub(super) struct Split {
    /// The position of each vertex past the positions.
    pub(super) more: Vec<u32>,
    /// The uv of each vertex, [`NONE`] for none; empty where uvs are not by corner.
    pub(super) uvs: Vec<u32>,
    /// The normal of each vertex, [`NONE`] for none; empty where normals are not by corner.
    pub(super) normals: Vec<u32>,
    /// Per corner: its vertex.
    pub(super) corners: Vec<u32>,
    /// For each vertex column of lists: the offsets of the vertices' lists.
    pub(super) lists: Vec<Option<Vec<u32>>>,
}

/// The stream of an attribute that corners have: the places of values, or numbers of such places.
struct Stream<'a> {
    of_corner: &'a [u32],
    count: usize,
    /// The places that are numbered; `None` where the stream has places.
    places: Option<&'a [u32]>,
}

impl<'a> Stream<'a> {
    const NOTHING: Stream<'static> = Stream { of_corner: &[], count: 0, places: None };

    /// Values that are equal are one, where each corner has its own.
    fn of(domain: Domain, own: &'a [u32], count: usize, merged: &'a Unique) -> Stream<'a> {
        match domain {
            Domain::Indexed if count > 0 => Stream { of_corner: own, count, places: None },
            Domain::Corner | Domain::Face if count > 0 => {
                Stream { of_corner: &merged.of_item, count: merged.first.len(), places: Some(&merged.first) }
            }
            _ => Stream::NOTHING,
        }
    }

    fn place(&self, value: u32) -> u32 {
        match self.places {
            Some(places) => places.get(value as usize).copied().unwrap_or(NONE),
            None => value,
        }
    }
}

impl Split {
    /// `None` where each position has one of each already.
    pub(super) fn of(mesh: &Mesh, options: &PlyOptions, run: &RunOptions) -> Result<Option<Split>> {
        let (threads, cancel) = (run.worker_threads(), &run.cancel);
        let (faces, positions) = (&mesh.faces, mesh.positions.len());
        let hints = Some((faces.corner_positions.as_slice(), positions));
        let (mut uvs, mut normals) = (Unique::default(), Unique::default());
        match mesh.uv_domain {
            Domain::Corner if options.export_uv => uvs = number_rows(&mesh.uvs, hints, threads, cancel)?,
            Domain::Face if options.export_uv => uvs = by_face(mesh)?,
            _ => {}
        }
        if mesh.normal_domain == Domain::Corner && options.export_normals {
            normals = number_rows(&mesh.normals, hints, threads, cancel)?;
        }
        let uvs = match options.export_uv {
            true => Stream::of(mesh.uv_domain, &faces.corner_uvs, mesh.uvs.len(), &uvs),
            false => Stream::NOTHING,
        };
        let normals = match options.export_normals && mesh.normal_domain != Domain::Face {
            true => Stream::of(mesh.normal_domain, &faces.corner_normals, mesh.normals.len(), &normals),
            false => Stream::NOTHING,
        };
        if uvs.of_corner.is_empty() && normals.of_corner.is_empty() {
            return Ok(None);
        }
        let streams = [&faces.corner_positions, uvs.of_corner, normals.of_corner];
        let welded = weld_streams(streams, [positions, uvs.count, normals.count], run)?;
        Self::numbered(mesh, welded, [uvs, normals], run).map(Some)
    }

    /// Gives the vertices their numbers.
    fn numbered(mesh: &Mesh, mut welded: Welded, [uvs, normals]: [Stream<'_>; 2], run: &RunOptions) -> Result<Split> {
        let positions = mesh.positions.len();
        let mut split = Split::default();
        let mut first = filled(positions)?;
        let of_vertex = |stream: &[u32]| if stream.is_empty() { Ok(Vec::new()) } else { filled(positions) };
        (split.uvs, split.normals) = (of_vertex(&welded.vertex_uvs)?, of_vertex(&welded.vertex_normals)?);
        for vertex in 0..welded.vertex_positions.len() {
            let position = welded.vertex_positions[vertex];
            let place = position as usize;
            let number = if first[place] == NONE { place } else { positions + split.more.len() };
            if number == place {
                first[place] = position;
            } else {
                try_push(&mut split.more, position, "vertices")?;
            }
            set(&mut split.uvs, number, welded.vertex_uvs.get(vertex).map(|&uv| uvs.place(uv)))?;
            set(&mut split.normals, number, welded.vertex_normals.get(vertex).map(|&normal| normals.place(normal)))?;
            if number >= NONE as usize {
                return Err(Error::new(ErrorKind::Limit, "PLY files of 2^32 - 1 vertices or more are not written"));
            }
            welded.vertex_positions[vertex] = number as u32;
        }
        let numbers = &welded.vertex_positions;
        try_for_each_item(
            run.worker_threads(),
            &run.cancel,
            welded.corner_vertices.chunks_mut(PIECE),
            || (),
            |(), corners| {
                corners.iter_mut().for_each(|corner| *corner = numbers[*corner as usize]);
                Ok(())
            },
        )?;
        split.corners = welded.corner_vertices;
        for column in &mesh.vertex_columns {
            let offsets = column.offsets.as_ref().map(|own| split.offsets(own)).transpose()?;
            try_push(&mut split.lists, offsets, "vertices")?;
        }
        Ok(split)
    }

    /// The offsets of the vertices' lists, from those of the positions.
    fn offsets(&self, offsets: &[u32]) -> Result<Vec<u32>> {
        let mut result = Vec::new();
        result.try_reserve_exact(offsets.len() + self.more.len())?;
        result.extend_from_slice(offsets);
        let mut end = offsets.last().map_or(0, |&end| u64::from(end));
        for &position in &self.more {
            let place = position as usize;
            end += u64::from(longest(offsets.get(place..=place + 1).unwrap_or_default()));
            result.push(end as u32);
        }
        match end < u64::from(NONE) {
            true => Ok(result),
            false => Err(Error::new(ErrorKind::Limit, "the lists of split vertices have 2^32 - 1 numbers or more")),
        }
    }

    /// How many vertices there are.
    pub(super) fn count(&self, mesh: &Mesh) -> usize {
        mesh.positions.len() + self.more.len()
    }
}

/// Nothing for each of `count` vertices.
fn filled(count: usize) -> Result<Vec<u32>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count)?;
    values.resize(count, NONE);
    Ok(values)
}

/// Sets the value of a vertex, which may be the next one.
fn set(values: &mut Vec<u32>, vertex: usize, value: Option<u32>) -> Result<()> {
    match (values.get_mut(vertex), value) {
        (Some(place), Some(value)) => *place = value,
        (None, Some(value)) => try_push(values, value, "vertices")?,
        (_, None) => {}
    }
    Ok(())
}

/// Each corner has the value of its face.
fn by_face(mesh: &Mesh) -> Result<Unique> {
    let mut found = Unique::default();
    found.of_item.try_reserve_exact(mesh.faces.corner_positions.len())?;
    for face in 0..mesh.faces.len() {
        found.of_item.extend(mesh.faces.corners(face).map(|_| face as u32));
    }
    found.first.try_reserve_exact(mesh.faces.len())?;
    found.first.extend(0..mesh.faces.len() as u32);
    Ok(found)
}

/// The offsets of a column's lists among the vertices.
pub(super) fn list_offsets<'a>(split: Option<&'a Split>, place: usize, column: &'a Column) -> &'a [u32] {
    let own = column.offsets.as_ref().map_or(&[][..], Array::as_slice);
    split.and_then(|split| split.lists.get(place)?.as_deref()).unwrap_or(own)
}
