//! Full disks, file size limits, devices and pipes.

use super::{BIG, COMMAND, assert_no_panic, blender, shell, skip, stderr};
use crate::common::{Folder, command};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a shell script on a small disk that only the child can see, so it must also be inspected by the script; `None`
/// if no disk can be mounted.
pub(super) fn on_small_disk(size: &str, script: &str, args: &[&str]) -> Option<Output> {
    let folder = Folder::new(&format!("disk-{size}"));
    // Always exit with 0 after the mount, so that a failure means that nothing was mounted.
    let script = format!("mount -t tmpfs -o size={size} none \"$1\" && cd \"$1\" || exit 9; {script}; exit 0");
    let mut unshare = Command::new("unshare");
    unshare.args(["-rm", "bash", "-c", &script, COMMAND, folder.path("").trim_end_matches('/')]).args(args);
    let output = unshare.env("LC_ALL", "C").output().ok().filter(|output| output.status.success());
    if output.is_none() {
        skip("no small disk can be mounted here");
    }
    output
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let small = blender("opt_default");
    let scene = blender(BIG);
    let script = "\"$0\" convert -q \"$2\" a.obj; cp a.obj before; \"$0\" convert -q $4 \"$3\" a.obj; echo \"exit code $?\"; ls -A; cmp a.obj before";
    for (size, flags) in [("2m", "-j1"), ("2m", "-j2"), ("2m", "--durable"), ("5m", "--digits=12"), ("100k", "-j7")] {
        let Some(output) = on_small_disk(size, script, &[&small, &scene, flags]) else { return };
        let listing = stdout(&output);
        let said = stderr(&output);
        assert_no_panic(&said);
        if size == "5m" {
            // The new file may just fit on this disk.
            assert!(!listing.contains(".tmp"), "{listing} {said}");
            continue;
        }
        assert_eq!(listing, "exit code 1\na.obj\nbefore\nopt_default.mtl\n", "{size} {flags}: {said}");
        assert!(said.contains("No space left") && said.contains("a.obj"), "{said}");
    }
}

/// If the disk of the temporary files is full, the error names their folder.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_for_temporary_files_is_no_lack_of_memory() {
    let folder = Folder::new("disk-spill");
    let points: String = (0..300_000).map(|number| format!("v {number} 0.5 {number}\n")).collect();
    let scene = folder.file("in.obj", &format!("{points}f 1 2 3\n"));
    let target = folder.file("out.stl", "old");
    let script = "mkdir spill; \"$0\" convert -q -j2 \"$2\" \"$3\" --memory-limit 4MB --spill-folder spill; \
                  echo \"exit code $?\"; ls -A spill";
    let Some(output) = on_small_disk("2m", script, &[&scene, &target]) else { return };
    assert_eq!(stdout(&output), "exit code 1\n", "{}", stderr(&output));
    for part in ["no space is left in spill (on the disk at ", "--spill-folder", "--memory-limit"] {
        assert!(stderr(&output).contains(part), "{part}: {}", stderr(&output));
    }
    assert!(!stderr(&output).contains("error: out of memory"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "old");
}

/// The scene fits on the disk, but the material library does not.
#[test]
fn a_disk_that_is_full_for_the_library_leaves_the_old_files() {
    // The scene takes 12 KB. tmpfs rounds each file up to a memory page, so nothing else fits.
    let script = "printf old > a.obj; \"$0\" convert -q \"$2\" a.obj; echo \"exit code $?\"; ls -A; cat a.obj";
    let Some(output) = on_small_disk("16k", script, &[&blender("opt_default")]) else { return };
    assert_eq!(stdout(&output), "exit code 1\na.obj\nold", "{}", stderr(&output));
    assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));
}

#[test]
fn a_file_size_limit_leaves_the_old_file() {
    for threads in ["-j1", "-j7"] {
        let folder = Folder::new(&format!("disk-limit{threads}"));
        let target = folder.file("a.obj", "old");
        // The unit is 1024 or 512 bytes, depending on the shell.
        let output =
            shell("ulimit -f 1000; exec \"$0\" convert -q $1 \"$2\" \"$3\"", &[threads, &blender(BIG), &target]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(stderr(&output).contains("a.obj") && stderr(&output).contains("too large"), "{}", stderr(&output));
        assert_eq!(
            (std::fs::read_to_string(&target).unwrap().as_str(), folder.names()),
            ("old", vec!["a.obj".to_owned()])
        );
    }
}

/// Material libraries are written only next to files, and devices are not files. Links to devices are in the test's
/// folder. The names of standard output must have no library anywhere, so a unique material name identifies ours.
#[test]
#[cfg(target_os = "linux")]
fn devices_get_no_library() {
    let folder = Folder::new("disk-devices");
    let material = format!("material-of-process-{}", std::process::id());
    folder.file("a.mtl", &format!("newmtl {material}\n"));
    let scene = format!("mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl {material}\nf 1 2 3\n");
    let input = folder.file("a.obj", &scene);
    let links = ["null", "full"].map(|device| {
        let link = folder.path(device);
        std::os::unix::fs::symlink(Path::new("/dev").join(device), &link).unwrap();
        link
    });
    let names = folder.names();
    let targets = [(&*links[0], 0), (&*links[1], 1), ("/dev/null", 0), ("/dev/full", 1)];
    let outputs = [("/dev/stdout", 0), ("/dev/fd/1", 0), ("/proc/self/fd/1", 0)];
    let mut wrong = Vec::new();
    for (target, code) in targets.into_iter().chain(outputs) {
        let output = command().args(["convert", "-q", "--to", "obj", &input, target]).output().unwrap();
        assert_no_panic(&stderr(&output));
        if output.status.code() != Some(code) {
            wrong.push(format!("{target}: {:?} {}", output.status.code(), stderr(&output)));
        }
        for device in ["a", "null", "full", "stdout"] {
            let library = format!("/dev/{device}.mtl");
            if std::fs::read_to_string(&library).is_ok_and(|text| text.contains(&material)) {
                std::fs::remove_file(&library).unwrap();
                wrong.push(format!("{target}: {library} was written"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(folder.names(), names);
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_with_a_name_gets_everything() {
    let output = shell("\"$0\" convert -q \"$1\" >(cat >&2) --to obj; echo $?", &[&blender("opt_default")]);
    let text = stderr(&output);
    assert!(text.contains("\nusemtl "), "{text}");
    assert_eq!((stdout(&output).as_str(), text.contains("error:")), ("0\n", false), "{text}");
}

/// Runs the command with a reader that stops early.
fn read_some(args: &[&str], bytes: usize) -> (Option<i32>, String) {
    let mut child = command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut read_bytes = vec![0; bytes];
    out.read_exact(&mut read_bytes).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    (output.status.code(), stderr(&output))
}

#[test]
fn a_reader_that_stops_early_ends_it_quietly() {
    for threads in ["-j1", "-j2", "-j7"] {
        for bytes in [1, 100, 300_000] {
            let (code, said) = read_some(&["convert", "-q", threads, &blender(BIG), "-"], bytes);
            assert_no_panic(&said);
            assert_eq!((code, said.as_str()), (Some(0), ""));
        }
    }
}

#[test]
fn pipes_of_a_shell_end_quietly() {
    let name = blender(BIG);
    let scripts = [
        "\"$0\" convert -q \"$1\" - | head -c 100 > /dev/null; echo ${PIPESTATUS[0]}",
        "\"$0\" convert \"$1\" - | true; echo ${PIPESTATUS[0]}",
        "\"$0\" convert --json \"$1\" - | true; echo ${PIPESTATUS[0]}",
    ];
    for script in scripts {
        let output = shell(script, &[&name]);
        assert_no_panic(&stderr(&output));
        assert_eq!(stdout(&output), "0\n", "{script}: {}", stderr(&output));
    }
    for script in ["\"$0\" info \"$1\" | true", "\"$0\" info --json \"$1\" | true", "\"$0\" validate \"$1\" | true"] {
        // The system decides whether the pipe is closed in time.
        let output = shell(&format!("{script}; exit ${{PIPESTATUS[0]}}"), &[&name]);
        assert_no_panic(&stderr(&output));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    }
}

#[test]
fn closed_streams_are_not_mistaken_for_files() {
    let folder = Folder::new("disk-closed");
    let name = blender("opt_default");
    let target = folder.path("a.obj");
    for script in ["exec \"$0\" convert -q \"$1\" - >&-", "exec \"$0\" info - <&-", "exec \"$0\" info none 2>&-"] {
        let output = shell(script, &[&name]);
        assert_no_panic(&stderr(&output));
        assert!(output.status.code().is_some(), "{output:?}");
    }
    // The first descriptors opened must not be mistaken for standard streams.
    let output = shell("exec \"$0\" convert \"$1\" \"$2\" <&- >&- 2>&-", &[&name, &target]);
    assert_eq!(output.status.code(), Some(0));
    let content = std::fs::read_to_string(&target).unwrap();
    assert!(content.starts_with("# polyhaul") && content.lines().count() > 300 && !content.contains("->"), "{content}");
}
