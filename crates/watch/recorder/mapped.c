/* Has the command fill mapped files as they are used, at the rate of a throttled device (`watch --read-rate`).
 *
 * A mapping that only reads a file is replaced by empty memory, whose page faults the command answers
 * (src/preload/filler.rs). Where the kernel does not allow that (userfaultfd(2) needs a privilege if system calls access
 * the memory, too), or the program could detect the replacement, the call waits for all bytes of the mapping. */

#include "recorder.h"

/* Mappings that are filled may have at most this many bytes together, since they are copies. */
#define MAX_FILLED_BYTES (2ull << 30)
/* For smaller mappings, waiting is faster than handing them over. */
#define MIN_FILLED_BYTES (256u << 10)

/* ioctl_userfaultfd(2), linux/userfaultfd.h. */
#define FAULTS_API 0xC018AA3F
#define FAULTS_REGISTER 0xC020AA00
#define FAULTS_VERSION 0xAA
#define FAULTS_EVENTS (1u << 2 | 1u << 3 | 1u << 6) /* Also report moved, removed and unmapped memory. */
#define FAULTS_MISSING 1

struct faults_api {
    uint64_t version, features, calls;
};

struct faults_registration {
    uint64_t start, size, mode, calls;
};

/* Time between two looks while the command is slow to answer, and their number before it is given up. */
static const struct timespec_of_kernel patience = {1, 0};
#define MAX_LOOKS 10

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

/* Whether nobody has the file open to write to it: the kernel grants a lease only then. A writer that comes meanwhile
 * sends a signal, which is one that programs ignore. */
static int is_constant(long descriptor)
{
    SYSTEM3(SYS_FCNTL, descriptor, F_SETSIG, SIGURG);
    int is_granted = !is_error(SYSTEM3(SYS_FCNTL, descriptor, F_SETLEASE, F_RDLCK));
    if (is_granted)
        SYSTEM3(SYS_FCNTL, descriptor, F_SETLEASE, F_UNLCK);
    SYSTEM3(SYS_FCNTL, descriptor, F_SETSIG, 0);
    return is_granted;
}

/* Only new mappings that read, of recorded processes. Others have meanings that memory lacks, or must be filled at once. */
static int can_be_filled(const struct call *call)
{
    long flags = call->arguments[3] & ~MAP_NORESERVE;
    long opened = SYSTEM2(SYS_FCNTL, call->arguments[4], F_GETFL);
    int is_recorded = local.thread && process_index != NO_PROCESS &&
                      !__atomic_load_n(&record->not_patched, __ATOMIC_RELAXED);
    return is_recorded && call->arguments[2] == PROT_READ && (flags == MAP_PRIVATE || flags == MAP_SHARED) &&
           !is_error(opened) && !(opened & O_DIRECT) && is_constant(call->arguments[4]);
}

/* Replaces part of a mapping. Returns whether that succeeded. */
static int replace(uint64_t start, uint64_t bytes, long flags, long descriptor, long offset)
{
    return !is_error(system_call(SYS_MMAP, (long)start, (long)bytes, PROT_READ, flags | MAP_FIXED, descriptor, offset));
}

/* A descriptor that reports page faults in memory. */
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

/* Asks the command to fill a mapping. Returns whether it does; if not, the slot is free again. */
static int is_served(struct filled_map *map)
{
    uint32_t expected = SLOT_READY;
    __atomic_store_n(&map->state, SLOT_READY, __ATOMIC_RELEASE);
    ring();
    for (int looks = 0; looks < MAX_LOOKS && __atomic_load_n(&map->state, __ATOMIC_ACQUIRE) == SLOT_READY; looks++)
        SYSTEM4(SYS_FUTEX, &map->state, FUTEX_WAIT, SLOT_READY, &patience);
    if (__atomic_compare_exchange_n(&map->state, &expected, SLOT_FREE, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
        return 0;
    if (expected == SLOT_ENDED)
        __atomic_store_n(&map->state, SLOT_FREE, __ATOMIC_RELEASE);
    return expected == SLOT_SERVED;
}

static int is_filled(const struct call *call, uint64_t start, uint64_t bytes)
{
    if (bytes < MIN_FILLED_BYTES || !can_be_filled(call))
        return 0;
    int has_room = add(&record->filled_bytes, bytes) + bytes <= MAX_FILLED_BYTES;
    struct filled_map *map = has_room ? take_map() : NULL;
    if (map == NULL) {
        add(&record->filled_bytes, -bytes);
        return 0;
    }
    struct file_status status;
    uint64_t whole = (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    map->process = (uint32_t)SYSTEM1(SYS_GETPID, 0);
    map->start = start;
    map->bytes = bytes;
    map->offset = (uint64_t)call->arguments[5];
    map->file = (int32_t)call->arguments[4];
    map->wish = WISH_NONE;
    SYSTEM2(SYS_FSTAT, call->arguments[4], &status);
    map->device = status.device;
    map->inode = status.inode;
    long faults = descriptor_of_faults(start, whole);
    map->faults = (int32_t)faults;
    int is_done = !is_error(faults) && is_served(map);
    if (!is_error(faults))
        SYSTEM1(SYS_CLOSE, faults);
    else
        __atomic_store_n(&map->state, SLOT_FREE, __ATOMIC_RELEASE);
    if (!is_done)
        add(&record->filled_bytes, -bytes);
    if (!is_done)
        replace(start, whole, call->arguments[3], call->arguments[4], call->arguments[5]);
    return is_done;
}

/* Whether a device moves 1 MiB in no time: such devices only count. */
static int is_instant(const struct throttle *throttle)
{
    return throttle->byte_ticks >> 12 < 100 && throttle->latency_ticks == 0;
}

void hold_map(uint32_t file, uint64_t begin, const struct call *call, long address)
{
    const struct throttle *throttle = &record->throttles[0];
    if (record->file[file].object != OBJECT_FILE || is_restricted || !(throttle->byte_ticks || throttle->latency_ticks))
        return;
    uint64_t bytes = mapped_bytes(call);
    if (bytes && is_instant(throttle)) {
        hold(TALLY_MAP, file, begin, bytes);
        return;
    }
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

/* Whether the command still runs. */
static int has_command(void)
{
    return !is_error(SYSTEM4(SYS_FACCESSAT, AT_FDCWD, recorder_path, 0, 0));
}

/* Nothing fills the memory of a forked child: the rest is filled before the fork. */
void fill_maps(void)
{
    if (!(record->options & OPTION_THROTTLE) || is_restricted)
        return;
    uint32_t process = (uint32_t)SYSTEM1(SYS_GETPID, 0);
    for (uint32_t index = 0; index < MAX_FILLED_MAPS; index++)
        if (is_own(&record->filled_maps[index], process))
            __atomic_store_n(&record->filled_maps[index].wish, WISH_ALL, __ATOMIC_RELEASE);
    for (uint32_t index = 0; index < MAX_FILLED_MAPS; index++) {
        struct filled_map *map = &record->filled_maps[index];
        while (is_own(map, process) && __atomic_load_n(&map->wish, __ATOMIC_ACQUIRE) == WISH_ALL && has_command())
            SYSTEM4(SYS_FUTEX, &map->wish, FUTEX_WAIT, WISH_ALL, &patience);
    }
}

void leave_maps(void)
{
    uint32_t process = (uint32_t)SYSTEM1(SYS_GETPID, 0);
    for (uint32_t index = 0; record->options & OPTION_THROTTLE && index < MAX_FILLED_MAPS; index++)
        if (is_own(&record->filled_maps[index], process))
            __atomic_store_n(&record->filled_maps[index].wish, WISH_LEFT, __ATOMIC_RELEASE);
}
