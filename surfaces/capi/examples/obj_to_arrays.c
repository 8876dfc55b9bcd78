/* Reads a mesh and prints what an engine would upload: the arrays, as they are in memory.
 *
 *     obj_to_arrays model.obj
 */
#include <polyhaul.h>
#include <stdio.h>

static int fail(void)
{
    fprintf(stderr, "%s\n", ph_last_error_text());
    return 1;
}

static int print_mesh(const ph_scene *scene, size_t index)
{
    ph_mesh mesh = {.struct_size = sizeof mesh};
    size_t face, corner, run;

    if (ph_scene_mesh(scene, index, &mesh) != PH_OK)
        return fail();
    printf("mesh %zu: %zu positions, %zu uvs, %zu faces, %zu corners\n", index, mesh.position_count, mesh.uv_count,
           mesh.faces.count, mesh.faces.corner_count);
    if (mesh.position_count > 0)
        printf("first position: %g %g %g\n", mesh.positions[0], mesh.positions[1], mesh.positions[2]);
    for (face = 0; face < mesh.faces.count; face++) {
        printf("face %zu:", face);
        for (corner = mesh.faces.offsets[face]; corner < mesh.faces.offsets[face + 1]; corner++)
            printf(" %u", (unsigned)mesh.faces.corner_positions[corner]);
        printf("\n");
    }
    for (run = 0; run < mesh.material_run_count; run++) {
        ph_material material = {.struct_size = sizeof material};
        if (mesh.material_runs[run].value == PH_NONE)
            continue;
        if (ph_scene_material(scene, mesh.material_runs[run].value, &material) != PH_OK)
            return fail();
        printf("from face %u on: %.*s", (unsigned)mesh.material_runs[run].first_face, (int)material.name.size,
               material.name.data);
        if (material.has & PH_HAS_DIFFUSE)
            printf(" (%g %g %g)", material.diffuse[0], material.diffuse[1], material.diffuse[2]);
        printf("\n");
    }
    return 0;
}

static int print_warnings(const ph_report *report)
{
    ph_report_info info = {.struct_size = sizeof info};
    size_t index;

    if (ph_report_get(report, &info) != PH_OK)
        return fail();
    for (index = 0; index < info.kept_warning_count; index++) {
        ph_warning warning = {.struct_size = sizeof warning};
        if (ph_report_warning(report, index, &warning) != PH_OK)
            return fail();
        printf("warning: %.*s\n", (int)warning.message.size, warning.message.data);
    }
    return 0;
}

int main(int argc, char **argv)
{
    ph_input input = {.struct_size = sizeof input};
    ph_scene_info info = {.struct_size = sizeof info};
    ph_options *options;
    ph_scene *scene;
    ph_report *report;
    ph_status status;
    size_t index;
    int failed = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: obj_to_arrays FILE\n");
        return 2;
    }
    input.path = argv[1];
    if (ph_options_new(&options) != PH_OK)
        return fail();
    status = ph_options_set(options, "on_error", "warn"); /* skip malformed statements */
    if (status == PH_OK)
        status = ph_scene_read(&input, options, &scene, &report);
    ph_options_free(options);
    if (status != PH_OK)
        return fail();
    if (ph_scene_get(scene, &info) != PH_OK)
        failed = fail();
    for (index = 0; index < info.mesh_count && !failed; index++)
        failed = print_mesh(scene, index);
    failed = failed || print_warnings(report);
    ph_report_free(report);
    ph_scene_free(scene);
    return failed;
}
