/* Records system calls with an effect on files, threads or processes.
 *
 * `polyhaul_call` makes the program's call with its registers, or returns CALL_LEFT if the program has to make it. */

#include "recorder.h"

HIDDEN struct record *record;
HIDDEN uint8_t polyhaul_effects[MAX_CALLS];
HIDDEN uint32_t is_restricted;

long polyhaul_call(struct call *call) HIDDEN;

/* Operations of futex(2) that wait. */
static int is_waiting(long operation)
{
    switch (operation & 0x7F) {
    case 0:  /* FUTEX_WAIT */
    case 6:  /* FUTEX_LOCK_PI */
    case 9:  /* FUTEX_WAIT_BITSET */
    case 11: /* FUTEX_WAIT_REQUEUE_PI */
    case 13: /* FUTEX_LOCK_PI2 */
        return 1;
    default:
        return 0;
    }
}

/* Operations of futex(2) that return how many threads they wake: FUTEX_WAKE, FUTEX_WAKE_OP, FUTEX_WAKE_BITSET.
 * FUTEX_UNLOCK_PI does not. */
static int is_waking(long operation)
{
    long number = operation & 0x7F;
    return number == 1 || number == 5 || number == 10;
}

long make(struct call *call)
{
    local.is_made = 0;
    long result = polyhaul_raw_call(call->number, call->arguments);
    local.is_made = 1;
    return result;
}

long make_with(struct call *call, int index, const void *value)
{
    long arguments[6];
    for (int copied = 0; copied < 6; copied++)
        arguments[copied] = call->arguments[copied];
    arguments[index] = (long)value;
    return polyhaul_raw_call(call->number, arguments);
}

/* When a call began, and how long it took. */
struct timing {
    uint64_t start;
    uint64_t time;
};

/* Holds a call that succeeded. */
static void hold_call(enum tally tally, uint32_t file, uint64_t start, const struct call *call, long result)
{
    if (tally == TALLY_READ || tally == TALLY_WRITE)
        hold(tally, file, start, (uint64_t)result);
    if (tally == TALLY_MAP)
        hold_map(file, start, call, result);
}

/* Makes the call. The command can read which one is in progress. */
static struct timing timed(struct thread *thread, struct call *call, enum tally tally, uint32_t file, long *result)
{
    uint64_t start = ticks();
    if (thread) {
        thread->tally = tally;
        thread->file = file;
        __atomic_store_n(&thread->call_start, start, __ATOMIC_RELAXED);
    }
    *result = make(call);
    if (record->options & OPTION_THROTTLE && !is_error(*result))
        hold_call(tally, file, start, call, *result);
    uint64_t end = ticks();
    if (thread) {
        __atomic_store_n(&thread->call_start, 0, __ATOMIC_RELAXED);
        if (tally != TALLY_NONE && tally != TALLY_MAP && tally != TALLY_SLEEP && tally < TALLY_LOOKUP)
            sample_call(call, &local.calls, tally, file, end, end - start);
    }
    return (struct timing){start, end > start ? end - start : 0};
}

/* Makes a call and counts it. Returns its result. */
static long counted(struct thread *thread, struct call *call, enum tally tally, uint32_t file)
{
    long result;
    struct timing timing = timed(thread, call, tally, file, &result);
    int is_transfer = tally == TALLY_READ || tally == TALLY_WRITE;
    count_call(thread, tally, file, result, is_transfer ? (uint64_t)result : 0, timing.time);
    set_result(call, result);
    return result;
}

/* Whether a call on a cured descriptor was answered. */
static int is_answered(struct thread *thread, struct call *call, enum tally tally)
{
    long result;
    uint64_t start = record->options & OPTION_THROTTLE ? ticks() : 0;
    enum answer answer = tally == TALLY_READ ? read_file(call, &result) : seek_in_file(call, &result);
    if (answer == ANSWER_NONE)
        return 0;
    uint32_t file = file_of_descriptor((int)call->arguments[0], 1);
    if (tally == TALLY_READ && result > 0)
        hold(tally, file, start, (uint64_t)result);
    count_call(thread, tally, file, result, (uint64_t)result, 0);
    set_result(call, result);
    return 1;
}

/* Reads or writes from a position, or from the current one if it is negative. */
static void transfer(struct thread *thread, struct call *call, enum tally tally, int64_t position)
{
    int descriptor = (int)call->arguments[0];
    int is_lent = 0;
    if (tally == TALLY_READ && position < 0) {
        int is_usual = call->number == SYS_READ || call->number == SYS_READV;
        if (thread && is_usual && is_answered(thread, call, tally))
            return;
        is_lent = lend_position(descriptor);
    }
    uint32_t file = file_of_descriptor(descriptor, thread != NULL);
    long result = counted(thread, call, tally, file);
    if (is_lent)
        take_position_back(descriptor);
    if (thread && !is_error(result) && has_jumped(descriptor, position, result))
        count_call(thread, TALLY_JUMP, file, 0, 0, 0);
}

static void seek(struct thread *thread, struct call *call)
{
    int descriptor = (int)call->arguments[0];
    if (thread && is_answered(thread, call, TALLY_SEEK))
        return;
    stop_cure(descriptor, ASIDE_CONTROLLED);
    long result = counted(thread, call, TALLY_SEEK, file_of_descriptor(descriptor, thread != NULL));
    if (thread && !is_error(result))
        set_position(descriptor, result);
}

/* The time of a copy is attributed to its source. */
static void copy(struct thread *thread, struct call *call, unsigned from, unsigned to)
{
    int is_lent = lend_position((int)call->arguments[from]);
    uint32_t source = file_of_descriptor((int)call->arguments[from], thread != NULL);
    uint32_t target = file_of_descriptor((int)call->arguments[to], thread != NULL);
    long result;
    struct timing timing = timed(thread, call, TALLY_READ, source, &result);
    if (is_lent)
        take_position_back((int)call->arguments[from]);
    if (!is_error(result))
        hold(TALLY_WRITE, target, timing.start, (uint64_t)result);
    count_call(thread, TALLY_READ, source, result, (uint64_t)result, timing.time);
    count_call(thread, TALLY_WRITE, target, result, (uint64_t)result, 0);
    set_result(call, result);
}

static void open_file(struct thread *thread, struct call *call)
{
    long result;
    struct timing timing = timed(thread, call, TALLY_NONE, 0, &result);
    if (is_error(result)) {
        add(&record->failed_opens, 1);
    } else {
        if (thread) {
            forget_descriptors((uint32_t)result, (uint32_t)result);
            end_cure((uint32_t)result);
        }
        uint32_t file = file_of_descriptor((int)result, thread != NULL);
        count_call(thread, TALLY_OPEN, file, 0, 0, timing.time);
        note_open((unsigned)result, file, thread != NULL);
    }
    set_result(call, result);
}

/* Smaller allocations are not recorded. */
#define LARGE_BYTES (1u << 20)

/* Maps a file or allocates memory. Memory that is only reserved is not writable yet. */
static void map(struct thread *thread, struct call *call)
{
    int is_file = !(call->arguments[3] & MAP_ANONYMOUS);
    uint64_t bytes = (uint64_t)call->arguments[1];
    uint32_t file = is_file ? file_of_descriptor((int)call->arguments[4], thread != NULL) : UNKNOWN_FILE;
    long result;
    int is_code = is_file && call->arguments[2] & PROT_EXEC;
    if (call->arguments[3] & MAP_FIXED)
        forget_pages();
    if (is_file && call->arguments[3] & MAP_SHARED && call->arguments[2] & PROT_WRITE)
        keep_writer((int)call->arguments[4]);
    int is_large = !is_file && bytes >= LARGE_BYTES && call->arguments[2] & PROT_WRITE;
    struct timing timing = timed(thread, call, is_file ? TALLY_MAP : TALLY_NONE, file, &result);
    if ((is_file || is_large) && !is_error(result))
        count_call(thread, is_file ? TALLY_MAP : TALLY_ALLOCATE, file, 0, bytes, timing.time);
    if (is_large && thread && !is_error(result))
        sample_call(call, &local.allocations, TALLY_ALLOCATE, file, timing.start + timing.time, bytes);
    if (is_code && !is_error(result) && thread && !is_restricted)
        patch_modules();
    set_result(call, result);
}

/* Two descriptors have the position. A child that shares memory has its own descriptors, and no cures. */
static void duplicate(struct thread *thread, long from, long to)
{
    keep_writer((int)from);
    if (thread && !is_error(to)) {
        forget_descriptors((uint32_t)to, (uint32_t)to);
        end_cure((uint32_t)to);
        duplicate_cure((int)from, (int)to);
    }
}

/* Makes a call that uses the position of a descriptor. */
static long make_at_position(struct call *call, long descriptor)
{
    int is_lent = lend_position((int)descriptor);
    long result = make(call);
    if (is_lent)
        take_position_back((int)descriptor);
    return result;
}

static long control(struct thread *thread, struct call *call)
{
    long result;
    switch (call->arguments[1]) {
    case F_GETFD:
    case F_SETFD:
    case F_GETFL:
    case F_GETLK:
    case F_OFD_GETLK:
        return make(call);
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        result = make(call);
        empty_buffers();
        return result;
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        result = make(call);
        duplicate(thread, call->arguments[0], result);
        return result;
    default:
        stop_cure((int)call->arguments[0], ASIDE_CONTROLLED);
        keep_writer((int)call->arguments[0]);
        return make(call);
    }
}

/* Requests of ioctl(2) that do not depend on the file or its position: TCGETS, FIONCLEX, FIOCLEX. */
static int is_harmless(long request)
{
    return request == 0x5401 || request == 0x5450 || request == 0x5451;
}

/* Calls that share or control descriptors: dup, fcntl, ioctl, flock, splice, tee, unshare. */
static long share_files(struct thread *thread, struct call *call)
{
    long result;
    switch (call->number) {
    case SYS_DUP:
        result = make(call);
        duplicate(thread, call->arguments[0], result);
        return result;
    case SYS_FCNTL:
        return control(thread, call);
    case SYS_FLOCK:
        result = make(call);
        empty_buffers();
        return result;
    case SYS_IOCTL:
        return is_harmless(call->arguments[1]) ? make(call) : make_at_position(call, call->arguments[0]);
    case SYS_UNSHARE:
        disable_cures(ASIDE_UNSEEN);
        return make(call);
    default:
        return make_at_position(call, call->arguments[0]);
    }
}

/* Flags of close_range(2): threads have their own descriptors, close when a program is executed. */
#define RANGE_UNSHARED 2
#define RANGE_AT_EXEC 4

static void close_files(struct thread *thread, struct call *call, enum effect effect)
{
    uint32_t first = (uint32_t)call->arguments[effect == EFFECT_REPLACE];
    uint32_t last = effect == EFFECT_CLOSE_RANGE ? (uint32_t)call->arguments[1] : first;
    int is_closing = thread && !(effect == EFFECT_CLOSE_RANGE && call->arguments[2] & RANGE_AT_EXEC);
    if (effect == EFFECT_REPLACE && call->arguments[0] == call->arguments[1]) {
        set_result(call, make(call));
        return;
    }
    if (effect != EFFECT_CLOSE)
        stop_cures_from(first, last);
    if (effect == EFFECT_CLOSE_RANGE && call->arguments[2] & RANGE_UNSHARED)
        disable_cures(ASIDE_UNSEEN);
    if (is_closing)
        forget_descriptors(first, last);
    if (thread && effect == EFFECT_CLOSE)
        end_cure(first);
    long result = make(call);
    /* Another thread may have used the old file until the call. */
    if (is_closing && effect == EFFECT_REPLACE)
        duplicate(thread, call->arguments[0], result);
    set_result(call, result);
}

static void use_lock(struct thread *thread, struct call *call, int is_wait)
{
    long result;
    if (!is_wait || thread == NULL) {
        result = make(call);
        if (thread && result > 0 && is_waking(call->arguments[1]))
            sample_call(call, &local.wakes, TALLY_WAKE, UNKNOWN_FILE, ticks(), 0);
    } else {
        struct timing timing = timed(thread, call, TALLY_WAIT, 0, &result);
        thread->waits++;
        thread->wait_ticks += timing.time;
    }
    set_result(call, result);
}

/* io_uring_enter(2) returns the number of operations that it submits. Its number is the same on all machines. */
#define IO_URING_ENTER 426

static void sleep_in_call(struct thread *thread, struct call *call)
{
    int is_queue = call->number == IO_URING_ENTER;
    long result;
    if (call->number == SYS_SENDMSG)
        note_message(call->arguments[1]);
    struct timing timing = timed(thread, call, TALLY_SLEEP, UNKNOWN_FILE, &result);
    /* What the first thread waits for, the user waits for. Others may be idle. */
    if (thread && thread->id == record->process[process_index].id)
        sample_call(call, &local.sleeps, TALLY_SLEEP, UNKNOWN_FILE, timing.start + timing.time, timing.time);
    if (is_queue && !is_error(result))
        add(&record->queued, (uint64_t)result);
    set_result(call, result);
}

/* A child with separate memory returns here, like its parent. */
static void fork_process(struct call *call)
{
    uint32_t index = process_index == NO_PROCESS ? NO_PROCESS : reserve_process(0);
    stop_all_cures(ASIDE_SHARED);
    fill_maps();
    long result = make(call);
    if (result == 0)
        continue_as_child(index);
    else if (is_error(result))
        release_process(index);
    else if (index != NO_PROCESS)
        set_process_id(index, (int32_t)result);
    set_result(call, result);
}

/* Threads start on another stack, and a child that shares memory uses this one, so the program makes these calls
 * itself. */
static long clone_process(struct thread *thread, struct call *call, enum effect effect)
{
    uint64_t flags = (uint64_t)call->arguments[0];
    uint64_t stack = (uint64_t)call->arguments[1];
    if (effect == EFFECT_CLONE3) {
        /* `struct clone_args`: flags, pidfd, child_tid, parent_tid, exit_signal, stack. */
        const uint64_t *fields = (const uint64_t *)call->arguments[0];
        if (call->arguments[1] < 48 || fields == NULL)
            return CALL_LEFT;
        flags = fields[0];
        stack = fields[5];
    }
    if (!(flags & CLONE_VM) && stack == 0) {
        fork_process(call);
        return CALL_MADE;
    }
    if (!(flags & CLONE_VM))
        fill_maps();
    if (flags & CLONE_FILES)
        begin_threads();
    else
        stop_all_cures(ASIDE_SHARED);
    if (thread && !(flags & CLONE_SETTLS))
        thread->is_spawning = 1;
    return CALL_LEFT;
}

/* A filter may kill the program at an unexpected call, so the recorder makes no calls afterwards. */
static void restrict_calls(struct thread *thread, struct call *call, int is_filter)
{
    uint32_t before = is_restricted;
    if (is_filter && thread && !before) {
        fill_maps();
        disable_cures(ASIDE_UNSEEN);
        is_restricted = 1;
        stop_all_sampling();
    }
    long result = make(call);
    if (is_filter && thread && is_error(result)) {
        is_restricted = before;
        start_sampling();
    }
    set_result(call, result);
}

/* Calls on names. Another thread may begin to read the file before the call, and still have what it truncates. */
static void change_name(struct thread *thread, struct call *call, enum tally tally)
{
    const char *truncated = call->number == SYS_TRUNCATE ? (const char *)call->arguments[0] : NULL;
    note_truncation(truncated);
    counted(thread, call, tally, UNKNOWN_FILE);
    note_truncation(truncated);
}

static long dispatch(struct thread *thread, struct call *call, enum effect effect)
{
    switch (effect) {
    case EFFECT_OPEN:
        open_file(thread, call);
        return CALL_MADE;
    case EFFECT_READ:
    case EFFECT_READ_AT:
        transfer(thread, call, TALLY_READ, effect == EFFECT_READ ? -1 : call->arguments[3]);
        return CALL_MADE;
    case EFFECT_WRITE:
    case EFFECT_WRITE_AT:
        transfer(thread, call, TALLY_WRITE, effect == EFFECT_WRITE ? -1 : call->arguments[3]);
        return CALL_MADE;
    case EFFECT_SYNC:
        counted(thread, call, TALLY_SYNC, file_of_descriptor((int)call->arguments[0], thread != NULL));
        return CALL_MADE;
    case EFFECT_SEEK:
        seek(thread, call);
        return CALL_MADE;
    case EFFECT_LOOKUP:
    case EFFECT_CHANGE:
    case EFFECT_LIST:
        change_name(thread, call, TALLY_LOOKUP + (effect - EFFECT_LOOKUP));
        return CALL_MADE;
    case EFFECT_COPY_FROM_1_TO_0:
        copy(thread, call, 1, 0);
        return CALL_MADE;
    case EFFECT_COPY_FROM_0_TO_2:
        copy(thread, call, 0, 2);
        return CALL_MADE;
    case EFFECT_CLOSE:
    case EFFECT_CLOSE_RANGE:
    case EFFECT_REPLACE:
        close_files(thread, call, effect);
        return CALL_MADE;
    case EFFECT_MAP:
        map(thread, call);
        return CALL_MADE;
    case EFFECT_WAIT:
        use_lock(thread, call, is_waiting(call->arguments[1]));
        return CALL_MADE;
    case EFFECT_WAIT_SEVERAL:
        use_lock(thread, call, 1);
        return CALL_MADE;
    case EFFECT_FORK:
        fork_process(call);
        return CALL_MADE;
    case EFFECT_CLONE:
    case EFFECT_CLONE3:
        return clone_process(thread, call, effect);
    case EFFECT_VFORK:
        stop_all_cures(ASIDE_SHARED);
        if (thread)
            thread->is_spawning = 1;
        return CALL_LEFT;
    case EFFECT_EXEC:
    case EFFECT_EXEC_AT:
        stop_all_cures(ASIDE_SHARED);
        count_cures();
        settle_throttles();
        leave_maps();
        set_result(call, execute(thread, call, effect));
        return CALL_MADE;
    case EFFECT_RESTRICT:
        restrict_calls(thread, call, call->arguments[0] <= 1);
        return CALL_MADE;
    case EFFECT_PROCESS_OPTION:
        restrict_calls(thread, call, call->arguments[0] == PR_SET_SECCOMP);
        return CALL_MADE;
    case EFFECT_SIGNAL_HANDLER:
        set_result(call, set_signal_handler(call));
        return CALL_MADE;
    case EFFECT_SIGNAL_MASK:
        set_result(call, set_signal_mask(call));
        return CALL_MADE;
    case EFFECT_SLEEP:
        sleep_in_call(thread, call);
        return CALL_MADE;
    case EFFECT_SHARE:
        set_result(call, share_files(thread, call));
        return CALL_MADE;
    case EFFECT_MEMORY:
        forget_pages();
        /* The command follows a mapping that is moved as a whole. */
        if (call->number == SYS_MREMAP)
            fill_maps();
        set_result(call, make(call));
        return CALL_MADE;
    case EFFECT_QUEUE:
        disable_cures(ASIDE_UNSEEN);
        __atomic_store_n(&record->has_queues, 1, __ATOMIC_RELAXED);
        return CALL_LEFT;
    case EFFECT_EXIT:
        if (thread)
            end_thread();
        return CALL_LEFT;
    case EFFECT_EXIT_ALL:
        if (thread)
            count_cures();
        if (thread)
            end_process();
        else if (local.thread) /* A child that shares memory ends. */
            add(&record->processes, 1);
        return CALL_LEFT;
    default:
        return CALL_LEFT;
    }
}

/* Answers a call at once. A signal that cancels the thread needs to find the call. */
static inline int is_answered_at_once(struct call *call, enum effect effect)
{
    const struct thread *thread = local.thread;
    if ((effect != EFFECT_READ && effect != EFFECT_SEEK) || thread == NULL || thread->is_spawning)
        return 0;
    struct call *outer = local.call;
    local.call = call;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    int is_answered = effect == EFFECT_READ ? read_buffer(call) : seek_in_buffer(call);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    local.call = outer;
    return is_answered;
}

long polyhaul_call(struct call *call)
{
    enum effect effect = polyhaul_effects[call->number];
    if (is_answered_at_once(call, effect))
        return CALL_MADE;
    struct thread *thread = this_thread();
    /* A child that shares memory may never return, so it leaves the state of its parent alone. */
    if (local.thread && !thread)
        return dispatch(NULL, call, effect);
    /* A handler may have left an earlier call by `longjmp`: such a call is further down on the stack. */
    struct call *outer = local.call > call ? local.call : NULL;
    uint32_t is_made = local.is_made;
    local.is_made = 0;
    local.call = call;
    long result = dispatch(thread, call, effect);
    local.call = outer;
    local.is_made = is_made;
    return result;
}
