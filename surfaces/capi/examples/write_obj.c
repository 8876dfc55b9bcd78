/* Writes a house as OBJ from the program's arrays, which are not copied, with two materials, progress and the program's
 * thread pool (here sequential).
 *
 *     write_obj OUT.obj
 */
#include <polyhaul.h>
#include <stdio.h>

static const float POSITIONS[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0.5f, 1.5f, 0};
static const uint32_t OFFSETS[] = {0, 4, 7};
static const uint32_t CORNERS[] = {0, 1, 2, 3, 3, 2, 4};
static const ph_run MATERIALS[] = {{0, 0}, {1, 1}};

static int32_t on_progress(void *user, uint64_t done, uint64_t total)
{
    (void)total;
    *(uint64_t *)user = done;
    return 0; /* anything else cancels */
}

static void run_tasks(void *user, size_t count, ph_task_fn task, void *context)
{
    size_t index;

    (void)user;
    for (index = 0; index < count; index++)
        task(context, index);
}

static ph_status fill(ph_scene *scene)
{
    ph_mesh mesh = {.struct_size = sizeof mesh};
    ph_material material = {.struct_size = sizeof material};
    ph_object object = {.struct_size = sizeof object};
    ph_status status;

    material.name = ph_text("wall");
    material.has = PH_HAS_DIFFUSE;
    material.diffuse[0] = material.diffuse[1] = material.diffuse[2] = 0.5f;
    if ((status = ph_scene_add_material(scene, &material)) != PH_OK)
        return status;
    material.name = ph_text("roof");
    material.diffuse[1] = material.diffuse[2] = 0;
    if ((status = ph_scene_add_material(scene, &material)) != PH_OK)
        return status;

    mesh.positions = POSITIONS;
    mesh.position_count = sizeof POSITIONS / sizeof POSITIONS[0] / 3;
    mesh.faces.offsets = OFFSETS;
    mesh.faces.count = sizeof OFFSETS / sizeof OFFSETS[0] - 1;
    mesh.faces.corner_positions = CORNERS;
    mesh.faces.corner_count = sizeof CORNERS / sizeof CORNERS[0];
    mesh.material_runs = MATERIALS;
    mesh.material_run_count = 2;
    if ((status = ph_scene_add_mesh(scene, &mesh, PH_BORROW)) != PH_OK)
        return status;

    object.name = ph_text("house");
    return ph_scene_add_object(scene, &object);
}

static ph_status set_options(ph_options **options, uint64_t *done)
{
    ph_status status = ph_options_new(options);

    if (status == PH_OK)
        status = ph_options_set(*options, "threads", "4");
    if (status == PH_OK)
        status = ph_options_set(*options, "digits", "shortest");
    if (status == PH_OK)
        status = ph_options_set_pool(*options, run_tasks, NULL);
    if (status == PH_OK)
        status = ph_options_set_progress(*options, on_progress, done);
    return status;
}

int main(int argc, char **argv)
{
    ph_output output = {.struct_size = sizeof output};
    ph_report_info info = {.struct_size = sizeof info};
    ph_options *options = NULL;
    ph_scene *scene = NULL;
    ph_report *report = NULL;
    uint64_t done = 0;
    ph_status status;

    if (argc != 2) {
        fprintf(stderr, "usage: write_obj OUT.obj\n");
        return 2;
    }
    output.path = argv[1];

    status = set_options(&options, &done);
    if (status == PH_OK)
        status = ph_scene_new(&scene);
    if (status == PH_OK)
        status = fill(scene);
    if (status == PH_OK)
        status = ph_scene_write(scene, &output, options, &report);
    if (status == PH_OK)
        status = ph_report_get(report, &info);
    if (status == PH_OK)
        printf("wrote %s bytes, progress %s\n", info.bytes_out > 100 ? "some" : "no", done > 0 ? "came" : "did not come");
    else
        fprintf(stderr, "%s\n", ph_last_error_text());
    ph_report_free(report);
    ph_scene_free(scene);
    ph_options_free(options);
    return status == PH_OK ? 0 : 1;
}
