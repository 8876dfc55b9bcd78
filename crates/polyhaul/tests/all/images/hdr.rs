//! Radiance HDR.

use crate::images::*;
use polyhaul::ErrorKind;

fn image(width: usize, height: usize, samples: Vec<f32>) -> Image {
    let channels = Channels::Rgb;
    let color_space = ColorSpace::Linear;
    Image { width, height, channels, samples: Samples::F32(samples.into()), color_space, ..Image::default() }
}

fn with(size: &str, pixels: &[u8]) -> Vec<u8> {
    let header = format!("#?RADIANCE\n# made by hand\nSOFTWARE=none\nFORMAT=32-bit_rle_rgbe\n\n{size}\n");
    [header.as_bytes(), pixels].concat()
}

fn load(bytes: Vec<u8>) -> Result<Image> {
    crate::images::load("x.hdr", bytes, &ReadOptions::default())
}

#[test]
fn files_are_read_however_they_are_stored() {
    for (name, bytes) in files("hdr", "good/image-rs") {
        same_for_all("x.hdr", &bytes);
        let image = load(bytes).unwrap();
        assert_eq!(image.sample_count(), Some(image.samples.len()), "{name}");
        assert_eq!((image.channels, image.color_space), (Channels::Rgb, ColorSpace::Linear));
        assert!(float_samples(&image).iter().any(|sample| *sample > 0.0), "{name}");
    }
}

#[test]
fn rows_may_start_at_any_corner() {
    let pixels = [[128, 0, 0, 129], [0, 128, 0, 129], [0, 0, 128, 129], [64, 64, 64, 129]].concat();
    let [red, green, blue, gray] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5; 3]];
    for (size, expected) in [
        ("-Y 2 +X 2", [red, green, blue, gray]),
        ("+Y 2 +X 2", [blue, gray, red, green]),
        ("-Y 2 -X 2", [green, red, gray, blue]),
        ("+Y 2 -X 2", [gray, blue, green, red]),
    ] {
        assert_eq!(load(with(size, &pixels)).unwrap(), image(2, 2, expected.concat()), "{size}");
    }
}

#[test]
fn old_runs_repeat_the_pixel_before() {
    let pixel = [128, 0, 0, 129];
    // Once, then 1 + 256 times more: the count of the second run is multiplied by 256.
    let pixels = [pixel, [1, 1, 1, 1], [1, 1, 1, 1], [0, 128, 0, 129]].concat();
    let loaded = load(with("-Y 1 +X 259", &pixels)).unwrap();
    assert_eq!(float_samples(&loaded)[..3 * 258], [1.0, 0.0, 0.0].repeat(258));
    assert_eq!(float_samples(&loaded)[3 * 258..], [0.0, 1.0, 0.0]);
    // Empty runs have no effect, up to their maximum number.
    let pixels = [&pixel[..], &[1, 1, 1, 0].repeat(9), &[0, 128, 0, 129]].concat();
    assert_eq!(float_samples(&load(with("-Y 1 +X 2", &pixels)).unwrap()), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn rows_of_all_kinds_follow_one_another() {
    // Rows with runs by channel, without runs, with a run of pixels, and with runs by channel again.
    let by_channel = |red: u8| [2, 2, 0, 9, 128 + 9, red, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 128 + 9, 0, 128 + 9, 136];
    let pixel = |red: u8| [red, 0, 0, 136];
    let runs = [pixel(7), pixel(8), [1, 1, 1, 7]].concat();
    let plain: Vec<u8> = (10..19).flat_map(pixel).collect();
    let pixels = [&by_channel(5)[..], &plain, &runs, &by_channel(6)].concat();
    let bytes = with("-Y 4 +X 9", &pixels);
    same_for_all("x.hdr", &bytes);
    let reds: Vec<f32> = float_samples(&load(bytes.clone()).unwrap()).iter().step_by(3).copied().collect();
    let expected =
        [&[5.0; 9][..], &[10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0], &[7.0], &[8.0; 8], &[6.0; 9]];
    assert_eq!(reds, expected.concat());
    // An error in the last row is the same in all cases, and an earlier error is reported first.
    let last = bytes.len() - 2;
    let changed = |place: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[place] = byte;
        bytes[last] = 0;
        error("x.hdr", &bytes).to_string()
    };
    assert_eq!(changed(last, 0), format!("x.hdr: byte {last}: a run has length 0"));
    let run = bytes.len() - by_channel(6).len() - 1;
    let message = format!("x.hdr: byte {}: a run extends past the end of its row", run - 3);
    assert_eq!(changed(run, 8), message);
}

#[test]
fn columns_are_not_read() {
    let columns = error("x.hdr", &with("+X 2 -Y 2", &[0; 16]));
    assert!(columns.to_string().contains("stored in columns"), "{columns}");
}

#[test]
fn rows_that_claim_much_take_no_memory() {
    let error = error("x.hdr", &with("-Y 1 +X 1073741824", &[]));
    assert!(error.to_string().contains("invalid size"), "{error}");
}

#[test]
fn what_is_written_is_read_again() {
    // Widths with and without runs by channel; values that 8-bit mantissas can represent.
    for (width, height) in [(300, 20), (7, 3), (1, 1), (40_000, 1)] {
        let samples =
            (0..3 * width * height).map(|at| f32::from((at / 7 % 256) as u8) * 2_f32.powi((at / 999 % 9) as i32));
        let pixels: Vec<f32> = samples.collect();
        let bytes = written_by_all("x.hdr", &image(width, height, pixels), ImageWriteOptions::default());
        same_for_all("x.hdr", &bytes);
        let first = load(bytes).unwrap();
        let second = load(written_by_all("x.hdr", &first, ImageWriteOptions::default())).unwrap();
        assert!(first == second, "{width} x {height}");
    }
    // The minimum exponent, in rows without runs.
    let tiny = load(written_by_all("x.hdr", &image(1, 1, vec![4.6e-41; 3]), ImageWriteOptions::default())).unwrap();
    assert_eq!(float_samples(&tiny), [f32::from_bits(1 << 15); 3]);
    let flat = image(64, 2, [0.5_f32, 2.0, 0.0].repeat(128));
    let bytes = written_by_all("x.hdr", &flat, ImageWriteOptions::default());
    assert!(load(bytes.clone()).unwrap() == flat);
    assert!(bytes.len() < 120, "equal pixels become runs");
}

#[test]
fn the_darkest_pixels_come_back() {
    // Rounded to the nearest bytes, the pixel would have three mantissas of 1, which mean a run in rows without runs by
    // channel.
    let dark = load(file("hdr", "regression/darkest.hdr")).unwrap();
    assert_eq!(float_samples(&dark), [[1.0, 0.0, 0.0], [f32::from_bits(1 << 15); 3]].concat());
    assert!(load(written_by_all("x.hdr", &dark, ImageWriteOptions::default())).unwrap() == dark);
}

#[test]
fn what_does_not_fit_is_refused() {
    let broken = Image { samples: Samples::U8([1, 2].into()), ..image(1, 1, Vec::new()) };
    // The reader does not accept such long rows.
    let wide = image((1 << 20) + 1, 1, vec![1.0; 3 * ((1 << 20) + 1)]);
    for image in [broken, image(0, 0, Vec::new()), wide] {
        let error = written("x.hdr", &image, ImageWriteOptions::default(), &RunOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
