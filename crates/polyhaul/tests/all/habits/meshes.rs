//! Deviations in OBJ, STL, PLY and OFF.

use super::words::{is_continued, keyword, lines, pick, with_word};
use super::{Change, Changed, Outcome, hold};
use polyhaul_testkit::random::Random;
use std::iter::once;

/// Spellings of NaN by C libraries.
const NANS: [&str; 6] = ["-nan(ind)", "nan(snan)", "1.#QNAN", "-1.#IND00", "1.#SNAN", "-NaN"];

fn nan(random: &mut Random) -> &'static str {
    NANS[random.below(NANS.len())]
}

/// OBJ keywords whose elements are numbered.
const NUMBERED: [&str; 3] = ["v", "vt", "vn"];

fn put(mut lines: Vec<String>, at: usize, line: &str) -> Vec<u8> {
    lines.insert(at, line.into());
    lines.concat().into()
}

/// Picks a position between two statements.
fn between(lines: &[String], random: &mut Random) -> Option<usize> {
    let at = random.below(lines.len() + 1);
    let is_free = at == 0 || !is_continued(&lines[at - 1]) && lines[at - 1].ends_with('\n');
    (is_free && lines.iter().all(|line| keyword(line) != "cstype")).then_some(at)
}

fn obj_nul(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let nul = "\0".repeat(1 + random.below(9));
    let end = if bytes.ends_with(b"\n") { "" } else { "\n" };
    Changed::silent([bytes, end.as_bytes(), nul.as_bytes()].concat())
}

fn obj_comment(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let lines = lines(bytes)?;
    let at = between(&lines, random)?;
    let is_statement = |line: &&String| ["v", "vt", "vn", "f", "o", "g", "usemtl", "s"].contains(&keyword(line));
    lines.get(at).filter(is_statement)?;
    Changed::warned(put(lines, at, "# made from C:\\models\\\n"), "continued-comment")
}

fn obj_nan(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = lines(bytes)?;
    let at = pick(&lines, random, |line| NUMBERED.contains(&keyword(line)) && !is_continued(line))?;
    let place = 1 + random.below(2);
    let mut usual = lines.clone();
    usual[at] = with_word(&lines[at], place, "nan")?;
    lines[at] = with_word(&lines[at], place, nan(random))?;
    Some(Changed::silent(lines.concat())?.meaning(usual.concat()))
}

/// The corners of a face, line or point, as `v`, `vt` and `vn` numbers from 1; `None` for other statements and unusual
/// ones.
fn corners(line: &str) -> Option<Vec<[Option<usize>; 3]>> {
    let mut words = line.split_ascii_whitespace();
    ["f", "l", "p"].contains(&words.next()?).then_some(())?;
    let corner = |word: &str| {
        let mut corner = [None; 3];
        for (slot, part) in corner.iter_mut().zip(word.split('/')) {
            *slot = if part.is_empty() { None } else { Some(part.parse().ok()?) };
        }
        Some(corner)
    };
    words.map(corner).collect()
}

/// A statement with these corners.
fn element(keyword: &str, corners: &[[Option<usize>; 3]]) -> String {
    let shown = |part: Option<usize>| part.map(|number| number.to_string()).unwrap_or_default();
    let corner = |[v, vt, vn]: &[Option<usize>; 3]| match (vt, vn) {
        (None, None) => shown(*v),
        (_, None) => format!("{}/{}", shown(*v), shown(*vt)),
        _ => format!("{}/{}/{}", shown(*v), shown(*vt), shown(*vn)),
    };
    once(keyword.to_string()).chain(corners.iter().map(corner)).collect::<Vec<_>>().join(" ") + "\n"
}

/// The lines of a file whose elements have positive indices and a line each; other lines are removed.
fn plain_obj(bytes: &[u8]) -> Option<Vec<String>> {
    let mut lines = lines(bytes)?;
    lines.retain(|line| NUMBERED.contains(&keyword(line)) || ["f", "l", "p"].contains(&keyword(line)));
    let is_plain = |line: &String| {
        !is_continued(line) && line.ends_with('\n') && (NUMBERED.contains(&keyword(line)) || corners(line).is_some())
    };
    lines.iter().all(is_plain).then_some(lines)
}

/// A malformed line still counts; elements that use it are dropped.
fn obj_skipped(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = plain_obj(bytes)?;
    let at = pick(&lines, random, |line| NUMBERED.contains(&keyword(line)))?;
    let kind = NUMBERED.iter().position(|other| *other == keyword(&lines[at]))?;
    let number = 1 + lines[..at].iter().filter(|line| keyword(line) == NUMBERED[kind]).count();
    let mut usual = Vec::new();
    for (line_number, line) in lines.iter().enumerate() {
        let Some(mut used) = corners(line) else {
            usual.extend((line_number != at).then(|| line.clone()));
            continue;
        };
        let is_bad = |corner: &[Option<usize>; 3]| corner[kind] == Some(number);
        // Each corner of `p` is an element of its own.
        if keyword(line) == "p" {
            used.retain(|corner| !is_bad(corner));
        }
        if used.iter().any(is_bad) || used.is_empty() {
            continue;
        }
        for index in used.iter_mut().filter_map(|corner| corner[kind].as_mut()) {
            *index -= usize::from(*index > number);
        }
        usual.push(element(keyword(line), &used));
    }
    lines[at] = format!("{} 1 bad 3\n", NUMBERED[kind]);
    Some(Changed::new(lines.concat(), Outcome::Skipped("malformed"))?.meaning(usual.concat()))
}

/// A nonexistent uv or normal index is dropped, and the face is kept.
fn obj_missing_corner(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = plain_obj(bytes)?;
    let at = pick(&lines, random, |line| keyword(line) == "f")?;
    let kind = 1 + random.below(2);
    let mut face = corners(&lines[at])?;
    let corner = random.below(face.len());
    let mut usual = lines.clone();
    face[corner][kind] = None;
    usual[at] = element("f", &face);
    face[corner][kind] = Some(99_999);
    lines[at] = element("f", &face);
    Some(Changed::warned(lines.concat(), "missing-corner-value")?.meaning(usual.concat()))
}

/// A remark that starts with a dollar sign.
fn obj_dollar(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let lines = lines(bytes)?;
    let at = between(&lines, random)?;
    Changed::warned(put(lines, at, "$ made by hand\n"), "unknown-statement")
}

/// Reordered faces are only a difference in order.
fn obj_order(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = plain_obj(bytes)?;
    let usual = lines.concat();
    let faces: Vec<usize> = (0..lines.len()).filter(|&line| keyword(&lines[line]) == "f").collect();
    (faces.len() > 2 && usual.matches("\nv ").count() > 3).then_some(())?;
    // Faces are matched if the face at each position has the same number of corners.
    let corner_counts = faces.iter().map(|&face| lines[face].split_ascii_whitespace().count());
    (corner_counts.clone().min() == corner_counts.max()).then_some(())?;
    let swapped = [0, 1].map(|_| faces[random.below(faces.len())]);
    let behind = &lines[swapped[0].min(swapped[1])..];
    // Faces stay after their vertices.
    behind.iter().all(|line| !NUMBERED.contains(&keyword(line))).then_some(())?;
    lines.swap(swapped[0], swapped[1]);
    Some(Changed::silent(lines.concat())?.meaning(usual).but("order"))
}

#[test]
fn obj() {
    let changes: [(&str, Change); 7] = [
        ("another order", obj_order),
        ("a remark with a dollar sign", obj_dollar),
        ("NUL at the end", obj_nul),
        ("a comment that ends in a backslash", obj_comment),
        ("NaN of C libraries", obj_nan),
        ("a bad line", obj_skipped),
        ("a missing uv or normal", obj_missing_corner),
    ];
    hold("obj", "obj", &changes);
}

/// The number of triangles in a binary STL file.
fn binary_triangles(bytes: &[u8]) -> Option<u32> {
    let count = u32::from_le_bytes(bytes.get(80..84)?.try_into().ok()?);
    (bytes.len() == 84 + 50 * count as usize && count > 0).then_some(count)
}

fn stl_count(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    binary_triangles(bytes)?;
    let mut changed = bytes.to_vec();
    changed[80..84].copy_from_slice(&random.pick(&[0u32, u32::MAX, i32::MAX as u32]).to_le_bytes());
    Changed::warned(changed, "wrong-count")
}

/// Attribute bytes after triangles, as many as the attribute counts declare.
fn stl_payload(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    binary_triangles(bytes)?;
    let (head, facets) = bytes.split_at(84);
    let mut changed = head.to_vec();
    let mut usual = head.to_vec();
    for (number, facet) in facets.chunks_exact(50).enumerate() {
        let count = if number == 0 { 3 } else { random.below(7) };
        changed.extend(&facet[..48]);
        changed.extend((count as u16).to_le_bytes());
        changed.extend(&[0x5a; 7][..count]);
        usual.extend(&facet[..48]);
        usual.extend([0, 0]);
    }
    Some(Changed::warned(changed, "left-out-attributes")?.meaning(usual))
}

/// Statements of text STL, and variants by other writers.
const STL_WORDS: [[&str; 2]; 8] = [
    ["facet normal", "color 0.5 0 0\nfacet normal"],
    ["endloop", "end loop"],
    ["endfacet", "endfacet 0 0"],
    ["endsolid", "endsolidName"],
    ["endsolid", "end solid"],
    ["outer loop", "outerloop"],
    ["facet normal", "# here\nfacet normal"],
    ["endloop", "endloop // by hand\n"],
];

fn stl_words(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let text = lines(bytes)?.concat();
    let [word, other] = random.pick(&STL_WORDS);
    text.contains('\n').then_some(())?;
    text.contains(word).then(|| text.replacen(word, other, 1)).and_then(|text| Changed::warned(text, "odd-statement"))
}

fn stl_nan(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = lines(bytes)?;
    let at = pick(&lines, random, |line| line.trim_start().to_ascii_lowercase().starts_with("facet normal "))?;
    let mut usual = lines.clone();
    usual[at] = with_word(&lines[at], 3, "nan")?;
    lines[at] = with_word(&lines[at], 3, nan(random))?;
    Some(Changed::silent(lines.concat())?.meaning(usual.concat()))
}

#[test]
fn stl() {
    let changes: [(&str, Change); 4] = [
        ("a count that is none", stl_count),
        ("bytes of attributes", stl_payload),
        ("other words", stl_words),
        ("NaN of C libraries", stl_nan),
    ];
    hold("stl", "stl", &changes);
}

/// Header lines and data of a PLY file.
fn ply_parts(bytes: &[u8]) -> Option<(Vec<String>, &[u8])> {
    let marker = b"end_header\n";
    let end = bytes.windows(marker.len()).position(|window| window == marker)? + marker.len();
    Some((lines(&bytes[..end])?, &bytes[end..]))
}

/// The same for text, whose data consists of lines.
fn ply_text(bytes: &[u8]) -> Option<[Vec<String>; 2]> {
    let (header, data) = ply_parts(bytes)?;
    header.iter().any(|line| line.starts_with("format ascii")).then_some(())?;
    let rows = lines(data)?;
    rows.iter().all(|row| row.ends_with('\n') && !row.trim().is_empty()).then_some([header, rows])
}

/// Row count and columns of the first element.
fn first_element(header: &[String]) -> Option<(usize, Vec<String>)> {
    let at = header.iter().position(|line| keyword(line) == "element")?;
    let count = header[at].split_ascii_whitespace().nth(2)?.parse().ok()?;
    let properties = header[at + 1..].iter().take_while(|line| keyword(line) == "property");
    let properties: Vec<String> = properties.map(|line| line.trim_end().to_string()).collect();
    properties.iter().all(|line| !line.contains(" list ")).then_some((count, properties))
}

/// Integer columns of the first element.
fn integer_columns(properties: &[String]) -> Vec<usize> {
    let is_integer = |line: &String| ["char", "short", "int"].iter().any(|name| line.contains(name));
    (0..properties.len()).filter(|&column| is_integer(&properties[column])).collect()
}

fn ply_decimals(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let [header, mut rows] = ply_text(bytes)?;
    let (count, properties) = first_element(&header)?;
    let columns = integer_columns(&properties);
    let column = *columns.get(random.below(columns.len()))?;
    let row = random.below(count.min(rows.len()));
    let value = rows.get(row)?.split_ascii_whitespace().nth(column)?.to_string();
    rows[row] = with_word(&rows[row], column, &format!("{value}.{}", "0".repeat(random.below(3))))?;
    Changed::warned([header, rows].concat().concat(), "decimal-integer")
}

fn ply_nan(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let [header, mut rows] = ply_text(bytes)?;
    let (count, properties) = first_element(&header)?;
    let floats =
        (0..properties.len()).filter(|&at| properties[at].contains(" float ") || properties[at].contains(" double "));
    let floats: Vec<usize> = floats.collect();
    let column = *floats.get(random.below(floats.len()))?;
    let row = random.below(count.min(rows.len()));
    rows.get(row)?;
    let mut usual = rows.clone();
    usual[row] = with_word(&rows[row], column, "nan")?;
    rows[row] = with_word(&rows[row], column, nan(random))?;
    Some(Changed::silent([header.clone(), rows].concat().concat())?.meaning([header, usual].concat().concat()))
}

/// Face lists with other names and types.
fn ply_lists(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let (mut header, data) = ply_parts(bytes)?;
    let is_text = header.iter().any(|line| line.starts_with("format ascii"));
    header.iter().all(|line| !line.contains("tristrips")).then_some(())?;
    let is_face = |line: &str| line.starts_with("property list ") && line.contains(" vertex_ind");
    let at = pick(&header, random, is_face)?;
    header[at] = match random.below(2) {
        0 => with_word(&header[at], 4, "indices")?,
        _ if is_text => with_word(&header[at], 3, ["float", "double"][random.below(2)])?,
        _ => return None,
    };
    Changed::warned([header.concat().as_bytes(), data].concat(), "odd-property")
}

/// Float colors from 0 to 255.
fn ply_colors(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    let [mut header, rows] = ply_text(bytes)?;
    let is_color = |line: &String| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        matches!(words[..], ["property", "uchar", "red" | "green" | "blue" | "alpha"])
    };
    (header.iter().filter(|line| is_color(line)).count() > 2).then_some(())?;
    header.iter_mut().filter(|line| is_color(line)).for_each(|line| *line = line.replace("uchar", "float"));
    Changed::warned([header, rows].concat().concat(), "odd-property")
}

/// Rows of an element in a text with one row per line.
fn rows_of(header: &[String], name: &str) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for line in header.iter().filter(|line| keyword(line) == "element") {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let count: usize = words.get(2)?.parse().ok()?;
        if words[1] == name {
            return Some(start..start + count);
        }
        start += count;
    }
    None
}

/// Adds a column to edges.
fn ply_edges(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let [mut header, mut rows] = ply_text(bytes)?;
    let edges = rows_of(&header, "edge").filter(|edges| edges.end == rows.len())?;
    let at = header.iter().rposition(|line| line.starts_with("property"))?;
    let kind = ["uchar", "float", "int"][random.below(3)];
    let what = if header[at].ends_with(" vertex2\n") { "tables" } else { "columns" };
    header.insert(at + 1, format!("property {kind} weight\n"));
    rows[edges].iter_mut().for_each(|row| *row = format!("{} 7\n", row.trim_end()));
    Some(Changed::silent([header, rows].concat().concat())?.but(what))
}

/// An additional value in vertex rows, for a property removed from the header.
fn ply_misfit(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    let [header, mut rows] = ply_text(bytes)?;
    let vertices = rows_of(&header, "vertex").filter(|vertices| vertices.len() > 2 && vertices.end < rows.len())?;
    rows[vertices].iter_mut().for_each(|row| *row = format!("{} 7\n", row.trim_end()));
    Changed::refused([header, rows].concat().concat(), "x.ply:")
}

/// More bytes than the header declares.
fn ply_more(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let (header, _) = ply_parts(bytes)?;
    header.iter().all(|line| !line.starts_with("format ascii")).then_some(())?;
    Changed::warned([bytes, &[0; 9][..=random.below(8)]].concat(), "extra-data")
}

/// A conversion of line endings damaged the data as well as the header.
fn ply_damaged(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    let (header, data) = ply_parts(bytes)?;
    header.iter().all(|line| !line.starts_with("format ascii")).then_some(())?;
    data.contains(&b'\n').then_some(())?;
    let changed = bytes.iter().flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] });
    Changed::refused(changed.collect::<Vec<_>>(), "CR LF")
}

/// A malformed row still counts; faces that use it are dropped.
fn ply_skipped(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let [header, mut rows] = ply_text(bytes)?;
    let (count, _) = first_element(&header)?;
    let elements: Vec<&str> =
        header.iter().map(|line| line.trim_end()).filter(|line| keyword(line) == "element").collect();
    let faces = elements.get(1)?.strip_prefix("element face ")?.parse::<usize>().ok()?;
    let lists = header.iter().filter(|line| line.starts_with("property list")).count();
    let bare = header.iter().position(|line| line.starts_with("element face")).map(|at| header.len() - at - 2);
    (elements.len() == 2 && count > 1 && lists == 1 && bare == Some(1) && rows.len() == count + faces).then_some(())?;
    let bad = random.below(count);
    let mut usual: Vec<String> = rows[..count].to_vec();
    usual.remove(bad);
    let mut face_count = 0;
    for face in &rows[count..] {
        let mut indices: Vec<usize> =
            face.split_ascii_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        if indices[1..].contains(&bad) {
            continue;
        }
        face_count += 1;
        indices[1..].iter_mut().for_each(|index| *index -= usize::from(*index > bad));
        usual.push(indices.iter().map(usize::to_string).collect::<Vec<_>>().join(" ") + "\n");
    }
    let header_text = header.concat();
    let fewer = header_text.replace(elements[0], &format!("element vertex {}", count - 1));
    let fewer = fewer.replace(elements[1], &format!("element face {face_count}"));
    rows[bad] = with_word(&rows[bad], 0, "bad")?;
    Some(Changed::new(header_text + &rows.concat(), Outcome::Skipped("malformed"))?.meaning(fewer + &usual.concat()))
}

#[test]
fn ply() {
    let changes: [(&str, Change); 9] = [
        ("a bad row", ply_skipped),
        ("a column of edges", ply_edges),
        ("colors that are floats", ply_colors),
        ("values that are not declared", ply_misfit),
        ("integers as decimals", ply_decimals),
        ("NaN of C libraries", ply_nan),
        ("lists of other names and types", ply_lists),
        ("more data", ply_more),
        ("each LF is CR LF", ply_damaged),
    ];
    hold("ply", "ply", &changes);
}

fn off_nan(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = lines(bytes)?;
    let is_header = |line: &str| line.contains('#') || line.chars().any(|c| c.is_ascii_alphabetic());
    let is_vertex = |line: &str| !is_header(line) && line.split_ascii_whitespace().count() == 3 && line.contains('.');
    let at = pick(&lines, random, is_vertex)?;
    let mut usual = lines.clone();
    usual[at] = with_word(&lines[at], 1, "nan")?;
    lines[at] = with_word(&lines[at], 1, nan(random))?;
    Some(Changed::silent(lines.concat())?.meaning(usual.concat()))
}

/// A row split over two lines.
fn off_broken(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let mut lines = lines(bytes)?;
    // Only the color of a face ends with its line.
    (!lines.concat().contains('#') && lines[0].trim() == "OFF" && lines.len() > 3).then_some(())?;
    let is_face = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let count: Option<usize> = words.next().and_then(|word| word.parse().ok());
        count.is_some_and(|count| count > 2 && words.count() == count)
    };
    // One deviation at a time.
    let is_row = |line: &String| is_face(line) || line.split_ascii_whitespace().count() == 3;
    lines[2..].iter().all(is_row).then_some(())?;
    let at = pick(&lines[2..], random, is_face)? + 2;
    let blank = lines[at].trim_end().rfind(' ')?;
    lines[at].replace_range(blank..=blank, "\n");
    Changed::warned(lines.concat(), "odd-statement")
}

#[test]
fn off() {
    let changes: [(&str, Change); 2] = [("a row over two lines", off_broken), ("NaN of C libraries", off_nan)];
    hold("off", "off", &changes);
}
