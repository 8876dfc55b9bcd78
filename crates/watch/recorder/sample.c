/* Takes samples of stacks: of threads on a processor, by a timer of each thread, and of calls.
 *
 * A sample is a copy of registers and stack; the command unwinds it. The timer counts the time of its thread on a
 * processor, so waiting threads are never interrupted. If the signal interrupts a call nevertheless, the call is made
 * again. */

#include "machine.h"

/* Number of slots to try. If none of them is free, the command is behind. */
#define MAX_TRIES 16

static struct sample *take_sample(void)
{
    for (unsigned tried = 0; tried < MAX_TRIES; tried++) {
        uint32_t index = __atomic_fetch_add(&record->next_sample, 1, __ATOMIC_RELAXED) % MAX_SAMPLES;
        struct sample *sample = &record->samples[index];
        uint32_t expected = SLOT_FREE;
        if (__atomic_load_n(&sample->state, __ATOMIC_RELAXED) == SLOT_FREE &&
            __atomic_compare_exchange_n(&sample->state, &expected, SLOT_TAKEN, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            sample->process = record->process[process_index].id;
            return sample;
        }
    }
    add(&record->lost_samples, 1);
    return NULL;
}

/* Copies the stack; the kernel stops at the end of the mapping. */
static uint32_t copy_stack(struct sample *sample, uint64_t start)
{
    struct memory_range to = {(uint64_t)sample->stack, STACK_BYTES};
    struct memory_range from = {start, STACK_BYTES};
    long size = system_call(SYS_PROCESS_VM_READV, sample->process, (long)&to, 1, (long)&from, 1, 0);
    return is_error(size) ? 0 : (uint32_t)size;
}

static void fill(struct sample *sample, struct thread *thread, const uint64_t *registers)
{
    sample->thread = thread->id;
    sample->generation = thread->generation;
    sample->pc = registers[PC];
    sample->sp = registers[SP];
    sample->fp = registers[FP];
#if defined(__aarch64__)
    sample->link = registers[LINK];
#endif
    sample->stack_bytes = copy_stack(sample, sample->sp);
    __atomic_store_n(&sample->state, SLOT_READY, __ATOMIC_RELEASE);
}

/* Restarts a call that the signal interrupted. The kernel restarts most calls itself, but not those that sleep. */
static void restart_call(uint64_t *registers)
{
    if (registers[PC] == (uint64_t)polyhaul_raw_end && (long)registers[RESULT] == -EINTR && local.call &&
        polyhaul_effects[local.call->number] != EFFECT_CLOSE) {
        registers[PC] = (uint64_t)polyhaul_raw_start;
#if defined(__x86_64__)
        registers[RESULT] = (uint64_t)local.call->number;
#elif defined(__aarch64__)
        registers[RESULT] = (uint64_t)local.call->arguments[0];
#endif
    }
}

/* The program's own action for the signal. The program must not notice that the recorder uses the signal, too. */
static struct signal_action program_action;

long set_sample_handler(struct call *call)
{
    const struct signal_action *action = (const struct signal_action *)call->arguments[1];
    struct signal_action *old = (struct signal_action *)call->arguments[2];
    struct signal_action before = program_action;
    if (record->sample_ns == 0 || call->arguments[3] != sizeof(action->mask))
        return make(call);
    if (action)
        program_action = *action;
    if (old)
        *old = before;
    return 0;
}

/* Handles a signal that does not come from the recorder's timer as the program wants. */
static void pass_on(int signal, void *information, void *context)
{
    struct signal_action standard = {0};
    if ((uint64_t)program_action.handler > 1) {
        program_action.handler(signal, information, context);
    } else if (program_action.handler == NULL) {
        SYSTEM4(SYS_RT_SIGACTION, SAMPLE_SIGNAL, &standard, NULL, sizeof(standard.mask));
        SYSTEM2(SYS_TKILL, SYSTEM1(SYS_GETTID, 0), SAMPLE_SIGNAL);
    }
}

/* Offsets in `siginfo_t`: origin; for timers, periods that have passed since the signal was due, and their value. */
#define CODE_AT 8
#define OVERRUN_AT 20
#define VALUE_AT 24
#define SI_TIMER (-2)

static void on_timer(int signal, void *information, void *context)
{
    const char *fields = information;
    if (*(const int32_t *)(const void *)(fields + CODE_AT) != SI_TIMER ||
        *(const uint64_t *)(const void *)(fields + VALUE_AT) != (uint64_t)&record) {
        pass_on(signal, information, context);
        return;
    }
    uint64_t *registers = (uint64_t *)(void *)((char *)context + REGISTERS_AT);
    struct thread *thread = local.thread;
    restart_call(registers);
    if (thread == NULL || thread->is_spawning || is_restricted || process_index == NO_PROCESS)
        return;
    struct sample *sample = take_sample();
    if (sample == NULL)
        return;
    uint64_t program[REGISTERS];
    for (int index = 0; index < REGISTERS; index++)
        program[index] = registers[index];
    restore_registers(program);
    sample->weight = 1 + *(const uint32_t *)(const void *)(fields + OVERRUN_AT);
    sample->tally = TALLY_NONE;
    sample->amount = 0;
    fill(sample, thread, program);
}

void take_sampling_signal(void)
{
    struct signal_action action = {on_timer, SA_SIGINFO | SA_RESTORER | SA_ONSTACK | SA_RESTART,
                                   (void *)polyhaul_signal_return, 0};
    if (record->sample_ns)
        SYSTEM4(SYS_RT_SIGACTION, SAMPLE_SIGNAL, &action, NULL, sizeof(action.mask));
}

void start_sampling(void)
{
    struct signal_event event = {0};
    int32_t timer = 0;
    if (record->sample_ns == 0 || is_restricted || local.thread == NULL)
        return;
    event.value = (uint64_t)&record;
    event.signal = SAMPLE_SIGNAL;
    event.notify = SIGEV_THREAD_ID;
    event.thread = local.thread->id;
    if (is_error(SYSTEM3(SYS_TIMER_CREATE, CLOCK_THREAD_CPUTIME_ID, &event, &timer)))
        return;
    struct timespec_of_kernel period = {0, (int64_t)record->sample_ns};
    struct timer_setting setting = {period, period};
    SYSTEM4(SYS_TIMER_SETTIME, timer, 0, &setting, NULL);
    local.thread->timer = (uint32_t)timer + 1;
}

/* A pending signal is delivered before this returns. */
static void stop(struct thread *thread)
{
    uint32_t timer = __atomic_exchange_n(&thread->timer, 0, __ATOMIC_RELAXED);
    if (timer)
        SYSTEM1(SYS_TIMER_DELETE, timer - 1);
}

void stop_sampling(void)
{
    if (local.thread && !is_restricted)
        stop(local.thread);
}

/* Filters may forbid the return from the handler. */
void stop_all_sampling(void)
{
    for (uint32_t index = 0; index < MAX_THREADS; index++) {
        struct thread *thread = &record->thread[index];
        if (thread->timer && thread->state == SLOT_READY && thread->process == process_index)
            stop(thread);
    }
}

/* Samples a call that ends now, if a sample is due. A long call is always sampled itself. */
void sample_call(struct call *call, struct unsampled *unsampled, enum tally tally, uint32_t file, uint64_t now,
                 uint64_t amount)
{
    unsampled->calls++;
    unsampled->amount += amount;
    if (now < unsampled->next || record->sample_ns == 0 || is_restricted)
        return;
    unsampled->next = now + record->sample_ticks;
    struct sample *sample = take_sample();
    if (sample == NULL)
        return;
    uint64_t registers[REGISTERS];
    restore_call(registers, call);
    sample->weight = unsampled->calls;
    sample->amount = unsampled->amount;
    unsampled->calls = 0;
    unsampled->amount = 0;
    sample->tally = tally;
    sample->file = file;
    fill(sample, local.thread, registers);
}

/* Keeps the recorder's signal unblocked when a program blocks all signals to keep its own handlers from running. */
long set_signal_mask(struct call *call)
{
    const uint64_t *set = (const uint64_t *)call->arguments[1];
    const uint64_t own = 1ull << (SAMPLE_SIGNAL - 1);
    /* Operations other than SIG_BLOCK and SIG_SETMASK do not read the set, or do not block. */
    int is_blocking = call->arguments[0] == 0 || call->arguments[0] == 2;
    if (!is_blocking || set == NULL || call->arguments[3] != 8 || record->sample_ns == 0)
        return make(call);
    uint64_t changed = *set & ~own;
    return make_with(call, 1, &changed);
}
