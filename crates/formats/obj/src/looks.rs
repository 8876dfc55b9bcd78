//! Detects OBJ by content, from the first statement. This is a weak signal, because OBJ keywords are short.

/// Returns whether text starts with an OBJ statement; `None` if it has only blank lines and comments.
pub fn looks_like_obj(head: &[u8]) -> Option<bool> {
    let lines = head.split(|byte| matches!(byte, b'\n' | b'\r'));
    let mut words = lines.map(|line| line.trim_ascii()).filter(|line| !line.is_empty() && line[0] != b'#');
    let line = words.next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let keyword = words.next()?;
    let next = words.next();
    Some(match keyword {
        b"o" | b"g" | b"usemtl" | b"mtllib" | b"cstype" | b"deg" | b"curv" | b"mg" | b"maplib" | b"usemap" => true,
        b"s" => next.is_some_and(|word| word == b"off" || word == b"on" || is_number(word)),
        b"v" | b"vt" | b"vn" | b"vp" | b"f" | b"fo" | b"l" | b"p" => next.is_some_and(is_number),
        _ => false,
    })
}

fn is_number(word: &[u8]) -> bool {
    word.first().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.'))
}
