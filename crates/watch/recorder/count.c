/* Counts calls by file and kind.
 *
 * A thread uses a few counts in its own slot, without atomic instructions. When another file needs their place, they are
 * added to the common counts. A signal handler that interrupts this uses the common counts. */

#include "recorder.h"

static unsigned size_class(uint64_t bytes)
{
    unsigned class = 0;
    while (class < SIZE_CLASSES - 1 && record->size_limits[class] <= bytes)
        class++;
    return class;
}

/* Space-Saving, as in src/files.rs, with fewer sizes. */
static void add_size(struct count *count, uint64_t bytes, uint32_t calls)
{
    struct exact_size *rarest = &count->sizes[0];
    for (unsigned index = 0; index < EXACT_SIZES; index++) {
        struct exact_size *size = &count->sizes[index];
        if (size->bytes == bytes) {
            size->calls += calls;
            return;
        }
        if (size->calls + size->before < rarest->calls + rarest->before)
            rarest = size;
    }
    rarest->before += rarest->calls;
    rarest->calls = calls;
    rarest->bytes = bytes;
}

/* Counts of one file are neighbors, since each new page takes as long as many calls. */
#define NEIGHBORS 8

/* The common count of a file and kind; NULL if there is no room. */
static struct count *common_count(uint32_t file, enum tally tally)
{
    uint32_t start = (file * 2654435761u >> 16) * NEIGHBORS + tally % NEIGHBORS;
    for (uint32_t tried = 0; tried < 64; tried++) {
        struct count *count = &record->counts[(start + tried) % MAX_COUNTS];
        uint32_t state = __atomic_load_n(&count->state, __ATOMIC_ACQUIRE);
        if (state == SLOT_FREE) {
            uint32_t expected = SLOT_FREE;
            if (__atomic_compare_exchange_n(&count->state, &expected, SLOT_TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
                count->file = file;
                count->tally = tally;
                __atomic_store_n(&count->state, SLOT_READY, __ATOMIC_RELEASE);
                return count;
            }
            state = expected;
        }
        if (state == SLOT_READY && count->file == file && count->tally == tally)
            return count;
    }
    return NULL;
}

/* Adds exact sizes. Gives up if another thread stays busy, because it may have been killed. */
static void add_sizes(struct count *to, const struct exact_size *sizes, unsigned number)
{
    for (unsigned tried = 0; tried < 1000; tried++) {
        if (__atomic_exchange_n(&to->is_busy, 1, __ATOMIC_ACQUIRE))
            continue;
        for (unsigned index = 0; index < number; index++)
            if (sizes[index].calls)
                add_size(to, sizes[index].bytes, sizes[index].calls);
        __atomic_store_n(&to->is_busy, 0, __ATOMIC_RELEASE);
        return;
    }
}

static void add_to_common(const struct count *from)
{
    struct count *to = common_count(from->file, from->tally);
    if (to == NULL) {
        add(&record->lost, from->calls);
        return;
    }
    add(&to->calls, from->calls);
    add(&to->failed, from->failed);
    add(&to->bytes, from->bytes);
    add(&to->ticks, from->ticks);
    add(&to->waited_ticks, from->waited_ticks);
    for (unsigned class = 0; class < SIZE_CLASSES; class++)
        if (from->classes[class])
            add(&to->classes[class], from->classes[class]);
    add_sizes(to, from->sizes, EXACT_SIZES);
}

static void clear(struct count *count)
{
    uint64_t *words = (uint64_t *)count;
    for (size_t index = 0; index < sizeof(struct count) / sizeof(uint64_t); index++)
        words[index] = 0;
}

void add_own_counts(struct thread *thread)
{
    for (unsigned index = 0; index < OWN_COUNTS; index++) {
        if (thread->counts[index].calls)
            add_to_common(&thread->counts[index]);
        clear(&thread->counts[index]);
    }
}

/* If the kernel restarts a call after a signal, only its final result arrives here. */
static void add_call(struct count *count, long result, uint64_t bytes, uint64_t ticks)
{
    count->calls++;
    count->ticks += ticks;
    if (ticks > record->wait_ticks)
        count->waited_ticks += ticks;
    if (is_error(result)) {
        count->failed++;
        return;
    }
    count->bytes += bytes;
    count->classes[size_class(bytes)]++;
    if (bytes > 0)
        add_size(count, bytes, 1);
}

static void count_in_common(enum tally tally, uint32_t file, long result, uint64_t bytes, uint64_t ticks)
{
    struct count one = {.file = file, .tally = tally};
    add_call(&one, result, bytes, ticks);
    add_to_common(&one);
}

void count_several(uint32_t tally, uint32_t file, uint64_t calls, uint64_t bytes)
{
    struct count several = {.file = file, .tally = tally, .calls = calls, .bytes = bytes};
    add_to_common(&several);
}

static void add_activity(struct thread *thread, enum tally tally, long result, uint64_t bytes, uint64_t ticks)
{
    unsigned kind = tally == TALLY_READ || tally == TALLY_SEEK ? 0 : tally == TALLY_WRITE ? 1 : 2;
    if (kind == 2 && tally != TALLY_SYNC)
        return;
    struct activity *activity = &thread->activity[kind];
    activity->ticks += ticks;
    if (ticks > record->wait_ticks)
        activity->waited_ticks += ticks;
    if (!is_error(result))
        activity->bytes += bytes;
}

void count_call(struct thread *thread, enum tally tally, uint32_t file, long result, uint64_t bytes, uint64_t ticks)
{
    if (thread == NULL || thread->is_counting) {
        count_in_common(tally, file, result, bytes, ticks);
        return;
    }
    thread->is_counting = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct count *count = &thread->counts[(file * 5 + tally) % OWN_COUNTS];
    if (count->calls == 0 || count->file != file || count->tally != tally) {
        if (count->calls)
            add_to_common(count);
        clear(count);
        count->file = file;
        count->tally = tally;
    }
    add_call(count, result, bytes, ticks);
    add_activity(thread, tally, result, bytes, ticks);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->is_counting = 0;
}
