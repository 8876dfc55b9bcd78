/*
 * polyhaul: moves 3D assets between disk and memory.
 *
 * This header is made from the library's sources and is its manual. A program in five lines:
 *
 *     ph_input input = {.struct_size = sizeof input};
 *     ph_scene *scene;
 *     input.path = "model.obj";
 *     if (ph_scene_read(&input, NULL, &scene, NULL) != PH_OK) return puts(ph_last_error_text());
 *     ph_scene_free(scene);
 *
 * Rules for everything here:
 *
 * - Functions return PH_OK (0) or a positive error number; ph_last_error has the details, per thread. No function ends
 *   the process, prints, or installs a handler. The last error of each thread is the only global state that callers see.
 * - Handles (`ph_scene *`, ...) are returned through an argument and owned by the caller,
 *   who frees each with the matching free function. A null handle is PH_ERROR_USAGE; freeing null does nothing. Where a
 *   function fails, null is put where the handle would go.
 * - Structs begin with `struct_size`: set it to sizeof of the struct, and what is not used to 0. Then a program goes on
 *   to work with later versions of the library, which have structs that are longer. A size that cannot be is
 *   PH_ERROR_USAGE.
 * - Text is UTF-8. `const char *` ends with a zero byte; ph_string has a size.
 * - Any function may be called from any thread, on different handles at once. Of one handle, functions that take it as
 *   const may run at once; others need the handle for themselves.
 * - Callbacks are called from the calling thread or from threads of the job, and may call functions of this header
 *   themselves. They must return: no exception and no longjmp may leave them.
 * - The caller guarantees that a non-null pointer is valid; this cannot be checked.
 */


#ifndef POLYHAUL_H
#define POLYHAUL_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && !defined(POLYHAUL_STATIC)
#define PH_API __declspec(dllimport)
#else
#define PH_API
#endif


/**
 * An unknown number, such as the size of a stream or the position of an error.
 */
#define PH_UNKNOWN UINT64_MAX

/**
 * The index for nothing: a corner without a uv, a face without a material.
 */
#define PH_NONE UINT32_MAX

/**
 * A flag that stops jobs. A flag may be used by any number of them; once set, it stays set.
 */
typedef struct ph_cancel ph_cancel;

/**
 * An image that was read. ph_image_get may be called from many threads at once.
 */
typedef struct ph_image ph_image;

/**
 * The result of a job. Functions that take `ph_report **` set it if the job succeeded, and set it to null if it
 * failed; the argument may be null. Free it with ph_report_free.
 */
typedef struct ph_report ph_report;

/**
 * Meshes, the objects that show them or sections of them, and materials.
 *
 * Functions that take `const ph_scene *` may be called from many threads at once; those that take `ph_scene *` must be
 * the only ones on that scene. The arrays and texts they return live until the scene is changed or freed.
 */
typedef struct ph_scene ph_scene;

/**
 * The tables of a file: the elements of PLY, or the only table of csv, tsv, txt, xyz, pts and npy. All functions
 * except for ph_tables_free may be called from many threads at once.
 */
typedef struct ph_tables ph_tables;

/**
 * How a function ended: 0, or one of the `PH_ERROR_` numbers, which never change.
 */
typedef int32_t ph_status;

/**
 * An error. All texts are UTF-8 with a terminating zero, and never null; a text that does not apply is empty. They are
 * valid until the next function of this header fails on the same thread.
 */
typedef struct ph_error {
    /**
     * `sizeof(ph_error)`.
     */
    size_t struct_size;
    /**
     * The result of the failing function; PH_OK if none has failed on this thread.
     */
    ph_status status;
    /**
     * The return value of the callback that caused the error; otherwise 0.
     */
    int32_t host_code;
    /**
     * The whole error on one line: position, message, expectation, hint.
     */
    const char *text;
    /**
     * What is wrong.
     */
    const char *message;
    /**
     * What was expected there.
     */
    const char *expected;
    /**
     * A hint.
     */
    const char *hint;
    /**
     * The file name, as given.
     */
    const char *file;
    /**
     * The line, from 1, or PH_UNKNOWN.
     */
    uint64_t line;
    /**
     * The column in bytes, from 1, or PH_UNKNOWN.
     */
    uint64_t column;
    /**
     * The offset in bytes, from 0, or PH_UNKNOWN.
     */
    uint64_t offset;
} ph_error;

/**
 * Text: UTF-8 of a size, with no zero byte at the end. Print it with `"%.*s", (int)text.size, text.data`.
 *
 * Text returned by a handle lives until the handle is freed or changed. `data` may be null if `size` is 0.
 */
typedef struct ph_string {
    /**
     * The first byte.
     */
    const char *data;
    /**
     * The number of bytes.
     */
    size_t size;
} ph_string;

/**
 * The numbers of a report.
 */
typedef struct ph_report_info {
    /**
     * `sizeof(ph_report_info)`.
     */
    size_t struct_size;
    /**
     * Bytes read, including referenced files; for compressed files, the compressed bytes.
     */
    uint64_t bytes_in;
    /**
     * The same after decompression.
     */
    uint64_t plain_bytes_in;
    /**
     * Bytes written.
     */
    uint64_t bytes_out;
    /**
     * The duration in seconds.
     */
    double seconds;
    /**
     * Threads that worked on it.
     */
    uint64_t threads;
    /**
     * The number of warnings.
     */
    uint64_t warning_count;
    /**
     * How many of them ph_report_warning returns: the first 1000.
     */
    uint64_t kept_warning_count;
} ph_report_info;

/**
 * Something that was repaired, dropped or is missing, and did not stop the job. The texts live as long as the report.
 */
typedef struct ph_warning {
    /**
     * `sizeof(ph_warning)`.
     */
    size_t struct_size;
    /**
     * The kind, as a stable short name (`missing-material`).
     */
    struct ph_string code;
    /**
     * The message.
     */
    struct ph_string message;
    /**
     * The file name, as given.
     */
    struct ph_string file;
    /**
     * The line, from 1, or PH_UNKNOWN.
     */
    uint64_t line;
    /**
     * The column in bytes, from 1, or PH_UNKNOWN.
     */
    uint64_t column;
    /**
     * The offset in bytes, from 0, or PH_UNKNOWN.
     */
    uint64_t offset;
} ph_warning;

/**
 * Reads up to `size` bytes into `out`. Required in an input of callbacks.
 *
 * Returns how many bytes it read, from 1 to `size`: fewer than asked for are fine. 0 is the end. Below 0 is an error
 * of the host, which ends the job and is `host_code` of ph_error. More than `size` breaks the contract
 * (PH_ERROR_HOST). It is asked for 64 KiB or more at a time, by one thread at a time, though not always by the
 * same one, and never again after it failed.
 */
typedef int64_t (*ph_read_fn)(void *user, void *out, size_t size);

/**
 * Moves to `offset`, in bytes from the beginning, where the next read begins. Optional.
 *
 * Returns 0 on success, a positive number if it cannot seek, a negative number for an error.
 */
typedef int32_t (*ph_seek_fn)(void *user, uint64_t offset);

/**
 * The total number of bytes to read; negative if unknown. Optional. It is called once, before
 * the first read, and must be right.
 */
typedef int64_t (*ph_size_fn)(void *user);

/**
 * polyhaul has no more use for `user`, or for the memory of an input. Optional. It is the last callback, and comes
 * exactly once, whether the job succeeded or not.
 */
typedef void (*ph_release_fn)(void *user);

/**
 * An input: exactly one of `path`, `memory` and `read` is set.
 *
 * It is used for one call and may be a local variable. Its targets must stay valid and unchanged until that call
 * returns, or in an answer of ph_resolve_fn until `release` is called.
 *
 *     ph_input input = {.struct_size = sizeof input};
 *     input.path = "model.obj";
 */
typedef struct ph_input {
    /**
     * `sizeof(ph_input)`.
     */
    size_t struct_size;
    /**
     * A file: UTF-8, or on Unix any bytes, with a zero at the end. Compressed files (gzip, zstd, lz4) are known by
     * their content, here as in every other input.
     */
    const char *path;
    /**
     * Bytes in memory; they are not copied.
     */
    const void *memory;
    /**
     * The number of bytes in `memory`.
     */
    size_t memory_size;
    /**
     * Reads on: see ph_read_fn.
     */
    ph_read_fn read;
    /**
     * Goes to a place: see ph_seek_fn. May be null.
     */
    ph_seek_fn seek;
    /**
     * Tells the size: see ph_size_fn. May be null.
     */
    ph_size_fn size;
    /**
     * Called last: see ph_release_fn. May be null, and may also be set with `path` and `memory`.
     */
    ph_release_fn release;
    /**
     * Passed to the callbacks.
     */
    void *user;
    /**
     * The name of memory and callbacks in messages; its extension (`.tga`) sets the format if the options do not.
     * May be null.
     */
    const char *name;
} ph_input;

/**
 * A file format; 0 infers it from the file name, and when reading also from the content.
 */
typedef uint32_t ph_format;

/**
 * Called every few megabytes with the number of bytes done and the total (PH_UNKNOWN if unknown). It is
 * called from threads of the job, one call at a time, and `done` never goes back. Short jobs may not call it at all.
 *
 * Returns 0 to continue; anything else cancels the job, like ph_cancel_request with the flag of its options.
 */
typedef int32_t (*ph_progress_fn)(void *user, uint64_t done, uint64_t total);

/**
 * A task for a thread pool to run. It does not throw.
 */
typedef void (*ph_task_fn)(void *context, size_t index);

/**
 * The host's own threads: it runs `task(context, index)` for every index below `count`, in any order, in
 * parallel or one after another, and returns when all are done. A task may call the pool again.
 *
 * The result does not depend on how many of them run at once. The calling thread does the tasks that the pool skips; a
 * call of `task` after the pool returned does nothing, or helps with later work.
 */
typedef void (*ph_pool_fn)(void *user, size_t count, ph_task_fn task, void *context);

/**
 * Called with the name of each file that a scene refers to (material libraries, included files, meshes), before the
 * file system is searched. It may be called from any thread of the job.
 *
 * `name` comes from the scene unchanged and may be hostile; it is valid until the call returns. `answer` is zeroed,
 * with its size set.
 *
 * Returns 0 after filling in `answer`; a positive number to decline: then the file is searched next to the scene, if
 * the scene is a file; a negative number for an error (PH_ERROR_HOST).
 */
typedef int32_t (*ph_resolve_fn)(void *user, const char *name, struct ph_input *answer);

/**
 * Limits on what the data may request. 0 is the default; exceeding a limit is PH_ERROR_LIMIT, and the message names
 * it.
 */
typedef struct ph_limits {
    /**
     * The longest line, in bytes (default 256 MiB).
     */
    uint64_t line_bytes;
    /**
     * The longest name of an object, group, material or file, in bytes (default 64 KiB).
     */
    uint64_t name_bytes;
    /**
     * The most elements of each kind (default 2^32 - 2).
     */
    uint64_t elements;
    /**
     * The maximum pixels of an image (default 2^28).
     */
    uint64_t pixels;
    /**
     * The most columns of a table (default 100,000).
     */
    uint64_t columns;
    /**
     * The most elements and properties of a PLY header (default 10,000).
     */
    uint64_t properties;
    /**
     * The longest header of a PLY file, in bytes (default 8 MiB).
     */
    uint64_t header_bytes;
    /**
     * The maximum number of files that one scene may refer to (default 10,000).
     */
    uint64_t files;
    /**
     * The largest file that a scene refers to, in plain bytes (default 64 MiB).
     */
    uint64_t referenced_file_bytes;
    /**
     * The maximum number of plain bytes that a compressed input may expand to (default: no limit).
     */
    uint64_t decompressed_bytes;
    /**
     * The maximum number of plain bytes per compressed byte, checked after 64 MiB of output (default 2000).
     */
    uint64_t decompressed_ratio;
    /**
     * The maximum bytes of pixels per byte of a compressed image file, for images of more than 512 MiB (default 100).
     */
    uint64_t image_ratio;
} ph_limits;

/**
 * How to read. All zeros, except for `struct_size`, are the defaults; so is a null pointer to it.
 *
 *     ph_read_options options = {.struct_size = sizeof options};
 *     options.threads = 4;
 */
typedef struct ph_read_options {
    /**
     * `sizeof(ph_read_options)`.
     */
    size_t struct_size;
    /**
     * The format; PH_FORMAT_AUTO detects it.
     */
    ph_format format;
    /**
     * Threads, up to 1024; 0 for all cores that the process may use. With a pool: how many tasks it receives.
     */
    uint32_t threads;
    /**
     * Memory for work in flight, in bytes (default 64 MiB), in addition to the loaded data.
     */
    uint64_t memory_limit;
    /**
     * Cancels the job from another thread. May be null.
     */
    const struct ph_cancel *cancel;
    /**
     * See ph_progress_fn. May be null.
     */
    ph_progress_fn progress;
    /**
     * Passed to `progress`.
     */
    void *progress_user;
    /**
     * See ph_pool_fn. Null for threads of polyhaul's own, which end with the job.
     */
    ph_pool_fn pool;
    /**
     * Passed to `pool`.
     */
    void *pool_user;
    /**
     * See ph_resolve_fn. May be null.
     */
    ph_resolve_fn resolve;
    /**
     * Passed to `resolve`.
     */
    void *resolve_user;
    /**
     * Skip malformed data, count it as a warning in the report, and continue.
     */
    uint8_t skip_broken;
    /**
     * Make warnings errors.
     */
    uint8_t strict;
    /**
     * Also read referenced files outside the scene's folder.
     */
    uint8_t allow_outside;
    /**
     * Do not read the material libraries that a scene names.
     */
    uint8_t skip_materials;
    /**
     * Make positions of STL with the same coordinates one.
     */
    uint8_t weld;
    /**
     * Zeros.
     */
    uint8_t reserved[3];
    /**
     * Limits on what the data may request.
     */
    struct ph_limits limits;
    /**
     * Read at most this many bytes per second in all files of the job, counting compressed bytes; 0 for no limit.
     */
    uint64_t bytes_per_second;
    /**
     * The minimum latency of each read call in nanoseconds, in addition to the time of its bytes; calls of several
     * threads wait in parallel.
     */
    uint64_t latency_ns;
    /**
     * Like `limits`: the maximum number of objects, and of distinct groups, that an OBJ file declares; 0 for the
     * default (1,000,000).
     */
    uint64_t max_objects;
    /**
     * Like `limits`: the maximum number of materials that an OBJ file uses, or a material library defines; 0 for the
     * default (100,000).
     */
    uint64_t max_materials;
    /**
     * Like `limits`: the maximum bytes of text that a pbrt scene includes repeatedly; 0 for the default (256 MiB).
     */
    uint64_t max_included_bytes;
    /**
     * Like `limits`: the maximum number of vertices, and of faces, that instances expand to in a file; 0 for the
     * default (10^9).
     */
    uint64_t max_instanced_elements;
    /**
     * Like `limits`: the maximum number of objects that instances expand to; 0 for the default (10^7).
     */
    uint64_t max_instanced_objects;
    /**
     * Read only the channels of this layer or view of an EXR file, in UTF-8. May be null.
     */
    const char *layer;
    /**
     * Read this part of an EXR file: its name, number (from 0) or view, in UTF-8. Null for the first one with colors.
     */
    const char *part;
} ph_read_options;

/**
 * Takes up to `size` bytes of `data`. Required in an output of callbacks.
 *
 * Returns how many it took, from 1 to `size`: the rest is passed again. Below 0 is an error, as for ph_read_fn; 0 and
 * more than `size` break the contract (PH_ERROR_HOST).
 */
typedef int64_t (*ph_write_fn)(void *user, const void *data, size_t size);

/**
 * A step at the end of an output. Optional. Returns 0, or below 0 for an error.
 */
typedef int32_t (*ph_finish_fn)(void *user);

/**
 * An output: exactly one of `path` and `write` is set.
 *
 * A file is replaced as a whole, or unchanged if the job fails; the material library of an OBJ file goes next to it.
 */
typedef struct ph_output {
    /**
     * `sizeof(ph_output)`.
     */
    size_t struct_size;
    /**
     * A file, as in ph_input. `.gz`, `.zst` and `.lz4` compress.
     */
    const char *path;
    /**
     * Takes bytes: see ph_write_fn.
     */
    ph_write_fn write;
    /**
     * Called once when all was written. May be null.
     */
    ph_finish_fn flush;
    /**
     * Called once after that: the output is complete. If it is not called, the job failed and the written bytes should
     * be discarded. May be null.
     */
    ph_finish_fn close;
    /**
     * Called at last: see ph_release_fn. May be null.
     */
    ph_release_fn release;
    /**
     * Passed to the callbacks.
     */
    void *user;
    /**
     * The name of the output in messages; its extension sets the format if the options do not. May be null.
     */
    const char *name;
} ph_output;

/**
 * How a file is compressed.
 */
typedef uint32_t ph_compression;

/**
 * How numbers become text: 0 for the format's default, PH_DIGITS_SHORTEST, or PH_DIGITS_FIXED plus 0 to 12.
 */
typedef uint32_t ph_digits;

/**
 * The direction of an axis; 0 means the default.
 */
typedef uint32_t ph_axis;

/**
 * How glTF stores objects that share a mesh.
 */
typedef uint8_t ph_gltf_instances;

/**
 * How to write. All zeros, except for `struct_size`, are the defaults; so is a null pointer to it.
 */
typedef struct ph_write_options {
    /**
     * `sizeof(ph_write_options)`.
     */
    size_t struct_size;
    /**
     * The format; PH_FORMAT_AUTO infers it from the name of the output.
     */
    ph_format format;
    /**
     * As in ph_read_options.
     */
    uint32_t threads;
    /**
     * As in ph_read_options.
     */
    uint64_t memory_limit;
    /**
     * Cancels the job from another thread. May be null.
     */
    const struct ph_cancel *cancel;
    /**
     * See ph_progress_fn. May be null.
     */
    ph_progress_fn progress;
    /**
     * Passed to `progress`.
     */
    void *progress_user;
    /**
     * As in ph_read_options. ph_convert uses that of the options for reading.
     */
    ph_pool_fn pool;
    /**
     * Passed to `pool`.
     */
    void *pool_user;
    /**
     * How the file is compressed.
     */
    ph_compression compression;
    /**
     * The level of the codec; 0 for a fast one.
     */
    int32_t compression_level;
    /**
     * Digits of numbers in text.
     */
    ph_digits digits;
    /**
     * The axis of the file that faces forward (default for OBJ: -z; for others: as in the scene).
     */
    ph_axis forward_axis;
    /**
     * The axis of the file that points up (default for OBJ: y; for others: as in the scene). Both axes are set, or
     * none.
     */
    ph_axis up_axis;
    /**
     * Multiplies positions; 0 means 1.
     */
    float scale;
    /**
     * Write the file and its folder through to the disk before the call returns.
     */
    uint8_t durable;
    /**
     * Cut faces into triangles.
     */
    uint8_t triangulate;
    /**
     * PLY and STL: write text.
     */
    uint8_t ascii;
    /**
     * Leave out normals (OBJ, PLY, OFF).
     */
    uint8_t skip_normals;
    /**
     * Leave out uvs (OBJ, PLY, OFF).
     */
    uint8_t skip_uvs;
    /**
     * Leave out colors of vertices (OBJ, PLY, OFF).
     */
    uint8_t skip_colors;
    /**
     * Leave out materials and the material library (OBJ).
     */
    uint8_t skip_materials;
    /**
     * TGA: runs of equal pixels as packets.
     */
    uint8_t tga_rle;
    /**
     * Write at most this many bytes per second, counting compressed bytes; 0 for no limit.
     */
    uint64_t bytes_per_second;
    /**
     * The minimum latency of each write call in nanoseconds, in addition to the time of its bytes.
     */
    uint64_t latency_ns;
    /**
     * Turn warnings of writing into errors (PH_ERROR_UNSUPPORTED). In ph_convert, `strict` of the options for reading
     * is for warnings of reading.
     */
    uint8_t strict;
    /**
     * Copy the files that the asset refers to (textures, meshes, spectra) into the output's folder, and refer to the
     * copies. No existing file is replaced; files outside the asset's folder are copied only if it was read with
     * `allow_outside`.
     */
    uint8_t copy_assets;
    /**
     * glTF: how objects that share a mesh are stored.
     */
    ph_gltf_instances gltf_instances;
    /**
     * glTF: positions, uvs and colors in 16 bits, normals in 8 bits.
     */
    uint8_t gltf_quantize;
    /**
     * glTF: compress vertices and indices; needs a library that was built with the feature `meshopt`
     * (PH_ERROR_UNSUPPORTED).
     */
    uint8_t gltf_meshopt;
    /**
     * Zeros.
     */
    uint8_t reserved[3];
} ph_write_options;

/**
 * The contents of a scene.
 */
typedef struct ph_scene_info {
    /**
     * `sizeof(ph_scene_info)`.
     */
    size_t struct_size;
    /**
     * The number of meshes.
     */
    size_t mesh_count;
    /**
     * The number of objects. A scene may have only meshes: each then counts as an object.
     */
    size_t object_count;
    /**
     * The number of materials.
     */
    size_t material_count;
    /**
     * The axis that faces forward.
     */
    ph_axis forward_axis;
    /**
     * The axis that points up.
     */
    ph_axis up_axis;
    /**
     * Positions of all meshes.
     */
    uint64_t position_count;
    /**
     * Faces of all meshes.
     */
    uint64_t face_count;
    /**
     * The box around all finite positions; without any, `bounds_min` is greater than `bounds_max`.
     */
    float bounds_min[3];
    /**
     * Its other end.
     */
    float bounds_max[3];
} ph_scene_info;

/**
 * How the uv or normal of a corner is found.
 */
typedef uint32_t ph_domain;

/**
 * Elements of any number of corners each: element `i` has the corners from `offsets[i]` up to `offsets[i + 1]`.
 */
typedef struct ph_elements {
    /**
     * `count + 1` offsets, from 0 to `corner_count`; may be null if `count` is 0.
     */
    const uint32_t *offsets;
    /**
     * The number of elements.
     */
    size_t count;
    /**
     * Per corner the index of its position.
     */
    const uint32_t *corner_positions;
    /**
     * Per corner the index of its uv, or PH_NONE. Null if no corner has one, or they have a domain other than
     * PH_DOMAIN_INDEXED.
     */
    const uint32_t *corner_uvs;
    /**
     * Per corner the index of its normal, or PH_NONE. Null as above.
     */
    const uint32_t *corner_normals;
    /**
     * The number of corners of all elements.
     */
    size_t corner_count;
} ph_elements;

/**
 * From `first_face` on `value` holds, until the next run.
 */
typedef struct ph_run {
    /**
     * The index of a face.
     */
    uint32_t first_face;
    /**
     * The index of a material or a group, or PH_NONE; for smoothing groups their number, 0 for off.
     */
    uint32_t value;
} ph_run;

/**
 * The arrays of a mesh: lent by a scene (ph_scene_mesh), or put into one (ph_scene_add_mesh).
 *
 * Positions, uvs and normals have the order and the count of the source; no vertices are created from corners. Absent
 * arrays are null with a count of 0.
 */
typedef struct ph_mesh {
    /**
     * `sizeof(ph_mesh)`.
     */
    size_t struct_size;
    /**
     * x, y, z of each position.
     */
    const float *positions;
    /**
     * The number of positions.
     */
    size_t position_count;
    /**
     * Red, green, blue, alpha of each position, or null.
     */
    const float *colors;
    /**
     * u, v of each uv.
     */
    const float *uvs;
    /**
     * The number of uvs.
     */
    size_t uv_count;
    /**
     * x, y, z of each normal.
     */
    const float *normals;
    /**
     * The number of normals.
     */
    size_t normal_count;
    /**
     * How the uv of a corner is found.
     */
    ph_domain uv_domain;
    /**
     * How the normal of a corner is found.
     */
    ph_domain normal_domain;
    /**
     * Polygons of three corners or more.
     */
    struct ph_elements faces;
    /**
     * Polylines of two corners or more.
     */
    struct ph_elements lines;
    /**
     * Points: indices of positions.
     */
    const uint32_t *points;
    /**
     * The number of points.
     */
    size_t point_count;
    /**
     * Which material holds from which face on, in the order of the faces.
     */
    const struct ph_run *material_runs;
    /**
     * The number of material runs.
     */
    size_t material_run_count;
    /**
     * Which smoothing group holds from which face on.
     */
    const struct ph_run *smoothing_runs;
    /**
     * The number of smoothing group runs.
     */
    size_t smoothing_run_count;
    /**
     * Which of `groups` holds from which face on.
     */
    const struct ph_run *group_runs;
    /**
     * The number of group runs.
     */
    size_t group_run_count;
    /**
     * The names of groups; an entry may hold several names separated by spaces.
     */
    const struct ph_string *groups;
    /**
     * The number of names.
     */
    size_t group_count;
    /**
     * Per face the material slot of the object, or null.
     */
    const int32_t *face_materials;
    /**
     * Per face 0 for flat, else smooth, or null.
     */
    const uint8_t *face_smooth;
    /**
     * The number of columns available from ph_scene_vertex_column; ignored when a mesh is added to a scene.
     */
    size_t vertex_column_count;
    /**
     * The number of columns available from ph_scene_face_column; also ignored then.
     */
    size_t face_column_count;
} ph_mesh;

/**
 * The type of a number.
 */
typedef uint32_t ph_scalar;

/**
 * A column: a number, or a list of numbers, per row.
 */
typedef struct ph_column {
    /**
     * `sizeof(ph_column)`.
     */
    size_t struct_size;
    /**
     * The name; empty if the file has none.
     */
    struct ph_string name;
    /**
     * The numbers, of type `scalar`.
     */
    const void *values;
    /**
     * The number of values.
     */
    size_t value_count;
    /**
     * For lists: row `i` has the values from `offsets[i]` up to `offsets[i + 1]`; there is one more offset than there
     * are rows. Null for one number per row.
     */
    const uint32_t *offsets;
    /**
     * The number of rows.
     */
    size_t row_count;
    /**
     * The type of the numbers.
     */
    ph_scalar scalar;
} ph_column;

/**
 * The number of elements of each kind: a position in all arrays of a mesh at once.
 */
typedef struct ph_counts {
    /**
     * Positions.
     */
    uint32_t positions;
    /**
     * Uvs.
     */
    uint32_t uvs;
    /**
     * Normals.
     */
    uint32_t normals;
    /**
     * Faces.
     */
    uint32_t faces;
    /**
     * Polylines.
     */
    uint32_t lines;
    /**
     * Points.
     */
    uint32_t points;
    /**
     * Curves.
     */
    uint32_t curves;
} ph_counts;

/**
 * An object: a mesh, or a section of it, with a name.
 */
typedef struct ph_object {
    /**
     * `sizeof(ph_object)`.
     */
    size_t struct_size;
    /**
     * The name; it may be empty.
     */
    struct ph_string name;
    /**
     * The index of its mesh.
     */
    size_t mesh;
    /**
     * The first element of each kind in this object.
     */
    struct ph_counts start;
    /**
     * One past the last of each kind. In ph_scene_add_object all zeros mean the whole mesh.
     */
    struct ph_counts end;
    /**
     * Whether `transform` applies; otherwise the positions are in world space.
     */
    uint32_t has_transform;
    /**
     * A matrix of four rows, one row after the other, that multiplies column vectors from the left.
     */
    float transform[16];
    /**
     * The slots that `face_materials` of the mesh refers to: indices of materials, or PH_NONE. Null if it has none.
     */
    const uint32_t *material_slots;
    /**
     * The number of slots.
     */
    size_t material_slot_count;
} ph_object;

/**
 * What happens to the arrays that are added to a scene.
 */
typedef uint32_t ph_keep;

/**
 * Which fields of a ph_material are set: a sum of `PH_HAS_` numbers.
 */
typedef uint32_t ph_has;

/**
 * A material, as MTL knows it. A field whose `PH_HAS_` number is not in `has` is not set.
 */
typedef struct ph_material {
    /**
     * `sizeof(ph_material)`.
     */
    size_t struct_size;
    /**
     * The name.
     */
    struct ph_string name;
    /**
     * Which of the fields below are set.
     */
    ph_has has;
    /**
     * Whether it is used and no library defines it: it has a name alone.
     */
    uint32_t missing;
    /**
     * Red, green, blue.
     */
    float ambient[3];
    /**
     * Red, green, blue.
     */
    float diffuse[3];
    /**
     * Red, green, blue.
     */
    float specular[3];
    /**
     * Red, green, blue.
     */
    float emission[3];
    /**
     * Red, green, blue of the light that comes through.
     */
    float transmission[3];
    /**
     * The specular exponent, 0 to 1000.
     */
    float shininess;
    /**
     * The index of refraction.
     */
    float refraction_index;
    /**
     * 1 is opaque.
     */
    float opacity;
    /**
     * 0 to 1.
     */
    float roughness;
    /**
     * 0 to 1.
     */
    float metallic;
    /**
     * 0 to 1.
     */
    float sheen;
    /**
     * The thickness of the clearcoat.
     */
    float clearcoat;
    /**
     * The roughness of the clearcoat.
     */
    float clearcoat_roughness;
    /**
     * The number of the illumination model, 0 to 10.
     */
    uint32_t illumination;
    /**
     * The number of texture maps available from ph_scene_texture; ignored when a material is added to a scene.
     */
    size_t texture_count;
} ph_material;

/**
 * The property that a texture map drives.
 */
typedef uint32_t ph_map;

/**
 * A texture map of a material.
 */
typedef struct ph_texture {
    /**
     * `sizeof(ph_texture)`.
     */
    size_t struct_size;
    /**
     * The image file, as named by the material.
     */
    struct ph_string file;
    /**
     * What it drives.
     */
    ph_map map;
    /**
     * Whether `offset` is set.
     */
    uint32_t has_offset;
    /**
     * Whether `scale` is set.
     */
    uint32_t has_scale;
    /**
     * The offset of u, v, w.
     */
    float offset[3];
    /**
     * The scale of u, v, w.
     */
    float scale[3];
} ph_texture;

/**
 * The meaning of color samples; alpha is always linear.
 */
typedef uint32_t ph_color_space;

/**
 * A rectangle of pixels: lent by an image (ph_image_get), or the caller's own (ph_image_write).
 */
typedef struct ph_pixels {
    /**
     * `sizeof(ph_pixels)`.
     */
    size_t struct_size;
    /**
     * Pixels in a row.
     */
    size_t width;
    /**
     * Rows.
     */
    size_t height;
    /**
     * The samples from the top left, with those of a pixel interleaved; aligned for their type.
     */
    const void *samples;
    /**
     * The distance from one row to the next in bytes. Lent pixels have no gaps; in ph_image_write, 0 means no gaps.
     */
    size_t row_bytes;
    /**
     * 1 gray, 2 gray and alpha, 3 red, green and blue, 4 these and alpha.
     */
    uint32_t channels;
    /**
     * PH_SCALAR_U8 (0 to 255), PH_SCALAR_U16 (0 to 65,535) or PH_SCALAR_F32 (1 is white).
     */
    ph_scalar scalar;
    /**
     * The meaning of the colors.
     */
    ph_color_space color_space;
    /**
     * Whether the colors are premultiplied.
     */
    uint32_t premultiplied;
} ph_pixels;

/**
 * A table.
 */
typedef struct ph_table {
    /**
     * `sizeof(ph_table)`.
     */
    size_t struct_size;
    /**
     * The name of the rows in the file (`vertex`); empty if it has none.
     */
    struct ph_string name;
    /**
     * The number of rows.
     */
    size_t row_count;
    /**
     * The number of columns.
     */
    size_t column_count;
} ph_table;

/**
 * Success.
 */
#define PH_OK 0

/**
 * The data is malformed.
 */
#define PH_ERROR_MALFORMED 1

/**
 * The data exceeds a limit; the message names it.
 */
#define PH_ERROR_LIMIT 2

/**
 * The data uses a feature of its format that polyhaul does not support, or the output format cannot store the content.
 */
#define PH_ERROR_UNSUPPORTED 3

/**
 * An error of the operating system: a missing file, a full disk, a closed pipe.
 */
#define PH_ERROR_IO 4

/**
 * Invalid arguments: a null handle, a wrong `struct_size`, an index out of range.
 */
#define PH_ERROR_USAGE 5

/**
 * A callback failed or broke its contract. If it returned a negative number, that is the `host_code` of ph_error.
 */
#define PH_ERROR_HOST 6

/**
 * Out of memory.
 */
#define PH_ERROR_MEMORY 7

/**
 * The job was cancelled.
 */
#define PH_ERROR_CANCELLED 8

/**
 * An internal error of polyhaul: please report it.
 */
#define PH_ERROR_INTERNAL 9

/**
 * According to the name and the content.
 */
#define PH_FORMAT_AUTO 0

/**
 * Wavefront OBJ, with its material library.
 */
#define PH_FORMAT_OBJ 1

/**
 * PLY.
 */
#define PH_FORMAT_PLY 2

/**
 * STL.
 */
#define PH_FORMAT_STL 3

/**
 * pbrt-v4 scenes.
 */
#define PH_FORMAT_PBRT 4

/**
 * Numbers parted by commas.
 */
#define PH_FORMAT_CSV 5

/**
 * Numbers parted by tabs.
 */
#define PH_FORMAT_TSV 6

/**
 * Numbers separated by blanks, or as the first rows suggest.
 */
#define PH_FORMAT_TXT 7

/**
 * Points as lines of x, y, z and more.
 */
#define PH_FORMAT_XYZ 8

/**
 * Points after a line with their count.
 */
#define PH_FORMAT_PTS 9

/**
 * An array of numpy.
 */
#define PH_FORMAT_NPY 10

/**
 * TGA.
 */
#define PH_FORMAT_TGA 11

/**
 * Radiance HDR.
 */
#define PH_FORMAT_HDR 12

/**
 * PNG.
 */
#define PH_FORMAT_PNG 13

/**
 * JPEG.
 */
#define PH_FORMAT_JPEG 14

/**
 * OpenEXR.
 */
#define PH_FORMAT_EXR 15

/**
 * Windows bitmaps; read only.
 */
#define PH_FORMAT_BMP 16

/**
 * Photoshop documents; read only.
 */
#define PH_FORMAT_PSD 17

/**
 * DDS textures.
 */
#define PH_FORMAT_DDS 18

/**
 * KTX 2 textures.
 */
#define PH_FORMAT_KTX2 19

/**
 * OFF, the object file format of Geomview.
 */
#define PH_FORMAT_OFF 20

/**
 * glTF 2.0, as .glb or, by the name of the output, as .gltf.
 */
#define PH_FORMAT_GLB 21

/**
 * SPZ, compressed Gaussian splats.
 */
#define PH_FORMAT_SPZ 22

/**
 * Gaussian splats as rows of 32 bytes.
 */
#define PH_FORMAT_SPLAT 23

/**
 * Compressed PLY, Gaussian splats as integers.
 */
#define PH_FORMAT_COMPRESSED_PLY 24

/**
 * SOG, Gaussian splats as images; it is read-only.
 */
#define PH_FORMAT_SOG 25

/**
 * Along x.
 */
#define PH_AXIS_X 1

/**
 * Along y.
 */
#define PH_AXIS_Y 2

/**
 * Along z.
 */
#define PH_AXIS_Z 3

/**
 * Against x.
 */
#define PH_AXIS_NEGATIVE_X 4

/**
 * Against y.
 */
#define PH_AXIS_NEGATIVE_Y 5

/**
 * Against z.
 */
#define PH_AXIS_NEGATIVE_Z 6

/**
 * Inferred from the name of the output.
 */
#define PH_COMPRESSION_BY_NAME 0

/**
 * Not at all.
 */
#define PH_COMPRESSION_NONE 1

/**
 * gzip, levels 1 to 12.
 */
#define PH_COMPRESSION_GZIP 2

/**
 * zstd, levels 1 to 22.
 */
#define PH_COMPRESSION_ZSTD 3

/**
 * lz4; it has one level.
 */
#define PH_COMPRESSION_LZ4 4

/**
 * As instances if no name is lost by that, else as nodes.
 */
#define PH_GLTF_INSTANCES_AUTO 0

/**
 * As instances, whatever their names are.
 */
#define PH_GLTF_INSTANCES_GPU 1

/**
 * As a node each.
 */
#define PH_GLTF_INSTANCES_NODES 2

/**
 * The fewest digits that read back as the same number.
 */
#define PH_DIGITS_SHORTEST 1

/**
 * Plus a number from 0 to 12: this many digits after the point, as by `%.Nf`.
 */
#define PH_DIGITS_FIXED 256

/**
 * By a separate index: `corner_uvs`, `corner_normals`.
 */
#define PH_DOMAIN_INDEXED 0

/**
 * There is one value per corner, in the order of the corners.
 */
#define PH_DOMAIN_CORNER 1

/**
 * There is one value per position.
 */
#define PH_DOMAIN_VERTEX 2

/**
 * There is one value per face.
 */
#define PH_DOMAIN_FACE 3

/**
 * They are copied, and may be freed when the call returns.
 */
#define PH_COPY 0

/**
 * They are not copied: they must stay, and stay as they are, until the scene is freed.
 */
#define PH_BORROW 1

/**
 * `ambient`
 */
#define PH_HAS_AMBIENT (1 << 0)

/**
 * `diffuse`
 */
#define PH_HAS_DIFFUSE (1 << 1)

/**
 * `specular`
 */
#define PH_HAS_SPECULAR (1 << 2)

/**
 * `emission`
 */
#define PH_HAS_EMISSION (1 << 3)

/**
 * `transmission`
 */
#define PH_HAS_TRANSMISSION (1 << 4)

/**
 * `shininess`
 */
#define PH_HAS_SHININESS (1 << 5)

/**
 * `refraction_index`
 */
#define PH_HAS_REFRACTION_INDEX (1 << 6)

/**
 * `opacity`
 */
#define PH_HAS_OPACITY (1 << 7)

/**
 * `roughness`
 */
#define PH_HAS_ROUGHNESS (1 << 8)

/**
 * `metallic`
 */
#define PH_HAS_METALLIC (1 << 9)

/**
 * `sheen`
 */
#define PH_HAS_SHEEN (1 << 10)

/**
 * `clearcoat`
 */
#define PH_HAS_CLEARCOAT (1 << 11)

/**
 * `clearcoat_roughness`
 */
#define PH_HAS_CLEARCOAT_ROUGHNESS (1 << 12)

/**
 * `illumination`
 */
#define PH_HAS_ILLUMINATION (1 << 13)

/**
 * The ambient color.
 */
#define PH_MAP_AMBIENT 1

/**
 * The diffuse color.
 */
#define PH_MAP_DIFFUSE 2

/**
 * The specular color.
 */
#define PH_MAP_SPECULAR 3

/**
 * The emitted color.
 */
#define PH_MAP_EMISSION 4

/**
 * The specular exponent.
 */
#define PH_MAP_SHININESS 5

/**
 * The opacity: white is opaque.
 */
#define PH_MAP_OPACITY 6

/**
 * The transparency: white is transparent.
 */
#define PH_MAP_TRANSPARENCY 7

/**
 * Bumps.
 */
#define PH_MAP_BUMP 8

/**
 * Displacement.
 */
#define PH_MAP_DISPLACEMENT 9

/**
 * A decal.
 */
#define PH_MAP_DECAL 10

/**
 * The reflection.
 */
#define PH_MAP_REFLECTION 11

/**
 * The roughness.
 */
#define PH_MAP_ROUGHNESS 12

/**
 * How metallic it is.
 */
#define PH_MAP_METALLIC 13

/**
 * The sheen.
 */
#define PH_MAP_SHEEN 14

/**
 * The clearcoat.
 */
#define PH_MAP_CLEARCOAT 15

/**
 * The roughness of the clearcoat.
 */
#define PH_MAP_CLEARCOAT_ROUGHNESS 16

/**
 * The normal.
 */
#define PH_MAP_NORMAL 17

/**
 * Encoded as sRGB does it.
 */
#define PH_COLOR_SPACE_SRGB 0

/**
 * In proportion to the light.
 */
#define PH_COLOR_SPACE_LINEAR 1

/**
 * `int8_t`
 */
#define PH_SCALAR_I8 1

/**
 * `uint8_t`
 */
#define PH_SCALAR_U8 2

/**
 * `int16_t`
 */
#define PH_SCALAR_I16 3

/**
 * `uint16_t`
 */
#define PH_SCALAR_U16 4

/**
 * `int32_t`
 */
#define PH_SCALAR_I32 5

/**
 * `uint32_t`
 */
#define PH_SCALAR_U32 6

/**
 * `int64_t`
 */
#define PH_SCALAR_I64 7

/**
 * `uint64_t`
 */
#define PH_SCALAR_U64 8

/**
 * `float`
 */
#define PH_SCALAR_F32 9

/**
 * `double`
 */
#define PH_SCALAR_F64 10

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as "0.1.0". The string is static.
 */
PH_API const char *ph_version(void);

/**
 * The error of the last function of this header that failed on this thread.
 *
 * Each thread has its own error: call this on the thread that made the failing call. A successful call does not change
 * the last error.
 */
PH_API ph_status ph_last_error(struct ph_error *error);

/**
 * The line `text` of ph_error, for programs that only show it. Never null.
 */
PH_API const char *ph_last_error_text(void);

/**
 * The stable name of a status ("malformed", "limit"); "ok" for PH_OK, "unknown" for other numbers. Valid forever.
 */
PH_API const char *ph_status_name(ph_status status);

/**
 * Zero-terminated text in the form that the structs of this header take; it is not copied. Null is empty.
 */
PH_API struct ph_string ph_text(const char *text);

/**
 * Makes a flag, which ph_cancel_free frees.
 */
PH_API ph_status ph_cancel_new(struct ph_cancel **cancel);

/**
 * Asks all jobs with this flag to stop: they return PH_ERROR_CANCELLED soon, and the files they were writing are
 * unchanged. May be called from any thread, and from a signal handler.
 */
PH_API ph_status ph_cancel_request(const struct ph_cancel *cancel);

/**
 * Frees a flag; null does nothing. Running jobs continue.
 */
PH_API void ph_cancel_free(struct ph_cancel *cancel);

/**
 * Tells the numbers of a report.
 */
PH_API ph_status ph_report_get(const struct ph_report *report, struct ph_report_info *info);

/**
 * Tells a warning, by an index below `kept_warning_count`.
 */
PH_API ph_status ph_report_warning(const struct ph_report *report, size_t index, struct ph_warning *warning);

/**
 * Frees a report; null does nothing.
 */
PH_API void ph_report_free(struct ph_report *report);

/**
 * Reads a scene. From a scene for a renderer (pbrt), everything that can be represented as meshes is read; the rest is
 * dropped, with a warning. ph_convert keeps everything.
 *
 * `options` and `report` may be null. Free the scene with ph_scene_free; it is null if the job failed.
 */
PH_API
ph_status ph_scene_read(const struct ph_input *input,
                        const struct ph_read_options *options,
                        struct ph_scene **scene,
                        struct ph_report **report);

/**
 * Writes a scene.
 *
 * `options` and `report` may be null. A file is replaced as a whole, or unchanged if the job fails.
 */
PH_API
ph_status ph_scene_write(const struct ph_scene *scene,
                         const struct ph_output *output,
                         const struct ph_write_options *options,
                         struct ph_report **report);

/**
 * Frees a scene and everything it lent; null does nothing.
 */
PH_API void ph_scene_free(struct ph_scene *scene);

/**
 * Returns the contents of a scene.
 */
PH_API ph_status ph_scene_get(const struct ph_scene *scene, struct ph_scene_info *info);

/**
 * Lends the arrays of a mesh, by an index below `mesh_count`.
 */
PH_API ph_status ph_scene_mesh(const struct ph_scene *scene, size_t index, struct ph_mesh *mesh);

/**
 * Lends other data of the positions of a mesh, by an index below `vertex_column_count`: a column of one row per
 * position.
 */
PH_API
ph_status ph_scene_vertex_column(const struct ph_scene *scene,
                                 size_t mesh,
                                 size_t index,
                                 struct ph_column *column);

/**
 * Lends other data of the faces of a mesh, by an index below `face_column_count`: a column of one row per face.
 */
PH_API
ph_status ph_scene_face_column(const struct ph_scene *scene,
                               size_t mesh,
                               size_t index,
                               struct ph_column *column);

/**
 * Tells of an object, by an index below `object_count`.
 */
PH_API ph_status ph_scene_object(const struct ph_scene *scene, size_t index, struct ph_object *object);

/**
 * Makes a scene without anything, which ph_scene_free frees.
 */
PH_API ph_status ph_scene_new(struct ph_scene **scene);

/**
 * Sets the meaning of the axes of the coordinates (default: forward along -z, up along y).
 */
PH_API ph_status ph_scene_set_axes(struct ph_scene *scene, ph_axis forward, ph_axis up);

/**
 * Appends a mesh to a scene. `keep` selects whether its arrays are copied or borrowed; runs and names are always
 * copied.
 *
 * Indices are checked when the scene is written: an index out of range is PH_ERROR_USAGE.
 */
PH_API ph_status ph_scene_add_mesh(struct ph_scene *scene, const struct ph_mesh *mesh, ph_keep keep);

/**
 * Appends an object to a scene; it is copied. Its mesh must already be in the scene.
 *
 * With a transform, with material slots, or if the uvs or normals of its mesh have a domain other than
 * PH_DOMAIN_INDEXED, it is written the way programs write evaluated meshes: equal uvs and normals are merged, and the
 * object must cover its whole mesh.
 */
PH_API ph_status ph_scene_add_object(struct ph_scene *scene, const struct ph_object *object);

/**
 * Tells of a material, by an index below `material_count`.
 */
PH_API ph_status ph_scene_material(const struct ph_scene *scene, size_t index, struct ph_material *material);

/**
 * Tells of a texture map of a material, by an index below its `texture_count`.
 */
PH_API
ph_status ph_scene_texture(const struct ph_scene *scene,
                           size_t material,
                           size_t index,
                           struct ph_texture *texture);

/**
 * Appends a material to a scene; it is copied.
 */
PH_API ph_status ph_scene_add_material(struct ph_scene *scene, const struct ph_material *material);

/**
 * Appends a texture map to a material of the scene; it is copied.
 */
PH_API ph_status ph_scene_add_texture(struct ph_scene *scene, size_t material, const struct ph_texture *texture);

/**
 * Reads an image.
 *
 * `options` and `report` may be null. Free the image with ph_image_free; it is null if the job failed.
 */
PH_API
ph_status ph_image_read(const struct ph_input *input,
                        const struct ph_read_options *options,
                        struct ph_image **image,
                        struct ph_report **report);

/**
 * Lends the pixels of an image, until it is freed.
 */
PH_API ph_status ph_image_get(const struct ph_image *image, struct ph_pixels *pixels);

/**
 * Writes an image: the caller's pixels, or those lent by an image.
 *
 * They are not copied if there are no gaps between the rows. `options` and `report` may be null.
 */
PH_API
ph_status ph_image_write(const struct ph_pixels *pixels,
                         const struct ph_output *output,
                         const struct ph_write_options *options,
                         struct ph_report **report);

/**
 * Frees an image and the pixels that it lent; null does nothing.
 */
PH_API void ph_image_free(struct ph_image *image);

/**
 * Reads tables. `options` and `report` may be null. Free them with ph_tables_free.
 */
PH_API
ph_status ph_tables_read(const struct ph_input *input,
                         const struct ph_read_options *options,
                         struct ph_tables **tables,
                         struct ph_report **report);

/**
 * The number of tables; 0 for null.
 */
PH_API size_t ph_tables_count(const struct ph_tables *tables);

/**
 * Tells of a table.
 */
PH_API ph_status ph_tables_table(const struct ph_tables *tables, size_t index, struct ph_table *table);

/**
 * Lends a column of a table.
 */
PH_API ph_status ph_tables_column(const struct ph_tables *tables, size_t table, size_t index, struct ph_column *column);

/**
 * Frees tables and everything they lent; null does nothing.
 */
PH_API void ph_tables_free(struct ph_tables *tables);

/**
 * Reads something and writes it in any format that holds it: scenes, tables, images. Between formats that have tables,
 * and from pbrt to pbrt, all of it is kept.
 *
 * Both options and the report may be null.
 */
PH_API
ph_status ph_convert(const struct ph_input *input,
                     const struct ph_output *output,
                     const struct ph_read_options *reading,
                     const struct ph_write_options *writing,
                     struct ph_report **report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* POLYHAUL_H */
