/* Answers small reads of some files from a buffer (`watch --fix`).
 *
 * A cured descriptor has its position here and not in the kernel, and a buffer that `pread` fills. Nothing locks: a
 * position changes by one atomic instruction, and a reader that finds the buffer changed or in use reads the file itself,
 * at its own position, so threads and signal handlers never wait.
 *
 * A cure ends, and the kernel gets the position, before a call that could show the difference: one that shares or
 * controls the descriptor, forks or executes, or opens the file for writing in any recorded process. Each end has a reason
 * that is counted. Programs that are not recorded may change the file: its size and time are compared at each filling. */

#include "recorder.h"

/* The rest of the recorder is built to be small. */
#pragma GCC optimize("O2")

typedef uint64_t unaligned_word __attribute__((aligned(1), may_alias));

#define MAX_CURES 32
#define BUFFER_BYTES 65536
/* Larger reads go to the kernel. */
#define MAX_SMALL 16384

/* The lower bits of a position are an offset. The upper ones change with each use of a slot, so that a thread that
 * comes too late changes nothing. */
#define OFFSET_BITS 48
#define STOPPED ((1ull << OFFSET_BITS) - 1)

struct cure {
    uint64_t position;
    uint32_t sequence; /* Odd while the buffer changes. */
    uint32_t file;
    uint32_t descriptors; /* Number of those that share the position. */
    struct shared_file *shared;
    uint64_t changes; /* Of that file, when the cure began. */
    uint64_t page; /* Page of memory that the kernel has written to last: later reads may write to it, too. */
    uint64_t start, size; /* The part of the file in the buffer. */
    uint64_t file_size, written_at; /* When the cure began. */
    uint64_t calls, bytes; /* That were answered. */
    uint64_t calls_at_filling;
    uint64_t misses, needed; /* Reads beside the buffer since its last filling, and before the next one. */
    char buffer[BUFFER_BYTES];
};

static struct cure cures[MAX_CURES];

/* Index of the cure of each descriptor, plus one. */
static uint8_t cure_of[MAX_DESCRIPTORS];

/* Index of the file that a descriptor may write to, plus one. */
static uint16_t writer_of[MAX_DESCRIPTORS];

static uint32_t is_disabled, is_threaded;

/* Some instructions cannot be replaced, so calls may go unnoticed. */
static int has_unseen_calls(void)
{
    return __atomic_load_n(&record->not_patched, __ATOMIC_RELAXED) != 0;
}

/* Whether writers matter: to the cures of this process, or of others. */
static int is_watching(void)
{
    return record->options & OPTION_CURE && !is_restricted;
}

static int is_curing(void)
{
    return is_watching() && !is_disabled && !has_unseen_calls();
}

static inline struct cure *cure_at(unsigned descriptor)
{
    uint8_t index = descriptor < MAX_DESCRIPTORS ? __atomic_load_n(&cure_of[descriptor], __ATOMIC_ACQUIRE) : 0;
    return index ? &cures[index - 1] : NULL;
}

/* Changes a position, unless it has changed. Without threads, it is enough to be safe from signals. */
static int advance(struct cure *cure, uint64_t from, uint64_t to)
{
#if defined(__x86_64__)
    if (!is_threaded) {
        uint64_t before = from;
        __asm__ volatile("cmpxchgq %2, %1" : "+a"(before), "+m"(cure->position) : "r"(to) : "memory", "cc");
        return before == from;
    }
#endif
    return __atomic_compare_exchange_n(&cure->position, &from, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Fields that several threads use are read and written as a whole. */
static inline uint64_t get(const uint64_t *field)
{
    return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void set(uint64_t *field, uint64_t value)
{
    __atomic_store_n(field, value, __ATOMIC_RELAXED);
}

/* Adds to a number. Without threads, this needs no lock of the bus. */
static inline void increase(uint64_t *field, uint64_t more)
{
    if (is_threaded)
        add(field, more);
    else
        set(field, get(field) + more);
}

static int is_stopped(uint64_t position)
{
    return (position & STOPPED) == STOPPED;
}

/* The position of a descriptor; stopped if its cure has ended. A slot may have another descriptor by now, but then its
 * position has changed, too. */
static uint64_t position_of(const struct cure *cure, long descriptor)
{
    uint64_t position = __atomic_load_n(&cure->position, __ATOMIC_ACQUIRE);
    return cure_at((unsigned)descriptor) == cure ? position : STOPPED;
}

/* The entry of a file in the table of all processes; NULL if there is no room. */
static struct shared_file *shared_file_of(const struct file_status *status)
{
    uint32_t start = (uint32_t)((status->inode * 0x9E3779B97F4A7C15u ^ status->device) >> 32);
    for (uint32_t tried = 0; tried < 64; tried++) {
        struct shared_file *file = &record->shared_files[(start + tried) % MAX_SHARED_FILES];
        uint32_t state = SLOT_FREE;
        if (__atomic_compare_exchange_n(&file->state, &state, SLOT_TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
            file->device = status->device;
            file->inode = status->inode;
            __atomic_store_n(&file->state, SLOT_READY, __ATOMIC_RELEASE);
            return file;
        }
        for (unsigned waited = 0; state == SLOT_TAKEN && waited < 1000; waited++)
            state = __atomic_load_n(&file->state, __ATOMIC_ACQUIRE);
        if (state == SLOT_READY && file->device == status->device && file->inode == status->inode)
            return file;
    }
    return NULL;
}

/* Whether a name matches a pattern, in which `*` stands for any characters. */
static int matches(const char *pattern, const char *name, uint32_t size)
{
    const char *star = NULL;
    uint32_t at = 0, star_at = 0;
    while (at < size || *pattern) {
        if (*pattern == '*') {
            star = pattern++;
            star_at = at;
        } else if (at < size && *pattern == name[at]) {
            pattern++;
            at++;
        } else if (star && star_at < size) {
            pattern = star + 1;
            at = ++star_at;
        } else {
            return 0;
        }
    }
    return 1;
}

static int is_wanted(uint32_t file)
{
    const char *name = record->names + record->file[file].name;
    if (file == UNKNOWN_FILE)
        return 0;
    for (const char *pattern = record->patterns; *pattern; pattern++) {
        if (matches(pattern, name, record->file[file].name_bytes))
            return 1;
        while (*pattern)
            pattern++;
    }
    return 0;
}

/* Whether files of this kind are only changed by calls, and by the programs of this system: ext4, XFS, Btrfs, tmpfs,
 * overlayfs, F2FS, ZFS, NTFS, exFAT, FAT (statfs(2)). */
static int is_local(unsigned descriptor)
{
    static const uint32_t kinds[] = {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630,
                                     0xF2F52010, 0x2FC12FC1, 0x7366746E, 0x2011BAB0, 0x4D44};
    uint64_t status[16] = {0};
    if (is_error(SYSTEM2(SYS_FSTATFS, descriptor, status)))
        return 0;
    for (unsigned index = 0; index < sizeof(kinds) / sizeof(*kinds); index++)
        if (status[0] == kinds[index])
            return 1;
    return 0;
}

static void step_aside(uint32_t file, enum aside reason)
{
    count_several(TALLY_ASIDE + (uint32_t)reason, file, 1, 0);
}

static void count_answers(struct cure *cure)
{
    uint64_t calls = __atomic_exchange_n(&cure->calls, 0, __ATOMIC_RELAXED);
    uint64_t bytes = __atomic_exchange_n(&cure->bytes, 0, __ATOMIC_RELAXED);
    if (calls)
        count_several(TALLY_ANSWERED, cure->file, calls, bytes);
}

/* Gives a slot back, and counts what was answered. */
static void release(struct cure *cure, unsigned descriptor)
{
    __atomic_store_n(&cure_of[descriptor], 0, __ATOMIC_RELEASE);
    for (unsigned other = 0; cure->descriptors > 1 && other < MAX_DESCRIPTORS; other++)
        if (cure_at(other) == cure)
            __atomic_store_n(&cure_of[other], 0, __ATOMIC_RELEASE);
    count_answers(cure);
    __atomic_store_n(&cure->shared, NULL, __ATOMIC_RELEASE);
}

void stop_cure(long descriptor, enum aside reason)
{
    struct cure *cure = cure_at((unsigned)descriptor);
    if (cure == NULL)
        return;
    for (;;) {
        uint64_t position = __atomic_load_n(&cure->position, __ATOMIC_RELAXED);
        if (is_stopped(position))
            return;
        /* Other threads read on until the position is stopped, and from the kernel afterwards. */
        SYSTEM3(SYS_LSEEK, descriptor, position & STOPPED, SEEK_SET);
        if (advance(cure, position, position | STOPPED))
            break;
    }
    step_aside(cure->file, reason);
    release(cure, (unsigned)descriptor);
}

void stop_all_cures(enum aside reason)
{
    if (!(record->options & OPTION_CURE))
        return;
    for (unsigned descriptor = 0; descriptor < MAX_DESCRIPTORS; descriptor++) {
        if (cure_of[descriptor] == 0 && writer_of[descriptor] == 0)
            continue;
        stop_cure(descriptor, reason);
        keep_writer(descriptor);
    }
}

void disable_cures(enum aside reason)
{
    stop_all_cures(reason);
    is_disabled = 1;
}

/* Descriptors may be closed, or the call may fail. */
void stop_cures_from(uint32_t first, uint32_t last)
{
    if (!(record->options & OPTION_CURE))
        return;
    for (uint32_t descriptor = first; descriptor < MAX_DESCRIPTORS && descriptor <= last; descriptor++) {
        stop_cure(descriptor, ASIDE_CONTROLLED);
        keep_writer(descriptor);
    }
}

/* Control data of a message may have descriptors. A bad address is an error of the call. */
void note_message(long header)
{
    uint64_t control_bytes = 0;
    struct memory_range to = {(uint64_t)&control_bytes, sizeof(control_bytes)};
    struct memory_range from = {(uint64_t)header + 40, sizeof(control_bytes)};
    if (!is_curing())
        return;
    system_call(SYS_PROCESS_VM_READV, SYSTEM1(SYS_GETPID, 0), (long)&to, 1, (long)&from, 1, 0);
    if (control_bytes)
        stop_all_cures(ASIDE_SHARED);
}

void begin_threads(void)
{
    is_threaded = 1;
}

/* From now on, the file may be written to without a call that shows it: by another process, or through a mapping. */
void keep_writer(long descriptor)
{
    if ((unsigned long)descriptor < MAX_DESCRIPTORS)
        writer_of[descriptor] = 0;
}

/* The descriptor is closed, so nothing needs its position. */
void end_cure(uint32_t descriptor)
{
    struct cure *cure = cure_at(descriptor);
    if (descriptor >= MAX_DESCRIPTORS)
        return;
    if (cure && __atomic_fetch_sub(&cure->descriptors, 1, __ATOMIC_RELAXED) > 1) {
        __atomic_store_n(&cure_of[descriptor], 0, __ATOMIC_RELEASE);
    } else if (cure) {
        uint64_t position = __atomic_load_n(&cure->position, __ATOMIC_RELAXED);
        __atomic_store_n(&cure->position, position | STOPPED, __ATOMIC_RELAXED);
        release(cure, descriptor);
    }
    if (writer_of[descriptor]) {
        struct shared_file *file = &record->shared_files[writer_of[descriptor] - 1];
        writer_of[descriptor] = 0;
        __atomic_fetch_sub(&file->writers, 1, __ATOMIC_RELEASE);
    }
}

/* A second descriptor of this process has the position from now on. */
void duplicate_cure(long from, long to)
{
    struct cure *cure = cure_at((unsigned)from);
    if (cure == NULL || (unsigned long)to >= MAX_DESCRIPTORS) {
        stop_cure(from, ASIDE_SHARED);
        return;
    }
    __atomic_fetch_add(&cure->descriptors, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&cure_of[to], (uint8_t)(cure - cures + 1), __ATOMIC_RELEASE);
}

/* Gives the kernel the position for a call that uses it. Returns whether to take it back: among threads, the cure ends,
 * since another one could read meanwhile. */
int lend_position(long descriptor)
{
    struct cure *cure = cure_at((unsigned)descriptor);
    if (cure == NULL)
        return 0;
    if (is_threaded) {
        stop_cure(descriptor, ASIDE_CONTROLLED);
        return 0;
    }
    uint64_t position = __atomic_load_n(&cure->position, __ATOMIC_RELAXED);
    SYSTEM3(SYS_LSEEK, descriptor, position & STOPPED, SEEK_SET);
    __atomic_store_n(&cure->position, position | STOPPED, __ATOMIC_RELAXED);
    return 1;
}

void take_position_back(long descriptor)
{
    struct cure *cure = cure_at((unsigned)descriptor);
    long offset = SYSTEM3(SYS_LSEEK, descriptor, 0, SEEK_CUR);
    if (cure == NULL || is_error(offset))
        return;
    uint64_t generation = (cure->position >> OFFSET_BITS) + 1;
    __atomic_store_n(&cure->position, generation << OFFSET_BITS | (uint64_t)offset, __ATOMIC_RELAXED);
}

/* After a lock was taken, programs expect what others have written before. */
void empty_buffers(void)
{
    for (unsigned index = 0; index < MAX_CURES; index++) {
        struct cure *cure = &cures[index];
        uint32_t sequence = __atomic_load_n(&cure->sequence, __ATOMIC_RELAXED);
        if (get(&cure->size) == 0)
            continue;
        if (!(sequence & 1) && __atomic_compare_exchange_n(&cure->sequence, &sequence, sequence + 1, 0,
                                                           __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            set(&cure->size, 0);
            __atomic_store_n(&cure->sequence, sequence + 2, __ATOMIC_RELEASE);
        } else {
            /* Another thread is filling the buffer: the next read ends the cure. */
            set(&cure->changes, UINT64_MAX);
        }
    }
}

/* Takes a free slot. */
static struct cure *take_cure(struct shared_file *shared)
{
    for (unsigned index = 0; index < MAX_CURES; index++) {
        struct shared_file *free = NULL;
        if (__atomic_compare_exchange_n(&cures[index].shared, &free, shared, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return &cures[index];
    }
    return NULL;
}

static uint64_t nanoseconds(const struct timespec_of_kernel *time)
{
    return (uint64_t)time->seconds * 1000000000u + (uint64_t)time->nanoseconds;
}

static void begin_cure(unsigned descriptor, uint32_t file, const struct file_status *status, struct shared_file *shared)
{
    if (!is_local(descriptor)) {
        step_aside(file, ASIDE_KIND);
        return;
    }
    uint64_t changes = __atomic_load_n(&shared->changes, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&shared->writers, __ATOMIC_SEQ_CST)) {
        step_aside(file, ASIDE_WRITTEN);
        return;
    }
    struct cure *cure = take_cure(shared);
    if (cure == NULL) {
        step_aside(file, ASIDE_CROWDED);
        return;
    }
    __atomic_store_n(&cure->file, file, __ATOMIC_RELAXED);
    __atomic_store_n(&cure->descriptors, 1, __ATOMIC_RELAXED);
    set(&cure->changes, changes);
    set(&cure->page, UINT64_MAX);
    set(&cure->size, 0);
    set(&cure->start, 0);
    set(&cure->file_size, (uint64_t)status->size);
    set(&cure->written_at, nanoseconds(&status->written));
    set(&cure->calls_at_filling, 0);
    set(&cure->misses, 0);
    set(&cure->needed, 1);
    set(&cure->position, ((get(&cure->position) >> OFFSET_BITS) + 1) << OFFSET_BITS);
    __atomic_store_n(&cure_of[descriptor], (uint8_t)(cure - cures + 1), __ATOMIC_RELEASE);
}

/* A file was opened. A writer ends the cures of the file in all processes. A child that shares memory has its own
 * descriptors, so its writers are never seen to be closed. */
void note_open(unsigned descriptor, uint32_t file, int is_own)
{
    struct file_status status;
    if (!is_watching() || record->file[file].object != OBJECT_FILE)
        return;
    long flags = SYSTEM2(SYS_FCNTL, descriptor, F_GETFL);
    int is_writer = (flags & O_ACCMODE) != O_RDONLY;
    is_own &= descriptor < MAX_DESCRIPTORS;
    int is_reader = !is_writer && is_own && !(flags & O_DIRECT) && is_curing() && is_wanted(file);
    if (is_error(flags) || flags & O_PATH || !(is_writer || is_reader) ||
        is_error(SYSTEM2(SYS_FSTAT, descriptor, &status)) || (status.mode & MODE_TYPE) != MODE_FILE)
        return;
    struct shared_file *shared = shared_file_of(&status);
    /* Without room for the file, nobody has a cure of it. */
    if (shared == NULL)
        return;
    if (is_reader) {
        begin_cure(descriptor, file, &status, shared);
        return;
    }
    __atomic_fetch_add(&shared->writers, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&shared->changes, 1, __ATOMIC_SEQ_CST);
    if (is_own)
        writer_of[descriptor] = (uint16_t)(shared - record->shared_files + 1);
}

/* A file was truncated by its name. */
void note_truncation(const char *path)
{
    struct file_status status;
    struct shared_file *shared = NULL;
    if (path && is_watching() && !is_error(SYSTEM4(SYS_NEWFSTATAT, AT_FDCWD, path, &status, 0)))
        shared = shared_file_of(&status);
    if (shared)
        __atomic_fetch_add(&shared->changes, 1, __ATOMIC_SEQ_CST);
}

/* Whether the file is as it was when the cure began. */
static int is_unchanged(const struct cure *cure, long descriptor)
{
    struct file_status status;
    return !is_error(SYSTEM2(SYS_FSTAT, descriptor, &status)) && (uint64_t)status.size == get(&cure->file_size) &&
           nanoseconds(&status.written) == get(&cure->written_at);
}

/* Fills the buffer with the part of the file around an offset, unless another thread is doing so. */
static void fill(struct cure *cure, long descriptor, uint64_t offset)
{
    uint32_t sequence = __atomic_load_n(&cure->sequence, __ATOMIC_RELAXED);
    if (sequence & 1 || !__atomic_compare_exchange_n(&cure->sequence, &sequence, sequence + 1, 0, __ATOMIC_ACQUIRE,
                                                     __ATOMIC_RELAXED))
        return;
    uint64_t before = get(&cure->start);
    int is_near = (offset > before ? offset - before : before - offset) <= get(&cure->size) + BUFFER_BYTES;
    uint64_t start = offset & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t begin = ticks();
    long size = is_near ? SYSTEM4(SYS_PREAD, descriptor, cure->buffer, BUFFER_BYTES, start) : 0;
    set(&cure->start, is_near ? start : offset);
    set(&cure->size, size > 0 ? (uint64_t)size : 0);
    /* A buffer that answers few reads costs more than it saves. */
    int is_useful = get(&cure->calls) - get(&cure->calls_at_filling) >= 16;
    uint64_t needed = get(&cure->needed);
    set(&cure->needed, is_useful ? 1 : needed < 4096 ? 2 * needed : needed);
    set(&cure->calls_at_filling, get(&cure->calls));
    set(&cure->misses, 0);
    __atomic_store_n(&cure->sequence, sequence + 2, __ATOMIC_RELEASE);
    if (size > 0)
        hold(TALLY_READ, __atomic_load_n(&cure->file, __ATOMIC_RELAXED), begin, (uint64_t)size);
}

static inline void copy_bytes(char *to, const char *from, uint64_t size)
{
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), to += sizeof(uint64_t), from += sizeof(uint64_t))
        *(unaligned_word *)to = *(const unaligned_word *)from;
    while (size--)
        *to++ = *from++;
}

/* Whether nothing was written to the file since the cure began. */
static inline int is_current(const struct cure *cure)
{
    struct shared_file *shared = __atomic_load_n(&cure->shared, __ATOMIC_ACQUIRE);
    return shared && __atomic_load_n(&shared->changes, __ATOMIC_ACQUIRE) == get(&cure->changes);
}

/* Reads from the buffer. Returns whether it has all bytes, and the memory is certainly writable. With the way here and
 * back, this takes 30 ns for 3 bytes; the call takes 280. */
int read_buffer(struct call *call)
{
    long descriptor = call->arguments[0];
    struct cure *cure = cure_at((unsigned)descriptor);
    if (cure == NULL || call->number != SYS_READ)
        return 0;
    char *to = (char *)call->arguments[1];
    uint64_t size = (uint64_t)call->arguments[2];
    uint32_t sequence = __atomic_load_n(&cure->sequence, __ATOMIC_ACQUIRE);
    uint64_t position = position_of(cure, descriptor);
    uint64_t at = (position & STOPPED) - get(&cure->start);
    uint64_t available = get(&cure->size);
    uint64_t page = get(&cure->page);
    if (sequence & 1 || size - 1 >= MAX_SMALL || at >= available || available - at < size ||
        (uint64_t)to / PAGE_BYTES != page || ((uint64_t)to + size - 1) / PAGE_BYTES != page || is_stopped(position) ||
        !is_current(cure))
        return 0;
    copy_bytes(to, cure->buffer + at, size);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&cure->sequence, __ATOMIC_RELAXED) != sequence || !advance(cure, position, position + size))
        return 0;
    increase(&cure->calls, 1);
    increase(&cure->bytes, size);
    set_result(call, (long)size);
    return 1;
}

/* Seeks that are not errors. Returns whether the position changed. */
int seek_in_buffer(struct call *call)
{
    long descriptor = call->arguments[0];
    struct cure *cure = cure_at((unsigned)descriptor);
    if (cure == NULL || (unsigned long)call->arguments[2] > SEEK_CUR)
        return 0;
    uint64_t position = position_of(cure, descriptor);
    uint64_t target = (uint64_t)call->arguments[1] + (call->arguments[2] == SEEK_CUR ? position & STOPPED : 0);
    if (is_stopped(position) || target >= STOPPED || !advance(cure, position, (position & ~STOPPED) | target))
        return 0;
    increase(&cure->calls, 1);
    set_result(call, (long)target);
    return 1;
}

/* Reads from the file itself. */
enum answer read_file(struct call *call, long *result)
{
    long descriptor = call->arguments[0];
    struct cure *cure = cure_at((unsigned)descriptor);
    if (cure == NULL)
        return ANSWER_NONE;
    if (!is_current(cure))
        stop_cure(descriptor, ASIDE_WRITTEN);
    for (;;) {
        uint64_t position = position_of(cure, descriptor);
        uint64_t offset = position & STOPPED;
        if (is_stopped(position))
            return ANSWER_NONE;
        long number = call->number == SYS_READ ? SYS_PREAD : SYS_PREADV;
        *result = system_call(number, descriptor, call->arguments[1], call->arguments[2], (long)offset, 0, 0);
        if (*result <= 0)
            return ANSWER_FROM_FILE;
        if (!advance(cure, position, position + (uint64_t)*result))
            continue;
        offset += (uint64_t)*result;
        set(&cure->page, call->number == SYS_READ ? (uint64_t)call->arguments[1] / PAGE_BYTES : UINT64_MAX);
        int is_beside = offset - get(&cure->start) >= get(&cure->size);
        if (*result > MAX_SMALL || !is_beside)
            return ANSWER_FROM_FILE;
        increase(&cure->misses, 1);
        if (get(&cure->misses) < get(&cure->needed))
            return ANSWER_FROM_FILE;
        if (has_unseen_calls())
            stop_cure(descriptor, ASIDE_UNSEEN);
        else if (!is_unchanged(cure, descriptor))
            stop_cure(descriptor, ASIDE_CHANGED);
        else
            fill(cure, descriptor, offset);
        return ANSWER_FROM_FILE;
    }
}

/* Seeks to places that the file decides, and errors. */
enum answer seek_in_file(struct call *call, long *result)
{
    long descriptor = call->arguments[0];
    struct cure *cure = cure_at((unsigned)descriptor);
    if (cure == NULL)
        return ANSWER_NONE;
    for (;;) {
        uint64_t position = position_of(cure, descriptor);
        int64_t target = call->arguments[1];
        if (is_stopped(position))
            return ANSWER_NONE;
        if (call->arguments[2] == SEEK_CUR)
            target += (int64_t)(position & STOPPED);
        else if (call->arguments[2] != SEEK_SET)
            target = polyhaul_raw_call(call->number, call->arguments);
        if (target >= (int64_t)STOPPED) {
            stop_cure(descriptor, ASIDE_CONTROLLED);
            return ANSWER_NONE;
        }
        *result = target < 0 && (unsigned long)call->arguments[2] <= SEEK_CUR ? -EINVAL : target;
        if (target < 0 || advance(cure, position, (position & ~STOPPED) | (uint64_t)target))
            return ANSWER_FROM_FILE;
    }
}

/* Memory may not be writable any more. */
void forget_pages(void)
{
    if (record->options & OPTION_CURE)
        for (unsigned index = 0; index < MAX_CURES; index++)
            set(&cures[index].page, UINT64_MAX);
}

/* Counts what was answered, before the process ends. */
void count_cures(void)
{
    for (unsigned index = 0; index < MAX_CURES; index++)
        count_answers(&cures[index]);
}
