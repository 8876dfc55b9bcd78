//! What reading textures must reach: the third story's file, and the decoders that others use.

use super::super::images::{BC1, BC7, CACHE, FILES, Picture, agrees};
use super::super::plan::ONE_THREAD;
use super::{Bound, Verdict, ratio};

/// The names of readers.
const CALLED: &str = "polyhaul, callbacks, 1 thread";
const SLOW: &str = "polyhaul, callbacks of 100 us, 1 thread";
const SWIZZLE: &str = "limit: read and swizzle";

/// Bytes of a block that a host is asked for at least, and calls on top of as many as the file has.
const BLOCK_BYTES: u64 = 64 << 10;
const MORE_CALLS: u64 = 4;

/// All demands.
pub(super) fn reading(all: &[Picture], bytes: impl Fn(&str) -> Option<u64>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for file in ["story.tga", "large.tga"] {
        verdicts.push(rate(all, file));
        verdicts.push(faster(all, file, [ONE_THREAD, "image"], 3.0));
    }
    for file in ["story-rle.tga", "large-rle.tga"] {
        verdicts.push(faster(all, file, [ONE_THREAD, "image"], 3.0));
    }
    verdicts.push(faster(all, "story.png", [ONE_THREAD, "png"], 1.0));
    verdicts.push(faster(all, "story.png", ["polyhaul, 8 files, 2 threads", "polyhaul, 8 files, 1 thread"], 1.8));
    verdicts.push(faster(all, "story.hdr", [ONE_THREAD, "image"], 4.0));
    verdicts.push(faster(all, "story.hdr", [CALLED, "FreeImage, callbacks"], 4.0));
    for file in ["story.tga", CACHE] {
        verdicts.push(slow(all, file));
    }
    for file in FILES.into_iter().chain([CACHE]) {
        verdicts.push(calls(all, file, bytes(file)));
    }
    verdicts.extend(FILES.map(|file| pixels(all, file)));
    verdicts.extend([(BC1, 500.0), (BC7, 90.0)].into_iter().flat_map(|(kind, least)| blocks(all, kind, least)));
    verdicts
}

fn find<'a>(all: &'a [Picture], file: &str, name: &str) -> Option<&'a Picture> {
    all.iter().find(|picture| picture.group == file && picture.name == name)
}

fn faster(all: &[Picture], file: &str, [ours, theirs]: [&str; 2], least: f64) -> Verdict {
    let times = |name| find(all, file, name).map(|picture| picture.seconds);
    let got = times(theirs).zip(times(ours)).map(|(theirs, ours)| theirs / ours);
    ratio(format!("{file}, {ours}: speed against {theirs}"), got, Bound::AtLeast(least))
}

/// 2,000 million pixels a second, or 0.7 of a plain read and swizzle.
fn rate(all: &[Picture], file: &str) -> Verdict {
    let both = find(all, file, ONE_THREAD).zip(find(all, file, SWIZZLE));
    let rates = both.map(|(ours, plain)| (ours.rate(), ours.rate() / plain.rate()));
    Verdict {
        what: format!("{file}, {ONE_THREAD}: rate"),
        wanted: ">= 2000 MPix/s or >= 0.7 of read and swizzle".into(),
        got: rates.map_or("-".into(), |(rate, part)| format!("{rate:.0} MPix/s, {part:.2}")),
        met: rates.map(|(rate, part)| rate >= 2000.0 || part >= 0.7),
    }
}

fn slow(all: &[Picture], file: &str) -> Verdict {
    let seconds = find(all, file, SLOW).map(|picture| picture.seconds);
    Verdict {
        what: format!("{file}: {SLOW}"),
        wanted: "< 50 ms".into(),
        got: seconds.map_or("-".into(), |seconds| format!("{:.1} ms", seconds * 1e3)),
        met: seconds.map(|seconds| seconds < 0.05),
    }
}

fn calls(all: &[Picture], file: &str, bytes: Option<u64>) -> Verdict {
    let names = [CALLED, "polyhaul, callbacks, 2 threads"];
    let most = names.into_iter().filter_map(|name| find(all, file, name)).map(|picture| picture.calls).max();
    let allowed = bytes.map(|bytes| bytes.div_ceil(BLOCK_BYTES) + MORE_CALLS);
    Verdict {
        what: format!("{file}: calls of the host"),
        wanted: allowed.map_or("-".into(), |allowed| format!("<= {allowed}")),
        got: most.map_or("-".into(), |calls| calls.to_string()),
        met: most.zip(allowed).map(|(calls, allowed)| calls <= allowed),
    }
}

/// The rate per core, and the error beside that of the encoder alone.
fn blocks(all: &[Picture], kind: &str, least: f64) -> [Verdict; 2] {
    // Lines of results have blanks as underscores.
    let (ours, alone) = (find(all, kind, ONE_THREAD), find(all, kind, "intel tex 2"));
    let errors = ours.zip(alone).map(|(ours, alone)| (ours.sum, alone.sum));
    let speed = Verdict {
        what: format!("{kind}, {ONE_THREAD}: rate"),
        wanted: format!(">= {least} MPix/s"),
        got: ours.map_or("-".into(), |it| format!("{:.0} MPix/s", it.rate())),
        met: ours.map(|it| it.rate() >= least),
    };
    let quality = Verdict {
        what: format!("{kind}: PSNR below that of the encoder alone"),
        wanted: "<= 0.3 dB".into(),
        got: errors.map_or("-".into(), |(ours, alone)| format!("{:.2} dB", alone - ours)),
        met: errors.map(|(ours, alone)| alone - ours <= 0.3),
    };
    [speed, quality]
}

fn pixels(all: &[Picture], file: &str) -> Verdict {
    let of_file = || all.iter().filter(|picture| picture.group == file);
    let wrong: Vec<&str> =
        of_file().filter(|picture| agrees(all, picture) == Some(false)).map(|it| it.name.as_str()).collect();
    Verdict {
        what: format!("{file}: pixels"),
        wanted: "as all others".into(),
        got: if wrong.is_empty() { "as all others".into() } else { format!("other: {}", wrong.join("; ")) },
        met: of_file().next().map(|_| wrong.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::images::tests::made;
    use super::super::super::plan::TWO_THREADS;
    use super::*;

    #[test]
    fn demands_are_judged() {
        let file = "story.tga";
        let all = [
            made(file, ONE_THREAD, 0.000_4, 0),
            made(file, SWIZZLE, 0.000_3, 0),
            made(file, "image", 0.001, 0),
            made(file, CALLED, 0.001, 5),
            made(file, TWO_THREADS, 0.001, 0),
            made(file, SLOW, 0.06, 5),
        ];
        let verdicts = reading(&all, |_| Some(1));
        let of = |what: &str| verdicts.iter().find(|verdict| verdict.what == what).unwrap().met;
        assert_eq!(of("story.tga, polyhaul, 1 thread: rate"), Some(true));
        assert_eq!(of("story.tga, polyhaul, 1 thread: speed against image"), Some(false));
        assert_eq!(of("story.tga: polyhaul, callbacks of 100 us, 1 thread"), Some(false));
        assert_eq!(of("story.tga: calls of the host"), Some(true));
        assert_eq!(of("story.tga: pixels"), Some(true));
        assert_eq!(of("story.png, polyhaul, 1 thread: speed against png"), None);
    }
}
