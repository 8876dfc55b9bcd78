//! [`Writer`]: an output and how to write it.
//!
//! It only holds the options; writing itself starts in `save`, `tables` and `images`.

use crate::format::Format;
use crate::input::Output;
use crate::options::{Compression, Digits, WriteOptions};
use crate::report::Report;
use crate::{images, save, tables};
use polyhaul_model::error::Result;
use polyhaul_model::{Image, Scene, Table, Texture};
use polyhaul_pipeline::crew::within;
use std::borrow::Cow;

/// An output and how to write it. The method at the end says what is written; nothing is opened before.
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
    /// A writer with the default options. Paths are outputs, see [`Output`].
    pub fn new(output: impl Into<Output>) -> Writer {
        Writer { output: output.into(), options: WriteOptions::default() }
    }

    /// Sets all options at once.
    #[must_use]
    pub fn options(self, options: &WriteOptions) -> Writer {
        Writer { options: options.clone(), ..self }
    }

    /// Writes this format, whatever the output's name says.
    #[must_use]
    pub fn format(mut self, format: Format) -> Writer {
        self.options.format = Some(format);
        self
    }

    /// Sets the number of worker threads (all cores).
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Writer {
        self.options.run.threads = Some(threads);
        self
    }

    /// Sets the memory for work in flight, in bytes (64 MiB).
    #[must_use]
    pub fn memory_limit(mut self, memory_limit: u64) -> Writer {
        self.options.run.memory_limit = memory_limit;
        self
    }

    /// Makes every warning an error, such as that of a part that the format cannot store (off).
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Writer {
        self.options.strict = strict;
        self
    }

    /// Sets how the file is compressed (as its name says).
    #[must_use]
    pub fn compression(mut self, compression: impl Into<Compression>) -> Writer {
        self.options.compression = compression.into();
        self
    }

    /// Makes the file durable: it is on the disk when the job is done (off).
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Writer {
        self.options.durable = durable;
        self
    }

    /// Sets the digits of all numbers that are written as text, see [`WriteOptions::with_digits`].
    #[must_use]
    pub fn digits(mut self, digits: Digits) -> Writer {
        self.options = self.options.with_digits(digits);
        self
    }

    /// Writes a scene.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if the arrays contradict each other or the format is read-only,
    /// [`crate::ErrorKind::Io`] if the file cannot be written; an old file then stays as it was.
    pub fn scene(self, scene: &Scene) -> Result<Report> {
        self.run(|output, options| save::save(Cow::Borrowed(scene), output, options))
    }

    /// Writes tables, without comments.
    ///
    /// # Errors
    /// Those of [`Writer::tables_with`].
    pub fn tables(self, tables: &[Table]) -> Result<Report> {
        self.tables_with(tables, &[], &[])
    }

    /// Writes tables. In PLY each becomes an element, whose columns keep their names, types and order; csv, tsv, txt,
    /// xyz, pts and npy hold one table ([`WriteOptions::table`] says how).
    ///
    /// `comments` and `infos` (remarks about the object) come before them, if the format has such.
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
    /// such tables (PLY has no integers of 64 bits, the others no lists); those of [`Writer::scene`].
    pub fn tables_with(self, tables: &[Table], comments: &[String], infos: &[String]) -> Result<Report> {
        self.run(|output, options| tables::save(tables, [comments, infos], output, options))
    }

    /// Writes an image: tga, hdr, png, jpg, exr ([`WriteOptions::image`] says how).
    ///
    /// The format gets what it can store: TGA bytes of sRGB; PNG bytes or 16 bits of sRGB; HDR floats of red, green and
    /// blue in linear light, EXR such floats with any channels. What is dropped (alpha in HDR) or clipped (light above
    /// 1 in TGA) is a warning in the report. [`crate::ops::ImageOps::convert_samples`] does the same without a file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if the number of samples does not match the size, or the format cannot store images
    /// of that size; those of [`Writer::scene`].
    pub fn image(self, image: &Image) -> Result<Report> {
        self.run(|output, options| images::save(image, output, options))
    }

    /// Writes a texture: dds, ktx2 ([`WriteOptions::image`] says how).
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
    /// [`crate::ErrorKind::Usage`] if the levels do not have the bytes that the size says, if there is no such texture
    /// (volumes in arrays, cubes that are not square), and if the format has no such pixels: in DDS only BC1 to BC3,
    /// BC7 and four channels of 8 bits can be sRGB. Those of [`Writer::scene`].
    pub fn texture(self, texture: &Texture) -> Result<Report> {
        self.run(|output, options| images::save_texture(texture, output, options))
    }

    fn run(self, write: impl FnOnce(Output, &WriteOptions) -> Result<Report>) -> Result<Report> {
        let Writer { output, options } = self;
        within(&options.run, || write(output, &options))
    }
}
