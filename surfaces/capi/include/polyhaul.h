/*
 * polyhaul: moves 3D assets between disk and memory.
 *
 * This header is the reference manual. It is generated from the library's sources. Minimal usage:
 *
 *     ph_input input = {.struct_size = sizeof input};
 *     ph_scene *scene;
 *     input.path = "model.obj";
 *     if (ph_scene_read(&input, NULL, &scene, NULL) != PH_OK) {
 *         fprintf(stderr, "%s\n", ph_last_error_text());
 *         return 1;
 *     }
 *     ph_scene_free(scene);
 *
 * Conventions:
 *
 * - Functions that can fail return PH_OK (0) or a positive error number. ph_last_error returns the details of the
 *   calling thread's last error. Apart from this per-thread error and internal caches, there is no global state. No
 *   function exits, prints, or installs a signal handler.
 * - Handles (`ph_scene *`, ...) are returned through an argument. The caller owns them, and frees each with the
 *   matching function. Passing null as a required handle fails with PH_ERROR_USAGE; freeing null does nothing. A
 *   function that fails sets the handle it would return to null.
 * - Structs passed by pointer start with `struct_size`. Set it to the size of the struct (`sizeof`), and unused fields
 *   to 0: structs may grow in later versions of the library, and programs compiled with an older header continue to
 *   work. An invalid size fails with PH_ERROR_USAGE. ph_string, ph_elements, ph_run and ph_counts have no
 *   `struct_size` and never change.
 * - Strings are UTF-8. `const char *` is zero-terminated; ph_string has a size.
 * - Functions may be called from any thread. Functions that take a handle as const may run in parallel with each other
 *   on the same handle; other functions require exclusive access to the handle.
 * - A job is one call that reads, writes or converts. Callbacks run on the calling thread or on the job's worker
 *   threads, and may call the functions in this header. They must return normally, without throwing or calling longjmp.
 * - Non-null pointers must be valid; the library cannot verify this.
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
 * No index, such as for a corner without a UV or a face without a material.
 */
#define PH_NONE UINT32_MAX

/**
 * A flag that cancels jobs. It can be used for any number of jobs. Once set, it stays set.
 */
typedef struct ph_cancel ph_cancel;

/**
 * An image. Free it with ph_image_free.
 */
typedef struct ph_image ph_image;

/**
 * Options for reading and writing. The end of this header lists their names, values and defaults.
 *
 * Functions that take `const ph_options *` accept null for the defaults. A handle can be used for any number of jobs,
 * even concurrently; each job uses the options that apply to it. Do not change or free it during a job.
 */
typedef struct ph_options ph_options;

/**
 * The report of a job: sizes, time, warnings. Functions with a `ph_report **` argument accept null; otherwise they
 * store a report if the job succeeds, and null if it fails. Free it with ph_report_free.
 */
typedef struct ph_report ph_report;

/**
 * A scene: meshes, objects that refer to a mesh or a section of it, and materials. Free it with ph_scene_free.
 *
 * The arrays and strings that a scene returns are valid until the scene is changed or freed.
 */
typedef struct ph_scene ph_scene;

/**
 * The tables of a file: the elements of a PLY file, or the single table of a csv, tsv, txt, xyz, pts or npy file. Free
 * them with ph_tables_free.
 */
typedef struct ph_tables ph_tables;

/**
 * The result of a call: PH_OK, or one of the `PH_ERROR_` codes, which never change.
 */
typedef int32_t ph_status;

/**
 * Details of an error. Strings are zero-terminated UTF-8, never null, and empty if they do not apply. They are valid
 * until another call fails on the same thread.
 */
typedef struct ph_error {
    /**
     * `sizeof(ph_error)`.
     */
    size_t struct_size;
    /**
     * The status that the call returned; PH_OK if no call has failed on this thread.
     */
    ph_status status;
    /**
     * The negative return value of the callback that failed; otherwise 0.
     */
    int32_t host_code;
    /**
     * The complete error on one line: position, message, expected value, hint.
     */
    const char *text;
    /**
     * The problem.
     */
    const char *message;
    /**
     * The expected value.
     */
    const char *expected;
    /**
     * The suggested fix.
     */
    const char *hint;
    /**
     * The name of the file or input.
     */
    const char *file;
    /**
     * Line, starting at 1, or PH_UNKNOWN.
     */
    uint64_t line;
    /**
     * Column in bytes, starting at 1, or PH_UNKNOWN.
     */
    uint64_t column;
    /**
     * Offset in bytes, starting at 0, or PH_UNKNOWN.
     */
    uint64_t offset;
} ph_error;

/**
 * A UTF-8 string with a size; not zero-terminated. Print it with `"%.*s", (int)text.size, text.data`.
 *
 * A string returned from a handle is valid until the handle is changed or freed. `data` may be null if `size` is 0.
 */
typedef struct ph_string {
    /**
     * The first byte.
     */
    const char *data;
    /**
     * Size in bytes.
     */
    size_t size;
} ph_string;

/**
 * Called every few megabytes with the number of bytes done and the total (PH_UNKNOWN if unknown), from the job's
 * threads, one call at a time. `done` never decreases. A short job may not call it at all. In a conversion, the bytes
 * read are counted.
 *
 * Returns 0 to continue; any other value cancels the job.
 */
typedef int32_t (*ph_progress_fn)(void *user, uint64_t done, uint64_t total);

/**
 * A task of a thread pool. It does not throw.
 */
typedef void (*ph_task_fn)(void *context, size_t index);

/**
 * Runs `task(context, index)` on the caller's threads for every index below `count`, in any order, in parallel or
 * sequentially, and returns when all calls have returned. It must be reentrant: a task may call it again.
 *
 * If it skips tasks, the calling thread runs them. Calling `task` after it has returned has no effect on the result.
 * Results do not depend on the number of threads.
 */
typedef void (*ph_pool_fn)(void *user, size_t count, ph_task_fn task, void *context);

/**
 * Reads up to `size` bytes into `out`. `size` is at least 64 KiB.
 *
 * Returns the number of bytes read, from 1 to `size`; 0 at the end of the input; or a negative number on failure,
 * which fails the job with PH_ERROR_HOST and becomes `host_code` of ph_error. Returning more than `size` also fails
 * the job with PH_ERROR_HOST.
 *
 * Called by one thread at a time, but not always the same one. Not called again after an error.
 */
typedef int64_t (*ph_read_fn)(void *user, void *out, size_t size);

/**
 * Seeks to `offset`, in bytes from the start. The next read starts there.
 *
 * Returns 0 on success, a positive number if seeking is not supported, or a negative number on failure.
 */
typedef int32_t (*ph_seek_fn)(void *user, uint64_t offset);

/**
 * Returns the exact size of the input in bytes, or a negative number if it is unknown. Called once, before the first
 * read. If the input then has more or fewer bytes, the job fails with PH_ERROR_HOST.
 */
typedef int64_t (*ph_size_fn)(void *user);

/**
 * Releases `user`, or the memory of an input. Called exactly once, after all other callbacks, whether the job succeeds
 * or fails. Not called if the struct itself is rejected: its `struct_size` is invalid, or it sets fields of a newer
 * header.
 */
typedef void (*ph_release_fn)(void *user);

/**
 * An input. Set exactly one of `path`, `memory` and `read`.
 *
 * It is used for one call, and may be a local variable. Everything it points to must stay valid and unchanged until
 * that call returns, or, for an answer from ph_resolve_fn, until `release` is called.
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
     * A zero-terminated path: UTF-8, or any bytes on Unix. In all inputs, compression (gzip, zstd, lz4) is detected
     * from the content.
     */
    const char *path;
    /**
     * The content in memory; not copied.
     */
    const void *memory;
    /**
     * Size of `memory` in bytes.
     */
    size_t memory_size;
    /**
     * Reads bytes; see ph_read_fn.
     */
    ph_read_fn read;
    /**
     * Seeks; see ph_seek_fn. May be null.
     */
    ph_seek_fn seek;
    /**
     * Returns the size; see ph_size_fn. May be null.
     */
    ph_size_fn size;
    /**
     * Called last; see ph_release_fn. May be null, and may also be set with `path` or `memory`.
     */
    ph_release_fn release;
    /**
     * Passed to the callbacks.
     */
    void *user;
    /**
     * Name in messages, for `memory` and `read`. Its extension sets the format if the options do not. May be null.
     */
    const char *name;
} ph_input;

/**
 * Provides the files that a scene refers to, such as material libraries, included files and meshes. Called for each of
 * them before the file system is searched, from any of the job's threads.
 *
 * `name` is the name exactly as it appears in the scene, possibly malicious; it is valid until the callback returns.
 * `answer` is zeroed except for `struct_size`, which is set.
 *
 * Returns 0 after filling in `answer`; a positive number to decline, so that the file is looked up relative to the
 * scene if the scene is a file; or a negative number to fail with PH_ERROR_HOST.
 */
typedef int32_t (*ph_resolve_fn)(void *user, const char *name, struct ph_input *answer);

/**
 * Sizes, time and counts of a job.
 */
typedef struct ph_report_info {
    /**
     * `sizeof(ph_report_info)`.
     */
    size_t struct_size;
    /**
     * Bytes read, including referenced files, before decompression.
     */
    uint64_t bytes_in;
    /**
     * Bytes read, after decompression.
     */
    uint64_t plain_bytes_in;
    /**
     * Bytes written.
     */
    uint64_t bytes_out;
    /**
     * Elapsed time in seconds.
     */
    double seconds;
    /**
     * Number of threads used.
     */
    uint64_t threads;
    /**
     * Number of warnings.
     */
    uint64_t warning_count;
    /**
     * Number of warnings available from ph_report_warning: the first 1000, and the first 3 of each kind.
     */
    uint64_t kept_warning_count;
    /**
     * Number of notes: data that users do not expect the format to store, such as materials in STL.
     */
    uint64_t note_count;
    /**
     * Number of losses: data that was changed or dropped and that users expect to keep.
     */
    uint64_t loss_count;
    /**
     * Number of faults: violations of the file format.
     */
    uint64_t fault_count;
} ph_report_info;

/**
 * A warning about data that was repaired, changed, dropped or missing. Its strings are valid until the report is
 * freed.
 */
typedef struct ph_warning {
    /**
     * `sizeof(ph_warning)`.
     */
    size_t struct_size;
    /**
     * The kind: a short name that never changes, such as `missing-material`.
     */
    struct ph_string code;
    /**
     * The message.
     */
    struct ph_string message;
    /**
     * The name of the file or input.
     */
    struct ph_string file;
    /**
     * Line, starting at 1, or PH_UNKNOWN.
     */
    uint64_t line;
    /**
     * Column in bytes, starting at 1, or PH_UNKNOWN.
     */
    uint64_t column;
    /**
     * Offset in bytes, starting at 0, or PH_UNKNOWN.
     */
    uint64_t offset;
    /**
     * `note`, `loss` or `fault`; see ph_report_info.
     */
    struct ph_string severity;
} ph_warning;

/**
 * Writes up to `size` bytes of `data`.
 *
 * Returns the number of bytes written, from 1 to `size`, or a negative number on failure, as in ph_read_fn. The bytes
 * that were not written are passed again. Returning 0, or more than `size`, fails the job with PH_ERROR_HOST.
 */
typedef int64_t (*ph_write_fn)(void *user, const void *data, size_t size);

/**
 * Flushes or closes an output. Returns 0 on success, or a negative number on failure.
 */
typedef int32_t (*ph_finish_fn)(void *user);

/**
 * An output. Set exactly one of `path` and `write`.
 *
 * A file is replaced when the job succeeds, and left unchanged when it fails. The material library of an OBJ file is
 * written next to it.
 */
typedef struct ph_output {
    /**
     * `sizeof(ph_output)`.
     */
    size_t struct_size;
    /**
     * A path, as in ph_input. The extensions `.gz`, `.bgz`, `.zst` and `.lz4` compress the file.
     */
    const char *path;
    /**
     * Writes bytes; see ph_write_fn.
     */
    ph_write_fn write;
    /**
     * Called once, after the last write. May be null.
     */
    ph_finish_fn flush;
    /**
     * Called once, after `flush`, when the output is complete. May be null. If `close` is not called, the job has
     * failed: discard the bytes written.
     */
    ph_finish_fn close;
    /**
     * Called last; see ph_release_fn. May be null.
     */
    ph_release_fn release;
    /**
     * Passed to the callbacks.
     */
    void *user;
    /**
     * Name of the output in messages. Its extension sets the format if the options do not. May be null.
     */
    const char *name;
} ph_output;

/**
 * An axis direction: one of the `PH_AXIS_` constants.
 */
typedef uint32_t ph_axis;

/**
 * Counts, axes and bounds of a scene.
 */
typedef struct ph_scene_info {
    /**
     * `sizeof(ph_scene_info)`.
     */
    size_t struct_size;
    /**
     * Number of meshes.
     */
    size_t mesh_count;
    /**
     * Number of objects. If it is 0, each mesh is an object.
     */
    size_t object_count;
    /**
     * Number of materials.
     */
    size_t material_count;
    /**
     * Axis that points forward.
     */
    ph_axis forward_axis;
    /**
     * Axis that points up.
     */
    ph_axis up_axis;
    /**
     * Number of positions in all meshes.
     */
    uint64_t position_count;
    /**
     * Number of faces in all meshes.
     */
    uint64_t face_count;
    /**
     * Minimum of all finite positions, before object transforms. Greater than `bounds_max` if no position is finite.
     */
    float bounds_min[3];
    /**
     * Maximum of all finite positions, before object transforms.
     */
    float bounds_max[3];
} ph_scene_info;

/**
 * How UVs or normals are assigned to the corners of a mesh: one of the `PH_DOMAIN_` constants.
 */
typedef uint32_t ph_domain;

/**
 * Faces or lines. Element `i` has the corners from `offsets[i]` up to, but excluding, `offsets[i + 1]`.
 */
typedef struct ph_elements {
    /**
     * `count + 1` offsets, from 0 to `corner_count`. May be null if `count` is 0.
     */
    const uint32_t *offsets;
    /**
     * Number of elements.
     */
    size_t count;
    /**
     * Position index of each corner.
     */
    const uint32_t *corner_positions;
    /**
     * UV index of each corner, or PH_NONE. Null if no corner has a UV, or the domain is not PH_DOMAIN_INDEXED.
     */
    const uint32_t *corner_uvs;
    /**
     * Normal index of each corner, or PH_NONE. Null if no corner has a normal, or the domain is not PH_DOMAIN_INDEXED.
     */
    const uint32_t *corner_normals;
    /**
     * Number of corners of all elements.
     */
    size_t corner_count;
} ph_elements;

/**
 * A value for all faces from `first_face` up to the next run.
 */
typedef struct ph_run {
    /**
     * Index of the first face.
     */
    uint32_t first_face;
    /**
     * Index of a material or group, or PH_NONE; in `smoothing_runs`, the number of a smoothing group, or 0 for flat
     * faces.
     */
    uint32_t value;
} ph_run;

/**
 * The arrays of a mesh, returned by ph_scene_mesh or passed to ph_scene_add_mesh.
 *
 * Positions, UVs and normals keep the order and count of the file, and have separate indices. Absent arrays are null
 * with a count of 0.
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
     * Number of positions.
     */
    size_t position_count;
    /**
     * Red, green, blue, alpha of each position; NaN for positions without a color. May be null.
     */
    const float *colors;
    /**
     * u, v of each texture coordinate.
     */
    const float *uvs;
    /**
     * Number of UVs.
     */
    size_t uv_count;
    /**
     * x, y, z of each normal.
     */
    const float *normals;
    /**
     * Number of normals.
     */
    size_t normal_count;
    /**
     * Domain of the UVs.
     */
    ph_domain uv_domain;
    /**
     * Domain of the normals.
     */
    ph_domain normal_domain;
    /**
     * Polygons of three or more corners.
     */
    struct ph_elements faces;
    /**
     * Polylines of two or more corners.
     */
    struct ph_elements lines;
    /**
     * Position index of each point.
     */
    const uint32_t *points;
    /**
     * Number of points.
     */
    size_t point_count;
    /**
     * Material of each face, as runs in face order.
     */
    const struct ph_run *material_runs;
    /**
     * Number of material runs.
     */
    size_t material_run_count;
    /**
     * Smoothing group of each face, as runs in face order.
     */
    const struct ph_run *smoothing_runs;
    /**
     * Number of smoothing group runs.
     */
    size_t smoothing_run_count;
    /**
     * Group of each face, as runs in face order: an index into `groups`.
     */
    const struct ph_run *group_runs;
    /**
     * Number of group runs.
     */
    size_t group_run_count;
    /**
     * Names of groups. An entry may contain several names, separated by spaces.
     */
    const struct ph_string *groups;
    /**
     * Number of entries in `groups`.
     */
    size_t group_count;
    /**
     * Material slot of each face, for objects with material slots: an index into `material_slots` of ph_object. Null
     * means slot 0.
     */
    const int32_t *face_materials;
    /**
     * 0 for flat faces, any other value for smooth ones. May be null.
     */
    const uint8_t *face_smooth;
    /**
     * Number of columns available from ph_scene_vertex_column; ignored by ph_scene_add_mesh.
     */
    size_t vertex_column_count;
    /**
     * Number of columns available from ph_scene_face_column; ignored by ph_scene_add_mesh.
     */
    size_t face_column_count;
    /**
     * x, y, z of each position in double precision; `positions` has the nearest floats. Null if floats are precise
     * enough.
     */
    const double *exact_positions;
} ph_mesh;

/**
 * Type of the numbers in an array: one of the `PH_SCALAR_` constants.
 */
typedef uint32_t ph_scalar;

/**
 * A column of a table, with one number or one list of numbers per row.
 */
typedef struct ph_column {
    /**
     * `sizeof(ph_column)`.
     */
    size_t struct_size;
    /**
     * Name; may be empty.
     */
    struct ph_string name;
    /**
     * Values of type `scalar`.
     */
    const void *values;
    /**
     * Number of values.
     */
    size_t value_count;
    /**
     * For lists, `row_count + 1` offsets: row `i` has the values from `offsets[i]` up to, but excluding,
     * `offsets[i + 1]`. Null if each row has one number.
     */
    const uint32_t *offsets;
    /**
     * Number of rows.
     */
    size_t row_count;
    /**
     * Type of the values.
     */
    ph_scalar scalar;
} ph_column;

/**
 * The number of elements of each kind in a mesh, or an index into each of its arrays.
 */
typedef struct ph_counts {
    /**
     * Positions.
     */
    uint32_t positions;
    /**
     * UVs.
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
 * An object: a mesh or a section of a mesh, with a name.
 */
typedef struct ph_object {
    /**
     * `sizeof(ph_object)`.
     */
    size_t struct_size;
    /**
     * Name; may be empty.
     */
    struct ph_string name;
    /**
     * Index of the mesh.
     */
    size_t mesh;
    /**
     * First element of each kind.
     */
    struct ph_counts start;
    /**
     * One past the last element of each kind. If it is all zeros, ph_scene_add_object uses the end of the mesh.
     */
    struct ph_counts end;
    /**
     * Whether `transform` is set. If not, positions are in world space.
     */
    uint32_t has_transform;
    /**
     * Object-to-world matrix in row-major order, for column vectors.
     */
    float transform[16];
    /**
     * Material indices, or PH_NONE, selected by `face_materials` of the mesh. May be null.
     */
    const uint32_t *material_slots;
    /**
     * Number of slots.
     */
    size_t material_slot_count;
    /**
     * `transform` in double precision. If it is all zeros, ph_scene_add_object uses `transform`.
     */
    double exact_transform[16];
} ph_object;

/**
 * Whether a scene copies or borrows the arrays of a mesh: PH_COPY or PH_BORROW.
 */
typedef uint32_t ph_keep;

/**
 * Flags for the fields of a ph_material that are set: a combination of the `PH_HAS_` constants.
 */
typedef uint32_t ph_has;

/**
 * A material, with the parameters of MTL files. Fields whose flag is not in `has` are not set.
 */
typedef struct ph_material {
    /**
     * `sizeof(ph_material)`.
     */
    size_t struct_size;
    /**
     * Name.
     */
    struct ph_string name;
    /**
     * Flags of the fields that are set.
     */
    ph_has has;
    /**
     * Whether the material is used, but not defined in any material library. Such a material has only a name.
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
     * Red, green, blue of the transmitted light.
     */
    float transmission[3];
    /**
     * Specular exponent, 0 to 1000.
     */
    float shininess;
    /**
     * Index of refraction.
     */
    float refraction_index;
    /**
     * 0 is transparent, 1 is opaque.
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
     * Clearcoat thickness.
     */
    float clearcoat;
    /**
     * Clearcoat roughness.
     */
    float clearcoat_roughness;
    /**
     * Illumination model, 0 to 10.
     */
    uint32_t illumination;
    /**
     * Number of texture maps available from ph_scene_texture; ignored by ph_scene_add_material.
     */
    size_t texture_count;
} ph_material;

/**
 * The property that a texture map controls: one of the `PH_MAP_` constants.
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
     * Image file, as named in the material.
     */
    struct ph_string file;
    /**
     * Property that the map controls.
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
     * Offset of u, v, w.
     */
    float offset[3];
    /**
     * Scale of u, v, w.
     */
    float scale[3];
} ph_texture;

/**
 * Encoding of color samples: one of the `PH_COLOR_SPACE_` constants. Alpha is always linear.
 */
typedef uint32_t ph_color_space;

/**
 * Pixels, returned by ph_image_get or passed to ph_image_write.
 */
typedef struct ph_pixels {
    /**
     * `sizeof(ph_pixels)`.
     */
    size_t struct_size;
    /**
     * Width in pixels.
     */
    size_t width;
    /**
     * Height in pixels.
     */
    size_t height;
    /**
     * Samples from the top left, with interleaved channels. Aligned for their type.
     */
    const void *samples;
    /**
     * Row stride in bytes. In ph_image_write, 0 means contiguous rows.
     */
    size_t row_bytes;
    /**
     * 1 for gray, 2 for gray and alpha, 3 for RGB, 4 for RGBA.
     */
    uint32_t channels;
    /**
     * PH_SCALAR_U8 (0 to 255), PH_SCALAR_U16 (0 to 65,535) or PH_SCALAR_F32 (1 is white).
     */
    ph_scalar scalar;
    /**
     * Encoding of the colors.
     */
    ph_color_space color_space;
    /**
     * Whether the colors are premultiplied by alpha.
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
     * Name of the table in the file, such as `vertex`; may be empty.
     */
    struct ph_string name;
    /**
     * Number of rows.
     */
    size_t row_count;
    /**
     * Number of columns.
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
 * The data uses an unsupported feature of its format, the output format cannot store the content, or a struct sets
 * fields of a newer header.
 */
#define PH_ERROR_UNSUPPORTED 3

/**
 * An error of the operating system: missing file, full disk, closed pipe.
 */
#define PH_ERROR_IO 4

/**
 * Invalid arguments: null handle, invalid `struct_size`, unknown option, index out of range.
 */
#define PH_ERROR_USAGE 5

/**
 * A callback failed or violated its contract. `host_code` of ph_error is its negative return value, or 0.
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
 * An internal error of polyhaul; please report it.
 */
#define PH_ERROR_INTERNAL 9

/**
 * Indexed per corner, by `corner_uvs` or `corner_normals`.
 */
#define PH_DOMAIN_INDEXED 0

/**
 * One value per corner, in the order of the corners.
 */
#define PH_DOMAIN_CORNER 1

/**
 * One value per position.
 */
#define PH_DOMAIN_VERTEX 2

/**
 * One value per face.
 */
#define PH_DOMAIN_FACE 3

/**
 * Copy the arrays.
 */
#define PH_COPY 0

/**
 * Use the caller's arrays, which must stay valid and unchanged until the scene is freed.
 */
#define PH_BORROW 1

/**
 * The axis directions (ph_axis).
 */
#define PH_AXIS_X 1
#define PH_AXIS_Y 2
#define PH_AXIS_Z 3
#define PH_AXIS_NEGATIVE_X 4
#define PH_AXIS_NEGATIVE_Y 5
#define PH_AXIS_NEGATIVE_Z 6

/**
 * The fields of ph_material that may be set (ph_has).
 */
#define PH_HAS_AMBIENT (1 << 0)
#define PH_HAS_DIFFUSE (1 << 1)
#define PH_HAS_SPECULAR (1 << 2)
#define PH_HAS_EMISSION (1 << 3)
#define PH_HAS_TRANSMISSION (1 << 4)
#define PH_HAS_SHININESS (1 << 5)
#define PH_HAS_REFRACTION_INDEX (1 << 6)
#define PH_HAS_OPACITY (1 << 7)
#define PH_HAS_ROUGHNESS (1 << 8)
#define PH_HAS_METALLIC (1 << 9)
#define PH_HAS_SHEEN (1 << 10)
#define PH_HAS_CLEARCOAT (1 << 11)
#define PH_HAS_CLEARCOAT_ROUGHNESS (1 << 12)
#define PH_HAS_ILLUMINATION (1 << 13)

/**
 * Ambient color.
 */
#define PH_MAP_AMBIENT 1

/**
 * Diffuse color.
 */
#define PH_MAP_DIFFUSE 2

/**
 * Specular color.
 */
#define PH_MAP_SPECULAR 3

/**
 * Emitted color.
 */
#define PH_MAP_EMISSION 4

/**
 * Specular exponent.
 */
#define PH_MAP_SHININESS 5

/**
 * Opacity; white is opaque.
 */
#define PH_MAP_OPACITY 6

/**
 * Transparency; white is transparent.
 */
#define PH_MAP_TRANSPARENCY 7

/**
 * Bump map.
 */
#define PH_MAP_BUMP 8

/**
 * Displacement.
 */
#define PH_MAP_DISPLACEMENT 9

/**
 * Decal.
 */
#define PH_MAP_DECAL 10

/**
 * Reflection.
 */
#define PH_MAP_REFLECTION 11

/**
 * Roughness.
 */
#define PH_MAP_ROUGHNESS 12

/**
 * Metalness.
 */
#define PH_MAP_METALLIC 13

/**
 * Sheen.
 */
#define PH_MAP_SHEEN 14

/**
 * Clearcoat thickness.
 */
#define PH_MAP_CLEARCOAT 15

/**
 * Clearcoat roughness.
 */
#define PH_MAP_CLEARCOAT_ROUGHNESS 16

/**
 * Normal map.
 */
#define PH_MAP_NORMAL 17

/**
 * Ambient occlusion (glTF only).
 */
#define PH_MAP_OCCLUSION 18

/**
 * The encodings of color samples (ph_color_space).
 */
#define PH_COLOR_SPACE_SRGB 0
#define PH_COLOR_SPACE_LINEAR 1

/**
 * The types of numbers (ph_scalar); F32 is `float`, F64 is `double`.
 */
#define PH_SCALAR_I8 1
#define PH_SCALAR_U8 2
#define PH_SCALAR_I16 3
#define PH_SCALAR_U16 4
#define PH_SCALAR_I32 5
#define PH_SCALAR_U32 6
#define PH_SCALAR_I64 7
#define PH_SCALAR_U64 8
#define PH_SCALAR_F32 9
#define PH_SCALAR_F64 10

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library, such as "0.1.0". The string is static.
 */
PH_API const char *ph_version(void);

/**
 * Returns the last error of the calling thread. Successful calls do not change it.
 *
 * Each thread has its own last error: call this on the thread of the failed call.
 */
PH_API ph_status ph_last_error(struct ph_error *error);

/**
 * Returns `text` of the last error of the calling thread: never null, empty if no call has failed.
 */
PH_API const char *ph_last_error_text(void);

/**
 * Returns the name of a status, such as "malformed" or "limit"; "ok" for PH_OK, "unknown" for other numbers. Names
 * never change. The string is static.
 */
PH_API const char *ph_status_name(ph_status status);

/**
 * Returns a zero-terminated string as a ph_string, without copying it. Null becomes an empty string.
 */
PH_API struct ph_string ph_text(const char *text);

/**
 * Creates options with their default values. Free them with ph_options_free.
 *
 *     ph_options *options;
 *     ph_options_new(&options);
 *     ph_options_set(options, "threads", "4");
 *     ph_options_set(options, "obj.smoothing", "groups");
 */
PH_API ph_status ph_options_new(struct ph_options **options);

/**
 * Frees options. Null is ignored.
 */
PH_API void ph_options_free(struct ph_options *options);

/**
 * Sets an option. `name` is the full name (`obj.smoothing`), the part after the dot (`smoothing`; not for `limits.`),
 * or the alias. If an option for reading and an option for writing have the same name, both are set.
 *
 * Returns PH_ERROR_USAGE, and changes nothing, if the option does not exist or does not accept the value. The message
 * contains the name, and the accepted values or the closest name.
 */
PH_API ph_status ph_options_set(struct ph_options *options, const char *name, const char *value);

/**
 * Returns the value of an option, in the form that ph_options_set accepts. For `format`, returns the format for
 * reading, even if the format for writing differs.
 *
 * The string is valid until the next call of this function with the same handle, or until the handle is freed.
 */
PH_API ph_status ph_options_get(struct ph_options *options, const char *name, const char **value);

/**
 * Sets the flag that cancels jobs with these options; null removes it. The flag may be freed at any time, even while a
 * job runs.
 */
PH_API ph_status ph_options_set_cancel(struct ph_options *options, const struct ph_cancel *cancel);

/**
 * Sets the progress callback; null removes it. `user` is passed to the callback, and must stay valid while a job runs.
 */
PH_API ph_status ph_options_set_progress(struct ph_options *options, ph_progress_fn progress, void *user);

/**
 * Sets the thread pool that runs jobs. With null, each job starts its own threads and stops them when it is done. The
 * option `threads` is the number of tasks passed to the pool. `user` is passed to the pool, and must stay valid while
 * a job runs.
 */
PH_API ph_status ph_options_set_pool(struct ph_options *options, ph_pool_fn pool, void *user);

/**
 * Sets the callback that provides the files a scene refers to; null removes it. `user` is passed to the callback, and
 * must stay valid while a job runs.
 */
PH_API ph_status ph_options_set_resolver(struct ph_options *options, ph_resolve_fn resolve, void *user);

/**
 * Simulates a slower device for reading. All files of a job share `bytes_per_second`, which counts compressed bytes; 0
 * means unlimited. `latency_ns` is added to each read call; calls from several threads wait in parallel.
 */
PH_API
ph_status ph_options_set_read_throttle(struct ph_options *options,
                                       uint64_t bytes_per_second,
                                       uint64_t latency_ns);

/**
 * Simulates a slower device for writing; see ph_options_set_read_throttle.
 */
PH_API
ph_status ph_options_set_write_throttle(struct ph_options *options,
                                        uint64_t bytes_per_second,
                                        uint64_t latency_ns);

/**
 * Creates a flag. Free it with ph_cancel_free.
 */
PH_API ph_status ph_cancel_new(struct ph_cancel **cancel);

/**
 * Sets a flag: all jobs that use it soon return PH_ERROR_CANCELLED, and leave their output files unchanged. May be
 * called from any thread, and from a signal handler.
 */
PH_API ph_status ph_cancel_request(const struct ph_cancel *cancel);

/**
 * Frees a flag. Null is ignored. Running jobs continue.
 */
PH_API void ph_cancel_free(struct ph_cancel *cancel);

/**
 * Returns the sizes, time and counts of a job.
 */
PH_API ph_status ph_report_get(const struct ph_report *report, struct ph_report_info *info);

/**
 * Returns a warning. `index` must be less than `kept_warning_count`.
 */
PH_API ph_status ph_report_warning(const struct ph_report *report, size_t index, struct ph_warning *warning);

/**
 * Frees a report. Null is ignored.
 */
PH_API void ph_report_free(struct ph_report *report);

/**
 * Reads a scene. From a pbrt scene, reads everything that meshes can represent, and drops the rest with a warning;
 * ph_convert from pbrt to pbrt is lossless.
 *
 * `options` and `report` may be null. Free the scene with ph_scene_free.
 */
PH_API
ph_status ph_scene_read(const struct ph_input *input,
                        const struct ph_options *options,
                        struct ph_scene **scene,
                        struct ph_report **report);

/**
 * Writes a scene.
 *
 * `options` and `report` may be null.
 */
PH_API
ph_status ph_scene_write(const struct ph_scene *scene,
                         const struct ph_output *output,
                         const struct ph_options *options,
                         struct ph_report **report);

/**
 * Frees a scene, and all arrays and strings that it returned. Null is ignored.
 */
PH_API void ph_scene_free(struct ph_scene *scene);

/**
 * Returns the counts, axes and bounds of a scene.
 */
PH_API ph_status ph_scene_get(const struct ph_scene *scene, struct ph_scene_info *info);

/**
 * Returns the arrays of a mesh, without copying them. `index` must be less than `mesh_count`.
 */
PH_API ph_status ph_scene_mesh(const struct ph_scene *scene, size_t index, struct ph_mesh *mesh);

/**
 * Returns a column of additional vertex data, with one row per position. `index` must be less than
 * `vertex_column_count` of the mesh.
 */
PH_API
ph_status ph_scene_vertex_column(const struct ph_scene *scene,
                                 size_t mesh,
                                 size_t index,
                                 struct ph_column *column);

/**
 * Returns a column of additional face data, with one row per face. `index` must be less than `face_column_count` of
 * the mesh.
 */
PH_API
ph_status ph_scene_face_column(const struct ph_scene *scene,
                               size_t mesh,
                               size_t index,
                               struct ph_column *column);

/**
 * Returns an object. `index` must be less than `object_count`.
 */
PH_API ph_status ph_scene_object(const struct ph_scene *scene, size_t index, struct ph_object *object);

/**
 * Creates an empty scene. Free it with ph_scene_free.
 */
PH_API ph_status ph_scene_new(struct ph_scene **scene);

/**
 * Sets the axes of a scene. By default, -Z is forward and Y is up.
 */
PH_API ph_status ph_scene_set_axes(struct ph_scene *scene, ph_axis forward, ph_axis up);

/**
 * Adds a mesh to a scene; its index is the previous `mesh_count`. `keep` is PH_COPY or PH_BORROW; runs and names are
 * always copied.
 *
 * Indices are checked when the scene is written: an index out of range fails with PH_ERROR_USAGE.
 */
PH_API ph_status ph_scene_add_mesh(struct ph_scene *scene, const struct ph_mesh *mesh, ph_keep keep);

/**
 * Adds a copy of an object to a scene. Its mesh must already be in the scene.
 *
 * An object must cover its whole mesh if it has a transform or material slots, or if the UVs or normals of the mesh
 * have a domain other than PH_DOMAIN_INDEXED. Writing such a mesh merges equal UVs and equal normals.
 */
PH_API ph_status ph_scene_add_object(struct ph_scene *scene, const struct ph_object *object);

/**
 * Returns a material. `index` must be less than `material_count`.
 */
PH_API ph_status ph_scene_material(const struct ph_scene *scene, size_t index, struct ph_material *material);

/**
 * Returns a texture map of a material. `index` must be less than `texture_count` of the material.
 */
PH_API
ph_status ph_scene_texture(const struct ph_scene *scene,
                           size_t material,
                           size_t index,
                           struct ph_texture *texture);

/**
 * Adds a copy of a material to a scene; its index is the previous `material_count`.
 */
PH_API ph_status ph_scene_add_material(struct ph_scene *scene, const struct ph_material *material);

/**
 * Adds a copy of a texture map to a material of a scene.
 */
PH_API ph_status ph_scene_add_texture(struct ph_scene *scene, size_t material, const struct ph_texture *texture);

/**
 * Reads an image.
 *
 * `options` and `report` may be null. Free the image with ph_image_free.
 */
PH_API
ph_status ph_image_read(const struct ph_input *input,
                        const struct ph_options *options,
                        struct ph_image **image,
                        struct ph_report **report);

/**
 * Returns the pixels of an image, without copying them. They are contiguous, and valid until the image is freed.
 */
PH_API ph_status ph_image_get(const struct ph_image *image, struct ph_pixels *pixels);

/**
 * Writes an image. Contiguous rows are not copied.
 *
 * `options` and `report` may be null.
 */
PH_API
ph_status ph_image_write(const struct ph_pixels *pixels,
                         const struct ph_output *output,
                         const struct ph_options *options,
                         struct ph_report **report);

/**
 * Frees an image and its pixels. Null is ignored.
 */
PH_API void ph_image_free(struct ph_image *image);

/**
 * Reads the tables of a file.
 *
 * `options` and `report` may be null. Free the tables with ph_tables_free.
 */
PH_API
ph_status ph_tables_read(const struct ph_input *input,
                         const struct ph_options *options,
                         struct ph_tables **tables,
                         struct ph_report **report);

/**
 * Returns the number of tables; 0 for null.
 */
PH_API size_t ph_tables_count(const struct ph_tables *tables);

/**
 * Returns the name and size of a table. `index` must be less than ph_tables_count.
 */
PH_API ph_status ph_tables_table(const struct ph_tables *tables, size_t index, struct ph_table *table);

/**
 * Returns a column of a table, without copying it. `index` must be less than `column_count` of the table.
 */
PH_API ph_status ph_tables_column(const struct ph_tables *tables, size_t table, size_t index, struct ph_column *column);

/**
 * Frees tables, and all arrays and strings that they returned. Null is ignored.
 */
PH_API void ph_tables_free(struct ph_tables *tables);

/**
 * Converts a scene, a table or an image to any format that can store it. Conversions between formats with tables, and
 * from pbrt to pbrt, are lossless.
 *
 * `options` and `report` may be null.
 */
PH_API
ph_status ph_convert(const struct ph_input *input,
                     const struct ph_output *output,
                     const struct ph_options *options,
                     struct ph_report **report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* POLYHAUL_H */

/*
 * Options for ph_options_set.
 *
 * Each line has the full name, the values, the default, an alias if there is one, and the formats that the option
 * applies to, if it does not apply to all. Sizes may have a unit: 64MB is 64,000,000, 64MiB is 67,108,864.
 * Formats: obj, ply, stl, pbrt, csv, tsv, txt, xyz, pts, npy, tga, hdr, png, jpg, exr, bmp, psd, dds, ktx2, off, glb,
 * spz, splat, compressed.ply, sog.
 *
 * Reading and writing
 *
 *   format = none|(the name of a format); default none; aliases `from` (reading) and `to` (writing)
 *       The format; if absent, it is inferred from the file name or, failing that, from the content.
 *   threads = none|1..1024; default none
 *       Worker threads; if absent, one for each core that the process may use.
 *   memory_limit = N >= 1; default 67108864
 *       Memory for work in flight, in bytes (default 64 MiB).
 *   spill_folder = none|(text); default none
 *       Folder for the temporary files of a conversion in limited memory (default: the folder of the output, or the
 *       system's temporary folder if the output is not a file).
 *   strict = false|true|all; default false
 *       Treat losses and faults as errors; with `all`, notes too.
 *   allow = (kinds of warnings, separated by commas, such as `left-out-uvs`); default ""
 *       Kinds of warnings to accept despite `strict`.
 *   splats.spz_axes = rub|rdf; default rub; spz
 *       The axes of SPZ files.
 *
 * Reading
 *
 *   on_error = raise|warn; default raise
 *       What to do with data that breaks its format's rules.
 *   limits.line_bytes = N >= 0; default 268435456
 *       The longest logical line, in bytes (default 256 MiB, at most 1 GiB); for pbrt, the longest span between two
 *       lines that start with a directive.
 *   limits.name_bytes = N >= 0; default 65536
 *       The longest name of an object, group, material or file, in bytes (default 64 KiB).
 *   limits.elements = N >= 0; default 4294967294
 *       The maximum number of elements of each kind (default 2^32 - 2, the largest that the index type allows).
 *   limits.objects = N >= 0; default 1000000; obj, glb
 *       The maximum number of objects, and of distinct groups, that an OBJ file declares (default 1,000,000).
 *   limits.materials = N >= 0; default 100000; obj
 *       The maximum number of materials that an OBJ file uses, or a material library defines (default 100,000).
 *   limits.pixels = N >= 0; default 268435456; images
 *       The maximum number of pixels in an image, or in all images of a texture together (default 2^28: 16,384 x
 *       16,384).
 *   limits.image_ratio = N >= 0; default 100; images
 *       The maximum bytes of pixels per byte of a compressed image file, checked for images that take more than 512 MiB
 *       in memory (default 100).
 *   limits.columns = N >= 0; default 100000; tables
 *       The maximum number of columns in a table (default 100,000).
 *   limits.properties = N >= 0; default 10000; ply
 *       The maximum number of elements and properties together in the header of a PLY file (default 10,000).
 *   limits.header_bytes = N >= 0; default 8388608; ply, exr, sog
 *       The longest header of a PLY or EXR file, and the longest JSON of SOG, in bytes (default 8 MiB).
 *   limits.files = N >= 0; default 10000
 *       The maximum number of files that a scene may refer to (default 10,000).
 *   limits.included_bytes = N >= 0; default 268435456; pbrt, glb
 *       The maximum decompressed bytes that repeated Includes and Imports of the same files may add to a pbrt scene; in
 *       glTF, the maximum bytes that accessors may read repeatedly or without a buffer view, and the maximum
 *       decompressed size of compressed buffer views (default 256 MiB).
 *   limits.instanced_elements = N >= 0; default 1000000000
 *       The maximum number of vertices, and of faces, after expanding instances for a format that does not support them
 *       (default 1,000,000,000).
 *   limits.instanced_objects = N >= 0; default 10000000
 *       The maximum number of objects or shapes that instances may be expanded to (default 10,000,000).
 *   limits.referenced_file_bytes = N >= 0; default 67108864
 *       The maximum size of a file that a scene refers to, in bytes, after decompression (default 64 MiB).
 *   limits.decompressed_bytes = N >= 0; default 18446744073709551615
 *       The maximum decompressed size of a compressed input, in bytes (default: no limit).
 *   limits.decompressed_ratio = N >= 0; default 2000
 *       The maximum compression ratio, checked after the first 64 MiB of output (default 2000, which gzip and lz4
 *       cannot reach).
 *   precision = auto|single|double; default auto
 *       The precision of positions.
 *   allow_outside = true|false; default false
 *       Read and copy files outside the scene's folder too.
 *   load_materials = true|false; default true; obj
 *       Read the material libraries that a scene refers to.
 *   load_meshes = true|false; default true; alias no_lazy; pbrt
 *       Read the mesh files that a scene refers to.
 *   stl.weld = true|false; default false; stl
 *       Merge equal positions.
 *   table.delimiter = none|(one character, or comma, semicolon, tab or blanks); default none; csv, tsv, txt, xyz, pts
 *       Field delimiter.
 *   table.comment = (text); default #; csv, tsv, txt, xyz, pts
 *       The start of a comment, on a line of its own or after values; empty for none.
 *   table.header = auto|yes|no; default auto; csv, tsv, txt, xyz, pts
 *       Whether the first row has column names.
 *   table.skip_lines = N >= 0; default 0; csv, tsv, txt, xyz, pts
 *       Lines to skip at the start, including comments and empty lines.
 *   table.max_rows = none|N >= 0; default none; tables
 *       The maximum number of rows to read; the rest of the file is ignored.
 *   table.element = none|(text); default none; ply
 *       The element of a PLY file to read as a table.
 *   table.columns = none|(column names, or indices from 0, separated by commas); default none; tables, ply
 *       The columns to keep, in this order.
 *   table.missing = (error, nan or a number); default error; csv, tsv, txt, xyz, pts
 *       The value of an empty field.
 *   rows.filter = none|(a condition on columns); default none
 *       Keep rows or vertices that match, such as `opacity > 0.05 and z < 10`.
 *   rows.bounds = none|(six numbers, separated by commas: minimum x, y, z, then maximum x, y, z); default none; alias
 *       box
 *       Keep rows or vertices in this box.
 *   rows.every = N >= 1; default 1
 *       Then keep every Nth, starting with the first.
 *   rows.sample = none|N >= 0; default none
 *       Then keep a random sample of N, in file order; repeated runs choose the same sample.
 *   rows.transform = none|(12 numbers, separated by commas: a 3x4 row-major matrix); default none
 *       Transform the result by an affine matrix for column vectors.
 *   image.layer = none|(text); default none; exr
 *       Read only the channels of this layer or view: `diffuse` for `diffuse.R`, `diffuse.G` and `diffuse.B`.
 *   image.part = none|(text); default none; exr
 *       Read this part, by its name, its number (from 0) or its view.
 *   image.orient = true|false; default false; jpg, png
 *       Apply the EXIF orientation.
 *
 * Writing
 *
 *   compression = auto|none|gzip|zstd|lz4; default auto; alias compress
 *       The compression of the output.
 *   level = none|1..22; default none
 *       The compression level: gzip 1 to 12, zstd 1 to 22; lz4 has a single level.
 *   durable = true|false; default false
 *       Sync the file and its folder to disk before returning.
 *   copy_assets = true|false; default false
 *       Copy the files that the asset refers to (textures, meshes, spectra) into the output's folder, and refer to the
 *       copies.
 *   forward_axis = none|X|Y|Z|-X|-Y|-Z; default none; obj, ply, stl, off, glb, spz, splat, compressed.ply, tables
 *       The axis of the file that faces forward.
 *   up_axis = none|X|Y|Z|-X|-Y|-Z; default none; obj, ply, stl, off, glb, spz, splat, compressed.ply, tables
 *       The axis of the file that points up.
 *   global_scale = N > 0; default 1; alias scale; obj, ply, stl, off, glb, spz, splat, compressed.ply, tables
 *       Scale positions by this factor.
 *   origin = (auto, none or x,y,z); default auto; obj, ply, stl, off, glb, pbrt, spz, splat, compressed.ply, tables
 *       The point that becomes the origin of coordinates.
 *   triangulate = true|false; default false; alias export_triangulated_mesh; obj, ply, stl, off, glb
 *       Cut faces into triangles.
 *   uv = true|false; default true; alias export_uv; obj, ply, off
 *       Write UVs.
 *   normals = true|false; default true; alias export_normals; obj, ply, off
 *       Write normals.
 *   colors = true|false; default true; alias export_colors; obj, ply, off
 *       Write vertex colors.
 *   float_colors = true|false; default false; ply, off
 *       Write colors as floats from 0 to 1 instead of bytes.
 *   ascii = true|false; default false; ply, stl
 *       Write text instead of binary data.
 *   dialect = common|blender; default common; obj, ply, stl
 *       Conventions to follow when writing.
 *   digits = none|(0 to 12, or shortest); default none; obj, ply, stl, off, tables
 *       Decimal places of numbers in text.
 *   instances = auto|flatten|once|gpu|nodes; default auto
 *       How instances of a scene, and objects that share a mesh, are written.
 *   obj.position_digits = none|(0 to 12, or shortest); default none; obj
 *       Decimal places of positions.
 *   obj.uv_digits = none|(0 to 12, or shortest); default none; obj
 *       Decimal places of UVs.
 *   obj.normal_digits = none|(0 to 12, or shortest); default none; obj
 *       Decimal places of normals.
 *   obj.color_digits = none|(0 to 12, or shortest); default none; obj
 *       Decimal places of vertex colors.
 *   obj.materials = true|false; default true; alias export_materials; obj
 *       Write materials and the material library.
 *   obj.pbr_extensions = true|false; default true; alias export_pbr_extensions; obj
 *       Write the PBR extensions of materials.
 *   obj.object_groups = true|false; default false; alias export_object_groups; obj
 *       Write `g NAME` instead of `o NAME`.
 *   obj.material_groups = true|false; default false; alias export_material_groups; obj
 *       Write `g OBJECT_MATERIAL` before each `usemtl`.
 *   obj.groups = true|false; default true; alias export_groups; obj
 *       Write face groups (`g`).
 *   obj.vertex_groups = true|false; default false; alias export_vertex_groups; obj
 *       Write the vertex group that has the most weight on each face (`g`).
 *   obj.smoothing = none|flags|groups|bitflags; default flags; obj
 *       Values of `s` statements.
 *   obj.curves = true|false; default true; alias export_curves; obj
 *       Write free-form curves.
 *   ply.big_endian = true|false; default false; ply
 *       Write big-endian binary data.
 *   splats.spz_version = 2..4; default 3; spz
 *       The version of SPZ files.
 *   splats.spz_level = 1..22; default 1; spz
 *       The compression level of SPZ files, from 1 (fast) to 12 (small), or to 22 for version 4.
 *   splats.sh_degree = 0..4; default 4; spz, splat, compressed.ply, glb
 *       The highest degree of spherical harmonics to write.
 *   splats.keep_order = true|false; default false; compressed.ply
 *       Keep the order of splats.
 *   gltf.embed_images = true|false; default true; glb
 *       Embed images in `.glb` files.
 *   gltf.quantize = true|false; default false; glb
 *       Store positions, UVs from 0 to 1 and colors in 16 bits, and normals in 8 bits (`KHR_mesh_quantization`).
 *   gltf.meshopt = true|false; default false; glb
 *       Compress vertices, indices and instances (`EXT_meshopt_compression`).
 *   table.out_delimiter = none|(one character, or comma, semicolon, tab or blanks); default none; csv, tsv, txt, xyz,
 *       pts
 *       Field delimiter.
 *   table.out_header = auto|yes|no; default auto; csv, tsv, txt, xyz, pts
 *       Whether to write a row of column names.
 *   table.out_comment = (text); default "# "; csv, tsv, txt, xyz
 *       The start of a comment line; empty to drop comments.
 *   table.column_digits = (0 to 12 or shortest, separated by commas); default ""; csv, tsv, txt, xyz, pts
 *       Decimal places of each column, one value per column; overrides `digits`.
 *   table.nan = (text); default nan; csv, tsv, txt, xyz, pts
 *       The text for NaN.
 *   table.csv_safe = true|false; default false; csv, tsv, txt, xyz, pts
 *       Put a `'` before column names that a spreadsheet would run as a formula.
 *   pbrt.compact = true|false; default false; pbrt
 *       Write one item per line without indentation.
 *   pbrt.meshes = (keep, inline, ply or ply:N, where N is the minimum number of vertices); default keep; pbrt
 *       Where the arrays of meshes are stored: in the text, or in PLY files next to the scene.
 *   pbrt.parts = 0..5000; default 0; pbrt
 *       Split the scene into about this many files of equal size, imported by the main file.
 *   image.rle = true|false; default false; tga
 *       Use run-length encoding, which is smaller and slower.
 *   image.png_level = fast|balanced|best; default balanced; png
 *       Compression effort for PNG.
 *   image.quality = 1..100; default 90; jpg
 *       JPEG quality, from 1 (small) to 100 (nearly lossless).
 *   image.exr_float = true|false; default false; exr
 *       Write 32-bit floats unchanged instead of rounding them to 16 bits.
 *   image.zstd_level = 0..22; default 3; ktx2
 *       The zstd level for compressing each mip level, from 1 (fast) to 22 (small), or 0 for no compression.
 */
