//! The buffer: the same bytes however reads are split, large reads for all requests, and an exact limit.

use crate::common::{Answer, Folder, Random, hostile};
use polyhaul_bytes::{BLOCK_BYTES, Buffer, RecordTooLong, Source};
use std::fs::OpenOptions;
use std::io::{BufRead, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn records(buffer: &mut Buffer) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let Some(record) = buffer.record(b'\n').unwrap() {
        records.push(record.to_vec());
    }
    records
}

/// Lines with lengths up to several blocks.
fn lines(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut data = Vec::new();
    for max_len in [1, 10, 100, 1000, BLOCK_BYTES, 5 * BLOCK_BYTES] {
        for _ in 0..4 {
            let count = random.below(max_len);
            data.extend(std::iter::repeat_n(b'a' + (count % 26) as u8, count));
            data.push(b'\n');
        }
    }
    data.extend_from_slice(b"no end mark");
    data
}

#[test]
fn records_are_the_same_for_any_source_and_split() {
    for seed in 0..5 {
        let data = lines(seed);
        let expected: Vec<_> = data.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        assert_eq!(records(&mut Buffer::new(Source::memory(&data))), expected);
        let folder = Folder::new();
        let file = Source::open(folder.file("data", &data)).unwrap();
        assert_eq!(records(&mut Buffer::new(file)), expected);
        for max_count in [777, BLOCK_BYTES - 1, BLOCK_BYTES, usize::MAX] {
            let mut random = Random::new(seed);
            let reader = hostile(&data, move |_, _| Answer::Give(1 + random.below(max_count)));
            assert_eq!(records(&mut Buffer::new(Source::reader(reader, "host"))), expected);
        }
    }
}

#[test]
fn mixed_access_keeps_its_position() {
    let data = Random::new(9).bytes(900_000);
    let mut random = Random::new(10);
    let reader = hostile(&data, |_, requested| Answer::Give(requested / 2 + 1));
    let sources = [Source::memory(&data), Source::reader(reader, "host")];
    for source in sources {
        let mut buffer = Buffer::new(source);
        let mut at = 0;
        while at + 200_000 < data.len() {
            assert_eq!(buffer.offset(), at as u64);
            let count = 1 + random.below(150_000);
            match random.below(4) {
                0 => assert_eq!(buffer.take_exact(count).unwrap(), &data[at..at + count]),
                1 => buffer.skip(count as u64).unwrap(),
                2 => {
                    let mut out = vec![0; count];
                    buffer.read_exact(&mut out).unwrap();
                    assert_eq!(out, data[at..at + count]);
                }
                _ => {
                    let seen = buffer.fill_buf().unwrap();
                    assert_eq!(seen, &data[at..at + seen.len()]);
                    BufRead::consume(&mut buffer, 1);
                    at = at + 1 - count;
                }
            }
            at += count;
        }
        let mut rest = Vec::new();
        buffer.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, data[at..]);
        assert_eq!(buffer.offset(), data.len() as u64);
    }
}

#[test]
fn small_requests_become_large_reads() {
    let folder = Folder::new();
    let data = vec![3; 20 * BLOCK_BYTES + 1];
    let path = folder.file("data", &data);
    let host = hostile(&data, |_, requested| Answer::Give(requested));
    for source in [Source::open(path).unwrap(), Source::reader(host, "host")] {
        let mut buffer = Buffer::new(source);
        let mut pixel = [0; 3];
        while buffer.read(&mut pixel).unwrap() > 0 {}
        let seen = buffer.snapshot();
        assert_eq!(seen.bytes, data.len() as u64);
        assert!(seen.calls <= data.len().div_ceil(BLOCK_BYTES) as u64 + 4, "{}", seen.calls);
    }
}

#[test]
fn no_read_is_smaller_than_a_block_even_with_a_tail_and_short_reads() {
    let data = lines(4);
    let min_request = Arc::new(AtomicUsize::new(usize::MAX));
    let seen = min_request.clone();
    let reader = hostile(&data, move |_, requested| {
        seen.fetch_min(requested, Relaxed);
        Answer::Give(10_000)
    });
    records(&mut Buffer::new(Source::reader(reader, "host")));
    assert!(min_request.load(Relaxed) >= BLOCK_BYTES);
}

#[test]
fn the_cap_holds_exactly() {
    for (length, fits) in [(99, true), (100, true), (101, false)] {
        for end_mark in [false, true] {
            let mut data = b"ok\n".to_vec();
            data.extend(vec![b'x'; length - usize::from(end_mark)]);
            data.extend(end_mark.then_some(b'\n'));
            let mut buffer = Buffer::new(Source::memory(&data)).with_record_limit(100);
            buffer.record(b'\n').unwrap();
            match buffer.record(b'\n') {
                Ok(record) => assert!(fits && record.unwrap().len() == length),
                Err(error) => {
                    assert!(!fits && error.kind() == ErrorKind::InvalidData);
                    let inner = error.get_ref().unwrap().downcast_ref::<RecordTooLong>().unwrap();
                    assert_eq!(*inner, RecordTooLong { offset: 3, limit_bytes: 100 });
                    assert!(error.to_string().contains("100 bytes"));
                }
            }
        }
    }
}

#[test]
fn an_endless_record_stops_at_the_cap_without_reading_on() {
    let reader = hostile(b"", |_, _| Answer::Claim(BLOCK_BYTES));
    let source = Source::reader(reader, "host");
    let mut buffer = Buffer::new(source).with_record_limit(1 << 20);
    assert!(buffer.record(b'\n').is_err());
    assert!(buffer.snapshot().bytes <= (1 << 20) + 2 * BLOCK_BYTES as u64);
    assert!(buffer.take_exact((1 << 20) + 1).is_err());
}

#[test]
fn too_little_data_is_an_error_that_consumes_nothing() {
    let reader = hostile(b"abcdef", |_, _| Answer::Give(4));
    for source in [Source::memory(b"abcdef"), Source::reader(reader, "host")] {
        let mut buffer = Buffer::new(source);
        buffer.consume(3);
        assert_eq!(buffer.offset(), 0, "nothing was pending");
        assert_eq!(buffer.take_exact(2).unwrap(), b"ab");
        let error = buffer.take_exact(5).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(error.to_string().contains("found 4"), "{error}");
        assert_eq!(buffer.take_exact(4).unwrap(), b"cdef");
        assert_eq!(buffer.take_exact(0).unwrap(), b"");
        buffer.skip(0).unwrap();
        assert_eq!(buffer.skip(1).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(buffer.record(b'\n').unwrap(), None);
    }
}

#[test]
fn bytes_before_an_error_are_delivered() {
    let reader = hostile(b"one\ntwo\n", |call, _| match call {
        0 => Answer::Give(6),
        _ => Answer::Fail(ErrorKind::ConnectionReset),
    });
    let mut buffer = Buffer::new(Source::reader(reader, "host"));
    assert_eq!(buffer.record(b'\n').unwrap().unwrap(), b"one\n");
    assert_eq!(buffer.record(b'\n').unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(buffer.pending(), b"tw");
}

#[test]
fn a_file_that_changes_is_an_error_at_the_latest_at_the_end() {
    let folder = Folder::new();
    let path = folder.file("data", &vec![b'\n'; 1 << 20]);
    for new_size in [1000, 2 << 20] {
        let mut buffer = Buffer::new(Source::open(&path).unwrap());
        buffer.record(b'\n').unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(new_size).unwrap();
        let error = std::io::copy(&mut buffer, &mut std::io::sink()).unwrap_err();
        assert!(error.to_string().contains("while it was being read"), "{error}");
    }
}

#[test]
fn two_buffers_on_one_file_do_not_disturb_each_other() {
    let folder = Folder::new();
    let source = Source::open(folder.file("data", b"1\n2\n3\n")).unwrap();
    let mut a = Buffer::new(source.clone());
    let mut b = Buffer::new(source);
    a.skip(2).unwrap();
    assert_eq!(a.record(b'\n').unwrap().unwrap(), b"2\n");
    assert_eq!(b.record(b'\n').unwrap().unwrap(), b"1\n");
}
