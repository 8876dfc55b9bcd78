//! Options of jobs. Options in the library's table of options are set by name; callbacks and throttles have their own
//! functions.

use crate::callbacks;
use crate::error::{free, guard, ph_status};
use crate::raw::{self, Out, handle, handle_mut};
use crate::source::ph_input;
use polyhaul::error::Diagnostic;
use polyhaul::options::{Cancel, OptionGroup, OptionRow, Progress, SetError, Throttle};
use polyhaul::{Error, ErrorKind, ReadOptions, Result, WriteOptions};
use std::ffi::{CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::time::Duration;

/// Called every few megabytes with the number of bytes done and the total (PH_UNKNOWN if unknown), from the job's
/// threads, one call at a time. `done` never decreases. A short job may not call it at all. In a conversion, the bytes
/// read are counted.
///
/// Returns 0 to continue; any other value cancels the job.
pub type ph_progress_fn = Option<unsafe extern "C" fn(user: *mut c_void, done: u64, total: u64) -> i32>;

/// Provides the files that a scene refers to, such as material libraries, included files and meshes. Called for each of
/// them before the file system is searched, from any of the job's threads.
///
/// `name` is the name exactly as it appears in the scene, possibly malicious; it is valid until the callback returns.
/// `answer` is zeroed except for `struct_size`, which is set.
///
/// Returns 0 after filling in `answer`; a positive number to decline, so that the file is looked up relative to the
/// scene if the scene is a file; or a negative number to fail with PH_ERROR_HOST.
pub type ph_resolve_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, answer: *mut ph_input) -> i32>;

/// A task of a thread pool. It does not throw.
pub type ph_task_fn = Option<unsafe extern "C" fn(context: *mut c_void, index: usize)>;

/// Runs `task(context, index)` on the caller's threads for every index below `count`, in any order, in parallel or
/// sequentially, and returns when all calls have returned. It must be reentrant: a task may call it again.
///
/// If it skips tasks, the calling thread runs them. Calling `task` after it has returned has no effect on the result.
/// Results do not depend on the number of threads.
pub type ph_pool_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, count: usize, task: ph_task_fn, context: *mut c_void)>;

/// Options for reading and writing. The end of this header lists their names, values and defaults.
///
/// Functions that take `const ph_options *` accept null for the defaults. A handle can be used for any number of jobs,
/// even concurrently; each job uses the options that apply to it. Do not change or free it during a job.
pub struct ph_options {
    read: ReadOptions,
    write: WriteOptions,
    cancel: Option<Cancel>,
    progress: ph_progress_fn,
    progress_user: *mut c_void,
    read_rate: DeviceRate,
    write_rate: DeviceRate,
    /// The value last returned by [`ph_options_get`].
    value: CString,
}

/// Creates options with their default values. Free them with ph_options_free.
///
///     ph_options *options;
///     ph_options_new(&options);
///     ph_options_set(options, "threads", "4");
///     ph_options_set(options, "obj.smoothing", "groups");
#[unsafe(no_mangle)]
pub extern "C" fn ph_options_new(options: Option<&mut MaybeUninit<*mut ph_options>>) -> ph_status {
    guard(|| {
        Out::new(options)?.give(ph_options::default());
        Ok(())
    })
}

/// Frees options. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn ph_options_free(options: Option<Box<ph_options>>) {
    free(options);
}

/// Sets an option. `name` is the full name (`obj.smoothing`), the part after the dot (`smoothing`; not for `limits.`),
/// or the alias. If an option for reading and an option for writing have the same name, both are set.
///
/// Returns PH_ERROR_USAGE, and changes nothing, if the option does not exist or does not accept the value. The message
/// contains the name, and the accepted values or the closest name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_options_set(
    options: Option<&mut ph_options>,
    name: *const c_char,
    value: *const c_char,
) -> ph_status {
    guard(|| {
        let options = handle_mut(options, "the options")?;
        // SAFETY: `name` is null or zero-terminated by the header's rules, and is not used after this call.
        let name = unsafe { raw::need_text(name, "the name of the option") }?;
        // SAFETY: as for `name`.
        let value = unsafe { raw::need_text(value, "the value of the option") }?;
        options.set(name, value)
    })
}

/// Returns the value of an option, in the form that ph_options_set accepts. For `format`, returns the format for
/// reading, even if the format for writing differs.
///
/// The string is valid until the next call of this function with the same handle, or until the handle is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_options_get(
    options: Option<&mut ph_options>,
    name: *const c_char,
    value: Option<&mut MaybeUninit<*const c_char>>,
) -> ph_status {
    guard(|| {
        let value = value.ok_or_else(|| raw::null("the pointer to the value"))?;
        value.write(std::ptr::null());
        let options = handle_mut(options, "the options")?;
        // SAFETY: `name` is null or zero-terminated by the header's rules, and is not used after this call.
        let name = unsafe { raw::need_text(name, "the name of the option") }?;
        let text = options.get(name)?;
        options.value =
            CString::new(text).map_err(|_| raw::usage(format!("the value of {name} contains a NUL byte")))?;
        value.write(options.value.as_ptr());
        Ok(())
    })
}

/// Sets the flag that cancels jobs with these options; null removes it. The flag may be freed at any time, even while a
/// job runs.
#[unsafe(no_mangle)]
pub extern "C" fn ph_options_set_cancel(options: Option<&mut ph_options>, cancel: Option<&ph_cancel>) -> ph_status {
    guard(|| {
        handle_mut(options, "the options")?.cancel = cancel.map(|ph_cancel(flag)| flag.clone());
        Ok(())
    })
}

/// Sets the progress callback; null removes it. `user` is passed to the callback, and must stay valid while a job runs.
#[unsafe(no_mangle)]
pub extern "C" fn ph_options_set_progress(
    options: Option<&mut ph_options>,
    progress: ph_progress_fn,
    user: *mut c_void,
) -> ph_status {
    guard(|| {
        let options = handle_mut(options, "the options")?;
        options.progress = progress;
        options.progress_user = user;
        Ok(())
    })
}

/// Sets the thread pool that runs jobs. With null, each job starts its own threads and stops them when it is done. The
/// option `threads` is the number of tasks passed to the pool. `user` is passed to the pool, and must stay valid while
/// a job runs.
#[unsafe(no_mangle)]
pub extern "C" fn ph_options_set_pool(
    options: Option<&mut ph_options>,
    pool: ph_pool_fn,
    user: *mut c_void,
) -> ph_status {
    guard(|| {
        let options = handle_mut(options, "the options")?;
        options.read.run.pool = callbacks::pool(pool, user);
        options.write.run.pool = options.read.run.pool.clone();
        Ok(())
    })
}

/// Sets the callback that provides the files a scene refers to; null removes it. `user` is passed to the callback, and
/// must stay valid while a job runs.
#[unsafe(no_mangle)]
pub extern "C" fn ph_options_set_resolver(
    options: Option<&mut ph_options>,
    resolve: ph_resolve_fn,
    user: *mut c_void,
) -> ph_status {
    guard(|| {
        handle_mut(options, "the options")?.read.resolver = callbacks::resolver(resolve, user);
        Ok(())
    })
}

/// Simulates a slower device for reading. All files of a job share `bytes_per_second`, which counts compressed bytes; 0
/// means unlimited. `latency_ns` is added to each read call; calls from several threads wait in parallel.
#[unsafe(no_mangle)]
pub extern "C" fn ph_options_set_read_throttle(
    options: Option<&mut ph_options>,
    bytes_per_second: u64,
    latency_ns: u64,
) -> ph_status {
    guard(|| {
        handle_mut(options, "the options")?.read_rate = DeviceRate { bytes_per_second, latency_ns };
        Ok(())
    })
}

/// Simulates a slower device for writing; see ph_options_set_read_throttle.
#[unsafe(no_mangle)]
pub extern "C" fn ph_options_set_write_throttle(
    options: Option<&mut ph_options>,
    bytes_per_second: u64,
    latency_ns: u64,
) -> ph_status {
    guard(|| {
        handle_mut(options, "the options")?.write_rate = DeviceRate { bytes_per_second, latency_ns };
        Ok(())
    })
}

/// A flag that cancels jobs. It can be used for any number of jobs. Once set, it stays set.
pub struct ph_cancel(Cancel);

/// Creates a flag. Free it with ph_cancel_free.
#[unsafe(no_mangle)]
pub extern "C" fn ph_cancel_new(cancel: Option<&mut MaybeUninit<*mut ph_cancel>>) -> ph_status {
    guard(|| {
        Out::new(cancel)?.give(ph_cancel(Cancel::default()));
        Ok(())
    })
}

/// Sets a flag: all jobs that use it soon return PH_ERROR_CANCELLED, and leave their output files unchanged. May be
/// called from any thread, and from a signal handler.
#[unsafe(no_mangle)]
pub extern "C" fn ph_cancel_request(cancel: Option<&ph_cancel>) -> ph_status {
    match cancel {
        Some(ph_cancel(flag)) => {
            flag.cancel();
            crate::error::PH_OK
        }
        None => guard(|| handle(cancel, "the flag").map(drop)),
    }
}

/// Frees a flag. Null is ignored. Running jobs continue.
#[unsafe(no_mangle)]
pub extern "C" fn ph_cancel_free(cancel: Option<Box<ph_cancel>>) {
    free(cancel);
}

impl Default for ph_options {
    fn default() -> Self {
        ph_options {
            read: ReadOptions::default(),
            write: WriteOptions::default(),
            cancel: None,
            progress: None,
            progress_user: std::ptr::null_mut(),
            read_rate: DeviceRate::default(),
            write_rate: DeviceRate::default(),
            value: CString::default(),
        }
    }
}

impl ph_options {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let rows = NamedRows::find(name)?;
        let failed = |error: SetError| value_error(name, value, error.reason);
        // An option in both tables accepts the same values in both, so the second call cannot fail after the first.
        if let Some(row) = rows.read {
            self.read.set(&row.full_name(), value).map_err(failed)?;
        }
        if let Some(row) = rows.write {
            self.write.set(&row.full_name(), value).map_err(failed)?;
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Result<String> {
        let rows = NamedRows::find(name)?;
        let read = rows.read.and_then(|row| self.read.get(&row.full_name()));
        let value = read.or_else(|| rows.write.and_then(|row| self.write.get(&row.full_name())));
        value.ok_or_else(|| unknown(name))
    }

    /// Returns the cancel flag of a job: the caller's, or else a new flag, because the progress callback may set it.
    fn cancel(&self) -> Cancel {
        self.cancel.clone().unwrap_or_default()
    }

    fn progress(&self, cancel: &Cancel) -> Option<Progress> {
        callbacks::progress(self.progress, self.progress_user, cancel)
    }

    fn read_options(&self, cancel: &Cancel) -> ReadOptions {
        let mut options = self.read.clone();
        options.run.cancel = cancel.clone();
        options.run.progress = self.progress(cancel);
        options.run.read_throttle = self.read_rate.throttle();
        options
    }

    fn write_options(&self, cancel: &Cancel) -> WriteOptions {
        let mut options = self.write.clone();
        options.run.cancel = cancel.clone();
        options.run.write_throttle = self.write_rate.throttle();
        options
    }
}

/// Returns the options of a job that reads, or the defaults for null.
pub(crate) fn for_reading(options: Option<&ph_options>) -> ReadOptions {
    options.map_or_else(ReadOptions::default, |options| options.read_options(&options.cancel()))
}

/// Fails if the caller cancelled too late for the job to notice: the caller no longer wants the result.
pub(crate) fn unless_cancelled(options: &ReadOptions) -> Result<()> {
    options.run.cancel.check()
}

/// Returns the options of a job that writes, or the defaults for null.
pub(crate) fn for_writing(options: Option<&ph_options>) -> WriteOptions {
    let Some(options) = options else { return WriteOptions::default() };
    let cancel = options.cancel();
    let mut write = options.write_options(&cancel);
    write.run.progress = options.progress(&cancel);
    write
}

/// Returns the options of a conversion, or the defaults for null. Only reading reports progress, so that the count
/// never decreases.
pub(crate) fn for_converting(options: Option<&ph_options>) -> (ReadOptions, WriteOptions) {
    let Some(options) = options else { return Default::default() };
    let cancel = options.cancel();
    (options.read_options(&cancel), options.write_options(&cancel))
}

/// The rows of an option in the tables for reading and for writing; at least one is present.
struct NamedRows {
    read: Option<OptionRow>,
    write: Option<OptionRow>,
}

impl NamedRows {
    /// Finds the rows by name. Aliases count only if no option has the name, so that an alias cannot hide an option.
    fn find(name: &str) -> Result<NamedRows> {
        let is_alias = |row: &OptionRow| row.is_named(name);
        let is_exact = |row: &OptionRow| row.is_named(name) && row.alias != name;
        let exact = NamedRows::matching(is_exact);
        let rows = if exact.is_empty() { NamedRows::matching(is_alias) } else { exact };
        if rows.is_empty() { Err(unknown(name)) } else { Ok(rows) }
    }

    fn matching(matches: impl Fn(&OptionRow) -> bool) -> NamedRows {
        NamedRows {
            read: ReadOptions::rows().into_iter().find(|row| matches(row)),
            write: WriteOptions::rows().into_iter().find(|row| matches(row)),
        }
    }

    fn is_empty(&self) -> bool {
        self.read.is_none() && self.write.is_none()
    }
}

/// Returns the error for a value that an option does not accept.
fn value_error(name: &str, value: &str, reason: Option<String>) -> Error {
    // Quoted and escaped: the caller's text may be empty or contain line breaks.
    let mut diagnostic = Diagnostic::new(format!("{name} is {value:?}"));
    match reason.as_deref().map(|reason| reason.strip_prefix("expected ").ok_or(reason)) {
        Some(Ok(expected)) => diagnostic.expected = Some(expected.into()),
        Some(Err(reason)) => diagnostic.message += &format!("; {reason}"),
        None => {}
    }
    diagnostic.into_error(ErrorKind::Usage)
}

/// Returns the error for an unknown option.
fn unknown(name: &str) -> Error {
    let error = raw::usage(format!("unknown option {name:?}"));
    match closest(name) {
        Some(closest) => error.with_hint(format!("did you mean \"{closest}\"?")),
        None => error.with_hint("the options are listed at the end of polyhaul.h"),
    }
}

/// Returns the full name of the option with the most similar spelling, or `None` if none is similar.
fn closest(name: &str) -> Option<String> {
    // Bounds the time for hostile names.
    const MAX_BYTES: usize = 64;
    if name.len() > MAX_BYTES {
        return None;
    }
    let distance = |row: &OptionRow| {
        let full_name = row.full_name();
        let spellings = [&full_name, row.name, row.alias].into_iter().filter(|spelling| !spelling.is_empty());
        spellings.map(|spelling| edit_distance(name, spelling)).min()
    };
    let rows = ReadOptions::rows().into_iter().chain(WriteOptions::rows());
    let (distance, row) = rows.filter_map(|row| Some((distance(&row)?, row))).min_by_key(|(distance, _)| *distance)?;
    (distance <= name.len() / 3).then(|| row.full_name())
}

/// Returns the Levenshtein distance between the bytes of two names.
fn edit_distance(from: &str, to: &str) -> usize {
    let mut distances: Vec<usize> = (0..=to.len()).collect();
    for (row, from_byte) in from.bytes().enumerate() {
        let mut diagonal = row;
        distances[0] = row + 1;
        for (column, to_byte) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(from_byte != to_byte);
            diagonal = distances[column + 1];
            distances[column + 1] = replaced.min(diagonal + 1).min(distances[column] + 1);
        }
    }
    distances[to.len()]
}

/// The speed of a simulated device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DeviceRate {
    bytes_per_second: u64,
    latency_ns: u64,
}

impl DeviceRate {
    /// Returns a new throttle, which the files of one job share, or `None` if nothing is limited.
    fn throttle(self) -> Option<Throttle> {
        let latency = Duration::from_nanos(self.latency_ns);
        (self != DeviceRate::default()).then(|| Throttle::new(Some(self.bytes_per_second), latency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul::Format;
    use polyhaul::options::{Digits, OnError, Smoothing, Strict};

    fn options(values: &[(&str, &str)]) -> ph_options {
        let mut options = ph_options::default();
        for (name, value) in values {
            options.set(name, value).unwrap();
        }
        options
    }

    #[test]
    fn null_and_new_options_are_the_defaults() {
        let new = ph_options::default();
        for given in [None, Some(&new)] {
            assert_eq!(format!("{:?}", for_reading(given)), format!("{:?}", ReadOptions::default()));
            assert_eq!(format!("{:?}", for_writing(given)), format!("{:?}", WriteOptions::default()));
            let defaults = (ReadOptions::default(), WriteOptions::default());
            assert_eq!(format!("{:?}", for_converting(given)), format!("{defaults:?}"));
        }
    }

    #[test]
    fn every_option_is_set_and_returned_by_its_full_name() {
        for row in ReadOptions::rows().into_iter().chain(WriteOptions::rows()) {
            let name = row.full_name();
            let mut options = ph_options::default();
            assert_eq!(options.get(&name).unwrap(), row.default, "{name}");
            options.set(&name, &row.default).unwrap();
            assert_eq!(options.get(&name).unwrap(), row.default, "{name}");
        }
    }

    #[test]
    fn options_of_both_sides_have_the_same_values() {
        for read in ReadOptions::rows() {
            for write in WriteOptions::rows().into_iter().filter(|write| write.full_name() == read.full_name()) {
                assert_eq!(read.kind, write.kind, "{}", read.name);
                assert_eq!(read.default, write.default, "{}", read.name);
            }
        }
    }

    #[test]
    fn names_set_what_they_apply_to() {
        let given = options(&[
            ("threads", "3"),
            ("strict", "true"),
            ("on_error", "warn"),
            ("from", "ply"),
            ("obj.smoothing", "groups"),
            ("digits", "shortest"),
            ("scale", "2.5"),
            ("limits.elements", "7"),
        ]);
        let (read, write) = for_converting(Some(&given));
        assert_eq!(read.run.threads, Some(3));
        assert_eq!(write.run.threads, Some(3));
        assert_eq!([read.strict, write.strict], [Strict::Losses; 2]);
        assert_eq!(read.on_error, OnError::Warn);
        assert_eq!(read.format, Some(Format::Ply));
        assert_eq!(write.format, None);
        assert_eq!(write.obj.smoothing, Smoothing::Groups);
        assert_eq!(write.scene.digits, Some(Digits::Shortest));
        assert_eq!(write.scene.global_scale, 2.5);
        assert_eq!(read.limits.elements, 7);
        let both = for_converting(Some(&options(&[("format", "stl")])));
        assert_eq!((both.0.format, both.1.format), (Some(Format::Stl), Some(Format::Stl)));
    }

    #[test]
    fn errors_name_the_option_the_value_and_what_was_expected() {
        let message = |name, value| ph_options::default().set(name, value).unwrap_err().to_string();
        assert_eq!(
            message("obj.smoothing", "side\nways"),
            "obj.smoothing is \"side\\nways\"; expected none, flags, groups or bitflags"
        );
        assert!(message("threads", "0").starts_with("threads is \"0\"; expected 1 to 1024"));
        assert!(message("threads", "").starts_with("threads is \"\"; expected "));
        assert_eq!(message("elements", "1"), "unknown option \"elements\"");
    }

    #[test]
    fn unknown_names_get_the_closest_one() {
        for (name, expected) in [
            ("obj.smoothin", Some("obj.smoothing")),
            ("thread", Some("threads")),
            ("elements", Some("limits.elements")),
            ("scal", Some("global_scale")),
            ("nonsense", None),
            ("", None),
            (&"threads".repeat(1000), None),
        ] {
            assert_eq!(closest(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn progress_that_cancels_one_job_does_not_cancel_the_next() {
        unsafe extern "C" fn refuse(_: *mut c_void, _: u64, _: u64) -> i32 {
            1
        }
        let options = ph_options { progress: Some(refuse), ..ph_options::default() };
        let first = for_reading(Some(&options));
        (first.run.progress.as_ref().unwrap().0)(1, None);
        assert!(first.run.cancel.is_cancelled());
        assert!(!for_reading(Some(&options)).run.cancel.is_cancelled());
        let (read, write) = for_converting(Some(&options));
        (read.run.progress.as_ref().unwrap().0)(1, None);
        assert!(write.run.cancel.is_cancelled() && write.run.progress.is_none());
    }

    #[test]
    fn throttles_apply_to_their_side() {
        let mut options = ph_options::default();
        options.read_rate.bytes_per_second = 5_000_000;
        options.write_rate.latency_ns = 7_000;
        let (read, write) = for_converting(Some(&options));
        assert!(read.run.write_throttle.is_none() && write.run.read_throttle.is_none());
        let rate = |throttle: Option<Throttle>| {
            throttle.map(|throttle| (throttle.bytes_per_second(), throttle.latency().as_nanos()))
        };
        assert_eq!(rate(read.run.read_throttle), Some((Some(5_000_000), 0)));
        assert_eq!(rate(write.run.write_throttle), Some((None, 7_000)));
    }
}
