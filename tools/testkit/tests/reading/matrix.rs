//! Scene, warnings and error are the same for any chunk size, from memory and from a stream.

use crate::{options, outcome, read};
use polyhaul::Input;
use polyhaul_testkit::hostile::{Hostile, Sizes};
use polyhaul_testkit::summary;

/// With limits and errors in one text, the first by position is reported.
#[test]
fn limits_are_the_same_for_any_chunk() {
    let texts: [&[u8]; 8] = [
        b"\xef\xbb\xbfv 0.0000000000000000000000000000000000 1 2\nv 1\n",
        b"\xef\xbb\xbfv 1 2 000000000000000000000003\nv 1\n",
        b"\xef\xbb\xbfv 1 2 0000000000000000000000003\nv 1\n",
        b"v 1\nv 0.0000000000000000000000000000000000 1 2\n",
        b"v 0.0000000000000000000000000000000000 1 2\nv 1\n",
        b"v 1 1 1\nv 1 1 1\nv 1 1 1\nv 1\n",
        b"v 1 1 1\nv 1\nv 1 1 1\nv 1 1 1\n",
        b"o a name that is too long\nv 1\n",
    ];
    let mut wrong = Vec::new();
    for text in texts {
        let mut way = options(1, None);
        way.limits.line_bytes = 30;
        way.limits.name_bytes = 10;
        way.limits.elements = 2;
        let expected = outcome(text, &way);
        for chunk_bytes in 1..text.len() {
            way.run.chunk_bytes = Some(chunk_bytes);
            let reader = Hostile::new(text, Sizes::All);
            let streamed = summary::outcome(&read(Input::Reader(Box::new(reader), "x.obj".into()), &way));
            let actual = outcome(text, &way);
            let actual = if actual == expected { streamed } else { actual };
            if actual != expected {
                let text = String::from_utf8_lossy(text);
                wrong.push(format!("{text:?}, whole:\n{expected}in chunks of {chunk_bytes}:\n{actual}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
