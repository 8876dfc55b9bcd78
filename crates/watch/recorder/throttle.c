/* Slows down reads and writes of files, as a slower device would (`watch --read-rate`).
 *
 * All threads and processes share the time at which the device would have moved all bytes so far. Each call moves it on
 * by the time of its bytes, and waits until then. Nothing locks. `mapped.c` handles mapped files, which are read without
 * calls. src/preload/filler.rs computes the same times. */

#include "recorder.h"

/* Shorter waits are left to a later call: a thread wakes up to 0.1 ms late. */
#define MIN_WAIT_NS 200000

#define MAX_UNSETTLED_BYTES 65536

static uint64_t scaled(uint64_t number, uint64_t factor)
{
    unsigned __int128 product = (unsigned __int128)number * factor >> 32;
    return product > UINT64_MAX / 4 ? UINT64_MAX / 4 : (uint64_t)product;
}

/* Sleeps until a time. Signal handlers run meanwhile. */
static void sleep_until(uint64_t end)
{
    /* The kernel wakes threads of this slack 50 µs earlier than others. */
    long slack = SYSTEM1(SYS_PRCTL, PR_GET_TIMERSLACK);
    SYSTEM2(SYS_PRCTL, PR_SET_TIMERSLACK, 1);
    for (uint64_t now = ticks(); now < end; now = ticks()) {
        uint64_t rest = scaled(end - now, record->tick_ns) + 1;
        struct timespec_of_kernel time = {(int64_t)(rest / 1000000000u), (int64_t)(rest % 1000000000u)};
        SYSTEM2(SYS_NANOSLEEP, &time, 0);
    }
    SYSTEM2(SYS_PRCTL, PR_SET_TIMERSLACK, slack);
}

/* The time at which the device has moved these bytes, after those of all earlier calls. */
static uint64_t time_of_bytes(struct throttle *throttle, uint64_t start, uint64_t bytes)
{
    uint64_t cost = scaled(bytes, throttle->byte_ticks);
    uint64_t earliest = start - record->credit_ticks;
    uint64_t free = __atomic_load_n(&throttle->free, __ATOMIC_RELAXED);
    uint64_t end;
    do {
        /* Before the first call, the device did not read ahead. */
        end = (free == 0 ? start : free > earliest ? free : earliest) + cost;
    } while (!__atomic_compare_exchange_n(&throttle->free, &free, end, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return end;
}

/* Keeps the first and the last time at which calls were held. */
static void note_times(struct throttle *throttle, uint64_t first, uint64_t last)
{
    uint64_t none = 0, before = __atomic_load_n(&throttle->last, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(&throttle->first, &none, first, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    while (before < last && !__atomic_compare_exchange_n(&throttle->last, &before, last, 0, __ATOMIC_RELAXED,
                                                         __ATOMIC_RELAXED))
        ;
}

/* Moves the device on by what a thread has not yet settled. Returns when it has moved the bytes. */
static uint64_t settle(struct throttle *throttle, struct unsettled *unsettled, uint64_t start)
{
    uint64_t end = unsettled->bytes ? time_of_bytes(throttle, start, unsettled->bytes) : start;
    add(&throttle->calls, unsettled->calls);
    add(&throttle->bytes, unsettled->bytes);
    *unsettled = (struct unsettled){0, 0};
    return end;
}

void hold(enum tally tally, uint32_t file, uint64_t start, uint64_t bytes)
{
    int kind = tally == TALLY_WRITE;
    struct throttle *throttle = &record->throttles[kind];
    struct unsettled *unsettled = &local.unsettled[kind];
    if (!(record->options & OPTION_THROTTLE) || is_restricted || record->file[file].object != OBJECT_FILE ||
        !(throttle->byte_ticks || throttle->latency_ticks))
        return;
    unsettled->calls++;
    unsettled->bytes += bytes;
    /* Settling every 3-byte read would make it a quarter slower. What a thread has not settled when it is killed is
     * lost, so it is little. */
    if (throttle->latency_ticks == 0 && unsettled->bytes < MAX_UNSETTLED_BYTES &&
        scaled(unsettled->bytes, throttle->byte_ticks) < record->credit_ticks / 1024)
        return;
    uint64_t end = settle(throttle, unsettled, start);
    if (throttle->latency_ticks) {
        uint64_t alone = start + throttle->latency_ticks + scaled(bytes, throttle->byte_ticks);
        end = alone > end ? alone : end;
    }
    uint64_t now = ticks();
    uint64_t shortest = throttle->latency_ticks ? 0 : MIN_WAIT_NS;
    if (end > now && scaled(end - now, record->tick_ns) >= shortest)
        sleep_until(end);
    note_times(throttle, start, end > now ? end : now);
}

void settle_throttles(void)
{
    for (int kind = 0; kind < 2; kind++) {
        uint64_t now = ticks();
        if (local.unsettled[kind].calls)
            note_times(&record->throttles[kind], now, settle(&record->throttles[kind], &local.unsettled[kind], now));
    }
}

void forget_unsettled(void)
{
    local.unsettled[0] = local.unsettled[1] = (struct unsettled){0, 0};
}
