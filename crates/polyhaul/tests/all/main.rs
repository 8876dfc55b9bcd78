//! Everything that needs no allocator of its own and no quiet machine: a folder or file for each part.

mod compressed;
mod convert;
mod damaged;
mod dialect;
mod evaluated;
mod hostile;
mod huge;
mod images;
mod losses;
mod off;
mod ops;
mod pbrt;
mod pbrt_write;
mod perfetto;
mod pieces;
mod ply;
mod ply_write;
mod pool;
mod preview;
mod references;
mod registry;
mod repack;
mod stl;
mod table;
mod textures;
mod write;
