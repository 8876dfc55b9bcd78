/* Keeps the signal handlers with which C libraries cancel threads working.
 *
 * Their handlers check whether the interrupted instruction is a certain system call, or unwind the stack from it. In a
 * recorded program, the interrupted instruction is in the recorder, so the handler gets the registers that the program
 * had at its own instruction.
 * glibc uses signal 32 (`sigcancel_handler`), musl 33 (`cancel_handler`). */

#include "machine.h"

#define FIRST_SIGNAL 32
#define SIGNALS 2

static struct signal_action originals[SIGNALS];

extern HIDDEN const char __ehdr_start[], _end[];

/* If the recorder was interrupted, restores the registers of the program. Returns whether it was. */
int restore_registers(uint64_t *registers)
{
    const char *pc = (const char *)registers[PC];
    if (local.call == NULL || pc < __ehdr_start || pc >= _end)
        return 0;
    /* In the entry, the state is that of an earlier call. */
    if (pc >= (const char *)polyhaul_entry && pc < (const char *)polyhaul_raw_call)
        return 0;
    restore_call(registers, local.call);
    return 1;
}

static void handle(int signal, void *information, void *context)
{
    uint64_t *registers = (uint64_t *)(void *)((char *)context + REGISTERS_AT);
    uint64_t before[REGISTERS];
    void (*original)(int, void *, void *) = originals[signal - FIRST_SIGNAL].handler;
    for (int index = 0; index < REGISTERS; index++)
        before[index] = registers[index];
    if (!restore_registers(registers)) {
        original(signal, information, context);
        return;
    }
    uint64_t given = registers[PC];
    original(signal, information, context);
    if (registers[PC] != given) {
        local.call = NULL;
        return;
    }
    for (int index = 0; index < REGISTERS; index++)
        registers[index] = before[index];
}

long set_signal_handler(struct call *call)
{
    unsigned index = (unsigned)call->arguments[0] - FIRST_SIGNAL;
    const struct signal_action *action = (const struct signal_action *)call->arguments[1];
    struct signal_action *old = (struct signal_action *)call->arguments[2];
    struct signal_action before = index < SIGNALS ? originals[index] : (struct signal_action){0};
    struct signal_action own;
    if (call->arguments[0] == SAMPLE_SIGNAL)
        return set_sample_handler(call);
    if (call->arguments[3] != sizeof(own.mask))
        return make(call);
    if (action) {
        own = *action;
        /* A sample that is due when the handler returns would hide that a call was interrupted. */
        own.mask &= ~(1ull << (SAMPLE_SIGNAL - 1));
        if (index < SIGNALS && (uint64_t)action->handler > 1) {
            originals[index] = *action;
            own.handler = handle;
        }
    }
    long result = action ? make_with(call, 1, &own) : make(call);
    if (is_error(result) && index < SIGNALS)
        originals[index] = before;
    else if (!is_error(result) && old && old->handler == handle)
        old->handler = before.handler;
    return result;
}
