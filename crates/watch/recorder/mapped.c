/* Has the command fill mapped files as they are used, at the rate of a throttled device (`watch --read-rate`).
 *
 * A mapping that only reads a file is replaced by empty memory, whose page faults the command answers
 * (src/preload/filler.rs). Where the kernel does not allow that (userfaultfd(2) needs a privilege for memory that system
 * calls use, too), or the memory could be seen to be no file, the mapping takes the time of all its bytes at once. */

#include "recorder.h"

/* Mappings that are filled may have at most this many bytes together, since they are copies. */
#define MAX_FILLED_BYTES (2ull << 30)
/* Smaller mappings take less time at once than to be handed over. */
#define MIN_FILLED_BYTES (256u << 10)

/* ioctl_userfaultfd(2), linux/userfaultfd.h. */
#define FAULTS_API 0xC018AA3F
#define FAULTS_REGISTER 0xC020AA00
#define FAULTS_VERSION 0xAA
#define FAULTS_EVENTS (1u << 2 | 1u << 3 | 1u << 6) /* Also tell of moved, removed and unmapped memory. */
#define FAULTS_MISSING 1

struct faults_api {
    uint64_t version, features, calls;
};

struct faults_registration {
    uint64_t start, size, mode, calls;
};

/* A wait for the command is given up after this time. */
static const struct timespec_of_kernel patience = {1, 0};

/* Bytes of a file that a mapping makes readable. The loaders of programs map code with flags of its own: it is read when
 * it is used. */
static uint64_t mapped_bytes(const struct call *call)
{
    struct file_status status;
    uint64_t offset = (uint64_t)call->arguments[5];
    uint64_t bytes = (uint64_t)call->arguments[1];
    int is_code = call->arguments[2] & PROT_EXEC || call->arguments[3] & MAP_DENYWRITE;
    if (is_code || !(call->arguments[2] & PROT_READ) || is_error(SYSTEM2(SYS_FSTAT, call->arguments[4], &status)) ||
        (uint64_t)status.size <= offset)
        return 0;
    uint64_t rest = (uint64_t)status.size - offset;
    return rest < bytes ? rest : bytes;
}

/* Whether nobody has the file open to write to it: the kernel grants a lease only then. */
static int is_constant(long descriptor)
{
    if (is_error(SYSTEM3(SYS_FCNTL, descriptor, F_SETLEASE, F_RDLCK)))
        return 0;
    SYSTEM3(SYS_FCNTL, descriptor, F_SETLEASE, F_UNLCK);
    return 1;
}

/* Only new mappings that read. Others have meanings that memory lacks, or must be filled at once. */
static int can_be_filled(const struct call *call)
{
    long flags = call->arguments[3] & ~MAP_NORESERVE;
    return call->arguments[2] == PROT_READ && !__atomic_load_n(&record->not_patched, __ATOMIC_RELAXED) &&
           (flags == MAP_PRIVATE || (flags == MAP_SHARED && is_constant(call->arguments[4])));
}

/* Replaces part of a mapping. Returns whether that succeeded. */
static int replace(uint64_t start, uint64_t bytes, long flags, long descriptor, long offset)
{
    return !is_error(system_call(SYS_MMAP, (long)start, (long)bytes, PROT_READ, flags | MAP_FIXED, descriptor, offset));
}

/* A descriptor that tells of faults in memory. */
static long descriptor_of_faults(uint64_t start, uint64_t bytes)
{
    struct faults_api api = {FAULTS_VERSION, FAULTS_EVENTS, 0};
    struct faults_registration registration = {start, bytes, FAULTS_MISSING, 0};
    long descriptor = SYSTEM1(SYS_USERFAULTFD, O_CLOEXEC | O_NONBLOCK);
    if (is_error(descriptor))
        return descriptor;
    long result = SYSTEM3(SYS_IOCTL, descriptor, FAULTS_API, &api);
    if (!is_error(result) && replace(start, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
        result = SYSTEM3(SYS_IOCTL, descriptor, FAULTS_REGISTER, &registration);
    if (!is_error(result))
        return descriptor;
    SYSTEM1(SYS_CLOSE, descriptor);
    return result;
}

static struct filled_map *take_map(void)
{
    for (uint32_t index = 0; index < MAX_FILLED_MAPS; index++) {
        uint32_t expected = SLOT_FREE;
        if (__atomic_compare_exchange_n(&record->filled_maps[index].state, &expected, SLOT_TAKEN, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return &record->filled_maps[index];
    }
    return NULL;
}

/* Asks the command to fill a mapping. Returns whether it does. */
static int is_served(struct filled_map *map)
{
    uint32_t expected = SLOT_READY;
    __atomic_store_n(&map->state, SLOT_READY, __ATOMIC_RELEASE);
    ring();
    SYSTEM4(SYS_FUTEX, &map->state, FUTEX_WAIT, SLOT_READY, &patience);
    return !__atomic_compare_exchange_n(&map->state, &expected, SLOT_FREE, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE) &&
           expected == SLOT_SERVED;
}

static int is_filled(const struct call *call, uint64_t start, uint64_t bytes)
{
    if (bytes < MIN_FILLED_BYTES || !can_be_filled(call) || add(&record->filled_bytes, bytes) + bytes > MAX_FILLED_BYTES)
        return 0;
    struct filled_map *map = take_map();
    if (map == NULL)
        return 0;
    uint64_t whole = (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    map->process = (uint32_t)SYSTEM1(SYS_GETPID, 0);
    map->start = start;
    map->bytes = bytes;
    map->offset = (uint64_t)call->arguments[5];
    map->file = (int32_t)call->arguments[4];
    map->wish = WISH_NONE;
    long faults = descriptor_of_faults(start, whole);
    map->faults = (int32_t)faults;
    int is_done = !is_error(faults) && is_served(map);
    if (!is_error(faults))
        SYSTEM1(SYS_CLOSE, faults);
    else
        __atomic_store_n(&map->state, SLOT_FREE, __ATOMIC_RELEASE);
    if (!is_done)
        replace(start, whole, call->arguments[3], call->arguments[4], call->arguments[5]);
    return is_done;
}

void hold_map(uint32_t file, uint64_t begin, const struct call *call, long address)
{
    const struct throttle *throttle = &record->throttles[0];
    if (record->file[file].object != OBJECT_FILE || is_restricted || !(throttle->byte_ticks || throttle->latency_ticks))
        return;
    uint64_t bytes = mapped_bytes(call);
    if (bytes == 0 || is_filled(call, (uint64_t)address, bytes))
        return;
    if (bytes >= MIN_FILLED_BYTES)
        add(&record->held_maps, 1);
    /* The pages arrive meanwhile: page faults of the program would add to the time of its bytes. */
    if (bytes < MAX_FILLED_BYTES)
        SYSTEM3(SYS_MADVISE, address, bytes, MADV_POPULATE_READ);
    hold(TALLY_MAP, file, begin, bytes);
}

/* Whether a mapping of this process is filled by the command. */
static int is_own(const struct filled_map *map, uint32_t process)
{
    return __atomic_load_n(&map->state, __ATOMIC_ACQUIRE) == SLOT_SERVED && map->process == process;
}

/* A child with memory of its own has no one who fills it: the rest is filled before. */
void fill_maps(void)
{
    if (!(record->options & OPTION_THROTTLE))
        return;
    uint32_t process = (uint32_t)SYSTEM1(SYS_GETPID, 0);
    for (uint32_t index = 0; index < MAX_FILLED_MAPS; index++) {
        uint32_t expected = WISH_NONE;
        if (is_own(&record->filled_maps[index], process))
            __atomic_compare_exchange_n(&record->filled_maps[index].wish, &expected, WISH_ALL, 0, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED);
    }
    for (uint32_t index = 0; index < MAX_FILLED_MAPS; index++) {
        struct filled_map *map = &record->filled_maps[index];
        while (is_own(map, process) && __atomic_load_n(&map->wish, __ATOMIC_ACQUIRE) == WISH_ALL)
            SYSTEM4(SYS_FUTEX, &map->wish, FUTEX_WAIT, WISH_ALL, &patience);
    }
}
