//! The rows of the registry, in the order in which messages list formats. New ones go to the end: C has their positions
//! as numbers.
//!
//! A row calls what the format's folder offers; what it does with it beyond that belongs to `obj`, `pbrt`, `tables` or
//! `images`.

use super::{
    IMAGE_WRITER, ImageWriter, Kind, Looks, MeshWriter, NO_READERS, NO_WRITERS, Readers, Row, SceneWriter, Strength,
    TablesWriter, Writers,
};
use crate::format::Format;
use crate::image_job::{self, Held};
use crate::mesh_job::{Comments, has_polygons};
use crate::options::WriteOptions;
use crate::{obj, pbrt, table_job};
use polyhaul_image::{bmp, dds, exr, hdr, jpeg, ktx2, png, psd, tga};
use polyhaul_mesh::options::Placement;
use polyhaul_mesh::table::TableFormat;
use polyhaul_mesh::triangulate::{triangulate_scene, triangulate_scene_as_blender};
use polyhaul_mesh::{ply, stl, table};

macro_rules! formats {
    ($($(#[$docs:meta])+ $name:ident = $row:expr;)+) => {
        enum Position {
            $($name,)+
        }

        #[allow(non_upper_case_globals, reason = "they are used like the variants of an enum")]
        impl Format {
            $($(#[$docs])+ pub const $name: Format = Format::of_row(Position::$name as u8);)+

            /// All formats.
            pub const ALL: [Format; ROWS.len()] = [$(Format::$name,)+];
        }

        pub(super) static ROWS: [Row; [$(Position::$name,)+].len()] = [$($row,)+];
    };
}

formats! {
    /// Wavefront OBJ with its material library, MTL.
    Obj = Row {
        looks: Looks::Words(polyhaul_mesh::obj::begins_as_obj),
        read: Readers { scene: Some(obj::read), ..NO_READERS },
        write: Writers {
            scene: Some(SceneWriter::Meshes(MeshWriter {
                placement: |_, options| options.obj.placement(),
                only_triangles: false,
                triangulate: triangulate_scene_as_blender,
                write: obj::write,
            })),
            ..NO_WRITERS
        },
        ..row("obj", Kind::Scene)
    };
    /// PLY, the Stanford polygon format.
    Ply = Row {
        looks: Looks::Signature(Strength::Strong, |head| ply::looks_like_ply(head.bytes)),
        read: Readers {
            scene: Some(|job| {
                let read = ply::scene(job.feed(), &job.parse_options())?;
                job.note(read.threads, read.warnings);
                job.details.header = Some(read.header);
                Ok(read.content)
            }),
            tables: Some(table_job::read_elements),
            ..NO_READERS
        },
        write: Writers {
            scene: Some(SceneWriter::Meshes(MeshWriter {
                placement: |scene, options| {
                    let own = options.ply.placement;
                    let export_triangulated_mesh = own.export_triangulated_mesh && has_polygons(scene);
                    own.with_export_triangulated_mesh(export_triangulated_mesh)
                },
                only_triangles: false,
                triangulate: triangulate_scene,
                write: |job| job.write_parts(|options| &options.ply, Comments::NameFiles, ply::write_scene),
            })),
            tables: Some(TablesWriter { wants_mesh: |options| options.ply.wants_mesh(), write: table_job::write_elements }),
            ..NO_WRITERS
        },
        ..row("ply", Kind::Scene)
    };
    /// STL, triangles for printers.
    Stl = Row {
        looks: Looks::Signature(Strength::Usual, |head| stl::looks_like_stl(head.bytes, head.size)),
        read: Readers {
            scene: Some(|job| {
                let own = job.parse_options().with(job.options.stl);
                let found = stl::read(job.plain.source().clone(), job.plain.garbage().cloned(), &own)?;
                job.note(found.threads, found.warnings);
                Ok(found.scene)
            }),
            ..NO_READERS
        },
        write: Writers {
            scene: Some(SceneWriter::Meshes(MeshWriter {
                placement: |scene, options| {
                    options.stl.placement.with_export_triangulated_mesh(has_polygons(scene))
                },
                only_triangles: true,
                triangulate: triangulate_scene,
                write: |job| job.write_parts(|options| &options.stl, Comments::AreText, stl::write),
            })),
            ..NO_WRITERS
        },
        ..row("stl", Kind::Scene)
    };
    /// pbrt-v4, scenes for a renderer.
    Pbrt = Row {
        looks: Looks::Signature(Strength::Usual, |head| polyhaul_pbrt::looks_like_scene(head.text())),
        read: Readers { scene: Some(pbrt::read), ..NO_READERS },
        write: Writers { scene: Some(SceneWriter::Render(pbrt::save)), ..NO_WRITERS },
        ..row("pbrt", Kind::Scene)
    };
    /// Comma-separated values.
    Csv = table(TableFormat::Csv);
    /// Tab-separated values.
    Tsv = table(TableFormat::Tsv);
    /// Values separated by blanks, or as the first rows show.
    Txt = table(TableFormat::Txt);
    /// Points as lines of `x y z` and more.
    Xyz = table(TableFormat::Xyz);
    /// Points as lines of `x y z`, intensity and colour, below a line with their count.
    Pts = table(TableFormat::Pts);
    /// An array of numpy.
    Npy = Row {
        looks: Looks::Signature(Strength::Strong, |head| table::npy::looks_like_npy(head.bytes)),
        ..table(TableFormat::Npy)
    };
    /// TGA, images.
    Tga = Row {
        looks: Looks::Signature(Strength::Weak, |head| tga::looks_like_tga(head.bytes)),
        read: Readers { image: Some(|job| image_job::read(job, tga::read)), ..NO_READERS },
        write: Writers {
            image: Some(ImageWriter {
                held: |image| Held::bytes(image.channels),
                write: |image, options, writing| tga::write(image, &options.image, &options.run, writing),
                ..IMAGE_WRITER
            }),
            ..NO_WRITERS
        },
        ..row("tga", Kind::Image)
    };
    /// Radiance HDR, images of light.
    Hdr = Row {
        looks: Looks::Signature(Strength::Usual, |head| hdr::looks_like_hdr(head.bytes)),
        read: Readers { image: Some(|job| image_job::read(job, |bytes, own, _| hdr::read(bytes, own))), ..NO_READERS },
        write: Writers {
            image: Some(ImageWriter {
                held: |_| Held::light(polyhaul_model::Channels::Rgb),
                note: |log, image, _, options| {
                    log.hdr(hdr::losses(image, &options.run)?);
                    Ok(())
                },
                write: |image, options, writing| hdr::write(image, &options.run, writing),
                ..IMAGE_WRITER
            }),
            ..NO_WRITERS
        },
        ..row("hdr", Kind::Image)
    };
    /// PNG, images.
    Png = Row {
        looks: Looks::Signature(Strength::Usual, |head| png::looks_like_png(head.bytes)),
        read: Readers {
            image: Some(|job| image_job::read(job, |bytes, own, log| Ok((png::read(bytes, own, log)?, 1)))),
            is_packed: true,
            ..NO_READERS
        },
        write: Writers {
            image: Some(ImageWriter {
                held: Held::integers,
                note: |log, image, _, _| {
                    log.png(png::losses(image));
                    Ok(())
                },
                write: |image, options, writing| png::write(image, &options.image, writing),
                ..IMAGE_WRITER
            }),
            ..NO_WRITERS
        },
        ..row("png", Kind::Image)
    };
    /// JPEG, photographs.
    Jpeg = Row {
        other_names: &["jpeg"],
        looks: Looks::Signature(Strength::Usual, |head| jpeg::looks_like_jpeg(head.bytes)),
        read: Readers {
            image: Some(|job| image_job::read(job, |bytes, own, log| Ok((jpeg::read(bytes, own, log)?, 1)))),
            is_packed: true,
            ..NO_READERS
        },
        write: Writers {
            image: Some(ImageWriter {
                held: |image| Held::bytes(image.channels.without_alpha()),
                note: |log, image, _, _| {
                    log.jpeg(image);
                    Ok(())
                },
                is_lossy: true,
                write: |image, options, writing| jpeg::write(image, &options.image, writing),
                ..IMAGE_WRITER
            }),
            ..NO_WRITERS
        },
        ..row("jpg", Kind::Image)
    };
    /// OpenEXR, images of light.
    Exr = Row {
        looks: Looks::Signature(Strength::Usual, |head| exr::looks_like_exr(head.bytes)),
        read: Readers { image: Some(image_job::read_layer), has_layers: true, is_packed: true, ..NO_READERS },
        write: Writers {
            image: Some(ImageWriter {
                held: |image| Held::light(image.channels),
                note: |log, image, from, options| {
                    log.exr(exr::losses(image, from, &options.image, &options.run)?);
                    Ok(())
                },
                has_names: true,
                write: |image, options, writing| exr::write(image, &options.image, &options.run, writing),
                ..IMAGE_WRITER
            }),
            ..NO_WRITERS
        },
        ..row("exr", Kind::Image)
    };
    /// Windows bitmaps; they are read-only.
    Bmp = Row {
        looks: Looks::Signature(Strength::Usual, |head| bmp::looks_like_bmp(head.bytes)),
        read: Readers { image: Some(|job| image_job::read(job, bmp::read)), ..NO_READERS },
        ..row("bmp", Kind::Image)
    };
    /// Photoshop documents, of which the picture of all layers is read.
    Psd = Row {
        looks: Looks::Signature(Strength::Usual, |head| psd::looks_like_psd(head.bytes)),
        read: Readers {
            image: Some(|job| image_job::read(job, |bytes, own, log| Ok((psd::read(bytes, own, log)?, 1)))),
            ..NO_READERS
        },
        ..row("psd", Kind::Image)
    };
    /// DDS, textures.
    Dds = Row {
        looks: Looks::Signature(Strength::Usual, |head| dds::looks_like_dds(head.bytes)),
        read: Readers {
            image: Some(|job| image_job::read(job, |bytes, own, log| Ok((dds::read(bytes, own, log)?, 1)))),
            texture: Some(|job| image_job::read(job, |bytes, own, log| Ok((dds::texture(bytes, own, log)?, 1)))),
            ..NO_READERS
        },
        write: Writers {
            texture: Some(|texture, options, writing| dds::write(texture, &options.run, writing)),
            ..NO_WRITERS
        },
        ..row("dds", Kind::Texture)
    };
    /// KTX 2, textures.
    Ktx2 = Row {
        looks: Looks::Signature(Strength::Usual, |head| ktx2::looks_like_ktx2(head.bytes)),
        read: Readers {
            image: Some(|job| image_job::read(job, |bytes, own, log| Ok((ktx2::read(bytes, own, log)?, 1)))),
            texture: Some(|job| image_job::read(job, |bytes, own, _| Ok((ktx2::texture(bytes, own)?, 1)))),
            ..NO_READERS
        },
        write: Writers {
            texture: Some(|texture, options, writing| ktx2::write(texture, &options.image, &options.run, writing)),
            ..NO_WRITERS
        },
        ..row("ktx2", Kind::Texture)
    };
}

/// A row that cannot do anything.
const fn row(name: &'static str, kind: Kind) -> Row {
    Row { name, other_names: &[], kind, looks: Looks::Unknown, read: NO_READERS, write: NO_WRITERS }
}

/// The row of a table of numbers, which is read as points, too.
const fn table(kind: TableFormat) -> Row {
    Row {
        read: Readers { scene: Some(table_job::read_points), tables: Some(table_job::read), ..NO_READERS },
        write: Writers {
            scene: Some(SceneWriter::Meshes(MeshWriter {
                // Tables have no faces.
                placement: |_, options| options.table.placement.with_export_triangulated_mesh(false),
                only_triangles: false,
                triangulate: triangulate_scene,
                write: table_job::write_points,
            })),
            tables: Some(TablesWriter { wants_mesh: moves_points, write: table_job::write }),
            ..NO_WRITERS
        },
        ..row(kind.name(), Kind::Table(kind))
    }
}

/// Whether points get other axes or another scale.
fn moves_points(options: &WriteOptions) -> bool {
    options.table.placement != Placement::default()
}
