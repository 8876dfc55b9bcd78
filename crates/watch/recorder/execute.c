/* Passes the recorder on to the programs that a process executes.
 *
 * The variables `LD_PRELOAD` and `POLYHAUL_WATCH` are hidden from the program and set again for the next one. Neither
 * is set for programs that would not load the recorder: statically linked ones, setuid ones, and those for another
 * architecture. */

#include "recorder.h"

/* Paths of the record and of the recorder, valid while the command runs. */
HIDDEN char record_path[64], recorder_path[64];
static uint32_t first_index;

/* `PID/RECORD/RECORDER/`: the command and its descriptors; the index of the process follows. */
static char watch_value[64];

static const char PRELOAD[] = "LD_PRELOAD=";
static const char WATCH[] = "POLYHAUL_WATCH=";

/* Bytes of variables that are written to the stack. */
#define MAX_ON_STACK 1024

/* Number of interpreters that start each other. */
#define MAX_INTERPRETERS 4

#define MODE_PRIVILEGES 06000

static const char *after(const char *text, const char *start)
{
    while (*start)
        if (*text++ != *start++)
            return NULL;
    return text;
}

static char *append(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    *to = 0;
    return to;
}

static char *append_number(char *to, uint32_t number)
{
    char digits[11];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count)
        *to++ = digits[--count];
    *to = 0;
    return to;
}

static uint32_t take_number(const char **text)
{
    uint32_t number = 0;
    while (**text >= '0' && **text <= '9')
        number = number * 10 + (uint32_t)(*(*text)++ - '0');
    if (**text == '/')
        (*text)++;
    return number;
}

static void set_paths(const char *value)
{
    const char *rest = value;
    uint32_t process = take_number(&rest);
    uint32_t descriptors[2];
    descriptors[0] = take_number(&rest);
    descriptors[1] = take_number(&rest);
    char *end = watch_value;
    while (value < rest && end < watch_value + sizeof(watch_value) - 12)
        *end++ = *value++;
    *end = 0;
    first_index = *rest ? take_number(&rest) : NO_PROCESS;
    char *paths[2] = {record_path, recorder_path};
    for (int index = 0; index < 2; index++) {
        char *path = append(paths[index], "/proc/");
        path = append_number(path, process);
        append_number(append(path, "/fd/"), descriptors[index]);
    }
}

/* Removes the recorder from the value of `LD_PRELOAD`. Returns whether other libraries remain. */
static int remove_recorder(char *value)
{
    size_t size = 0;
    while (recorder_path[size])
        size++;
    const char *rest = after(value, recorder_path);
    if (rest == NULL)
        return *value != 0;
    if (*rest == ':')
        rest++;
    append(value, rest);
    return *value != 0;
}

/* Removes the recorder's variables. Returns the index of the process, or -1 if nothing is recorded. */
int take_environment(char **environment)
{
    const char *value = NULL;
    for (char **variable = environment; *variable; variable++)
        if (after(*variable, WATCH))
            value = after(*variable, WATCH);
    if (value == NULL)
        return -1;
    set_paths(value);
    char **to = environment;
    for (char **variable = environment; *variable; variable++) {
        char *preload = (char *)after(*variable, PRELOAD);
        if (after(*variable, WATCH) || (preload && !remove_recorder(preload)))
            continue;
        *to++ = *variable;
    }
    *to = NULL;
    return (int)(first_index & INT32_MAX);
}

static long open_program(long folder, const char *path, long flags)
{
    char link[40];
    if (flags & AT_EMPTY_PATH && *path == 0) {
        append_number(append(link, "/proc/thread-self/fd/"), (uint32_t)folder);
        return SYSTEM3(SYS_OPENAT, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
    }
    return SYSTEM3(SYS_OPENAT, folder, path, O_RDONLY | O_CLOEXEC);
}

/* Whether an ELF file for this machine has a dynamic linker. */
static int has_linker(long descriptor, const unsigned char *head)
{
#if defined(__x86_64__)
    const unsigned machine = 62;
#elif defined(__aarch64__)
    const unsigned machine = 183;
#endif
    if (head[4] != 2 || (head[18] | head[19] << 8) != (int)machine)
        return 0;
    uint64_t offset = *(const uint64_t *)(const void *)(head + 32);
    unsigned size = *(const uint16_t *)(const void *)(head + 54);
    unsigned count = *(const uint16_t *)(const void *)(head + 56);
    for (unsigned index = 0; index < count && index < 64; index++) {
        uint32_t type = 0;
        if (SYSTEM4(SYS_PREAD, descriptor, &type, sizeof(type), offset + index * size) != sizeof(type))
            return 0;
        if (type == 3) /* PT_INTERP */
            return 1;
    }
    return 0;
}

/* Returns the path of the interpreter in the first line of a script, and terminates it. */
static char *interpreter(char *head, long size)
{
    char *path = head + 2;
    head[size - 1] = 0;
    while (*path == ' ' || *path == '\t')
        path++;
    char *end = path;
    while (*end && *end != ' ' && *end != '\t' && *end != '\n')
        end++;
    *end = 0;
    return path;
}

/* Whether a program loads the recorder; -1 if it cannot be executed. */
static __attribute__((noinline)) int loads_recorder(long folder, const char *path, long flags)
{
    _Alignas(8) char head[256];
    for (int tried = 0; tried < MAX_INTERPRETERS; tried++) {
        long descriptor = open_program(folder, path, flags);
        if (is_error(descriptor))
            return -1;
        struct file_status status = {0};
        long size = SYSTEM3(SYS_READ, descriptor, head, sizeof(head));
        SYSTEM2(SYS_FSTAT, descriptor, &status);
        int is_elf = size >= 64 && head[0] == 0x7F && head[1] == 'E' && head[2] == 'L' && head[3] == 'F';
        int is_loading = is_elf && !(status.mode & MODE_PRIVILEGES) && has_linker(descriptor, (unsigned char *)head);
        SYSTEM1(SYS_CLOSE, descriptor);
        if (is_elf)
            return is_loading;
        if (size < 4 || head[0] != '#' || head[1] != '!')
            return 0;
        folder = AT_FDCWD;
        path = interpreter(head, size);
        flags = 0;
    }
    return 0;
}

static size_t length(const char *text)
{
    size_t size = 0;
    while (text[size])
        size++;
    return size;
}

/* Size of the variables: pointers, then the text of the recorder's variables. */
static size_t variables_size(const char **old, unsigned count)
{
    size_t size = (count + 3) * sizeof(char *) + sizeof(PRELOAD) + sizeof(recorder_path) + sizeof(WATCH) +
                  sizeof(watch_value) + 12;
    for (unsigned index = 0; index < count; index++)
        if (after(old[index], PRELOAD))
            size += length(old[index]);
    return size;
}

/* Writes the variables of a program, with the recorder's. */
static void set_variables(const char **environment, const char **old, unsigned count, uint32_t process)
{
    char *preload = (char *)(environment + count + 3);
    char *end = append(append(preload, PRELOAD), recorder_path);
    unsigned kept = 0;
    for (unsigned index = 0; index < count; index++) {
        const char *value = after(old[index], PRELOAD);
        if (value == NULL)
            environment[kept++] = old[index];
        else if (*value)
            end = append(append(end, ":"), value);
    }
    char *watch = end + 1;
    end = append(append(watch, WATCH), watch_value);
    if (process != NO_PROCESS)
        append_number(end, process);
    environment[kept++] = preload;
    environment[kept++] = watch;
    environment[kept] = NULL;
}

/* Executes with few variables: musl starts children on a stack of 5 KiB. */
static __attribute__((noinline)) long execute_small(struct call *call, int index, const char **old, unsigned count,
                                                    uint32_t process, size_t size)
{
    const char *environment[size / sizeof(char *) + 1];
    set_variables(environment, old, count, process);
    return make_with(call, index, environment);
}

/* Buffer for a large environment. The thread keeps it: a vfork child that executes a program cannot free it. */
static const char **scratch(size_t size)
{
    if (local.scratch_size < size) {
        size = (size + 65535) & ~(size_t)65535;
        long address = system_call(SYS_MMAP, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (is_error(address))
            return NULL;
        if (local.scratch_size)
            SYSTEM2(SYS_MUNMAP, local.scratch, local.scratch_size);
        local.scratch = (const char **)address;
        local.scratch_size = size;
    }
    return local.scratch;
}

/* Executes with the recorder's variables. */
static long execute_recorded(struct call *call, int index, const char **old, unsigned count, uint32_t process)
{
    size_t size = variables_size(old, count);
    if (size <= MAX_ON_STACK)
        return execute_small(call, index, old, count, process, size);
    const char **environment = scratch(size);
    if (environment == NULL)
        return make(call);
    set_variables(environment, old, count, process);
    return make_with(call, index, environment);
}

static long execute_recorded_as(struct thread *thread, struct call *call, int index, const char **environment,
                                unsigned count)
{
    /* A child that shares memory becomes a separate process. */
    uint32_t reserved = thread ? NO_PROCESS : reserve_process((int32_t)SYSTEM1(SYS_GETPID, 0));
    long result = execute_recorded(call, index, environment, count, thread ? process_index : reserved);
    release_process(reserved);
    return result;
}

long execute(struct thread *thread, struct call *call, enum effect effect)
{
    int is_at = effect == EFFECT_EXEC_AT;
    long folder = is_at ? call->arguments[0] : AT_FDCWD;
    const char *path = (const char *)call->arguments[is_at];
    const char **environment = (const char **)call->arguments[is_at ? 3 : 2];
    unsigned count = 0;
    while (environment && environment[count])
        count++;
    if (path == NULL || is_restricted)
        return make(call);
    int is_loading = loads_recorder(folder, path, is_at ? call->arguments[4] : 0);
    if (thread == NULL && local.thread == NULL)
        is_loading = is_loading < 0 ? -1 : 0; /* This process is not recorded. */
    if (is_loading > 0 && is_error(SYSTEM3(SYS_FACCESSAT, AT_FDCWD, recorder_path, R_OK)))
        is_loading = 0;
    if (is_loading == 0) {
        uint32_t size = 0;
        while (path[size] && size < 255)
            size++;
        count_call(thread, TALLY_UNRECORDED, file_of_name(OBJECT_FILE, path, size), 0, 0, 0);
        if (thread == NULL && local.thread)
            add(&record->processes, 1);
    }
    /* A signal that arrives during the call would end the next program, which has no handler for it. */
    if (thread)
        stop_sampling();
    long result = is_loading > 0 ? execute_recorded_as(thread, call, is_at ? 3 : 2, environment, count) : make(call);
    if (thread)
        start_sampling();
    return result;
}
