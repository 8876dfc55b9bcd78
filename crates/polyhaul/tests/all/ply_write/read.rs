//! A slow PLY reader that shares no code with the library, for what it writes.

use polyhaul::model::{Column, Table, Values};

/// A number of any type.
#[derive(Clone, Copy)]
struct Number(f64);

struct Rest<'a> {
    bytes: &'a [u8],
    mode: &'a str,
}

impl Rest<'_> {
    fn number(&mut self, kind: &str) -> Number {
        if self.mode == "ascii" {
            let start = self.bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap();
            let size = self.bytes[start..].iter().position(|byte| byte.is_ascii_whitespace()).unwrap();
            let word = std::str::from_utf8(&self.bytes[start..start + size]).unwrap();
            self.bytes = &self.bytes[start + size..];
            // The shortest digits of the float, not of the nearest double.
            return Number(if kind == "float" { word.parse::<f32>().unwrap().into() } else { word.parse().unwrap() });
        }
        let size = match kind {
            "char" | "uchar" => 1,
            "short" | "ushort" => 2,
            "double" => 8,
            _ => 4,
        };
        let mut bytes = self.bytes[..size].to_vec();
        self.bytes = &self.bytes[size..];
        if self.mode == "binary_big_endian" {
            bytes.reverse();
        }
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(&bytes);
        let bits = u64::from_le_bytes(wide);
        Number(match kind {
            "char" => (bits as i8).into(),
            "uchar" => (bits as u8).into(),
            "short" => (bits as i16).into(),
            "ushort" => (bits as u16).into(),
            "int" => (bits as i32).into(),
            "uint" => (bits as u32).into(),
            "float" => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        })
    }
}

fn values(kind: &str, numbers: Vec<f64>) -> Values {
    let n = numbers.into_iter();
    match kind {
        "char" => Values::I8(n.map(|v| v as i8).collect()),
        "uchar" => Values::U8(n.map(|v| v as u8).collect()),
        "short" => Values::I16(n.map(|v| v as i16).collect()),
        "ushort" => Values::U16(n.map(|v| v as u16).collect()),
        "int" => Values::I32(n.map(|v| v as i32).collect()),
        "uint" => Values::U32(n.map(|v| v as u32).collect()),
        "float" => Values::F32(n.map(|v| v as f32).collect()),
        "double" => Values::F64(n.collect()),
        other => panic!("{other}"),
    }
}

/// The elements of a file, which must end where they do.
#[track_caller]
pub fn tables(bytes: &[u8]) -> Vec<Table> {
    let (header, body) = crate::ply_write::support::parts(bytes);
    let lines: Vec<Vec<&str>> = header.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!((&lines[0][..], lines[1][0], lines[1][2]), (&["ply"][..], "format", "1.0"));
    let mut rest = Rest { bytes: body, mode: lines[1][1] };
    let mut tables: Vec<(Table, Vec<Vec<&str>>)> = Vec::new();
    for line in &lines[2..] {
        match line[0] {
            "element" => {
                let table = Table { name: line[1].into(), row_count: line[2].parse().unwrap(), columns: Vec::new() };
                tables.push((table, Vec::new()));
            }
            "property" => tables.last_mut().unwrap().1.push(line[1..].to_vec()),
            _ => {}
        }
    }
    let tables: Vec<Table> =
        tables.into_iter().map(|(table, properties)| fill(table, &properties, &mut rest)).collect();
    assert!(rest.bytes.iter().all(u8::is_ascii_whitespace), "{} bytes are left", rest.bytes.len());
    tables
}

fn fill(mut table: Table, properties: &[Vec<&str>], rest: &mut Rest<'_>) -> Table {
    let mut numbers: Vec<(Vec<f64>, Vec<u32>)> = vec![(Vec::new(), vec![0]); properties.len()];
    for _ in 0..table.row_count {
        for (property, (values, ends)) in properties.iter().zip(&mut numbers) {
            let (count, kind) = match property[..] {
                ["list", count, kind, _] => (rest.number(count).0 as usize, kind),
                [kind, _] => (1, kind),
                _ => panic!("{property:?}"),
            };
            values.extend((0..count).map(|_| rest.number(kind).0));
            ends.push(values.len() as u32);
        }
    }
    table.columns = properties
        .iter()
        .zip(numbers)
        .map(|(property, (numbers, ends))| {
            let offsets = (property[0] == "list").then(|| ends.into());
            let kind = property[property.len() - 2];
            let name = property[property.len() - 1].to_owned();
            Column { name, values: values(kind, numbers), offsets }
        })
        .collect();
    table
}
