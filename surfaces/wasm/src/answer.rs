//! Formats answers as JSON: scenes and errors. Arrays are not copied; the JSON has their addresses in memory.

use crate::shapes::{Shape, Use};
use polyhaul::error::{Diagnostic, Place};
use polyhaul::model::{
    Color, Column, Counts, Domain, Elements, Material, Mesh, NONE, Object, Run, Scene, Table, Values,
};
use polyhaul::warnings::Warnings;
use polyhaul::{Error, Loaded};
use polyhaul_insight::json::Json;

/// Formats an object as text.
pub(crate) fn text(members: impl FnOnce(&mut Json)) -> String {
    let mut json = Json::new();
    json.object(members);
    json.take()
}

/// The answer to an invalid request.
pub(crate) fn refused(message: &str) -> String {
    text(|json| {
        json.key("kind").string("usage");
        json.key("message").string(message);
    })
}

/// Describes an error: its kind, the message that the command prints, and its place.
pub(crate) fn error(error: &Error) -> String {
    text(|json| {
        json.key("kind").string(error.kind().name());
        json.key("message").string(&error.to_string());
        diagnosed(json, error.diagnostic());
    })
}

/// Describes a loaded scene, its shapes and warnings. `totals` counts the elements of each kind.
pub(crate) fn scene(
    loaded: &Loaded<Scene>,
    shapes: &[Shape],
    totals: [u64; 7],
    more: impl FnOnce(&mut Json),
) -> String {
    let scene = &loaded.value;
    let warnings = &loaded.report.warnings;
    text(|json| {
        json.key("bytes").integer(loaded.report.bytes_in);
        json.key("plainBytes").integer(loaded.report.plain_bytes_in);
        json.key("meshes").list(&scene.meshes, mesh);
        json.key("objects").list(&scene.objects, object);
        json.key("materials").list(&scene.materials, material);
        json.key("materialLibraries").list(&scene.material_libraries, |json, name| json.string(name));
        json.key("tables").list(&scene.tables, table);
        json.key("comments").list(&scene.comments, |json, text| json.string(text));
        json.key("shapes").list(shapes, shape);
        json.key("counts").object(|json| {
            let names = ["positions", "uvs", "normals", "faces", "lines", "points", "curves"];
            names.iter().zip(totals).for_each(|(name, count)| json.key(name).integer(count));
        });
        warned(json, warnings);
        more(json);
    })
}

/// Describes the shapes of a file that was read in parts.
pub(crate) fn joined(shapes: &[Shape]) -> String {
    text(|json| {
        json.key("shapes").list(shapes, shape);
    })
}

pub(crate) fn warned(json: &mut Json, warnings: &Warnings) {
    json.key("warningCount").integer(warnings.total());
    json.key("warnings").list(warnings.kept(), |json, warning| {
        json.object(|json| {
            json.key("code").string(warning.code);
            json.key("severity").string(warning.severity.name());
            json.key("count").integer(warning.count);
            json.key("text").string(&warning.diagnostic.message);
            diagnosed(json, &warning.diagnostic);
        });
    });
}

fn diagnosed(json: &mut Json, diagnostic: &Diagnostic) {
    let Place { file, line, column, offset } = &diagnostic.place;
    json.key("file").string(file);
    for (name, number) in [("line", line), ("column", column), ("offset", offset)] {
        if let Some(number) = number {
            json.key(name).integer(*number);
        }
    }
    let Diagnostic { expected, hint, subject, .. } = diagnostic;
    for (name, text) in [("expected", expected), ("hint", hint), ("subject", subject)] {
        if let Some(text) = text {
            json.key(name).string(text);
        }
    }
    if !diagnostic.names.is_empty() {
        json.key("names").list(&diagnostic.names, |json, name| json.string(name));
    }
    if let Some(excerpt) = &diagnostic.excerpt {
        json.key("excerpt").string(&excerpt.text);
        json.key("marked").list([excerpt.marked.start, excerpt.marked.end], |json, at| json.integer(at as u64));
    }
}

/// Describes an array: its number type, numbers per item, address, and total count of numbers. Empty arrays are
/// omitted.
fn array<T>(json: &mut Json, name: &str, kind: &str, width: usize, items: &[T]) {
    if !items.is_empty() {
        json.key(name).object(|json| {
            json.key("type").string(kind);
            json.key("width").integer(width as u64);
            json.key("at").integer(items.as_ptr() as u64);
            json.key("length").integer((items.len() * width) as u64);
        });
    }
}

fn mesh(json: &mut Json, mesh: &Mesh) {
    json.object(|json| {
        array(json, "positions", "f32", 3, &mesh.positions);
        array(json, "exactPositions", "f64", 3, &mesh.exact_positions);
        array(json, "positionWeights", "f32", 1, &mesh.position_weights);
        array(json, "colors", "f32", 4, &mesh.colors);
        array(json, "uvs", "f32", 2, &mesh.uvs);
        array(json, "uvDepths", "f32", 1, &mesh.uv_depths);
        array(json, "normals", "f32", 3, &mesh.normals);
        json.key("uvDomain").string(domain(mesh.uv_domain));
        json.key("normalDomain").string(domain(mesh.normal_domain));
        json.key("faces").object(|json| elements(json, &mesh.faces));
        json.key("lines").object(|json| elements(json, &mesh.lines));
        array(json, "points", "u32", 1, &mesh.points);
        array(json, "faceMaterials", "i32", 1, &mesh.face_materials);
        json.key("materialRuns").list(&mesh.material_runs, run);
        json.key("groupRuns").list(&mesh.group_runs, run);
        json.key("smoothingRuns").list(&mesh.smoothing_runs, run);
        json.key("groups").list(&mesh.groups, |json, name| json.string(name));
        json.key("vertexColumns").list(&mesh.vertex_columns, column);
        json.key("faceColumns").list(&mesh.face_columns, column);
    });
}

fn domain(domain: Domain) -> &'static str {
    match domain {
        Domain::Indexed => "indexed",
        Domain::Corner => "corner",
        Domain::Vertex => "vertex",
        Domain::Face => "face",
    }
}

fn elements(json: &mut Json, elements: &Elements) {
    array(json, "offsets", "u32", 1, &elements.offsets);
    array(json, "positions", "u32", 1, &elements.corner_positions);
    array(json, "uvs", "u32", 1, &elements.corner_uvs);
    array(json, "normals", "u32", 1, &elements.corner_normals);
}

fn run(json: &mut Json, run: &Run) {
    json.object(|json| {
        counts(json, "at", run.at);
        json.key("value").number(if run.value == NONE { -1.0 } else { f64::from(run.value) });
    });
}

fn counts(json: &mut Json, name: &str, counts: Counts) {
    json.key(name).list(counts.to_array(), |json, count| json.number(count));
}

fn object(json: &mut Json, object: &Object) {
    json.object(|json| {
        json.key("name").string(&object.name);
        json.key("mesh").integer(object.mesh as u64);
        counts(json, "start", object.start);
        counts(json, "end", object.end);
        if let Some(rows) = &object.transform {
            json.key("transform").list(rows.as_flattened(), |json, &value| json.number(value));
        }
    });
}

fn column(json: &mut Json, column: &Column) {
    json.object(|json| {
        json.key("name").string(&column.name);
        values(json, &column.values);
        if let Some(offsets) = &column.offsets {
            array(json, "offsets", "u32", 1, offsets);
        }
    });
}

fn values(json: &mut Json, values: &Values) {
    match values {
        Values::I8(items) => array(json, "values", "i8", 1, items),
        Values::U8(items) => array(json, "values", "u8", 1, items),
        Values::I16(items) => array(json, "values", "i16", 1, items),
        Values::U16(items) => array(json, "values", "u16", 1, items),
        Values::I32(items) => array(json, "values", "i32", 1, items),
        Values::U32(items) => array(json, "values", "u32", 1, items),
        Values::I64(items) => array(json, "values", "i64", 1, items),
        Values::U64(items) => array(json, "values", "u64", 1, items),
        Values::F32(items) => array(json, "values", "f32", 1, items),
        Values::F64(items) => array(json, "values", "f64", 1, items),
    }
}

fn table(json: &mut Json, table: &Table) {
    json.object(|json| {
        json.key("name").string(&table.name);
        json.key("rows").integer(table.row_count as u64);
        json.key("columns").list(&table.columns, column);
    });
}

fn material(json: &mut Json, material: &Material) {
    json.object(|json| {
        json.key("name").string(&material.name);
        json.key("missing").boolean(material.missing);
        let colors = [
            ("ambient", &material.ambient),
            ("diffuse", &material.diffuse),
            ("specular", &material.specular),
            ("emission", &material.emission),
            ("transmission", &material.transmission),
        ];
        for (name, color) in colors {
            if let Some(Color::Rgb(rgb)) = color
                && rgb.iter().all(|value| value.is_finite())
            {
                json.key(name).list(rgb, |json, &value| json.number(value));
            }
        }
        let numbers = [
            ("shininess", material.shininess),
            ("refractionIndex", material.refraction_index),
            ("opacity", material.opacity),
            ("roughness", material.roughness),
            ("metallic", material.metallic),
            ("sheen", material.sheen),
            ("clearcoat", material.clearcoat),
            ("clearcoatRoughness", material.clearcoat_roughness),
        ];
        for (name, number) in numbers {
            if let Some(number) = number.filter(|number| number.is_finite()) {
                json.key(name).number(number);
            }
        }
        json.key("maps").list(&material.maps, |json, map| {
            json.object(|json| {
                json.key("kind").string(&format!("{:?}", map.kind));
                json.key("file").string(&map.file);
                for (name, values) in [("offset", map.offset), ("scale", map.scale)] {
                    if let Some(values) = values.filter(|values| values.iter().all(|value| value.is_finite())) {
                        json.key(name).list(values, |json, value| json.number(value));
                    }
                }
            });
        });
    });
}

fn shape(json: &mut Json, shape: &Shape) {
    json.object(|json| {
        json.key("name").string(&shape.name);
        json.key("kind").string(shape.kind.name());
        json.key("corners").integer(shape.corners as u64);
        json.key("ownCorners").integer(shape.own_corners as u64);
        for (name, has) in
            [("hasNormals", shape.has_normals), ("hasColors", shape.has_colors), ("hasUvs", shape.has_uvs)]
        {
            json.key(name).boolean(has);
        }
        if let Some(alpha) = shape.alpha {
            json.key("alpha").number(alpha);
        }
        json.key("uses").list(&shape.uses, |json, &Use { material, smooth, start, end, .. }| {
            json.object(|json| {
                json.key("material").number(material.map_or(-1.0, f64::from));
                json.key("smooth").boolean(smooth);
                json.key("start").integer(start as u64);
                json.key("count").integer((end - start) as u64);
            });
        });
    });
}
