//! Lists the objects below a URL, and removes objects.

use crate::StopCheck;
use crate::failure::RequestFailure;
use crate::keys::stored_name;
use crate::object::{Stat, connect};
use crate::store::{ObjectVersion, Store, repeat};
use futures_util::TryStreamExt;
use object_store::ObjectStoreExt;
use std::io;

/// An object below a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedEntry {
    /// Name relative to the URL; may contain marks (see [`stored_name`]).
    pub name: String,
    /// Size and version.
    pub stat: Stat,
}

/// Lists the objects below a URL, as if it were a folder, sorted by name. Includes objects in subfolders if
/// `is_recursive` is set.
///
/// # Errors
/// `Unsupported` for web servers; otherwise as for [`open`](crate::open).
pub fn list(url: &str, is_recursive: bool, check: &StopCheck) -> io::Result<Vec<ListedEntry>> {
    let (engine, store) = connect(url, check)?;
    let Store::Bucket(bucket, prefix) = store else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "cannot list folders on web servers"));
    };
    let listing = engine.run(check, async move {
        let nonempty_prefix = Some(&prefix).filter(|prefix| !prefix.as_ref().is_empty());
        let objects = repeat(|| async {
            let objects = if is_recursive {
                bucket.list(nonempty_prefix).try_collect::<Vec<_>>().await
            } else {
                bucket.list_with_delimiter(nonempty_prefix).await.map(|listing| listing.objects)
            };
            objects.map_err(|error| RequestFailure::of_answer(&error))
        });
        objects.await.map(|objects| (objects, prefix.clone()))
    })?;
    let (objects, prefix) = listing.map_err(|failure| failure.into_io("LIST"))?;
    let name_start = if prefix.as_ref().is_empty() { 0 } else { prefix.as_ref().len() + 1 };
    let mut listed: Vec<ListedEntry> = objects
        .iter()
        .filter_map(|meta| {
            let name = meta.location.as_ref().get(name_start..)?.to_owned();
            // The web consoles of stores create empty objects that represent folders.
            let is_folder = name.is_empty() || stored_name(&name).ends_with('/');
            (!is_folder).then(|| ListedEntry { name, stat: ObjectVersion::from_meta(meta).into() })
        })
        .collect();
    listed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(listed)
}

/// Removes an object.
///
/// # Errors
/// `Unsupported` for web servers; otherwise as for [`open`](crate::open).
pub fn remove(url: &str, check: &StopCheck) -> io::Result<()> {
    let (engine, store) = connect(url, check)?;
    let Store::Bucket(bucket, path) = store else { return Err(io::ErrorKind::Unsupported.into()) };
    let removed = engine.run(check, async move { bucket.delete(&path).await })?;
    removed.map_err(|error| RequestFailure::of_store(&error).into_io("DELETE"))
}
