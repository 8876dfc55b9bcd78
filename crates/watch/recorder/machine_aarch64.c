/* Writes detours and handles registers on aarch64. A detour consists of
 *
 *     stp x16, x30, [sp, #-16]!
 *     ldr x16, entry
 *     blr x16                         its return address is the `link` of the call
 *     ldp x16, x30, [sp], #16
 *     b back
 *     ldp x16, x30, [sp], #16         link + 8: the program makes the call itself
 *     svc #0
 *     b back
 *     address of the instruction      link + 20 */

#include "machine.h"

#if defined(__aarch64__)

#define SYSTEM_CALL 0xD4000001u
#define PUSH 0xA9BF7BF0u
#define POP 0xA8C17BF0u
#define CALL_X16 0xD63F0200u

int is_unpatched(const uint8_t *call)
{
    return *(const uint32_t *)(const void *)call == SYSTEM_CALL;
}

size_t detour_bytes(const struct site *site)
{
    (void)site;
    return 40;
}

static void put(struct cursor *cursor, uint32_t instruction)
{
    *(uint32_t *)(void *)cursor->at = instruction;
    cursor->at += sizeof(instruction);
}

/* B, with a distance in instructions. */
static uint32_t jump(const uint8_t *from, const uint8_t *to)
{
    return 0x14000000u | ((uint32_t)((to - from) / 4) & 0x3FFFFFFu);
}

void put_detour(struct cursor *cursor, const uint8_t *call, const struct site *site, const uint8_t *entry)
{
    (void)site;
    put(cursor, PUSH);
    /* LDR (literal) of x16. */
    put(cursor, 0x58000010u | ((uint32_t)((entry - cursor->at) / 4) & 0x7FFFFu) << 5);
    put(cursor, CALL_X16);
    put(cursor, POP);
    put(cursor, jump(cursor->at, call + CALL_BYTES));
    put(cursor, POP);
    put(cursor, SYSTEM_CALL);
    put(cursor, jump(cursor->at, call + CALL_BYTES));
    *(uint64_t *)(void *)cursor->at = (uint64_t)call;
    cursor->at += sizeof(uint64_t);
}

void replace_call(uint8_t *base, const struct site *site, const uint8_t *detour)
{
    struct cursor cursor = {base + site->call};
    put(&cursor, jump(cursor.at, detour));
}

/* Cleans the data cache and invalidates the instruction cache (Arm Architecture Reference Manual, B2.4.4). */
void flush_code(uint8_t *start, size_t size)
{
    uint64_t type;
    __asm__ volatile("mrs %0, ctr_el0" : "=r"(type));
    size_t data_line = (size_t)4 << (type >> 16 & 15);
    size_t code_line = (size_t)4 << (type & 15);
    uint64_t end = (uint64_t)start + size;
    for (uint64_t at = (uint64_t)start & ~(uint64_t)(data_line - 1); at < end; at += data_line)
        __asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
    __asm__ volatile("dsb ish" : : : "memory");
    for (uint64_t at = (uint64_t)start & ~(uint64_t)(code_line - 1); at < end; at += code_line)
        __asm__ volatile("ic ivau, %0" : : "r"(at) : "memory");
    __asm__ volatile("dsb ish\n\tisb" : : : "memory");
}

void restore_call(uint64_t *registers, const struct call *call)
{
    uint64_t instruction = call_address(call);
    for (int index = 0; index < 12; index++)
        registers[X19 + index] = call->saved[index];
    for (int index = 1; index < 8; index++)
        registers[X0 + index] = (uint64_t)call->arguments[index];
    if (!local.is_made && registers[PC] != (uint64_t)polyhaul_raw_end)
        registers[X0] = (uint64_t)call->arguments[0];
    else
        instruction += CALL_BYTES;
    registers[SP] = stack_at_call(call);
    registers[PC] = instruction;
}

#endif
