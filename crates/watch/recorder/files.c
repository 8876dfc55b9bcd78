/* Resolves descriptors to the names of their files.
 *
 * A descriptor is resolved on first use and forgotten before it is closed, so its origin does not matter: opened,
 * inherited, duplicated or received. Each process caches its own descriptors; names are shared by all. */

#include "recorder.h"

/* Longest name. The buffer is on the stack of the program, which may be small. */
#define MAX_PATH 1024

/* Index of the file of each descriptor, plus one. */
static uint32_t descriptors[MAX_DESCRIPTORS];

/* Where the last read or write of each descriptor ended, and where it is now: offsets plus one; 0 if unknown. */
static int64_t ends[MAX_DESCRIPTORS];
static int64_t positions[MAX_DESCRIPTORS];

/* A position within this distance would have been in the buffer of a program with buffers of 64 KiB. */
#define NEAR_BYTES 65536

/* FNV-1a (Fowler, Noll and Vo). */
static uint64_t hash_of(enum object object, const char *name, uint32_t size)
{
    uint64_t hash = 0xcbf29ce484222325u ^ object;
    for (uint32_t index = 0; index < size; index++)
        hash = (hash ^ (unsigned char)name[index]) * 0x100000001b3u;
    return hash;
}

static int is_name(const struct file *file, const char *name, uint32_t size)
{
    const char *stored = record->names + file->name;
    for (uint32_t index = 0; index < size; index++)
        if (stored[index] != name[index])
            return 0;
    return 1;
}

/* Fills a slot that was just taken. If the name does not fit, the slot stays taken and matches no file. */
static int set_name(struct file *file, enum object object, uint64_t hash, const char *name, uint32_t size)
{
    uint32_t start = __atomic_fetch_add(&record->next_name, size, __ATOMIC_RELAXED);
    if (start > MAX_NAME_BYTES - MAX_PATH) {
        __atomic_store_n(&record->next_name, MAX_NAME_BYTES - MAX_PATH + 1, __ATOMIC_RELAXED);
        return 0;
    }
    for (uint32_t index = 0; index < size; index++)
        record->names[start + index] = name[index];
    file->object = object;
    file->hash = hash;
    file->name = start;
    file->name_bytes = size;
    __atomic_store_n(&file->state, SLOT_READY, __ATOMIC_RELEASE);
    return 1;
}

uint32_t file_of_name(enum object object, const char *name, uint32_t size)
{
    uint64_t hash = hash_of(object, name, size);
    for (uint32_t tried = 0; tried < 128; tried++) {
        uint32_t index = (uint32_t)(hash + tried) % MAX_FILES;
        struct file *file = &record->file[index];
        if (index == UNKNOWN_FILE)
            continue;
        uint32_t state = __atomic_load_n(&file->state, __ATOMIC_ACQUIRE);
        if (state == SLOT_FREE) {
            if (__atomic_compare_exchange_n(&file->state, &state, SLOT_TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
                if (set_name(file, object, hash, name, size))
                    return index;
                break;
            }
        }
        if (state == SLOT_READY && file->hash == hash && file->object == object && file->name_bytes == size &&
            is_name(file, name, size))
            return index;
    }
    add(&record->lost, 1);
    return UNKNOWN_FILE;
}

static int starts_with(const char *name, long size, const char *start)
{
    for (long index = 0; start[index]; index++)
        if (index >= size || name[index] != start[index])
            return 0;
    return 1;
}

/* The same kinds as in src/files.rs. */
static enum object object_of(int descriptor, const char *name, long size)
{
    struct file_status status;
    if (is_error(SYSTEM2(SYS_FSTAT, descriptor, &status)))
        return OBJECT_OTHER;
    switch (status.mode & MODE_TYPE) {
    case MODE_FILE:
        return name[0] == '/' && !starts_with(name, size, "/memfd:") ? OBJECT_FILE : OBJECT_OTHER;
    case MODE_BLOCKS:
        return OBJECT_FILE;
    case MODE_FOLDER:
        return OBJECT_FOLDER;
    case MODE_PIPE:
        return OBJECT_PIPE;
    case MODE_SOCKET:
        return OBJECT_SOCKET;
    case MODE_CHARACTERS:
        return OBJECT_DEVICE;
    default:
        return OBJECT_OTHER;
    }
}

/* Writes the path of a descriptor's link. `/proc/self` has no descriptors once the first thread has ended. */
static void link_path(char *path, int descriptor)
{
    char digits[12];
    unsigned count = 0;
    for (unsigned rest = (unsigned)descriptor; count == 0 || rest; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    const char *folder = "/proc/thread-self/fd/";
    while (*folder)
        *path++ = *folder++;
    while (count)
        *path++ = digits[--count];
    *path = 0;
}

static __attribute__((noinline)) uint32_t resolve(int descriptor)
{
    char path[40];
    char name[MAX_PATH];
    if (is_restricted || descriptor < 0)
        return UNKNOWN_FILE;
    link_path(path, descriptor);
    long size = SYSTEM4(SYS_READLINKAT, AT_FDCWD, path, name, sizeof(name));
    if (is_error(size))
        return UNKNOWN_FILE;
    enum object object = object_of(descriptor, name, size);
    int is_named = record->options & OPTION_ALL || object == OBJECT_FILE || object == OBJECT_FOLDER;
    return file_of_name(object, name, is_named ? (uint32_t)size : 0);
}

uint32_t file_of_descriptor(int descriptor, int is_cached)
{
    if (!is_cached || (unsigned)descriptor >= MAX_DESCRIPTORS)
        return resolve(descriptor);
    uint32_t known = __atomic_load_n(&descriptors[descriptor], __ATOMIC_RELAXED);
    if (known)
        return known - 1;
    uint32_t file = resolve(descriptor);
    __atomic_store_n(&descriptors[descriptor], file + 1, __ATOMIC_RELAXED);
    return file;
}

void set_position(int descriptor, int64_t position)
{
    if ((unsigned)descriptor < MAX_DESCRIPTORS)
        __atomic_store_n(&positions[descriptor], position + 1, __ATOMIC_RELAXED);
}

/* Whether a transfer starts far from the end of the last one. A negative start stands for the current position. A seek
 * alone is no jump: programs also seek to learn the size of a file. */
int has_jumped(int descriptor, int64_t start, int64_t bytes)
{
    if ((unsigned)descriptor >= MAX_DESCRIPTORS)
        return 0;
    int64_t end = __atomic_load_n(&ends[descriptor], __ATOMIC_RELAXED);
    int64_t position = __atomic_load_n(&positions[descriptor], __ATOMIC_RELAXED);
    int64_t first = start >= 0 ? start + 1 : position ? position : end;
    if (start < 0)
        __atomic_store_n(&positions[descriptor], first + bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&ends[descriptor], first + bytes, __ATOMIC_RELAXED);
    int64_t distance = first - end;
    return end && (distance > NEAR_BYTES || distance < -NEAR_BYTES);
}

void forget_descriptors(uint32_t first, uint32_t last)
{
    if (last >= MAX_DESCRIPTORS)
        last = MAX_DESCRIPTORS - 1;
    for (uint32_t descriptor = first; descriptor <= last; descriptor++) {
        if (descriptors[descriptor] == 0)
            continue;
        __atomic_store_n(&descriptors[descriptor], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&positions[descriptor], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&ends[descriptor], 0, __ATOMIC_RELAXED);
    }
}
