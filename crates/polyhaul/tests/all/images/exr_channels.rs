//! OpenEXR: reads, drops and writes channels, layers, parts, views, windows and attributes.

use crate::images::*;
use polyhaul::inspect;
use polyhaul::model::{ChannelSamples, ChannelType, ImageChannel};
use polyhaul::options::ImageReadOptions;
use polyhaul::{ErrorKind, Loaded};
use polyhaul_testkit::exr::{ExrChannel, ExrPart, exr, half};
use polyhaul_testkit::mutate;

const UINT: u32 = 0;
const HALF: u32 = 1;
const FLOAT: u32 = 2;

/// A channel of distinct halves.
fn halves(name: &str, seed: i32) -> ExrChannel {
    ExrChannel::new(name, HALF, move |x, y| half((x + 7 * y + 31 * seed) as f32 / 8.0))
}

fn floats(name: &str, seed: i32) -> ExrChannel {
    ExrChannel::new(name, FLOAT, move |x, y| ((x - 3 * y + seed) as f32 / 3.0).to_bits())
}

/// Integers that floats cannot represent.
fn uints(name: &str) -> ExrChannel {
    ExrChannel::new(name, UINT, |x, y| u32::MAX - (x + 100 * y) as u32)
}

fn read(bytes: &[u8], options: &ReadOptions) -> Result<Loaded<Image>> {
    polyhaul::Reader::new(Input::Memory(bytes.to_vec(), "x.exr".into())).options(options).image()
}

fn plain(bytes: &[u8]) -> Loaded<Image> {
    same_for_all("x.exr", bytes);
    read(bytes, &ReadOptions::default()).unwrap()
}

fn choosing(layer: Option<&str>, part: Option<&str>) -> ReadOptions {
    let image = ImageReadOptions::default().with_layer(layer.map(Into::into)).with_part(part.map(Into::into));
    ReadOptions::default().with_image(image)
}

fn names(image: &Image) -> Vec<&str> {
    image.extra.iter().map(|channel| channel.name.as_str()).collect()
}

/// Writes the image as an EXR file, and reads it again.
#[track_caller]
fn again(image: &Image) -> Image {
    let bytes = written_by_all("x.exr", image, ImageWriteOptions::default());
    let channels = plain(&bytes);
    assert_eq!(codes(&channels.report), []);
    channels.value
}

#[test]
fn any_channels_are_read_and_come_back_as_they_were() {
    type Row = (Vec<ExrChannel>, Channels, &'static [&'static str]);
    let rows: Vec<Row> = vec![
        (vec![halves("A", 1), halves("B", 2), halves("G", 3), halves("R", 4), floats("Z", 5)], Channels::Rgba, &["Z"]),
        (vec![halves("A", 1), halves("G", 3), halves("R", 4), floats("Z", 5)], Channels::Rgba, &["Z"]),
        (vec![halves("G", 1), halves("R", 2)], Channels::Rgb, &[]),
        (vec![halves("A", 1), halves("R", 2)], Channels::Rgba, &[]),
        (vec![floats("Z", 1)], Channels::Gray, &[]),
        (vec![uints("id")], Channels::Gray, &["id"]),
        (vec![halves("A", 1)], Channels::Gray, &[]),
        (vec![halves("N.X", 1), halves("N.Y", 2), halves("N.Z", 3)], Channels::Gray, &["N.Y", "N.Z"]),
        (vec![floats("A", 1), halves("B", 2), floats("G", 3), halves("R", 4)], Channels::Rgba, &[]),
        (vec![uints("B"), uints("G"), halves("R", 4), uints("id")], Channels::Rgb, &["B", "G", "id"]),
        (vec![halves("Y", 1), halves("Z", 2), halves("a.b.c", 3)], Channels::Gray, &["Z", "a.b.c"]),
    ];
    for (channels, expected, extra) in rows {
        let count = channels.len();
        let kinds = channels.iter().map(|channel| (channel.name.clone(), channel.kind)).collect::<Vec<_>>();
        let Loaded { value: image, report } = plain(&exr(&[ExrPart::new(7, 5, channels)]));
        assert_eq!((image.channels, names(&image).as_slice()), (expected, extra), "{kinds:?}");
        assert_eq!(codes(&report), []);
        // Names and types also match the file.
        let bytes = written_by_all("x.exr", &image, ImageWriteOptions::default());
        let (summary, _) = inspect::info(Input::Memory(bytes, "x.exr".into()), &ReadOptions::default()).unwrap();
        let parts = summary.image.unwrap().parts;
        assert_eq!(parts[0].channels.len(), count);
        for (channel, (name, kind)) in parts[0].channels.iter().zip(kinds) {
            let kind = [ChannelType::U32, ChannelType::F16, ChannelType::F32][kind as usize];
            assert_eq!((&channel.name, channel.kind), (&name, kind));
        }
        assert!(again(&image) == image, "{extra:?}");
    }
}

#[test]
fn samples_are_those_of_the_file() {
    let part = ExrPart::new(3, 2, vec![halves("G", 1), halves("R", 2), uints("id"), floats("z", 5)]);
    let image = plain(&exr(&[part])).value;
    let expected = |seed: i32| (0..6).map(move |at| (at % 3 + 7 * (at / 3) + 31 * seed) as f32 / 8.0);
    let pixels: Vec<f32> = expected(2).zip(expected(1)).flat_map(|(red, green)| [red, green, 0.0]).collect();
    assert_eq!(float_samples(&image), pixels);
    let ids: Vec<u32> = (0..6).map(|at| u32::MAX - (at % 3 + 100 * (at / 3))).collect();
    let depth: Vec<f32> = (0..6).map(|at| (at % 3 - 3 * (at / 3) + 5) as f32 / 3.0).collect();
    let extra = [("id", ChannelSamples::U32(ids.into())), ("z", ChannelSamples::F32(depth.into()))];
    let extra = extra.map(|(name, samples)| ImageChannel { name: name.into(), samples });
    assert_eq!(image.extra, extra);
    assert_eq!(image.stored.iter().map(|channel| channel.name.as_str()).collect::<Vec<_>>(), ["R", "G", ""]);
    let usual = exr(&[ExrPart::new(3, 2, vec![halves("B", 1), halves("G", 2), halves("R", 2)])]);
    assert_eq!(plain(&usual).value.stored, []);
}

#[test]
fn windows_and_attributes_come_back() {
    let channels = || vec![halves("B", 1), halves("G", 2), halves("R", 3), uints("id")];
    let display: Vec<u8> = [0, 0, 63_i32, 31].into_iter().flat_map(i32::to_le_bytes).collect();
    let primaries: Vec<u8> = [0.68_f32, 0.32, 0.265, 0.69, 0.15, 0.06, 0.3127, 0.329].map(f32::to_le_bytes).concat();
    let mut part = ExrPart::new(1, 1, channels())
        .with("displayWindow", "box2i", &display)
        .with("chromaticities", "chromaticities", &primaries)
        .with("owner", "string", b"somebody")
        .with("a name that is longer than thirty-one bytes", "an own type", &[1, 2, 3])
        .with("name", "string", b"beauty");
    part.window = [-5, 7, 20, 40];
    let Loaded { value: image, report } = plain(&exr(&[part]));
    assert_eq!((image.width, image.height, codes(&report)), (26, 34, vec![]));
    let names: Vec<&str> = image.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    let expected = [
        "a name that is longer than thirty-one bytes",
        "chromaticities",
        "dataWindow",
        "displayWindow",
        "name",
        "owner",
    ];
    assert_eq!(names, expected);
    assert!(again(&image) == image);
    // Attributes that every file has are not attributes of the image.
    assert!(plain(&exr(&[ExrPart::new(4, 4, channels())])).value.attributes.is_empty());
    let wrong = Image { width: 13, height: 68, ..image };
    assert_eq!(
        written("x.exr", &wrong, ImageWriteOptions::default(), &RunOptions::default()).unwrap_err().kind(),
        ErrorKind::Usage
    );
}

fn several() -> Vec<u8> {
    let rgb = |seed: i32| vec![halves("B", seed), halves("G", seed + 1), halves("R", seed + 2)];
    let named = |part: ExrPart, name: &str| part.with("name", "string", name.as_bytes());
    exr(&[
        named(ExrPart::new(5, 4, vec![floats("Z", 1)]), "depth"),
        named(ExrPart::new(6, 4, rgb(1)), "beauty").with("view", "string", b"left"),
        named(ExrPart::new(3, 2, rgb(9)), "other").with("view", "string", b"right"),
    ])
}

#[test]
fn parts_that_are_not_read_are_counted_and_can_be_chosen() {
    let bytes = several();
    let Loaded { value: image, report } = plain(&bytes);
    assert_eq!((image.width, image.channels), (6, Channels::Rgb));
    assert_eq!(codes(&report), [("left-out-parts", 2)]);
    let message = &report.warnings.kept()[0].diagnostic.message;
    assert!(message.contains("`depth`, `other` (view `right`)") && message.contains("`beauty`"), "{message}");
    let strict = ReadOptions::default().with_strict(true);
    assert!(read(&bytes, &strict).unwrap_err().to_string().contains("`depth`"));
    for (part, width) in [("depth", 5), ("0", 5), ("1", 6), ("left", 6), ("right", 3), ("other", 3)] {
        let options = choosing(None, Some(part)).with_strict(true);
        let loaded = read(&bytes, &options).unwrap();
        assert_eq!((loaded.value.width, codes(&loaded.report)), (width, vec![]), "{part}");
    }
    let loaded = read(&bytes, &choosing(Some("right"), None)).unwrap();
    assert_eq!(loaded.value.width, 3);
    let error = read(&bytes, &choosing(None, Some("3"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("`depth`, `beauty` (view `left`), `other` (view `right`)"), "{error}");
}

#[test]
fn layers_and_views_of_a_part_are_kept_and_can_be_chosen() {
    let layer = |name: &str, seed: i32| ["B", "G", "R"].map(|color| halves(&format!("{name}{color}"), seed));
    let channels: Vec<ExrChannel> =
        [layer("", 1), layer("diffuse.", 2), layer("right.", 3), layer("right.diffuse.", 4)]
            .into_iter()
            .flatten()
            .chain([floats("right.diffuse.Z", 1)])
            .collect();
    let views: Vec<u8> = ["left", "right"]
        .iter()
        .flat_map(|name| [&(name.len() as i32).to_le_bytes()[..], name.as_bytes()].concat())
        .collect();
    let bytes = exr(&[ExrPart::new(4, 3, channels).with("multiView", "stringvector", &views)]);
    let Loaded { value: image, report } = plain(&bytes);
    assert_eq!((image.extra.len(), codes(&report)), (10, vec![]));
    assert!(again(&image) == image);
    let chosen = |layer| read(&bytes, &choosing(Some(layer), None)).map(|loaded| loaded.value);
    let diffuse = chosen("diffuse").unwrap();
    assert_eq!((diffuse.extra.len(), diffuse.stored[0].name.as_str()), (0, "diffuse.R"));
    assert_eq!(float_samples(&diffuse)[0], 31.0 * 2.0 / 8.0);
    let right = chosen("right").unwrap();
    assert_eq!(names(&right), ["right.diffuse.B", "right.diffuse.G", "right.diffuse.R", "right.diffuse.Z"]);
    assert_eq!(names(&chosen("right.diffuse").unwrap()), ["right.diffuse.Z"]);
    let error = chosen("specular").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("`diffuse`, `right`, `right.diffuse`"), "{error}");
    let options = choosing(Some("diffuse"), None);
    let other =
        polyhaul::Reader::new(Input::Memory(crate::images::file("png", "good/own/adam7_g1.png"), "x.png".into()))
            .options(&options)
            .image();
    assert_eq!(other.unwrap_err().kind(), ErrorKind::Usage);
}

/// An image with slowly changing colors, as luminance and chroma.
fn chroma(size: [i32; 2], sampling: [i32; 2], kind: u32, window: [i32; 2]) -> (Vec<u8>, Vec<f32>) {
    let color = |x: i32, y: i32| {
        let wave = |step: f64| 0.5 + 0.3 * (f64::from(x) / step).sin() * (f64::from(y) / (step + 3.0)).cos();
        [wave(9.0), wave(14.0), wave(11.0)]
    };
    let luminance = move |x, y| color(x, y).into_iter().zip([0.2126, 0.7152, 0.0722]).map(|(c, w)| c * w).sum::<f64>();
    let bits = move |value: f64| {
        // As many mantissa bits as a half has.
        let value = f32::from_bits((value as f32).to_bits() & 0xFFFF_E000);
        if kind == HALF { half(value) } else { value.to_bits() }
    };
    let part = move |place: usize| move |x, y| bits((color(x, y)[place] - luminance(x, y)) / luminance(x, y));
    let channel = |name: &str, place| ExrChannel { sampling, ..ExrChannel::new(name, kind, part(place)) };
    let channels =
        vec![channel("BY", 2), channel("RY", 0), ExrChannel::new("Y", kind, move |x, y| bits(luminance(x, y)))];
    let mut file = ExrPart::new(1, 1, channels);
    file.window = [window[0], window[1], window[0] + size[0] - 1, window[1] + size[1] - 1];
    let pixels = (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| color(x + window[0], y + window[1])));
    (exr(&[file]), pixels.flatten().map(|sample| sample as f32).collect())
}

#[test]
fn luminance_and_chroma_are_colour() {
    for (sampling, window) in
        [([1, 1], [0, 0]), ([2, 2], [0, 0]), ([2, 1], [-4, 6]), ([1, 2], [1, 0]), ([2, 2], [3, 5])]
    {
        for kind in [HALF, FLOAT] {
            for size in [[40, 32], [41, 33], [1, 1]] {
                let (bytes, expected) = chroma(size, sampling, kind, window);
                let Loaded { value: image, report } = read(&bytes, &ReadOptions::default()).unwrap();
                assert_eq!((image.channels, image.extra.len(), codes(&report)), (Channels::Rgb, 0, vec![]));
                let margin = if sampling == [1, 1] { 0 } else { 14 };
                for (at, (decoded, expected)) in float_samples(&image).iter().zip(&expected).enumerate() {
                    let x = at as i32 / 3 % size[0];
                    let y = at as i32 / 3 / size[0];
                    let is_inside = |at: i32, size: i32| (margin..size - margin).contains(&at);
                    let far = if is_inside(x, size[0]) && is_inside(y, size[1]) { 4e-3 } else { 0.5 };
                    assert!(
                        (decoded - expected).abs() < far,
                        "{sampling:?} {window:?} {size:?} at {x}, {y}: {decoded} {expected}"
                    );
                }
                let again = written("x.exr", &image, ImageWriteOptions::default(), &RunOptions::default()).unwrap();
                assert!(read(&again, &ReadOptions::default()).unwrap().value == image);
            }
        }
    }
    same_for_all("x.exr", &chroma([41, 70], [2, 2], HALF, [3, 5]).0);
}

#[test]
fn gray_of_luminance_and_chroma_is_exact_and_other_primaries_count() {
    let zero = |name: &str| ExrChannel { sampling: [2, 2], ..ExrChannel::new(name, HALF, |_, _| 0) };
    let image = plain(&exr(&[ExrPart::new(6, 4, vec![zero("BY"), zero("RY"), floats("Y", 3)])])).value;
    assert!(
        float_samples(&image).chunks(3).all(|pixel| pixel[0].to_bits() == pixel[1].to_bits() && pixel[1] == pixel[2])
    );
    // The luminance may have few samples, too.
    let few = ExrChannel { sampling: [2, 2], ..floats("Y", 3) };
    let none = |name: &str| ExrChannel::new(name, HALF, |_, _| 0);
    let image = plain(&exr(&[ExrPart::new(6, 4, vec![none("BY"), none("RY"), few])])).value;
    let expected = (0..24).map(|at| (at % 6 / 2 * 2 - 3 * (at / 6 / 2 * 2) + 3) as f32 / 3.0);
    assert!(float_samples(&image).chunks(3).zip(expected).all(|(pixel, luminance)| pixel == [luminance; 3]));
    let chroma = |name: &str, value: f32| ExrChannel::new(name, FLOAT, move |_, _| value.to_bits());
    let colors = |primaries: Option<[f32; 8]>| {
        let part = ExrPart::new(1, 1, vec![chroma("BY", -1.0), chroma("RY", 3.0), chroma("Y", 0.25)]);
        let part = match primaries {
            Some(numbers) => part.with("chromaticities", "chromaticities", &numbers.map(f32::to_le_bytes).concat()),
            None => part,
        };
        read(&exr(&[part]), &ReadOptions::default()).map(|loaded| float_samples(&loaded.value).to_vec())
    };
    let near = |pixel: Vec<f32>, green: f32| {
        assert!(pixel[0] == 1.0 && pixel[2] == 0.0 && (pixel[1] - green).abs() < 1e-4, "{pixel:?} {green}");
    };
    near(colors(None).unwrap(), (0.25 - 0.2126) / 0.7152);
    near(colors(Some([0.68, 0.32, 0.265, 0.69, 0.15, 0.06, 0.3127, 0.329])).unwrap(), (0.25 - 0.2290) / 0.6917);
    assert_eq!(colors(Some([0.5; 8])).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn other_channels_with_few_samples_are_enlarged_and_counted() {
    let few = |name: &str| ExrChannel { sampling: [2, 3], ..floats(name, 1) };
    let channels = vec![few("A"), halves("B", 1), halves("G", 2), halves("R", 3), few("Z")];
    let Loaded { value: image, report } = plain(&exr(&[ExrPart::new(5, 7, channels)]));
    assert_eq!(codes(&report), [("changed-channels", 2)]);
    let expected: Vec<f32> = (0..35).map(|at| (at % 5 / 2 * 2 - 3 * (at / 5 / 3 * 3) + 1) as f32 / 3.0).collect();
    assert_eq!(image.extra[0].samples, ChannelSamples::F32(expected.clone().into()));
    assert!(float_samples(&image).chunks(4).map(|pixel| pixel[3]).eq(expected));
}

#[test]
fn deep_parts_are_refused_or_passed() {
    let deep = || {
        let mut part = ExrPart::new(5, 4, vec![halves("A", 1), halves("Z", 2)]);
        part.is_deep = true;
        part.with("name", "string", b"samples").with("version", "int", &1_i32.to_le_bytes())
    };
    let error = error("x.exr", &exr(&[deep()]));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("deep images are not supported"), "{error}");
    let flat = || ExrPart::new(3, 3, vec![halves("Y", 1)]).with("name", "string", b"flat");
    let mut tiles = deep();
    tiles.tiles = Some([2, 2, 1]);
    for bytes in [exr(&[deep(), flat()]), exr(&[flat(), tiles])] {
        let Loaded { value: image, report } = plain(&bytes);
        assert_eq!((image.width, codes(&report)), (3, vec![("left-out-parts", 1)]));
        let error = read(&bytes, &choosing(None, Some("samples"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn smaller_levels_are_counted() {
    for (mode, expected_warnings) in
        [(0, vec![]), (1, vec![("left-out-levels", 4)]), (2, vec![("left-out-levels", 14)])]
    {
        for size in [3, 16, 64] {
            let mut part = ExrPart::new(19, 5, vec![halves("Y", 1), uints("id")]);
            part.tiles = Some([size, size, mode]);
            let Loaded { value: image, report } = plain(&exr(&[part]));
            assert_eq!(codes(&report), expected_warnings, "{mode}");
            assert!(again(&image) == image);
            assert_eq!(float_samples(&image)[19 + 3], (3 + 7 + 31) as f32 / 8.0);
        }
    }
}

#[test]
fn other_formats_count_the_channels_that_they_cannot_store() {
    let channels = vec![halves("A", 0), halves("B", 1), halves("G", 2), halves("R", 3), floats("Z", 1), uints("id")];
    let part = ExrPart::new(4, 3, channels).with("owner", "string", b"me");
    let image = plain(&exr(&[part])).value;
    for name in ["x.png", "x.hdr", "x.tga"] {
        let options = WriteOptions::default().with_format(Format::of_path(Path::new(name)));
        let (_, report) = try_written_image(&image, &options).unwrap();
        let count = |code| report.warnings.counts().get(code).copied();
        assert_eq!((count("left-out-channels"), count("left-out-attributes")), (Some(2), Some(1)), "{name}");
        let message = report.warnings.kept().iter().find(|warning| warning.code == "left-out-channels").unwrap();
        assert!(message.diagnostic.message.contains("`Z`, `id`"), "{name}");
    }
    // The image shows the channel from which it was made.
    let depth = plain(&exr(&[ExrPart::new(4, 3, vec![floats("Z", 1)])])).value;
    let (_, report) = try_written_image(&depth, &WriteOptions::default().with_format(Some(Format::Png))).unwrap();
    assert_eq!(report.warnings.counts().get("left-out-channels"), None);
}

#[test]
fn channels_that_do_not_fit_are_refused() {
    let image = plain(&exr(&[ExrPart::new(4, 3, vec![halves("Y", 1), floats("Z", 1)])])).value;
    let refused = |image: Image| {
        let error = written("x.exr", &image, ImageWriteOptions::default(), &RunOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    };
    let extra = |channel: ImageChannel| Image { extra: vec![channel.clone(), channel], ..image.clone() };
    refused(extra(image.extra[0].clone()));
    let short = ChannelSamples::F32([1.0].into());
    refused(Image { extra: vec![ImageChannel { name: "Z".into(), samples: short }], ..image.clone() });
    for name in ["", "a\0b", &"n".repeat(256)] {
        let samples = image.extra[0].samples.clone();
        refused(Image { extra: vec![ImageChannel { name: name.into(), samples }], ..image.clone() });
    }
    refused(Image { stored: Vec::from([Default::default(), Default::default()]), ..image.clone() });
    // 8 and 16 bits become floats.
    let samples = ChannelSamples::U8((0..12).map(|at| at * 20).collect());
    let made = Image { extra: vec![ImageChannel { name: "mask".into(), samples }], ..image };
    assert_eq!(again(&made).extra[0].samples.kind(), ChannelType::F16);
}

#[test]
fn what_is_damaged_is_an_error() {
    let bytes = several();
    let options = |header_bytes| {
        let limits = polyhaul::options::Limits::default().with_header_bytes(header_bytes);
        ReadOptions::default().with_limits(limits)
    };
    assert_eq!(read(&bytes, &options(100)).unwrap_err().kind(), ErrorKind::Limit);
    let mut unsorted = exr(&[ExrPart::new(2, 2, vec![halves("R", 1), halves("G", 2)])]);
    assert_eq!(error("x.exr", &unsorted).kind(), ErrorKind::Malformed);
    unsorted[4] = 3;
    assert_eq!(error("x.exr", &unsorted).kind(), ErrorKind::Unsupported);
}

#[test]
fn a_large_image_needs_a_file_of_some_size() {
    let mut bytes = exr(&[ExrPart::new(1, 1, vec![halves("Y", 1), uints("id")])]);
    let name = b"dataWindow\0box2i\0";
    let end = bytes.windows(name.len()).position(|part| part == name).unwrap() + name.len() + 4 + 16;
    // 12,000 x 12,000 pixels of a float and an integer.
    bytes[end - 8..end].copy_from_slice(&[11_999_i32.to_le_bytes(); 2].concat());
    let error = error("x.exr", &bytes);
    assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("`image_ratio`"), "{error}");
    let limits = polyhaul::options::Limits::default().with_image_ratio(u64::MAX);
    let allowed = read(&bytes, &ReadOptions::default().with_limits(limits)).unwrap_err();
    assert_eq!(allowed.kind(), ErrorKind::Malformed);
}

/// Damaged blocks cause no output of the process. Runs itself, since a test's own standard error is captured.
#[test]
fn damaged_blocks_print_nothing() {
    const CHILD: &str = "POLYHAUL_TEST_DAMAGED_BLOCKS";
    if std::env::var_os(CHILD).is_some() {
        for name in ["b44_half", "b44a_half"] {
            let bytes = crate::images::file("exr", &format!("good/openexr/{name}.exr"));
            mutate::bytes_at(&bytes, (0..bytes.len()).step_by(1 + bytes.len() / 1500), |_, _, changed| {
                drop(read(changed, &ReadOptions::default()));
            });
        }
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "images::exr_channels::damaged_blocks_print_nothing", "--nocapture"]).env(CHILD, "1");
    let output = child.output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
