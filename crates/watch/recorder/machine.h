/* Functions and constants that depend on the processor. */

#ifndef POLYHAUL_MACHINE_H
#define POLYHAUL_MACHINE_H

#include "recorder.h"

/* A position in code that is written. */
struct cursor {
    uint8_t *at;
};

#if defined(__x86_64__)

/* Size of a system call instruction. */
#define CALL_BYTES 2

/* Range of a jump, minus room for the detours and the module. */
#define REACH 0x7F000000ll

/* Offset of the registers in the context of a signal, and their order (sys/ucontext.h). */
#define REGISTERS_AT 40
enum { R8, R9, R10, R11, R12, R13, R14, R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP, REGISTERS };
#define PC RIP
#define SP RSP
#define FP RBP
#define RESULT RAX

/* Offset of the address of the instruction from the link, and bytes that the detour pushed before the link. */
#define ADDRESS_AT 14
#define PUSHED_BYTES 128

#elif defined(__aarch64__)

#define CALL_BYTES 4
#define REACH 0x7000000ll
#define REGISTERS_AT 184
enum { X0, X19 = 19, FP = 29, LINK = 30, SP = 31, PC = 32, REGISTERS };
#define RESULT X0
#define ADDRESS_AT 20
#define PUSHED_BYTES 16

#endif

/* Whether an instruction is a system call. */
int is_unpatched(const uint8_t *call) HIDDEN;
/* Size of a detour. */
size_t detour_bytes(const struct site *site) HIDDEN;
/* Writes a detour that calls the entry whose address is at `entry`. */
void put_detour(struct cursor *cursor, const uint8_t *call, const struct site *site, const uint8_t *entry) HIDDEN;
/* Replaces an instruction with a jump to its detour. */
void replace_call(uint8_t *base, const struct site *site, const uint8_t *detour) HIDDEN;
/* Makes changed code visible to all processors. */
void flush_code(uint8_t *start, size_t size) HIDDEN;
/* Restores the registers of the program at its call. */
void restore_call(uint64_t *registers, const struct call *call) HIDDEN;

/* Address of the system call instruction of the program. */
static inline uint64_t call_address(const struct call *call)
{
    return *(const uint64_t *)(const void *)(call->link + ADDRESS_AT);
}

/* Stack pointer of the program at its call. */
static inline uint64_t stack_at_call(const struct call *call)
{
    return (uint64_t)(call + 1) + PUSHED_BYTES;
}

#endif
