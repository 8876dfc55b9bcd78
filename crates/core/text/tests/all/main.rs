//! Tests of formatting and parsing, one file per kernel.

mod format_fixed;
mod format_lines;
mod format_page;
mod format_shortest;
mod parse_faces;
mod parse_facets;
mod parse_fields;
mod parse_floats;
mod parse_grid;
mod parse_number;
mod parse_positions;
mod parse_support;
mod parse_tokens;
mod rows;
mod rows_printf;
mod rows_python;
mod scan;
mod sizes;
