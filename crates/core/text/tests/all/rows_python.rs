//! Compares row formats with the output of Python's `%` with NumPy scalars.

use polyhaul_text::format::{Page, PrintfDialect, RowFormat, RowValueError, StridedColumn, ValueType};

/// Returns the bits of the test values of a type.
fn values(kind: ValueType) -> &'static [u64] {
    match kind {
        ValueType::F64 => &[
            0x0,
            0x8000_0000_0000_0000,
            0x3FF0_0000_0000_0000,
            0xBFF8_0000_0000_0000,
            0x4004_0000_0000_0000,
            0x3FB9_9999_9999_999A,
            0x3F1A_36E2_EB1C_432D,
            0x3F1A_3637_1EA5_31A8,
            0x3EE4_F8B5_88E3_68F1,
            0x40FE_240C_9FBE_76C9,
            0x412E_847F_0000_0000,
            0x430C_6BF5_2634_0000,
            0x4341_C379_37E0_8000,
            0x7E41_EB2D_6600_5835,
            0x1,
            0x3FD3_3333_3333_3334,
            0x7FF8_0000_0000_0000,
            0xFFF8_0000_0000_0000,
            0x7FF0_0000_0000_0000,
            0xFFF0_0000_0000_0000,
        ],
        ValueType::F32 => &[
            0x0,
            0x8000_0000,
            0x3F80_0000,
            0x3DCC_CCCD,
            0xC020_0000,
            0x38D1_B717,
            0x3727_C5AC,
            0x38E6_AFCD,
            0x4974_23F8,
            0x4974_2400,
            0x4996_B438,
            0x4B80_0000,
            0x5511_84E7,
            0x6102_1AB1,
            0x1,
            0x7F7F_FFFF,
            0x7FC0_0000,
            0xFF80_0000,
        ],
        ValueType::I64 => &[0, 7, 0xFFFF_FFFF_FFFF_FFD6, 12345, 1 << 63],
        ValueType::U64 => &[u64::MAX],
        ValueType::I32 => &[0xFFFF_FFFB, 0x7FFF_FFFF],
        ValueType::U8 => &[200],
        _ => &[1, 0],
    }
}

/// Output of `template % value` in Python 3.11 with NumPy 2.4.6, for the values of the kind above; `!` is an exception,
/// `~` a text too long for this table.
#[rustfmt::skip]
const CASES: &[(ValueType, &str, &[&str])] = &[
    (ValueType::F64, "%s", &["0.0", "-0.0", "1.0", "-1.5", "2.5", "0.1", "0.0001", "9.999e-05", "1e-05", "123456.789", "999999.5", "1000000000000000.0", "1e+16", "1.5e+300", "5e-324", "0.30000000000000004", "nan", "nan", "inf", "-inf"]),
    (ValueType::F64, "%d", &["0", "0", "1", "-1", "2", "0", "0", "0", "0", "123456", "999999", "1000000000000000", "10000000000000000", "~", "0", "0", "!", "!", "!", "!"]),
    (ValueType::F64, "%f", &["0.000000", "-0.000000", "1.000000", "-1.500000", "2.500000", "0.100000", "0.000100", "0.000100", "0.000010", "123456.789000", "999999.500000", "1000000000000000.000000", "10000000000000000.000000", "~", "0.000000", "0.300000", "nan", "nan", "inf", "-inf"]),
    (ValueType::F64, "%.3f", &["0.000", "-0.000", "1.000", "-1.500", "2.500", "0.100", "0.000", "0.000", "0.000", "123456.789", "999999.500", "1000000000000000.000", "10000000000000000.000", "~", "0.000", "0.300", "nan", "nan", "inf", "-inf"]),
    (ValueType::F64, "%.15f", &["0.000000000000000", "-0.000000000000000", "1.000000000000000", "-1.500000000000000", "2.500000000000000", "0.100000000000000", "0.000100000000000", "0.000099990000000", "0.000010000000000", "123456.789000000004307", "999999.500000000000000", "1000000000000000.000000000000000", "10000000000000000.000000000000000", "~", "0.000000000000000", "0.300000000000000", "nan", "nan", "inf", "-inf"]),
    (ValueType::F64, "%08.2f", &["00000.00", "-0000.00", "00001.00", "-0001.50", "00002.50", "00000.10", "00000.00", "00000.00", "00000.00", "123456.79", "999999.50", "1000000000000000.00", "10000000000000000.00", "~", "00000.00", "00000.30", "00000nan", "00000nan", "00000inf", "-0000inf"]),
    (ValueType::F64, "%+.1e", &["+0.0e+00", "-0.0e+00", "+1.0e+00", "-1.5e+00", "+2.5e+00", "+1.0e-01", "+1.0e-04", "+1.0e-04", "+1.0e-05", "+1.2e+05", "+1.0e+06", "+1.0e+15", "+1.0e+16", "+1.5e+300", "+4.9e-324", "+3.0e-01", "+nan", "+nan", "+inf", "-inf"]),
    (ValueType::F64, "%-12.4gx", &["0           x", "-0          x", "1           x", "-1.5        x", "2.5         x", "0.1         x", "0.0001      x", "9.999e-05   x", "1e-05       x", "1.235e+05   x", "1e+06       x", "1e+15       x", "1e+16       x", "1.5e+300    x", "4.941e-324  x", "0.3         x", "nan         x", "nan         x", "inf         x", "-inf        x"]),
    (ValueType::F64, "% g", &[" 0", "-0", " 1", "-1.5", " 2.5", " 0.1", " 0.0001", " 9.999e-05", " 1e-05", " 123457", " 1e+06", " 1e+15", " 1e+16", " 1.5e+300", " 4.94066e-324", " 0.3", " nan", " nan", " inf", "-inf"]),
    (ValueType::F64, "%#.3g", &["0.00", "-0.00", "1.00", "-1.50", "2.50", "0.100", "0.000100", "0.000100", "1.00e-05", "1.23e+05", "1.00e+06", "1.00e+15", "1.00e+16", "1.50e+300", "4.94e-324", "0.300", "nan", "nan", "inf", "-inf"]),
    (ValueType::F64, "%G", &["0", "-0", "1", "-1.5", "2.5", "0.1", "0.0001", "9.999E-05", "1E-05", "123457", "1E+06", "1E+15", "1E+16", "1.5E+300", "4.94066E-324", "0.3", "NAN", "NAN", "INF", "-INF"]),
    (ValueType::F64, "%.18e", &["0.000000000000000000e+00", "-0.000000000000000000e+00", "1.000000000000000000e+00", "-1.500000000000000000e+00", "2.500000000000000000e+00", "1.000000000000000056e-01", "1.000000000000000048e-04", "9.998999999999999642e-05", "1.000000000000000082e-05", "1.234567890000000043e+05", "9.999995000000000000e+05", "1.000000000000000000e+15", "1.000000000000000000e+16", "1.500000000000000079e+300", "4.940656458412465442e-324", "3.000000000000000444e-01", "nan", "nan", "inf", "-inf"]),
    (ValueType::F64, "%12s", &["         0.0", "        -0.0", "         1.0", "        -1.5", "         2.5", "         0.1", "      0.0001", "   9.999e-05", "       1e-05", "  123456.789", "    999999.5", "1000000000000000.0", "       1e+16", "    1.5e+300", "      5e-324", "0.30000000000000004", "         nan", "         nan", "         inf", "        -inf"]),
    (ValueType::F64, "%.4s", &["0.0", "-0.0", "1.0", "-1.5", "2.5", "0.1", "0.00", "9.99", "1e-0", "1234", "9999", "1000", "1e+1", "1.5e", "5e-3", "0.30", "nan", "nan", "inf", "-inf"]),
    (ValueType::F64, "%F", &["0.000000", "-0.000000", "1.000000", "-1.500000", "2.500000", "0.100000", "0.000100", "0.000100", "0.000010", "123456.789000", "999999.500000", "1000000000000000.000000", "10000000000000000.000000", "~", "0.000000", "0.300000", "NAN", "NAN", "INF", "-INF"]),
    (ValueType::F64, "%05e", &["0.000000e+00", "-0.000000e+00", "1.000000e+00", "-1.500000e+00", "2.500000e+00", "1.000000e-01", "1.000000e-04", "9.999000e-05", "1.000000e-05", "1.234568e+05", "9.999995e+05", "1.000000e+15", "1.000000e+16", "1.500000e+300", "4.940656e-324", "3.000000e-01", "00nan", "00nan", "00inf", "-0inf"]),
    (ValueType::F32, "%s", &["0.0", "-0.0", "1.0", "0.1", "-2.5", "1e-04", "1e-05", "0.00011", "999999.5", "1e+06", "1.234567e+06", "1.6777216e+07", "1e+13", "1.5e+20", "1e-45", "3.4028235e+38", "nan", "-inf"]),
    (ValueType::F32, "%d", &["0", "0", "1", "0", "-2", "0", "0", "0", "999999", "1000000", "1234567", "16777216", "9999999827968", "150000003006131601408", "0", "340282346638528859811704183484516925440", "!", "!"]),
    (ValueType::F32, "%.3f", &["0.000", "-0.000", "1.000", "0.100", "-2.500", "0.000", "0.000", "0.000", "999999.500", "1000000.000", "1234567.000", "16777216.000", "9999999827968.000", "150000003006131601408.000", "0.000", "340282346638528859811704183484516925440.000", "nan", "-inf"]),
    (ValueType::F32, "%g", &["0", "-0", "1", "0.1", "-2.5", "0.0001", "1e-05", "0.00011", "1e+06", "1e+06", "1.23457e+06", "1.67772e+07", "1e+13", "1.5e+20", "1.4013e-45", "3.40282e+38", "nan", "-inf"]),
    (ValueType::F32, "%e", &["0.000000e+00", "-0.000000e+00", "1.000000e+00", "1.000000e-01", "-2.500000e+00", "1.000000e-04", "1.000000e-05", "1.100000e-04", "9.999995e+05", "1.000000e+06", "1.234567e+06", "1.677722e+07", "1.000000e+13", "1.500000e+20", "1.401298e-45", "3.402823e+38", "nan", "-inf"]),
    (ValueType::F32, "%-14sx", &["0.0           x", "-0.0          x", "1.0           x", "0.1           x", "-2.5          x", "1e-04         x", "1e-05         x", "0.00011       x", "999999.5      x", "1e+06         x", "1.234567e+06  x", "1.6777216e+07 x", "1e+13         x", "1.5e+20       x", "1e-45         x", "3.4028235e+38 x", "nan           x", "-inf          x"]),
    (ValueType::F32, "%012.5g", &["000000000000", "-00000000000", "000000000001", "0000000000.1", "-000000002.5", "0000000.0001", "00000001e-05", "000000.00011", "00000001e+06", "00000001e+06", "001.2346e+06", "001.6777e+07", "00000001e+13", "000001.5e+20", "001.4013e-45", "003.4028e+38", "000000000nan", "-00000000inf"]),
    (ValueType::I64, "%d", &["0", "7", "-42", "12345", "-9223372036854775808"]),
    (ValueType::I64, "%i", &["0", "7", "-42", "12345", "-9223372036854775808"]),
    (ValueType::I64, "%u", &["0", "7", "-42", "12345", "-9223372036854775808"]),
    (ValueType::I64, "%5d", &["    0", "    7", "  -42", "12345", "-9223372036854775808"]),
    (ValueType::I64, "%-5dx", &["0    x", "7    x", "-42  x", "12345x", "-9223372036854775808x"]),
    (ValueType::I64, "%05d", &["00000", "00007", "-0042", "12345", "-9223372036854775808"]),
    (ValueType::I64, "%+d", &["+0", "+7", "-42", "+12345", "-9223372036854775808"]),
    (ValueType::I64, "% d", &[" 0", " 7", "-42", " 12345", "-9223372036854775808"]),
    (ValueType::I64, "%.4d", &["0000", "0007", "-0042", "12345", "-9223372036854775808"]),
    (ValueType::I64, "%08.3d", &["00000000", "00000007", "-0000042", "00012345", "-9223372036854775808"]),
    (ValueType::I64, "%-08.3dx", &["000     x", "007     x", "-042    x", "12345   x", "-9223372036854775808x"]),
    (ValueType::I64, "%.0d", &["0", "7", "-42", "12345", "-9223372036854775808"]),
    (ValueType::I64, "%f", &["0.000000", "7.000000", "-42.000000", "12345.000000", "-9223372036854775808.000000"]),
    (ValueType::I64, "%.2e", &["0.00e+00", "7.00e+00", "-4.20e+01", "1.23e+04", "-9.22e+18"]),
    (ValueType::I64, "%g", &["0", "7", "-42", "12345", "-9.22337e+18"]),
    (ValueType::I64, "%s", &["0", "7", "-42", "12345", "-9223372036854775808"]),
    (ValueType::I64, "%6s", &["     0", "     7", "   -42", " 12345", "-9223372036854775808"]),
    (ValueType::I64, "%.2s", &["0", "7", "-4", "12", "-9"]),
    (ValueType::U64, "%d", &["18446744073709551615"]),
    (ValueType::U64, "%u", &["18446744073709551615"]),
    (ValueType::U64, "%f", &["18446744073709551616.000000"]),
    (ValueType::U64, "%s", &["18446744073709551615"]),
    (ValueType::U64, "%e", &["1.844674e+19"]),
    (ValueType::I32, "%d", &["-5", "2147483647"]),
    (ValueType::I32, "%.1f", &["-5.0", "2147483647.0"]),
    (ValueType::I32, "%s", &["-5", "2147483647"]),
    (ValueType::U8, "%d", &["200"]),
    (ValueType::U8, "%03d", &["200"]),
    (ValueType::U8, "%.2f", &["200.00"]),
    (ValueType::Bool, "%d", &["1", "0"]),
    (ValueType::Bool, "%s", &["True", "False"]),
    (ValueType::Bool, "%6s", &["  True", " False"]),
    (ValueType::Bool, "%-6sx", &["True  x", "False x"]),
    (ValueType::Bool, "%.1s", &["T", "F"]),
    (ValueType::Bool, "%.1f", &["1.0", "0.0"]),
    (ValueType::Bool, "%g", &["1", "0"]),
    (ValueType::Bool, "%5d", &["    1", "    0"]),
];

fn write(template: &str, kind: ValueType, bytes: &[u8], dialect: PrintfDialect) -> Result<String, RowValueError> {
    let columns = [StridedColumn::new(bytes, 0, kind.bytes(), bytes.len() / kind.bytes(), kind).unwrap()];
    let format = RowFormat::printf(template, &[kind], dialect).unwrap();
    let rows = format.over(&columns).unwrap();
    let mut buffer = vec![0; 10_000];
    let mut page = Page::new(&mut buffer);
    let count = rows.write(&mut page, 0..rows.count())?;
    assert_eq!(count, rows.count());
    Ok(String::from_utf8(page.as_bytes().to_vec()).unwrap())
}

/// Returns the bytes of a value of `kind` with these bits.
fn bytes(kind: ValueType, bits: u64) -> Vec<u8> {
    let mut bytes = bits.to_le_bytes()[..kind.bytes()].to_vec();
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
    bytes
}

#[test]
fn numbers_equal_those_of_python() {
    for &(kind, template, expected) in CASES {
        assert_eq!(expected.len(), values(kind).len());
        for (&bits, &expected) in values(kind).iter().zip(expected) {
            let written = write(template, kind, &bytes(kind, bits), PrintfDialect::Python);
            match expected {
                "!" => assert_eq!(written, Err(RowValueError { row: 0, column: 0 }), "{template} of {kind} {bits:#x}"),
                "~" => assert!(written.is_ok_and(|text| text.len() > 60)),
                _ => assert_eq!(written.as_deref(), Ok(expected), "{template} of {kind} {bits:#x}"),
            }
        }
    }
}

/// The same values in one column, so that plain ones use cells.
#[test]
fn columns_equal_those_of_python() {
    for &(kind, template, expected) in CASES {
        let usable = expected.iter().zip(values(kind)).filter(|(text, _)| !matches!(**text, "!" | "~"));
        for skip in ["nan", "inf", "+", "-"] {
            let (texts, bits): (Vec<&str>, Vec<u64>) =
                usable.clone().filter(|(text, _)| !text.to_lowercase().contains(skip)).unzip();
            let data: Vec<u8> = bits.iter().flat_map(|&bits| bytes(kind, bits)).collect();
            let written = write(&format!("{template};\n"), kind, &data, PrintfDialect::Python).unwrap();
            let expected: String = texts.iter().map(|text| format!("{text};\n")).collect();
            assert_eq!(written, expected, "{template}");
        }
    }
}

#[test]
fn older_numpy_writes_large_numbers_in_plain_notation() {
    let cases = [
        (123_456_789_f32, "123456790.0"),
        (1e7, "10000000.0"),
        (16_777_216.0, "16777216.0"),
        (1e13, "10000000000000.0"),
        (-1.5e15, "-1500000000000000.0"),
        (1e16, "1e+16"),
        (1e-4, "1e-04"),
        (0.25, "0.25"),
    ];
    for (value, expected) in cases {
        assert_eq!(
            write("%s", ValueType::F32, &value.to_ne_bytes(), PrintfDialect::OlderNumpy).as_deref(),
            Ok(expected)
        );
    }
}

#[test]
fn bytes_equal_those_of_python() {
    let cases: &[(&[u8], &str)] = &[
        (b"plain", "b'plain'|     b'plain'|b'plain'     |b'pl"),
        (b"it's", "b\"it's\"|      b\"it's\"|b\"it's\"      |b\"it"),
        (b"say \"x\"", "b'say \"x\"'|   b'say \"x\"'|b'say \"x\"'   |b'sa"),
        (b"a ' \"", "b'a \\' \"'|    b'a \\' \"'|b'a \\' \"'    |b'a "),
        (b"\\\t\n", "b'\\\\\\t\\n'|    b'\\\\\\t\\n'|b'\\\\\\t\\n'    |b'\\\\"),
        (b"\x7f\xff", "b'\\x7f\\xff'|  b'\\x7f\\xff'|b'\\x7f\\xff'  |b'\\x"),
        (b"", "b''|          b''|b''          |b''"),
        (b"in\0side", "b'in\\x00side'|b'in\\x00side'|b'in\\x00side'|b'in"),
    ];
    for &(text, expected) in cases {
        let mut padded = text.to_vec();
        padded.resize(20, 0);
        let kinds = [ValueType::Bytes(20); 4];
        let format = RowFormat::printf("%s|%13s|%-13s|%.4s", &kinds, PrintfDialect::Python).unwrap();
        let columns = kinds.map(|kind| StridedColumn::new(&padded, 0, 20, 1, kind).unwrap());
        let mut buffer = [0; 300];
        let mut page = Page::new(&mut buffer);
        format.over(&columns).unwrap().write(&mut page, 0..1).unwrap();
        assert_eq!(std::str::from_utf8(page.as_bytes()).unwrap(), expected);
    }
}

#[test]
fn nan_and_infinity_as_integers_are_errors_with_a_location() {
    let mut values: Vec<f32> = (0..100).map(|n| n as f32 + 0.75).collect();
    values[67] = f32::NEG_INFINITY;
    values[80] = f32::NAN;
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let columns = [0, 4].map(|offset| StridedColumn::new(&data, offset, 4, 99, ValueType::F32).unwrap());
    let format = RowFormat::printf("%g %d\n", &[ValueType::F32; 2], PrintfDialect::Python).unwrap();
    let rows = format.over(&columns).unwrap();
    let mut buffer = vec![0; 10_000];
    let mut page = Page::new(&mut buffer);
    page.bytes(b"before\n");
    let error = rows.write(&mut page, 0..99).unwrap_err();
    assert_eq!(error, RowValueError { row: 66, column: 1 });
    assert_eq!(page.as_bytes(), b"before\n");
    assert_eq!(error.to_string(), "row 66, column 1: NaN and infinity cannot be written as integers");
    assert_eq!(rows.write(&mut page, 0..66), Ok(66));
}
