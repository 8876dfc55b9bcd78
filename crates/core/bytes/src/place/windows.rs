//! Windows' rules for names and paths, as functions on text, so that tests can run on every system.

/// Device names, except those of ports. They exist in every folder.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Prefix of paths that Windows takes literally, even with parts that end in a dot or are device names.
const VERBATIM: &str = r"\\?\";

/// The same prefix for network shares.
const VERBATIM_SHARE: &str = r"\\?\UNC\";

/// Returns whether Windows interprets a file name as a device. Case, extension and trailing spaces are ignored:
/// `aux.obj` is the device `AUX`.
///
/// ```
/// use polyhaul_bytes::place::is_device_name;
///
/// assert!(is_device_name("NUL") && is_device_name("aux.obj") && !is_device_name("auxiliary.obj"));
/// ```
pub fn is_device_name(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end_matches(' ');
    let is_port = |prefix: &str| {
        let number = stem.get(..3).filter(|start| start.eq_ignore_ascii_case(prefix)).and_then(|_| stem.get(3..));
        number.is_some_and(|number| {
            matches!(number, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
        })
    };
    DEVICES.iter().any(|device| device.eq_ignore_ascii_case(stem)) || is_port("COM") || is_port("LPT")
}

/// Returns whether the last part of a path is a device name.
pub(super) fn leads_to_device(path: &str) -> bool {
    !path.starts_with(VERBATIM) && is_device_name(path.rsplit(['/', '\\', ':']).next().unwrap_or_default())
}

/// Returns a path in its usual form: `C:\a` for `\\?\C:\a`, `\\server\share\a` for `\\?\UNC\server\share\a`. Returns
/// `None` if it has neither prefix, or would be a different path without the prefix.
pub(super) fn plain(path: &str) -> Option<String> {
    let share = path.strip_prefix(VERBATIM_SHARE);
    let rest = match share {
        Some(rest) => rest,
        None => path.strip_prefix(VERBATIM).filter(|rest| has_drive(rest))?,
    };
    let is_changed = |part: &str| part.ends_with(['.', ' ']) || part.contains('/') || is_device_name(part);
    if rest.split('\\').any(is_changed) {
        return None;
    }
    Some(if share.is_some() { format!(r"\\{rest}") } else { rest.to_owned() })
}

/// Returns whether a path starts with a drive letter: `C:`, also before a relative path.
pub fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_their_names() {
        let devices =
            ["CON", "nul", "Aux.obj", "prn.tar.gz", "COM1", "lpt9.png", "COM¹", "nul ", "NUL .x", "conout$", "nul:"];
        let files = ["", "CONS", "xnul", "COM", "COM0", "COM10", "LPTx", "a.nul", ".nul", "é", "COMé", "com"];
        assert_eq!(devices.map(is_device_name), [true; 11]);
        assert_eq!(files.map(is_device_name), [false; 12]);
        let paths = [r"a\b/NUL", r"C:\a\aux.obj", "C:con", r"\\?\C:\nul", r"nul\a"];
        assert_eq!(paths.map(leads_to_device), [true, true, true, false, false]);
    }

    #[test]
    fn paths_are_plain_where_that_changes_nothing() {
        for (path, expected) in [
            (r"\\?\C:\a b\c.obj", Some(r"C:\a b\c.obj")),
            (r"\\?\UNC\server\share\a", Some(r"\\server\share\a")),
            (r"\\?\C:\", Some(r"C:\")),
            (r"\\?\C:\a.\b", None),
            (r"\\?\C:\a \b", None),
            (r"\\?\C:\aux.obj", None),
            (r"\\?\C:\a/b", None),
            (r"\\?\Volume{1}\a", None),
            (r"\\.\C:\a", None),
            (r"C:\a", None),
            ("/a", None),
        ] {
            assert_eq!(plain(path).as_deref(), expected, "{path}");
        }
    }
}
