//! [`Writer`]: an output and the options for writing it.
//!
//! Only holds the options; writing starts in `save`, `tables` and `images`.

use crate::format::Format;
use crate::input::Output;
use crate::options::{Compression, Digits, Strict, WriteOptions};
use crate::report::Report;
use crate::{images, save, tables};
use polyhaul_model::error::Result;
use polyhaul_model::{Image, Scene, Table, Texture};
use polyhaul_pipeline::crew::within;
use std::borrow::Cow;

/// An output and the options for writing it. The final method selects the kind of content; nothing is opened before
/// that call.
///
/// ```
/// use polyhaul::model::{Mesh, Scene};
/// use polyhaul::options::Digits;
/// use polyhaul::{Format, Output, Writer};
///
/// let points = Mesh { positions: [[0.0, 0.5, 1.0]].into(), ..Mesh::default() };
/// let scene = Scene { meshes: vec![points], ..Scene::default() };
/// let output = Output::Writer(Box::new(Vec::new()), "points".into());
/// let report = Writer::new(output).format(Format::Xyz).digits(Digits::Fixed(2)).scene(&scene)?;
/// assert_eq!(report.bytes_out, "0.00 0.50 1.00\n".len() as u64);
/// # Ok::<(), polyhaul::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    pub(crate) output: Output,
    pub(crate) options: WriteOptions,
}

impl Writer {
    /// Creates a writer with the default options. Anything that converts to an [`Output`], such as a path, is accepted.
    pub fn new(output: impl Into<Output>) -> Writer {
        Writer { output: output.into(), options: WriteOptions::default() }
    }

    /// Sets all options at once.
    #[must_use]
    pub fn options(self, options: &WriteOptions) -> Writer {
        Writer { options: options.clone(), ..self }
    }

    /// Sets the format, overriding what the output's name suggests.
    #[must_use]
    pub fn format(mut self, format: Format) -> Writer {
        self.options.format = Some(format);
        self
    }

    /// Sets the number of worker threads (default: all cores).
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Writer {
        self.options.run.threads = Some(threads);
        self
    }

    /// Sets the memory budget for work in flight, in bytes (default: 64 MiB).
    #[must_use]
    pub fn memory_limit(mut self, memory_limit: u64) -> Writer {
        self.options.run.memory_limit = memory_limit;
        self
    }

    /// Treats warnings as errors, such as the warning about a part that the format cannot store (default: off). `true`
    /// means [`Strict::Losses`], which does not include notes.
    #[must_use]
    pub fn strict(mut self, strict: impl Into<Strict>) -> Writer {
        self.options.strict = strict.into();
        self
    }

    /// Sets how the file is compressed (by default, inferred from its name).
    #[must_use]
    pub fn compression(mut self, compression: impl Into<Compression>) -> Writer {
        self.options.compression = compression.into();
        self
    }

    /// Makes the write durable: the file is on disk when the job is done (default: off).
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Writer {
        self.options.durable = durable;
        self
    }

    /// Sets the digits of all numbers written as text; see
    /// [`SceneWriteOptions::digits`](crate::options::SceneWriteOptions::digits).
    #[must_use]
    pub fn digits(mut self, digits: Digits) -> Writer {
        self.options.scene.digits = Some(digits);
        self
    }

    /// Writes a scene.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if the arrays contradict each other or the format is read-only,
    /// [`crate::ErrorKind::Io`] if the file cannot be written; an existing file is then left untouched.
    pub fn scene(self, scene: &Scene) -> Result<Report> {
        self.run(|output, options| save::save(Cow::Borrowed(scene), output, options))
    }

    /// Writes tables, without comments.
    ///
    /// # Errors
    /// The same errors as [`Writer::tables_with`].
    pub fn tables(self, tables: &[Table]) -> Result<Report> {
        self.tables_with(tables, &[], &[])
    }

    /// Writes tables. In PLY, each table becomes an element whose columns keep their names, types and order; csv, tsv,
    /// txt, xyz, pts and npy hold a single table. See [`WriteOptions::table`] for options.
    ///
    /// `comments` and `infos` (remarks about the object) are written before the tables, if the format supports them.
    ///
    /// ```
    /// use polyhaul::model::{Column, Table, Values};
    /// use polyhaul::{Format, Output, Writer};
    ///
    /// let column = Column { name: "energy".into(), values: Values::F32(vec![0.5, 2.0].into()), offsets: None };
    /// let table = Table { name: "hit".into(), row_count: 2, columns: vec![column] };
    /// let output = Output::Writer(Box::new(Vec::new()), "hits".into());
    /// let report = Writer::new(output).format(Format::Ply).tables(&[table])?;
    /// assert_eq!(report.bytes_out, 83 + 2 * 4);
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if a column and its table have different numbers of rows, or the format cannot store
    /// such tables (PLY lacks 64-bit integers, the other formats lack lists); also any error from [`Writer::scene`].
    pub fn tables_with(self, tables: &[Table], comments: &[String], infos: &[String]) -> Result<Report> {
        self.run(|output, options| tables::save(tables, [comments, infos], output, options))
    }

    /// Writes an image: tga, hdr, png, jpg, exr. See [`WriteOptions::image`] for options.
    ///
    /// The image is converted to a form that the format can store: 8-bit sRGB in TGA and JPEG; 8 or 16 bits in PNG;
    /// linear red, green and blue floats in HDR; linear floats with any channels in EXR. Anything dropped (alpha in HDR
    /// and JPEG) or clipped (values above 1 in TGA) is reported as a warning. [`crate::ops::ImageOps::convert_samples`]
    /// does the same without a file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if the number of samples does not match the size, or the format cannot store images
    /// of that size; also any error from [`Writer::scene`].
    pub fn image(self, image: &Image) -> Result<Report> {
        self.run(|output, options| images::save(image, output, options))
    }

    /// Writes a texture: dds, ktx2. See [`WriteOptions::image`] for options.
    ///
    /// ```
    /// use polyhaul::model::Texture;
    /// use polyhaul::{Reader, Writer};
    ///
    /// // Two pixels and the level of one: red, green, blue and alpha of 8 bits.
    /// let levels = vec![[200, 0, 0, 255, 100, 0, 0, 255].into(), [150, 0, 0, 255].into()];
    /// let texture = Texture { width: 2, height: 1, depth: 1, layers: 1, faces: 1, levels, ..Texture::default() };
    /// # let path = std::env::temp_dir().join(format!("polyhaul-doc-{}.ktx2", std::process::id()));
    /// Writer::new(&path).texture(&texture)?;
    /// assert_eq!(Reader::new(&path).texture()?.value, texture);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if the byte count of a level does not match its size, if the texture is not valid
    /// (arrays of volumes, cubes that are not square), or if the format does not support its encoding: in DDS, only BC1
    /// to BC3, BC7 and four 8-bit channels can be sRGB. Also any error from [`Writer::scene`].
    pub fn texture(self, texture: &Texture) -> Result<Report> {
        self.run(|output, options| images::save_texture(texture, output, options))
    }

    fn run(self, write: impl FnOnce(Output, &WriteOptions) -> Result<Report>) -> Result<Report> {
        let Writer { output, options } = self;
        within(&options.run, || write(output, &options))
    }
}
