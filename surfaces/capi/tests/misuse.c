/* What a careless or hostile host does: every case ends in an error with a number and a text, and nothing leaks.
 * Built and run by tests/programs.rs, with AddressSanitizer where there is one.
 */
#include <polyhaul.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, ph_last_error_text());              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static const char TRIANGLE[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/* A host that reads from memory in some hostile way. */
typedef struct host {
    const char *text;
    size_t size, at;
    size_t step;   /* at most so many bytes per call; 0 for all */
    long fail_at;  /* the call that fails, from 0; -1 for none */
    int64_t fails; /* what it returns then */
    int calls, released, reenter;
    size_t smallest; /* that was asked for */
    int early; /* for pools: how many tasks are run, or -1 for all */
} host;

static host host_of(const char *text)
{
    host self = {0};

    self.text = text;
    self.size = strlen(text);
    self.fail_at = self.early = -1;
    self.smallest = (size_t)-1;
    return self;
}

static ph_input memory_of(const char *text)
{
    ph_input input = {.struct_size = sizeof input};

    input.memory = text;
    input.memory_size = strlen(text);
    input.name = "memory.obj";
    return input;
}

static int64_t host_read(void *user, void *out, size_t size)
{
    host *self = user;
    size_t count = self->size - self->at;

    if (size < self->smallest)
        self->smallest = size;
    if (self->calls++ == self->fail_at)
        return self->fails;
    if (self->reenter) {
        /* A callback may use the library itself. */
        ph_input input = memory_of(TRIANGLE);
        ph_scene *scene;
        CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_OK);
        ph_scene_free(scene);
        CHECK(ph_scene_read(NULL, NULL, &scene, NULL) == PH_ERROR_USAGE && scene == NULL);
    }
    if (self->step > 0 && count > self->step)
        count = self->step;
    if (count > size)
        count = size;
    memcpy(out, self->text + self->at, count);
    self->at += count;
    return (int64_t)count;
}

static void host_release(void *user)
{
    ((host *)user)->released++;
}

static ph_input input_of(host *self)
{
    ph_input input = {.struct_size = sizeof input};

    input.read = host_read;
    input.release = host_release;
    input.user = self;
    input.name = "host.obj";
    return input;
}

static ph_status read_host(host *self, size_t *positions)
{
    ph_input input = input_of(self);
    ph_scene *scene;
    ph_status status = ph_scene_read(&input, NULL, &scene, NULL);
    ph_mesh mesh = {.struct_size = sizeof mesh};

    CHECK(self->released == 1);
    CHECK((status == PH_OK) == (scene != NULL));
    if (status == PH_OK && ph_scene_mesh(scene, 0, &mesh) == PH_OK)
        *positions = mesh.position_count;
    ph_scene_free(scene);
    return status;
}

static void null_handles(void)
{
    ph_scene *scene = (ph_scene *)1;
    ph_mesh mesh = {.struct_size = sizeof mesh};
    ph_input input = {.struct_size = sizeof input};
    ph_output output = {.struct_size = sizeof output};
    ph_error error = {.struct_size = sizeof error};

    CHECK(ph_scene_read(NULL, NULL, NULL, NULL) == PH_ERROR_USAGE);
    input = memory_of(TRIANGLE);
    CHECK(ph_scene_read(&input, NULL, NULL, NULL) == PH_ERROR_USAGE);
    CHECK(ph_scene_mesh(NULL, 0, &mesh) == PH_ERROR_USAGE);
    CHECK(ph_scene_write(NULL, NULL, NULL, NULL) == PH_ERROR_USAGE);
    output.path = "nowhere.obj";
    CHECK(ph_scene_write(NULL, &output, NULL, NULL) == PH_ERROR_USAGE);
    CHECK(ph_scene_new(NULL) == PH_ERROR_USAGE);
    CHECK(ph_scene_add_mesh(NULL, &mesh, PH_COPY) == PH_ERROR_USAGE);
    CHECK(ph_image_get(NULL, NULL) == PH_ERROR_USAGE);
    CHECK(ph_cancel_request(NULL) == PH_ERROR_USAGE);
    CHECK(ph_report_get(NULL, NULL) == PH_ERROR_USAGE);
    CHECK(ph_tables_count(NULL) == 0);
    CHECK(ph_last_error(NULL) == PH_ERROR_USAGE);
    CHECK(ph_last_error(&error) == PH_OK && error.status == PH_ERROR_USAGE);
    CHECK(strstr(error.text, "null pointer") != NULL);
    ph_scene_free(NULL);
    ph_image_free(NULL);
    ph_tables_free(NULL);
    ph_report_free(NULL);
    ph_cancel_free(NULL);

    memset(&input, 0, sizeof input); /* neither a size nor a source */
    CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_ERROR_USAGE);
    input.struct_size = sizeof input;
    CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_ERROR_USAGE && scene == NULL);
    input = memory_of(TRIANGLE);
    input.path = "both.obj";
    CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_ERROR_USAGE);
    input = memory_of(TRIANGLE);
    input.name = "not \xff text";
    CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_ERROR_USAGE);
}

static void struct_sizes(void)
{
    struct {
        ph_input input;
        char later[16];
    } longer;
    ph_mesh mesh = {.struct_size = sizeof mesh};
    ph_input input;
    ph_scene *scene;
    size_t size;

    memset(&longer, 0, sizeof longer);
    longer.input = memory_of(TRIANGLE);
    longer.input.struct_size = sizeof longer;
    CHECK(ph_scene_read(&longer.input, NULL, &scene, NULL) == PH_OK);
    ph_scene_free(scene);
    longer.later[3] = 1; /* a field that this library does not know */
    CHECK(ph_scene_read(&longer.input, NULL, &scene, NULL) == PH_ERROR_UNSUPPORTED);

    for (size = 0; size < sizeof input; size += 7) {
        input = memory_of(TRIANGLE);
        input.struct_size = size;
        CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_ERROR_USAGE);
    }
    input.struct_size = (size_t)-1;
    CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_ERROR_USAGE);
    input.struct_size = sizeof input;
    CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_OK);

    mesh.struct_size = offsetof(ph_mesh, exact_positions) - 1; /* smaller than any version */
    CHECK(ph_scene_mesh(scene, 0, &mesh) == PH_ERROR_USAGE && mesh.position_count == 0);
    mesh.struct_size = sizeof mesh;
    CHECK(ph_scene_mesh(scene, 1, &mesh) == PH_ERROR_USAGE);
    CHECK(ph_scene_mesh(scene, 0, &mesh) == PH_OK && mesh.position_count == 3);
    ph_scene_free(scene);
}

/* Whether an option has this value. */
static int has_value(ph_options *options, const char *name, const char *expected)
{
    const char *value;

    return ph_options_get(options, name, &value) == PH_OK && strcmp(value, expected) == 0;
}

static void options_by_name(void)
{
    ph_input input = memory_of(TRIANGLE);
    ph_error error = {.struct_size = sizeof error};
    ph_options *options = (ph_options *)1;
    ph_scene *scene;
    const char *value = "";
    char long_name[5000];

    /* new options have the defaults */
    CHECK(ph_options_new(&options) == PH_OK);
    CHECK(has_value(options, "threads", "none") && has_value(options, "memory_limit", "67108864"));
    CHECK(has_value(options, "format", "none") && has_value(options, "on_error", "raise"));
    CHECK(has_value(options, "obj.smoothing", "flags") && has_value(options, "limits.elements", "4294967294"));
    CHECK(ph_scene_read(&input, options, &scene, NULL) == PH_OK);
    ph_scene_free(scene);

    CHECK(ph_options_set(options, "obj.smoothing", "groups") == PH_OK && has_value(options, "smoothing", "groups"));
    CHECK(ph_options_set(options, "memory_limit", "32MiB") == PH_OK && has_value(options, "memory_limit", "33554432"));
    CHECK(ph_options_set(options, "scale", "0.01") == PH_OK && has_value(options, "global_scale", "0.01"));
    CHECK(ph_options_set(options, "from", "obj") == PH_OK && ph_options_set(options, "to", "ply") == PH_OK);
    CHECK(has_value(options, "from", "obj") && has_value(options, "to", "ply"));
    CHECK(ph_scene_read(&input, options, &scene, NULL) == PH_OK);
    ph_scene_free(scene);
    CHECK(ph_options_set(options, "format", "stl") == PH_OK && has_value(options, "to", "stl"));

    CHECK(ph_options_set(options, "obj.smoothing", "sideways") == PH_ERROR_USAGE);
    CHECK(ph_last_error(&error) == PH_OK && strcmp(error.message, "obj.smoothing is \"sideways\"") == 0);
    CHECK(strcmp(error.expected, "none, flags, groups or bitflags") == 0);
    CHECK(has_value(options, "obj.smoothing", "groups")); /* unchanged */
    CHECK(ph_options_set(options, "format", "nonsense") == PH_ERROR_USAGE && has_value(options, "to", "stl"));
    CHECK(ph_options_set(options, "obj.smooting", "groups") == PH_ERROR_USAGE);
    CHECK(ph_last_error(&error) == PH_OK && strcmp(error.hint, "did you mean \"obj.smoothing\"?") == 0);
    CHECK(ph_options_get(options, "obj.smooting", &value) == PH_ERROR_USAGE && value == NULL);

    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    CHECK(ph_options_set(options, long_name, long_name) == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, "threads", long_name) == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, "", "") == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, "threads", "") == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, "threads", "0") == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, "threads", "99999999999999999999") == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, "thr\xff", "1") == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, "table.comment", "\xff") == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, NULL, "1") == PH_ERROR_USAGE);
    CHECK(ph_options_set(options, "threads", NULL) == PH_ERROR_USAGE);
    CHECK(ph_options_get(options, NULL, &value) == PH_ERROR_USAGE);
    CHECK(ph_options_get(options, "threads", NULL) == PH_ERROR_USAGE);
    ph_options_free(options);

    CHECK(ph_options_new(NULL) == PH_ERROR_USAGE);
    CHECK(ph_options_set(NULL, "threads", "1") == PH_ERROR_USAGE);
    value = "";
    CHECK(ph_options_get(NULL, "threads", &value) == PH_ERROR_USAGE && value == NULL);
    CHECK(ph_options_set_cancel(NULL, NULL) == PH_ERROR_USAGE);
    CHECK(ph_options_set_progress(NULL, NULL, NULL) == PH_ERROR_USAGE);
    CHECK(ph_options_set_pool(NULL, NULL, NULL) == PH_ERROR_USAGE);
    CHECK(ph_options_set_resolver(NULL, NULL, NULL) == PH_ERROR_USAGE);
    CHECK(ph_options_set_read_throttle(NULL, 1, 1) == PH_ERROR_USAGE);
    CHECK(ph_options_set_write_throttle(NULL, 1, 1) == PH_ERROR_USAGE);
    ph_options_free(NULL);
}

static void hostile_callbacks(void)
{
    host self = host_of(TRIANGLE);
    ph_error error = {.struct_size = sizeof error};
    size_t positions = 0;
    long call;

    self.step = 1;
    CHECK(read_host(&self, &positions) == PH_OK && positions == 3);
    CHECK(self.smallest >= 65536);

    self = host_of(TRIANGLE);
    self.reenter = 1;
    CHECK(read_host(&self, &positions) == PH_OK && positions == 3);

    self = host_of(TRIANGLE);
    self.fail_at = 0;
    self.fails = INT64_MAX;
    CHECK(read_host(&self, &positions) == PH_ERROR_HOST);
    self = host_of(TRIANGLE);
    self.fail_at = 0;
    self.fails = INT64_MIN;
    CHECK(read_host(&self, &positions) == PH_ERROR_HOST);

    for (call = 0; call < (long)strlen(TRIANGLE); call += 3) {
        self = host_of(TRIANGLE);
        self.step = 1;
        self.fail_at = call;
        self.fails = -1 - call;
        CHECK(read_host(&self, &positions) == PH_ERROR_HOST);
        CHECK(ph_last_error(&error) == PH_OK && error.host_code == -1 - call);
        CHECK(error.text[0] != 0 && strcmp(ph_status_name(error.status), "host") == 0);
        CHECK(self.calls == call + 1); /* never again after it failed */
    }
}

static void places_of_errors(void)
{
    ph_input input = memory_of("v 0 0 0\nf 1 2 x\n");
    ph_error error = {.struct_size = sizeof error};
    ph_scene *scene;

    CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_ERROR_MALFORMED);
    CHECK(ph_last_error(&error) == PH_OK);
    CHECK(error.line == 2 && error.column == 7 && strcmp(error.file, "memory.obj") == 0);
    CHECK(strstr(error.message, "`x`") != NULL);
    input.memory = NULL;
    input.path = "there/is/no/such.obj";
    CHECK(ph_scene_read(&input, NULL, &scene, NULL) == PH_ERROR_IO);
    CHECK(ph_last_error(&error) == PH_OK && error.line == PH_UNKNOWN);
}

static void limits(void)
{
    ph_input input = memory_of(TRIANGLE);
    ph_options *options;
    ph_scene *scene;

    CHECK(ph_options_new(&options) == PH_OK);
    CHECK(ph_options_set(options, "limits.elements", "2") == PH_OK);
    CHECK(ph_scene_read(&input, options, &scene, NULL) == PH_ERROR_LIMIT);
    CHECK(strstr(ph_last_error_text(), "elements") != NULL);
    CHECK(ph_options_set(options, "limits.elements", "3") == PH_OK);
    CHECK(ph_scene_read(&input, options, &scene, NULL) == PH_OK);
    ph_scene_free(scene);
    ph_options_free(options);
}

static int32_t cancels(void *user, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    ++*(int *)user;
    return 1;
}

/* A pool: `early` says how many tasks it runs. */
static void pool(void *user, size_t count, ph_task_fn task, void *context)
{
    host *self = user;
    size_t index;

    self->calls++;
    for (index = 0; index < count && (self->early < 0 || (int)index < self->early); index++)
        task(context, count - 1 - index);
}

static void cancelling_and_pools(void)
{
    size_t size = 0, index;
    char *text = malloc(12000000);
    ph_input input = {.struct_size = sizeof input};
    ph_options *options;
    ph_cancel *cancel;
    ph_scene *scene;
    int called = 0;

    CHECK(text != NULL);
    for (index = 0; size < 11900000; index++)
        size += (size_t)sprintf(text + size, "v %u 0 1\n", (unsigned)index);
    input.memory = text;
    input.memory_size = size;
    input.name = "points.obj";

    CHECK(ph_options_new(&options) == PH_OK);
    CHECK(ph_options_set_progress(options, cancels, &called) == PH_OK);
    CHECK(ph_scene_read(&input, options, &scene, NULL) == PH_ERROR_CANCELLED);
    CHECK(scene == NULL && called > 0);
    CHECK(ph_options_set_progress(options, NULL, NULL) == PH_OK);
    CHECK(ph_cancel_new(&cancel) == PH_OK && ph_options_set_cancel(options, cancel) == PH_OK);
    CHECK(ph_cancel_request(cancel) == PH_OK);
    ph_cancel_free(cancel); /* the options keep it */
    CHECK(ph_scene_read(&input, options, &scene, NULL) == PH_ERROR_CANCELLED);
    CHECK(ph_options_set_cancel(options, NULL) == PH_OK);
    CHECK(ph_options_set(options, "threads", "5") == PH_OK);

    for (called = -1; called < 3; called++) {
        host self = host_of("");
        ph_scene_info info = {.struct_size = sizeof info};
        self.early = called;
        CHECK(ph_options_set_pool(options, pool, &self) == PH_OK);
        CHECK(ph_scene_read(&input, options, &scene, NULL) == PH_OK && self.calls > 0);
        CHECK(ph_scene_get(scene, &info) == PH_OK && info.position_count == index);
        CHECK(info.bounds_max[0] == (float)(index - 1));
        ph_scene_free(scene);
    }
    ph_options_free(options);
    free(text);
}

static int64_t sink(void *user, const void *data, size_t size)
{
    (void)data;
    return *(int64_t *)user > (int64_t)size ? (int64_t)size : *(int64_t *)user;
}

static int64_t greedy(void *user, const void *data, size_t size)
{
    (void)user;
    (void)data;
    return (int64_t)size + 1;
}

static void models_that_break_rules(void)
{
    static const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const uint32_t offsets[] = {0, 3}, wrong[] = {0, 1, 3}, right[] = {0, 1, 2};
    int64_t takes = -7;
    ph_mesh mesh = {.struct_size = sizeof mesh};
    ph_object object = {.struct_size = sizeof object};
    ph_texture texture = {.struct_size = sizeof texture};
    ph_output output = {.struct_size = sizeof output};
    ph_error error = {.struct_size = sizeof error};
    ph_pixels pixels = {.struct_size = sizeof pixels};
    ph_scene *scene;

    output.write = sink;
    output.user = &takes;
    output.name = "out.obj";
    CHECK(ph_scene_new(&scene) == PH_OK);
    mesh.position_count = 3;
    CHECK(ph_scene_add_mesh(scene, &mesh, PH_COPY) == PH_ERROR_USAGE); /* a count without an array */
    mesh.positions = (const float *)((const char *)positions + 1);
    mesh.position_count = 2;
    CHECK(ph_scene_add_mesh(scene, &mesh, PH_COPY) == PH_ERROR_USAGE); /* not aligned */
    mesh.positions = positions;
    mesh.position_count = (size_t)-1;
    CHECK(ph_scene_add_mesh(scene, &mesh, PH_BORROW) == PH_ERROR_USAGE);
    mesh.position_count = 3;
    mesh.faces.offsets = offsets;
    mesh.faces.count = 1;
    mesh.faces.corner_positions = wrong;
    mesh.faces.corner_count = 3;
    CHECK(ph_scene_add_mesh(scene, &mesh, 7) == PH_ERROR_USAGE);
    CHECK(ph_scene_add_object(scene, &object) == PH_ERROR_USAGE); /* no mesh yet */
    CHECK(ph_scene_add_texture(scene, 0, &texture) == PH_ERROR_USAGE);
    CHECK(ph_scene_add_mesh(scene, &mesh, PH_COPY) == PH_OK);
    CHECK(ph_scene_write(scene, &output, NULL, NULL) == PH_ERROR_USAGE); /* an index past the end */
    ph_scene_free(scene);

    mesh.faces.corner_positions = right;
    CHECK(ph_scene_new(&scene) == PH_OK && ph_scene_add_mesh(scene, &mesh, PH_COPY) == PH_OK);
    CHECK(ph_scene_write(scene, &output, NULL, NULL) == PH_ERROR_HOST);
    CHECK(ph_last_error(&error) == PH_OK && error.host_code == -7);
    takes = 0;
    CHECK(ph_scene_write(scene, &output, NULL, NULL) == PH_ERROR_HOST);
    takes = 1;
    CHECK(ph_scene_write(scene, &output, NULL, NULL) == PH_OK);
    output.write = greedy;
    CHECK(ph_scene_write(scene, &output, NULL, NULL) == PH_ERROR_HOST);
    ph_scene_free(scene);

    pixels.width = pixels.height = (size_t)1 << 40;
    pixels.channels = 3;
    pixels.scalar = PH_SCALAR_U8;
    pixels.samples = positions;
    CHECK(ph_image_write(&pixels, &output, NULL, NULL) == PH_ERROR_USAGE);
    pixels.width = pixels.height = 1;
    pixels.channels = 5;
    CHECK(ph_image_write(&pixels, &output, NULL, NULL) == PH_ERROR_USAGE);
    pixels.channels = 3;
    pixels.row_bytes = 2;
    CHECK(ph_image_write(&pixels, &output, NULL, NULL) == PH_ERROR_USAGE);
}

static void a_thousand_failures(void)
{
    int round;

    for (round = 0; round < 1000; round++) {
        host self = host_of("v 0 0 0\nf 1 2 x\n");
        size_t positions = 0;
        self.step = (size_t)(round % 5);
        CHECK(read_host(&self, &positions) == PH_ERROR_MALFORMED);
    }
}

int main(void)
{
    null_handles();
    struct_sizes();
    options_by_name();
    hostile_callbacks();
    places_of_errors();
    limits();
    cancelling_and_pools();
    models_that_break_rules();
    a_thousand_failures();
    printf("version %s: all as it should be\n", ph_version());
    return 0;
}
