//! Rows of the registry, in the order in which messages list formats.
//!
//! There is one row for each format. The first half identifies the format and is expanded in `format`; the second half
//! reads and writes it and is expanded in `registry::handlers`. Code that opens and detects files therefore does not
//! depend on the readers. A row calls functions of the format's crate and folder; anything else belongs in `obj`,
//! `pbrt`, `tables` or `images`.

/// Expands a macro for all rows, each in the form
/// `Name = row(name, kind), feature { identity } => { readers and writers }`.
macro_rules! format_rows {
    ($expand:ident) => {
        $expand! {
            /// Wavefront OBJ with its material library, MTL.
            Obj = row("obj", FormatKind::Scene), "obj" {
                looks: Looks::Words(polyhaul_obj::looks_like_obj),
            } => {
                read: Readers {
                    scene: Some(obj::read),
                    pieces: Some(obj::pieces),
                    decides_precision: true,
                    ..NO_READERS
                },
                write: Writers {
                    scene: Some(SceneWriter::Meshes(MeshWriter {
                        placement: |_, options| options.scene.placement(Some(Axes::OBJ)),
                        only_triangles: false,
                        keeps_doubles: |_| true,
                        has_origin: false,
                        splat_degree: None,
                        has_upright_splats: false,
                        triangulate: |scene, _, run| triangulate_scene_as_blender(scene, run),
                        write: obj::write,
                    })),
                    ..NO_WRITERS
                },
                kernel: Some(KernelData::Mesh),
            }
            /// PLY, the Stanford polygon format.
            Ply = row("ply", FormatKind::Scene), "ply" {
                has_elements: true,
                looks: Looks::Signature(Strength::Strong, |head| polyhaul_ply::looks_like_ply(head.bytes)),
            } => {
                read: Readers {
                    scene: Some(ply::read),
                    pieces: Some(|job, consumer| {
                        let read = polyhaul_ply::pieces(job.feed(), &job.parse_options(), consumer)?;
                        Ok(read.map(|read| job.note(read.threads, read.warnings)))
                    }),
                    tables: Some(ply::read_elements),
                    parts: Some(|job, bytes, use_tables| {
                        let read = polyhaul_ply::parts(job.feed(), &job.parse_options(), bytes, use_tables)?;
                        Ok(read.map(|read| job.note(read.threads, read.warnings)))
                    }),
                    ..NO_READERS
                },
                write: Writers {
                    scene: Some(SceneWriter::Meshes(MeshWriter {
                        placement: |scene, options| {
                            let placement = options.scene.placement(None)?;
                            let triangulate = placement.triangulate && has_polygons(scene);
                            Ok(Placement { triangulate, dialect: options.scene.dialect, ..placement })
                        },
                        only_triangles: false,
                        keeps_doubles: |_| true,
                        has_origin: false,
                        splat_degree: None,
                        has_upright_splats: false,
                        triangulate: |scene, placement, run| match placement.dialect {
                            Dialect::Blender => triangulate_scene_as_blender(scene, run),
                            _ => triangulate_scene(scene, run),
                        },
                        write: |job| job.write_parts(|options| &options.ply, Comments::NameFiles, polyhaul_ply::write_scene),
                    })),
                    tables: Some(TablesWriter {
                        wants_mesh: |options| options.scene.changes_meshes(),
                        write: ply::write_elements,
                        start_parts: ply::start_parts,
                    }),
                    ..NO_WRITERS
                },
                kernel: Some(KernelData::Mesh),
            }
            /// STL, triangles for 3D printing.
            Stl = row("stl", FormatKind::Scene), "stl" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_stl::looks_like_stl(head.bytes, head.size)),
            } => {
                read: Readers {
                    decides_precision: true,
                    scene: Some(|job| {
                        let options = job.parse_options().with(job.options.stl);
                        let file = polyhaul_stl::read(job.plain.source().clone(), job.plain.garbage().cloned(), &options, None)?;
                        job.note(file.threads, file.warnings);
                        Ok(file.scene)
                    }),
                    pieces: Some(|job, consumer| {
                        let options = job.parse_options().with(job.options.stl);
                        if options.precision.has_doubles() {
                            return Ok(Attempt::Declined);
                        }
                        let source = job.plain.source().clone();
                        let garbage = job.plain.garbage().cloned();
                        let file = polyhaul_stl::read(source, garbage, &options, Some(consumer))?;
                        job.note(file.threads, file.warnings);
                        Ok(Attempt::Done(()))
                    }),
                    ..NO_READERS
                },
                write: Writers {
                    scene: Some(SceneWriter::Meshes(MeshWriter {
                        placement: |scene, options| {
                            let placement = options.scene.placement(None)?;
                            Ok(Placement { triangulate: has_polygons(scene), dialect: options.scene.dialect, ..placement })
                        },
                        only_triangles: true,
                        keeps_doubles: |options| options.scene.ascii,
                        has_origin: false,
                        splat_degree: None,
                        has_upright_splats: false,
                        triangulate: |scene, placement, run| match placement.dialect {
                            Dialect::Blender => triangulate_scene_as_shown(scene, run),
                            _ => triangulate_scene_positions(scene, run),
                        },
                        write: |job| job.write_parts(|_| &(), Comments::AreText, polyhaul_stl::write),
                    })),
                    ..NO_WRITERS
                },
                kernel: Some(KernelData::Mesh),
            }
            /// pbrt-v4, renderer scenes.
            Pbrt = row("pbrt", FormatKind::Scene), "pbrt" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_pbrt::looks_like_scene(head.text())),
            } => {
                read: Readers { scene: Some(|job| pbrt::read(job, Format::Ply)), ..NO_READERS },
                write: Writers { scene: Some(SceneWriter::Render(|scene, output, options| {
                        pbrt::save(scene, output, options, polyhaul_ply::write_scene)
                    })), ..NO_WRITERS },
                kernel: Some(KernelData::Render),
            }
            /// Comma-separated values.
            Csv = row("csv", FormatKind::Table), "table" {} => {
                read: TABLE_READERS,
                write: TABLE_WRITERS,
                kernel: Some(KernelData::Table),
            }
            /// Tab-separated values.
            Tsv = row("tsv", FormatKind::Table), "table" {} => { read: TABLE_READERS, write: TABLE_WRITERS, }
            /// Values separated by spaces and tabs, or by the separator detected in the first rows.
            Txt = row("txt", FormatKind::Table), "table" { is_often_prose: true, } => { read: TABLE_READERS, write: TABLE_WRITERS, }
            /// Points as lines of `x y z`, with optional further columns.
            Xyz = row("xyz", FormatKind::Table), "table" { other_names: &["asc"], } => { read: TABLE_READERS, write: TABLE_WRITERS, }
            /// Points as lines of `x y z`, intensity and color, after a line with their count.
            Pts = row("pts", FormatKind::Table), "table" {} => { read: TABLE_READERS, write: TABLE_WRITERS, }
            /// NPY, a numpy array.
            Npy = row("npy", FormatKind::Table), "table" {
                looks: Looks::Signature(Strength::Strong, |head| polyhaul_table::npy::looks_like_npy(head.bytes)),
            } => {
                read: TABLE_READERS,
                write: TABLE_WRITERS,
            }
            /// TGA images.
            Tga = row("tga", FormatKind::Image), "tga" {
                looks: Looks::Signature(Strength::Weak, |head| polyhaul_image::tga::looks_like_tga(head.bytes)),
            } => {
                read: Readers { image: Some(|job| image_job::read(job, image::tga::read)), ..NO_READERS },
                write: Writers {
                    image: Some(ImageWriter {
                        held: |image| Held::bytes(image.channels),
                        write: |image, options, writing| image::tga::write(image, &options.image, &options.run, writing),
                        ..IMAGE_WRITER
                    }),
                    ..NO_WRITERS
                },
                kernel: Some(KernelData::Picture),
            }
            /// Radiance HDR, high-dynamic-range images.
            Hdr = row("hdr", FormatKind::Image), "hdr" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_image::hdr::looks_like_hdr(head.bytes)),
            } => {
                read: Readers { image: Some(|job| image_job::read(job, |bytes, options, _| image::hdr::read(bytes, options))), ..NO_READERS },
                write: Writers {
                    image: Some(ImageWriter {
                        held: |_| Held::light(polyhaul_model::Channels::Rgb),
                        note: |log, image, _, options| {
                            log.hdr(image::hdr::losses(image, &options.run)?);
                            Ok(())
                        },
                        stores: image::hdr::stores,
                        write: |image, options, writing| image::hdr::write(image, &options.run, writing),
                        ..IMAGE_WRITER
                    }),
                    ..NO_WRITERS
                },
                kernel: Some(KernelData::Light),
            }
            /// PNG images.
            Png = row("png", FormatKind::Image), "png" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_image::png::looks_like_png(head.bytes)),
            } => {
                read: Readers {
                    image: Some(|job| image_job::read_turned(job, image::png::read)),
                    is_packed: true,
                    ..NO_READERS
                },
                write: Writers {
                    image: Some(ImageWriter {
                        held: Held::integers,
                        note: |log, image, _, _| {
                            log.png(image::png::losses(image));
                            Ok(())
                        },
                        store_profile: |profile| *profile = polyhaul_model::ColorProfile::default(),
                        write: |image, options, writing| image::png::write(image, &options.image, writing),
                        ..IMAGE_WRITER
                    }),
                    ..NO_WRITERS
                },
                kernel: Some(KernelData::Picture),
            }
            /// JPEG images.
            Jpeg = row("jpg", FormatKind::Image), "jpeg" {
                other_names: &["jpeg"],
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_image::jpeg::looks_like_jpeg(head.bytes)),
            } => {
                read: Readers {
                    image: Some(|job| image_job::read_turned(job, image::jpeg::read)),
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
                        store_profile: |profile| {
                            profile.icc.take_if(|icc| image::jpeg::stores(icc));
                        },
                        is_lossy: true,
                        write: |image, options, writing| image::jpeg::write(image, &options.image, writing),
                        ..IMAGE_WRITER
                    }),
                    ..NO_WRITERS
                },
            }
            /// OpenEXR, high-dynamic-range images.
            Exr = row("exr", FormatKind::Image), "exr" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_image::exr::looks_like_exr(head.bytes)),
            } => {
                read: Readers { image: Some(image_job::read_layer), has_layers: true, is_packed: true, ..NO_READERS },
                write: Writers {
                    image: Some(ImageWriter {
                        held: |image| Held::light(image.channels),
                        note: |log, image, from, options| {
                            log.exr(image::exr::losses(image, from, &options.image, &options.run)?);
                            Ok(())
                        },
                        has_names: true,
                        write: |image, options, writing| image::exr::write(image, &options.image, &options.run, writing),
                        ..IMAGE_WRITER
                    }),
                    ..NO_WRITERS
                },
            }
            /// Windows bitmaps; read-only.
            Bmp = row("bmp", FormatKind::Image), "bmp" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_image::bmp::looks_like_bmp(head.bytes)),
            } => {
                read: Readers { image: Some(|job| image_job::read(job, image::bmp::read)), ..NO_READERS },
            }
            /// Photoshop documents, read as the merged image of all layers; read-only.
            Psd = row("psd", FormatKind::Image), "psd" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_image::psd::looks_like_psd(head.bytes)),
            } => {
                read: Readers {
                    image: Some(|job| image_job::read(job, |bytes, options, log| Ok((image::psd::read(bytes, options, log)?, 1)))),
                    ..NO_READERS
                },
            }
            /// DDS textures.
            Dds = row("dds", FormatKind::Texture), "dds" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_image::dds::looks_like_dds(head.bytes)),
            } => {
                read: Readers {
                    image: Some(|job| image_job::read(job, |bytes, options, log| Ok((image::dds::read(bytes, options, log)?, 1)))),
                    texture: Some(|job| image_job::read(job, |bytes, options, log| Ok((image::dds::texture(bytes, options, log)?, 1)))),
                    ..NO_READERS
                },
                write: Writers {
                    texture: Some(|texture, options, writing| image::dds::write(texture, &options.run, writing)),
                    ..NO_WRITERS
                },
            }
            /// KTX2 textures.
            Ktx2 = row("ktx2", FormatKind::Texture), "ktx2" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_image::ktx2::looks_like_ktx2(head.bytes)),
            } => {
                read: Readers {
                    image: Some(|job| image_job::read(job, |bytes, options, log| Ok((image::ktx2::read(bytes, options, log)?, 1)))),
                    texture: Some(|job| image_job::read(job, |bytes, options, log| Ok((image::ktx2::texture(bytes, options, log)?, 1)))),
                    ..NO_READERS
                },
                write: Writers {
                    texture: Some(|texture, options, writing| image::ktx2::write(texture, &options.image, &options.run, writing)),
                    ..NO_WRITERS
                },
            }
            /// OFF, the object file format of Geomview.
            Off = row("off", FormatKind::Scene), "off" {
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_off::looks_like_off(head.text())),
            } => {
                read: Readers {
                    decides_precision: true,
                    scene: Some(|job| {
                        let file = polyhaul_off::read(job.text(), &job.parse_options())?;
                        job.note(file.threads, file.warnings);
                        Ok(file.scene)
                    }),
                    ..NO_READERS
                },
                // Stores the same vertex attributes as PLY, with the same options.
                write: Writers {
                    scene: Some(SceneWriter::Meshes(MeshWriter {
                        placement: |scene, options| {
                            let placement = options.scene.placement(None)?;
                            let triangulate = placement.triangulate && has_polygons(scene);
                            Ok(Placement { triangulate, ..placement })
                        },
                        only_triangles: false,
                        keeps_doubles: |_| true,
                        has_origin: false,
                        splat_degree: None,
                        has_upright_splats: false,
                        triangulate: |scene, _, run| triangulate_scene(scene, run),
                        write: |job| job.write_parts(|_| &(), Comments::AreText, polyhaul_off::write),
                    })),
                    ..NO_WRITERS
                },
            }
            /// glTF 2.0, as .glb or as .gltf.
            Glb = row("glb", FormatKind::Scene), "gltf" {
                other_names: &["gltf"],
                split_name: Some("gltf"),
                looks: Looks::Signature(Strength::Strong, |head| polyhaul_gltf::looks_like_glb(head.bytes)),
                inner_files: Some(InnerFiles {
                    split_name: polyhaul_gltf::split_image_name,
                    read: polyhaul_gltf::read_image,
                }),
            } => {
                read: Readers { scene: Some(gltf::read), ..NO_READERS },
                write: Writers {
                    scene: Some(SceneWriter::Meshes(MeshWriter {
                        placement: |scene, options| {
                            let placement = options.scene.placement(Some(Axes::OBJ))?;
                            Ok(Placement { triangulate: has_polygons(scene), ..placement })
                        },
                        only_triangles: true,
                        keeps_doubles: |_| false,
                        has_origin: true,
                        splat_degree: Some(3),
                        has_upright_splats: true,
                        triangulate: |scene, _, run| triangulate_scene(scene, run),
                        write: |job| gltf::write(job, Format::Png),
                    })),
                    ..NO_WRITERS
                },
            }
            /// SPZ, compressed Gaussian splats.
            Spz = row("spz", FormatKind::Scene), "splat" {
                looks: Looks::Signature(Strength::Strong, |head| polyhaul_splat::spz::looks_like_spz(head.bytes)),
            } => {
                read: Readers {
                    scene: Some(|job| {
                        let source = job.plain.source().clone();
                        let garbage = job.plain.garbage().cloned();
                        let file = polyhaul_splat::spz::read(source, garbage, &job.parse_options().with(job.options.splats))?;
                        job.note(file.threads, file.warnings);
                        Ok(file.scene)
                    }),
                    ..NO_READERS
                },
                write: Writers {
                    pack: Some(|job| splat::pack(job, SplatPacking::Spz)),
                    ..splat_writers(4, |job| job.write_splats(polyhaul_splat::spz::write))
                },
            }
            /// Gaussian splats as rows of 32 bytes.
            Splat = row("splat", FormatKind::Scene), "splat" {
            } => {
                read: Readers {
                    scene: Some(|job| {
                        let file = polyhaul_splat::rows::read(job.feed(), &job.parse_options())?;
                        job.note(file.threads, file.warnings);
                        Ok(file.scene)
                    }),
                    ..NO_READERS
                },
                write: Writers {
                    pack: Some(|job| splat::pack(job, SplatPacking::Rows)),
                    ..splat_writers(0, |job| job.write_splats(polyhaul_splat::rows::write))
                },
            }
            /// Compressed PLY, Gaussian splats as integers. Files without `.compressed` in their names are detected as
            /// PLY, which reads them as the same scenes.
            CompressedPly = row("compressed.ply", FormatKind::Scene), "ply" {
            } => {
                read: Readers { scene: Some(ply::read), ..NO_READERS },
                write: splat_writers(3, |job| job.write_splats(polyhaul_ply::write_packed)),
            }
            /// SOG, Gaussian splats as images; read-only. A `.sog` archive is read through its main file, `meta.json`.
            Sog = row("sog", FormatKind::Scene), "sog" {
                main_file: Some("meta.json"),
                looks: Looks::Signature(Strength::Usual, |head| polyhaul_splat::sog::looks_like_sog(head.text())),
            } => {
                read: Readers { scene: Some(sog::read), ..NO_READERS },
            }
        }
    };
}
