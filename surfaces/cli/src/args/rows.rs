//! Which rows of tables, or vertices of meshes, are kept. The library has the language of filters (`Expression`).

use clap::Args;
use polyhaul::model::Bounds;
use polyhaul::options::{Expression, RowOptions};

/// Which rows are kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filtering vertices and rows")]
pub struct RowArgs {
    /// Keep rows or vertices that match, such as "opacity > 0.05 and z < 10"; if repeated, all must match
    ///
    /// Columns are named as in the file; in formats without columns they are x, y, z, nx, ny, nz, u, v, red, green,
    /// blue and alpha. Quote other names with backquotes; `column(0)` is the first column. Operators: + - * / %,
    /// < <= > >= == !=, and, or, not. Functions: abs, sqrt, exp, log, floor, min, max, sigmoid, is_finite. Faces are
    /// removed with their vertices.
    #[arg(long, value_name = "EXPR", value_parser = filter, allow_hyphen_values = true)]
    pub filter: Vec<Expression>,
    /// Keep rows or vertices in this box: the smallest x, y, z, then the largest
    #[arg(long = "box", value_name = "X,Y,Z,X,Y,Z", value_parser = bounds, allow_hyphen_values = true)]
    pub bounds: Option<Bounds>,
    /// Then keep every Nth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Then keep a random sample of N, in file order; the same each time
    #[arg(long, value_name = "N")]
    pub sample: Option<u64>,
    /// Transform the result by a matrix of three rows of four numbers, given row by row
    #[arg(long, value_name = "NUMBER,...", value_parser = transform, allow_hyphen_values = true)]
    pub transform: Option<[[f64; 4]; 4]>,
}

impl RowArgs {
    /// In the library's form.
    pub fn options(&self) -> polyhaul::Result<RowOptions> {
        let options = RowOptions::default()
            .with_bounds(self.bounds)
            .with_every(self.every.unwrap_or(1))
            .with_sample(self.sample)
            .with_transform(self.transform);
        self.filter.iter().try_fold(options, |options, filter| options.and_filter(filter.clone()))
    }
}

/// A condition; the message of an error has the place in it.
fn filter(text: &str) -> Result<Expression, String> {
    text.parse().map_err(|error: polyhaul::Error| {
        let diagnostic = error.diagnostic();
        let column = diagnostic.place.column.map_or(String::new(), |column| format!(" at column {column}"));
        let hint = diagnostic.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
        format!("{}{column}{hint}", diagnostic.message)
    })
}

fn bounds(text: &str) -> Result<Bounds, String> {
    let [a, b, c, d, e, f] = numbers::<6>(text)?.map(|number| number as f32);
    let bounds = Bounds { min: [a, b, c], max: [d, e, f] };
    if (0..3).any(|axis| bounds.min[axis] > bounds.max[axis]) {
        return Err("the first three numbers must not be larger than the others".into());
    }
    Ok(bounds)
}

fn transform(text: &str) -> Result<[[f64; 4]; 4], String> {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = numbers::<12>(text)?;
    Ok([[a, b, c, d], [e, f, g, h], [i, j, k, l], [0.0, 0.0, 0.0, 1.0]])
}

/// So many finite numbers with commas between them.
fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let all: Option<Vec<f64>> = text.split(',').map(number).collect();
    all.and_then(|all| all.try_into().ok()).ok_or_else(|| format!("expected {N} numbers, separated by commas"))
}
