/* The slots of threads and processes in the record.
 *
 * A thread or process takes a slot itself, and the command frees it after reading it. A child that shares the memory of
 * its parent (vfork) has no slot; its thread ID distinguishes it. */

#include "recorder.h"

HIDDEN uint32_t process_index = NO_PROCESS;
HIDDEN __thread struct local local __attribute__((tls_model("initial-exec")));

void ring(void)
{
    __atomic_fetch_add(&record->bell, 1, __ATOMIC_RELEASE);
    SYSTEM3(SYS_FUTEX, &record->bell, FUTEX_WAKE, 1);
}

/* Takes a free slot of `size` bytes out of `count`, whose first field is its state. Returns its index. */
static uint32_t take_slot(void *slots, size_t size, uint32_t count, uint32_t *next)
{
    for (uint32_t tried = 0; tried < count; tried++) {
        uint32_t index = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED) % count;
        uint32_t *state = (uint32_t *)((char *)slots + size * index);
        uint32_t expected = SLOT_FREE;
        if (__atomic_load_n(state, __ATOMIC_RELAXED) == SLOT_FREE &&
            __atomic_compare_exchange_n(state, &expected, SLOT_TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return index;
    }
    return count;
}

/* Clears a slot, except its state. */
static void clear_slot(void *slot, size_t size)
{
    char *bytes = slot;
    for (size_t index = sizeof(uint32_t); index < size; index++)
        *(volatile char *)&bytes[index] = 0;
}

static struct thread *begin_thread(void)
{
    if (process_index == NO_PROCESS || is_restricted)
        return NULL;
    uint32_t index = take_slot(record->thread, sizeof(struct thread), MAX_THREADS, &record->next_thread);
    if (index == MAX_THREADS)
        return NULL;
    struct thread *thread = &record->thread[index];
    clear_slot(thread, sizeof(*thread));
    thread->id = (int32_t)SYSTEM1(SYS_GETTID, 0);
    thread->process = process_index;
    thread->generation = record->process[process_index].generation;
    thread->start = ticks();
    /* A program that replaced another one goes on in its thread. */
    if (thread->generation == 0 || thread->id != record->process[process_index].id)
        add(&record->threads, 1);
    __atomic_store_n(&thread->state, SLOT_READY, __ATOMIC_RELEASE);
    local.thread = thread;
    start_sampling();
    return thread;
}

struct thread *this_thread(void)
{
    struct thread *thread = local.thread;
    if (thread == NULL)
        return begin_thread();
    if (thread->is_spawning) {
        if (SYSTEM1(SYS_GETTID, 0) != thread->id)
            return NULL;
        thread->is_spawning = 0;
    }
    return thread;
}

/* The second number of `schedstat`: the time for which this thread was runnable, but waited for a
 * processor. */
static uint64_t scheduling_delay(void)
{
    char text[64];
    uint64_t delay = 0;
    long descriptor = SYSTEM3(SYS_OPENAT, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (is_error(descriptor))
        return 0;
    long size = SYSTEM3(SYS_READ, descriptor, text, sizeof(text));
    SYSTEM1(SYS_CLOSE, descriptor);
    long at = 0;
    while (at < size && text[at] != ' ')
        at++;
    for (at++; at < size && text[at] >= '0' && text[at] <= '9'; at++)
        delay = delay * 10 + (uint64_t)(text[at] - '0');
    return delay;
}

void end_thread(void)
{
    struct thread *thread = local.thread;
    if (thread == NULL)
        return;
    stop_sampling();
    settle_throttles();
    local.thread = NULL;
    add_own_counts(thread);
    if (!is_restricted) {
        SYSTEM2(SYS_PRCTL, PR_GET_NAME, thread->name);
        thread->delay_ns = scheduling_delay();
    }
    thread->end = ticks();
    __atomic_store_n(&thread->state, SLOT_ENDED, __ATOMIC_RELEASE);
}

uint32_t reserve_process(int32_t id)
{
    uint32_t index = take_slot(record->process, sizeof(struct process), MAX_PROCESSES, &record->next_process);
    if (index == MAX_PROCESSES) {
        add(&record->lost, 1);
        return NO_PROCESS;
    }
    clear_slot(&record->process[index], sizeof(struct process));
    __atomic_store_n(&record->process[index].id, id, __ATOMIC_RELEASE);
    return index;
}

/* The child may have set its number already, and may have ended. */
void set_process_id(uint32_t index, int32_t id)
{
    int32_t unknown = 0;
    __atomic_compare_exchange_n(&record->process[index].id, &unknown, id, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void release_process(uint32_t index)
{
    if (index != NO_PROCESS)
        __atomic_store_n(&record->process[index].state, SLOT_FREE, __ATOMIC_RELEASE);
}

void begin_process(uint32_t index)
{
    int32_t id = (int32_t)SYSTEM1(SYS_GETPID, 0);
    process_index = index;
    if (index == NO_PROCESS)
        return;
    if (id == 1) {
        /* A PID namespace: the command knows its processes by other numbers. */
        release_process(index);
        process_index = NO_PROCESS;
        return;
    }
    struct process *process = &record->process[index];
    uint32_t state = __atomic_load_n(&process->state, __ATOMIC_ACQUIRE);
    if (state == SLOT_READY && process->id == id) {
        /* Another program of this process has executed this one. */
        process->generation++;
        return;
    }
    if (state != SLOT_TAKEN) {
        process_index = NO_PROCESS;
        return;
    }
    process->id = id;
    process->start = ticks();
    add(&record->processes, 1);
    __atomic_store_n(&process->state, SLOT_READY, __ATOMIC_RELEASE);
}

void continue_as_child(uint32_t index)
{
    local.thread = NULL;
    forget_unsettled();
    begin_process(index);
    begin_thread();
}

void end_process(void)
{
    end_thread();
    if (process_index == NO_PROCESS)
        return;
    struct process *process = &record->process[process_index];
    process->end = ticks();
    __atomic_store_n(&process->state, SLOT_ENDED, __ATOMIC_RELEASE);
}
