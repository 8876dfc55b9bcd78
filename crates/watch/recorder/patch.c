/* Replaces the system call instructions of all modules by jumps to detours.
 *
 * The command finds the instructions of each module once (src/code/sites.rs); processes ask for them by device and inode
 * and wait. Detours are in memory near the module; `machine_x86_64.c` and `machine_aarch64.c` write them. */

#include "machine.h"
#include "recorder.h"

/* Timeout for the command's answer. */
#define PATIENCE_SECONDS 5

#define STEP 0x100000

struct mapping {
    uint64_t start, end, offset, device, inode;
    uint32_t rights;
};

/* Maps memory within jump range of a module; NULL if there is none. */
static uint8_t *map_near(uint64_t start, uint64_t end, size_t size)
{
    int64_t reach = REACH - (int64_t)(end - start);
    for (int64_t distance = STEP; distance < reach; distance += STEP) {
        uint64_t places[2] = {(end + (uint64_t)distance) & ~(uint64_t)(STEP - 1), (start - (uint64_t)distance) & ~(uint64_t)(STEP - 1)};
        for (int side = 0; side < 2; side++) {
            if (side == 1 && start < (uint64_t)distance + STEP)
                continue;
            long result = system_call(SYS_MMAP, (long)places[side], (long)size, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (result == (long)places[side])
                return (uint8_t *)result;
            if (!is_error(result))
                SYSTEM2(SYS_MUNMAP, result, size);
        }
    }
    return NULL;
}

static void patch_mapping(uint8_t *base, const struct mapping *mapping, const struct site *sites, uint32_t count)
{
    size_t size = sizeof(void *);
    uint32_t open = 0;
    for (uint32_t index = 0; index < count; index++) {
        const uint8_t *call = base + sites[index].call;
        if ((uint64_t)call < mapping->start || (uint64_t)call + CALL_BYTES > mapping->end || !is_unpatched(call))
            continue;
        size += detour_bytes(&sites[index]);
        open++;
    }
    if (open == 0)
        return;
    size = (size + 4095) & ~(size_t)4095;
    uint8_t *detours = map_near(mapping->start, mapping->end, size);
    if (detours == NULL || is_error(SYSTEM3(SYS_MPROTECT, mapping->start, mapping->end - mapping->start,
                                            PROT_READ | PROT_WRITE))) {
        add(&record->not_patched, open);
        return;
    }
    *(void (**)(void))(void *)detours = polyhaul_entry;
    struct cursor cursor = {detours + sizeof(void *)};
    for (uint32_t index = 0; index < count; index++) {
        uint8_t *call = base + sites[index].call;
        if ((uint64_t)call < mapping->start || (uint64_t)call + CALL_BYTES > mapping->end || !is_unpatched(call))
            continue;
        const uint8_t *detour = cursor.at;
        put_detour(&cursor, call, &sites[index], detours);
        replace_call(base, &sites[index], detour);
    }
    flush_code(detours, size);
    SYSTEM3(SYS_MPROTECT, detours, size, PROT_READ | PROT_EXEC);
    SYSTEM3(SYS_MPROTECT, mapping->start, mapping->end - mapping->start, mapping->rights);
    flush_code((uint8_t *)mapping->start, mapping->end - mapping->start);
}

/* Whether the command did not answer in time. Later, other threads may run the code of the module. */
static uint32_t is_too_late;

/* Waits until the command has found the sites of a module. */
static int is_known(struct module *module)
{
    uint64_t start = 0;
    struct timespec_of_kernel now;
    struct timespec_of_kernel second = {1, 0};
    for (;;) {
        uint32_t state = __atomic_load_n(&module->state, __ATOMIC_ACQUIRE);
        if (state == SLOT_READY)
            return 1;
        SYSTEM2(SYS_CLOCK_GETTIME, 1, &now);
        if (start == 0)
            start = (uint64_t)now.seconds;
        if ((uint64_t)now.seconds > start + PATIENCE_SECONDS) {
            is_too_late = 1;
            return 0;
        }
        SYSTEM4(SYS_FUTEX, &module->state, FUTEX_WAIT, state, &second);
    }
}

/* Returns the module of a file, and requests its sites if it is new. NULL if there is no room. */
static struct module *module_of(const struct mapping *mapping, uint64_t base)
{
    uint32_t start = (uint32_t)(mapping->inode * 31 + mapping->device);
    for (uint32_t tried = 0; tried < MAX_MODULES; tried++) {
        struct module *module = &record->modules[(start + tried) % MAX_MODULES];
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&module->inode, &none, mapping->inode, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            module->device = mapping->device;
            module->process = (uint32_t)SYSTEM1(SYS_GETPID, 0);
            module->start = base;
            __atomic_store_n(&module->state, SLOT_TAKEN, __ATOMIC_RELEASE);
            ring();
            return module;
        }
        if (none == mapping->inode) {
            while (__atomic_load_n(&module->state, __ATOMIC_ACQUIRE) == SLOT_FREE)
                if (!is_known(module))
                    return NULL;
            if (module->device == mapping->device)
                return module;
        }
    }
    return NULL;
}

static void patch_module(const struct mapping *mapping, uint64_t base)
{
    extern HIDDEN const char __ehdr_start[];
    if (base == (uint64_t)__ehdr_start)
        return;
    struct module *module = module_of(mapping, base);
    if (module == NULL || !is_known(module)) {
        add(&record->not_patched, 1);
        return;
    }
    if (module->sites)
        patch_mapping((uint8_t *)base, mapping, &record->sites[module->first_site], module->sites);
}

static const char *number(const char *text, unsigned radix, uint64_t *value)
{
    *value = 0;
    for (;; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (digit > 9)
            digit = (unsigned)(*text - 'a') + 10;
        if (digit >= radix)
            return text;
        *value = *value * radix + digit;
    }
}

/* Parses a line of `/proc/thread-self/maps`: `start-end rights offset major:minor inode path`. */
static void parse_mapping(const char *line, struct mapping *mapping)
{
    uint64_t major, minor;
    line = number(line, 16, &mapping->start);
    line = number(line + 1, 16, &mapping->end);
    mapping->rights = (line[1] == 'r' ? PROT_READ : 0) | (line[2] == 'w' ? PROT_WRITE : 0) |
                      (line[3] == 'x' ? PROT_EXEC : 0);
    line = number(line + 6, 16, &mapping->offset);
    line = number(line + 1, 16, &major);
    line = number(line + 1, 16, &minor);
    number(line + 1, 10, &mapping->inode);
    mapping->device = major << 32 | minor;
}

/* Where a module starts: its first mapping, which has offset 0. */
struct first {
    uint64_t inode, device, start;
};

static void patch_line(const char *line, struct first *first)
{
    struct mapping mapping;
    parse_mapping(line, &mapping);
    if (mapping.inode == 0)
        return;
    if (mapping.offset == 0 || first->inode != mapping.inode || first->device != mapping.device)
        *first = (struct first){mapping.inode, mapping.device, mapping.start};
    if (mapping.rights & PROT_EXEC)
        patch_module(&mapping, first->start);
}

static void patch_all(void)
{
    char text[2048];
    struct first first = {0, 0, 0};
    size_t held = 0;
    int is_cut = 0;
    long descriptor = SYSTEM3(SYS_OPENAT, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    if (is_error(descriptor))
        return;
    for (;;) {
        long size = SYSTEM3(SYS_READ, descriptor, text + held, sizeof(text) - held);
        if (size <= 0)
            break;
        held += (size_t)size;
        size_t start = 0;
        for (size_t at = 0; at < held; at++) {
            if (text[at] != '\n')
                continue;
            if (!is_cut)
                patch_line(text + start, &first);
            is_cut = 0;
            start = at + 1;
        }
        /* A line that does not fit: its start is parsed, and the rest is skipped. */
        if (start == 0 && held == sizeof(text)) {
            if (!is_cut)
                patch_line(text, &first);
            is_cut = 1;
            start = held;
        }
        for (size_t at = start; at < held; at++)
            text[at - start] = text[at];
        held -= start;
    }
    SYSTEM1(SYS_CLOSE, descriptor);
}

/* Lock: index of the patching process plus one, or 0. A forked child does not inherit the patching thread. */
static uint32_t patching_process;

void patch_modules(void)
{
    uint32_t process = process_index + 1;
    if (process_index == NO_PROCESS || is_too_late)
        return;
    while (__atomic_exchange_n(&patching_process, process, __ATOMIC_ACQUIRE) == process)
        SYSTEM1(SYS_SCHED_YIELD, 0);
    patch_all();
    __atomic_store_n(&patching_process, 0, __ATOMIC_RELEASE);
}
