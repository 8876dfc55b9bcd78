/* Declarations that the parts of the recorder share.
 *
 * `start.c` starts in each program, `patch.c` replaces system call instructions by jumps to `entry.S`, which calls
 * `polyhaul_call` in `calls.c`. `files.c` resolves descriptors, `count.c` counts, `slots.c` holds threads and processes,
 * `execute.c` passes the recorder on to programs, `sample.c` takes samples of stacks, `signals.c` keeps signal handlers of
 * C libraries working, `cure.c` answers small reads, `throttle.c` slows calls down, and `mapped.c` mapped
 * files. `machine.h` depends on the processor. No part
 * allocates, locks or calls a C library: a call may come from a signal handler or from a child that borrows memory. */

#ifndef POLYHAUL_RECORDER_H
#define POLYHAUL_RECORDER_H

#include "layout.h"
#include "system.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* The registers of a program at a system call, on its stack. `entry.S` saves them in this order. */
struct call {
#if defined(__x86_64__)
    uint64_t r15, r14, r13, r12, rbx;
    long number; /* Replaced by the result. */
    long arguments[6];
    uint64_t rbp;
    uint64_t link; /* Address in the detour, after the call of the entry. */
#elif defined(__aarch64__)
    uint64_t saved[12]; /* x19 to x30. */
    long arguments[8];  /* x0 to x7; the first is replaced by the result. */
    long number;
    uint64_t link;      /* Address in the detour, after the call of the entry. */
    uint64_t others[8]; /* x9 to x15, x17. */
    uint64_t flags;
    uint64_t unused;
#endif
};

/* Calls since the last sample, their time or bytes, and when the next sample is due. */
struct unsampled {
    uint64_t calls;
    uint64_t amount;
    uint64_t next;
};

/* Calls whose bytes the throttled device has not moved yet. */
struct unsettled {
    uint64_t calls;
    uint64_t bytes;
};

/* State of a thread. */
struct local {
    struct thread *thread;
    /* The innermost call in progress. */
    struct call *call;
    /* Whether the kernel has made that call. */
    uint32_t is_made;
    /* Buffer for the environment of programs to execute. */
    const char **scratch;
    size_t scratch_size;
    struct unsampled calls;
    struct unsampled allocations;
    struct unsampled wakes;
    struct unsampled sleeps;
    struct unsettled unsettled[2]; /* Reads and writes. */
};

#define PAGE_BYTES 4096

/* Results of `polyhaul_call`: the call was made, or the program has to make it itself. */
#define CALL_MADE 0
#define CALL_LEFT 1

extern HIDDEN struct record *record;
extern HIDDEN uint8_t polyhaul_effects[MAX_CALLS];
/* Whether the kernel refuses some calls, so that the recorder makes no further ones. */
extern HIDDEN uint32_t is_restricted;
extern HIDDEN __thread struct local local __attribute__((tls_model("initial-exec")));

/* entry.S */
void polyhaul_entry(void) HIDDEN;
long polyhaul_raw_call(long number, const long *arguments) HIDDEN;
extern HIDDEN const char polyhaul_raw_start[], polyhaul_raw_end[];

/* slots.c */
struct thread *this_thread(void) HIDDEN;
void end_thread(void) HIDDEN;
/* Reserves the slot of a process that will begin, so that the command waits for it. `id` is 0 if it is not known. */
uint32_t reserve_process(int32_t id) HIDDEN;
void release_process(uint32_t index) HIDDEN;
void set_process_id(uint32_t index, int32_t id) HIDDEN;
void begin_process(uint32_t index) HIDDEN;
void continue_as_child(uint32_t index) HIDDEN;
void end_process(void) HIDDEN;
extern HIDDEN uint32_t process_index;
#define NO_PROCESS UINT32_MAX
void ring(void) HIDDEN;

/* files.c */
/* Number of cached descriptors; higher ones are resolved at each call. */
#define MAX_DESCRIPTORS 65536
#define UNKNOWN_FILE 0 /* The file whose name is not known. */
uint32_t file_of_descriptor(int descriptor, int is_cached) HIDDEN;
void set_position(int descriptor, int64_t position) HIDDEN;
int has_jumped(int descriptor, int64_t start, int64_t bytes) HIDDEN;
void forget_descriptors(uint32_t first, uint32_t last) HIDDEN;
uint32_t file_of_name(enum object object, const char *name, uint32_t size) HIDDEN;

/* count.c */
void count_call(struct thread *thread, enum tally tally, uint32_t file, long result, uint64_t bytes, uint64_t ticks)
    HIDDEN;
void count_several(uint32_t tally, uint32_t file, uint64_t calls, uint64_t bytes) HIDDEN;
void add_own_counts(struct thread *thread) HIDDEN;

/* cure.c */
/* Who answered a call: nobody yet, so that it has to be made, or the file. */
enum answer {
    ANSWER_NONE,
    ANSWER_FROM_FILE,
};
int read_buffer(struct call *call) HIDDEN;
enum answer read_file(struct call *call, long *result) HIDDEN;
int seek_in_buffer(struct call *call) HIDDEN;
enum answer seek_in_file(struct call *call, long *result) HIDDEN;
void note_open(unsigned descriptor, uint32_t file, int is_own) HIDDEN;
void note_truncation(const char *path) HIDDEN;
void note_message(long header) HIDDEN;
void end_cure(uint32_t descriptor) HIDDEN;
void stop_cure(long descriptor, enum aside reason) HIDDEN;
/* Before another process has the descriptors, too: a child that shares memory may use their numbers for other files. */
void stop_all_cures(enum aside reason) HIDDEN;
void duplicate_cure(long from, long to) HIDDEN;
int lend_position(long descriptor) HIDDEN;
void take_position_back(long descriptor) HIDDEN;
void empty_buffers(void) HIDDEN;
void stop_cures_from(uint32_t first, uint32_t last) HIDDEN;
void disable_cures(enum aside reason) HIDDEN;
void keep_writer(long descriptor) HIDDEN;
void begin_threads(void) HIDDEN;
void forget_pages(void) HIDDEN;
void count_cures(void) HIDDEN;

/* throttle.c */
/* Waits until a throttled device would have made a call of these bytes, which began at `start`. */
void hold(enum tally tally, uint32_t file, uint64_t start, uint64_t bytes) HIDDEN;
/* Before a thread ends. */
void settle_throttles(void) HIDDEN;
/* In a child, which did not make these calls. */
void forget_unsettled(void) HIDDEN;

/* mapped.c */
void hold_map(uint32_t file, uint64_t start, const struct call *call, long address) HIDDEN;
void fill_maps(void) HIDDEN;
/* Before another program is executed. */
void leave_maps(void) HIDDEN;

/* patch.c */
void patch_modules(void) HIDDEN;

/* execute.c */
int take_environment(char **environment) HIDDEN;
extern HIDDEN char record_path[], recorder_path[];
long execute(struct thread *thread, struct call *call, enum effect effect) HIDDEN;

/* calls.c */
static inline void set_result(struct call *call, long result)
{
#if defined(__x86_64__)
    call->number = result;
#elif defined(__aarch64__)
    call->arguments[0] = result;
#endif
}

long make(struct call *call) HIDDEN;
/* Makes a call with another value of an argument. */
long make_with(struct call *call, int index, const void *value) HIDDEN;

/* signals.c */
long set_signal_handler(struct call *call) HIDDEN;
int restore_registers(uint64_t *registers) HIDDEN;

/* sample.c */
#define SAMPLE_SIGNAL 61
void take_sampling_signal(void) HIDDEN;
void start_sampling(void) HIDDEN;
void stop_sampling(void) HIDDEN;
void stop_all_sampling(void) HIDDEN;
void sample_call(struct call *call, struct unsampled *unsampled, enum tally tally, uint32_t file, uint64_t now,
                 uint64_t amount) HIDDEN;
long set_signal_mask(struct call *call) HIDDEN;
long set_sample_handler(struct call *call) HIDDEN;
void polyhaul_signal_return(void) HIDDEN;

/* The time: the counter of the processor, or nanoseconds. */
static inline uint64_t ticks(void)
{
    if (record->options & OPTION_CLOCK) {
        if (is_restricted)
            return 0;
        struct timespec_of_kernel now = {0, 0};
        SYSTEM2(SYS_CLOCK_GETTIME, 1, &now);
        return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
    }
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#endif
}

static inline uint64_t add(uint64_t *total, uint64_t more)
{
    return __atomic_fetch_add(total, more, __ATOMIC_RELAXED);
}

#endif
