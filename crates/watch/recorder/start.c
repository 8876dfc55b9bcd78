/* Starts the recorder in a program, before its own code runs. */

#include "recorder.h"

/* Of the C library. */
extern char **environ __attribute__((weak));

static void set_program(void)
{
    char name[1024];
    long size = SYSTEM4(SYS_READLINKAT, AT_FDCWD, "/proc/self/exe", name, sizeof(name));
    if (!is_error(size) && process_index != NO_PROCESS)
        record->process[process_index].program = file_of_name(OBJECT_FILE, name, (uint32_t)size);
}

static struct record *map_record(void)
{
    long descriptor = SYSTEM3(SYS_OPENAT, AT_FDCWD, record_path, O_RDWR | O_CLOEXEC);
    if (is_error(descriptor))
        return NULL;
    long address = system_call(SYS_MMAP, 0, sizeof(struct record), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    SYSTEM1(SYS_CLOSE, descriptor);
    if (is_error(address))
        return NULL;
    struct record *mapped = (struct record *)address;
    if (mapped->magic == MAGIC)
        return mapped;
    SYSTEM2(SYS_MUNMAP, address, sizeof(struct record));
    return NULL;
}

/* glibc passes the arguments of `main`, and starts this library before it sets `environ`; musl sets that first. */
__attribute__((constructor)) static void start(int argument_count, char **arguments, char **variables)
{
    (void)argument_count, (void)arguments;
    char **environment = &environ && environ ? environ : variables;
    int index = take_environment(environment);
    if (index < 0)
        return;
    record = map_record();
    if (record == NULL)
        return;
    for (int number = 0; number < MAX_CALLS; number++)
        polyhaul_effects[number] = record->effects[number];
    begin_process(index == INT32_MAX ? reserve_process(0) : (uint32_t)index);
    set_program();
    take_sampling_signal();
    this_thread();
    patch_modules();
}
