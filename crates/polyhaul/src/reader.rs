//! [`Reader`]: an input and the options for reading it.
//!
//! Only holds the options; reading starts in `load`, `tables`, `images` and `convert`.

use crate::convert::{self, Content, Converted};
use crate::format::Format;
use crate::input::Input;
use crate::load::{self, chosen};
use crate::loaded::{Loaded, TableArray, Tables};
use crate::open::Opened;
use crate::options::{Limits, OnError, ReadOptions, RowOptions, Strict};
use crate::report::Report;
use crate::writer::Writer;
use crate::{images, tables};
use polyhaul_model::error::Result;
use polyhaul_model::{Image, Scene, Table, Texture};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::consumer::MeshConsumer;
use polyhaul_pipeline::crew::within;

/// An input and the options for reading it. The final method selects the kind of content; nothing is opened before that
/// call.
///
/// ```
/// use polyhaul::{Input, Reader};
///
/// let text = b"o triangle\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".to_vec();
/// let loaded = Reader::new(Input::Memory(text, "triangle.obj".into())).threads(4).strict(true).scene()?;
/// assert_eq!(loaded.value.meshes[0].positions.len(), 3);
/// assert_eq!(loaded.report.bytes_in, 43);
/// # Ok::<(), polyhaul::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    input: Input,
    options: ReadOptions,
}

impl Reader {
    /// Creates a reader with the default options. Anything that converts to an [`Input`], such as a path, is accepted.
    pub fn new(input: impl Into<Input>) -> Reader {
        Reader { input: input.into(), options: ReadOptions::default() }
    }

    /// Sets all options at once.
    #[must_use]
    pub fn options(self, options: &ReadOptions) -> Reader {
        Reader { options: options.clone(), ..self }
    }

    /// Sets the format, overriding what the name and the content suggest.
    #[must_use]
    pub fn format(mut self, format: Format) -> Reader {
        self.options.format = Some(format);
        self
    }

    /// Sets the number of worker threads (default: all cores).
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Reader {
        self.options.run.threads = Some(threads);
        self
    }

    /// Sets the memory budget for work in flight, in bytes (default: 64 MiB). The arrays of the result are not
    /// included.
    #[must_use]
    pub fn memory_limit(mut self, memory_limit: u64) -> Reader {
        self.options.run.memory_limit = memory_limit;
        self
    }

    /// Sets what to do with malformed data (default: stop with an error).
    #[must_use]
    pub fn on_error(mut self, on_error: OnError) -> Reader {
        self.options.on_error = on_error;
        self
    }

    /// Treats warnings as errors (default: off). `true` means [`Strict::Losses`], which does not include notes.
    #[must_use]
    pub fn strict(mut self, strict: impl Into<Strict>) -> Reader {
        self.options.strict = strict.into();
        self
    }

    /// Sets limits on sizes and counts in the data.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Reader {
        self.options.limits = limits;
        self
    }

    /// Selects rows of a table or vertices of a mesh (default: all). A face is kept if all its vertices are.
    ///
    /// ```
    /// use polyhaul::options::RowOptions;
    /// use polyhaul::{Input, Reader};
    ///
    /// let rows = RowOptions::default().with_filter(Some("age > 7 and not x == 2".parse()?));
    /// let text = b"x,y,z,age\n0,0.5,1,7\n2,3,4,8\n5,6,7,9\n".to_vec();
    /// let loaded = Reader::new(Input::Memory(text, "a.csv".into())).rows(rows).tables()?;
    /// assert_eq!(loaded.value.tables[0].row_count, 1);
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    #[must_use]
    pub fn rows(mut self, rows: RowOptions) -> Reader {
        self.options.rows = rows;
        self
    }

    /// Allows files outside the scene's folder to be opened (default: off).
    #[must_use]
    pub fn allow_outside(mut self, allow_outside: bool) -> Reader {
        self.options.allow_outside = allow_outside;
        self
    }

    /// Reads a scene.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Malformed`], with line and column or offset, if the data is malformed;
    /// [`crate::ErrorKind::Limit`] if it exceeds [`ReadOptions::limits`]; [`crate::ErrorKind::Io`] if a file cannot be
    /// read; [`crate::ErrorKind::Usage`] if the format or the options are not suitable.
    pub fn scene(self) -> Result<Loaded<Scene>> {
        self.run(|input, options| load::load(&Opened::to_read(input, options)?, options))
    }

    /// Streams a mesh to a consumer in pieces instead of building a scene. Memory does not grow with the file, except
    /// for positions that later faces refer to. Supports STL, binary PLY with only vertices and faces, and OBJ without
    /// materials, colors, lines, points and curves (read twice). Returns `None` if the input must be read as a scene.
    ///
    /// ```
    /// use polyhaul::consumer::{KnownPositions, MeshConsumer, MeshPiece, PieceFaces};
    /// use polyhaul::{Input, Reader};
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// #[derive(Default)]
    /// struct TriangleCounter(AtomicUsize);
    ///
    /// impl MeshConsumer for TriangleCounter {
    ///     fn start(&self, _: KnownPositions<'_>) -> polyhaul::Result<()> {
    ///         Ok(())
    ///     }
    ///
    ///     fn take(&self, piece: &MeshPiece<'_>) -> polyhaul::Result<()> {
    ///         if let PieceFaces::Triangles = piece.faces {
    ///             self.0.fetch_add(piece.positions.len() / 3, Ordering::Relaxed);
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n";
    /// let text = format!("solid a\n{facet}{facet}endsolid a\n");
    /// let counter = TriangleCounter::default();
    /// let report = Reader::new(Input::Memory(text.into_bytes(), "two.stl".into())).pieces(&counter)?;
    /// assert!(report.is_some() && counter.0.into_inner() == 2);
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same errors as [`Reader::scene`], and any error from the consumer.
    pub fn pieces(self, consumer: &dyn MeshConsumer) -> Result<Option<Report>> {
        self.run(|input, options| {
            load::load_pieces(&Opened::to_read(input, options)?, options, consumer).map(Attempt::done)
        })
    }

    /// Reads tables, keeping the order and types of the columns: the elements of a PLY file (which [`Reader::scene`]
    /// would read as a scene), or the single table of a csv, tsv, txt, xyz, pts or npy file. See [`ReadOptions::table`]
    /// for options.
    ///
    /// ```
    /// use polyhaul::model::Values;
    /// use polyhaul::{Input, Reader};
    ///
    /// let text = b"ply\nformat ascii 1.0\nelement reading 2\nproperty ushort level\nend_header\n7\n300\n".to_vec();
    /// let loaded = Reader::new(Input::Memory(text, "levels.ply".into())).tables()?;
    /// assert_eq!(loaded.value.tables[0].column("level").unwrap().values, Values::U16([7, 300].into()));
    ///
    /// let text = b"level,height\n7,0.5\n300,-2\n".to_vec();
    /// let loaded = Reader::new(Input::Memory(text, "levels.csv".into())).tables()?;
    /// assert_eq!(loaded.value.tables[0].column("level").unwrap().values, Values::I64([7, 300].into()));
    /// assert_eq!(loaded.value.tables[0].column("height").unwrap().values, Values::F64([0.5, -2.0].into()));
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same errors as [`Reader::scene`].
    pub fn tables(self) -> Result<Loaded<Tables>> {
        self.run(|input, options| tables::load(&Opened::to_read(input, options)?, options))
    }

    /// Passes the rows of a table to `take` in batches of about `bytes` bytes of the file, in order, from worker
    /// threads. The columns are the same as in [`Reader::tables`]. The table of a PLY file is its vertices, or the
    /// element selected by [`crate::options::TableReadOptions::element`]. There is always at least one batch, even if
    /// no rows are kept. Well-formed binary PLY files are streamed; other files are read completely first.
    ///
    /// ```
    /// use polyhaul::{Input, Reader};
    ///
    /// let text = b"level\n7\n300\n-1\n".to_vec();
    /// let mut rows = 0;
    /// Reader::new(Input::Memory(text, "levels.csv".into())).batches(16, |batch| {
    ///     rows += batch.row_count;
    ///     Ok(())
    /// })?;
    /// assert_eq!(rows, 3);
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same errors as [`Reader::scene`], and any error from `take`.
    pub fn batches(self, bytes: usize, mut take: impl FnMut(Table) -> Result<()> + Send) -> Result<Report> {
        self.run(|input, options| {
            let input = Opened::new(input, options)?.kept(&options.run.cancel)?;
            chosen::batches(&input, options, bytes, &mut take)
        })
    }

    /// Reads a text table (csv, tsv, txt, xyz, pts) into one array with a single type, row by row.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] if the options select columns of different types; also any error from
    /// [`Reader::scene`].
    pub fn array(self) -> Result<Loaded<TableArray>> {
        self.run(tables::load_array)
    }

    /// Reads an image: tga, hdr, png, jpg, exr, bmp, psd (all layers merged), dds and ktx2 (the largest mip level of
    /// the first layer and face).
    ///
    /// Samples keep their type: 8-bit, 16-bit, or floats in linear light (hdr, exr).
    ///
    /// ```
    /// use polyhaul::model::{Channels, Samples};
    /// use polyhaul::{Input, Reader};
    ///
    /// // One pixel of 24 bits; TGA stores blue first.
    /// let file = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1];
    /// let image = Reader::new(Input::Memory(file.to_vec(), "dot.tga".into())).image()?.value;
    /// assert_eq!((image.width, image.height, image.channels), (1, 1, Channels::Rgb));
    /// assert_eq!(image.samples, Samples::U8([1, 2, 3].into()));
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same errors as [`Reader::scene`].
    pub fn image(self) -> Result<Loaded<Image>> {
        self.run(images::load)
    }

    /// Reads a texture (dds, ktx2) without decoding it, with all its mip levels, layers and faces. [`Reader::image`]
    /// decodes only the largest level of the first layer and face.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] for formats that are not texture formats; also any error from [`Reader::scene`].
    pub fn texture(self) -> Result<Loaded<Texture>> {
        self.run(images::load_texture)
    }

    /// Reads the input and writes it in any format.
    ///
    /// Conversions between table formats (PLY, csv, tsv, txt, xyz, pts, npy) keep everything that the target can store:
    /// all columns and their types, elements that are not part of a mesh, lists, comments and their order. From a PLY
    /// file, the vertices become the table, or the element selected by
    /// [`crate::options::TableReadOptions::element`]; a table becomes the vertices of a PLY file. Other scene formats
    /// are converted as scenes, and so are table formats if the write options change axes or scale, triangulate, or
    /// drop parts. Images are converted as images. Anything the target cannot store is reported as a warning.
    ///
    /// ```
    /// use polyhaul::{Input, Reader, Writer};
    ///
    /// let folder = std::env::temp_dir();
    /// # let folder = folder.join(format!("polyhaul-doc-convert-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// let text = b"x,y,z,age\n0,0.5,1,7\n2,3,4,8\n".to_vec();
    /// Reader::new(Input::Memory(text, "a.csv".into())).convert(Writer::new(folder.join("a.ply")))?;
    /// Reader::new(folder.join("a.ply")).threads(2).convert(Writer::new(folder.join("b.csv")))?;
    /// assert_eq!(std::fs::read_to_string(folder.join("b.csv")).unwrap(), "x,y,z,age\n0,0.5,1,7\n2,3,4,8\n");
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error from reading or writing. The reader's limits apply to both sides. Each side uses its own number of
    /// threads, and both use the reader's [`crate::options::RunOptions::pool`].
    pub fn convert(self, writer: Writer) -> Result<Report> {
        self.convert_with(writer, |_, _| Ok(())).map(Converted::report)
    }

    /// Like [`Reader::convert`], but calls `before` with the content and the read report before the target is replaced:
    /// before writing starts or, for tables written while they are read ([`Content::Rows`]), after all rows are
    /// written. An error from `before` stops the job and leaves the target untouched.
    ///
    /// # Errors
    /// Any error from `before` or from [`Reader::convert`].
    pub fn convert_with(
        self,
        writer: Writer,
        before: impl FnOnce(Content<'_>, &Report) -> Result<()>,
    ) -> Result<Converted> {
        let Writer { output, options: write } = writer;
        self.run(|input, options| convert::convert(input, output, options, &write, before))
    }

    fn run<T>(self, read: impl FnOnce(Input, &ReadOptions) -> Result<T>) -> Result<T> {
        let Reader { input, options } = self;
        within(&options.run, || read(input, &options))
    }
}
