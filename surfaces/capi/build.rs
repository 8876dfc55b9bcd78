//! Sets the soname of the shared library (on macOS, its install name), under which programs look for it.

#![allow(clippy::print_stdout, reason = "that is how cargo is told")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    // Increase the number if programs linked with the previous library do not run with the new one.
    match system.as_str() {
        "linux" | "freebsd" | "netbsd" | "openbsd" | "android" => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpolyhaul.so.0");
        }
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libpolyhaul.0.dylib"),
        _ => {}
    }
}
