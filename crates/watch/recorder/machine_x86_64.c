/* Writes detours and handles registers on x86-64. A detour consists of
 *
 *     instructions moved from before the call
 *     lea -128(%rsp), %rsp            keeps the red zone of the program
 *     call *entry                     its return address is the `link` of the call
 *     lea 128(%rsp), %rsp
 *     jmp over
 *     syscall                         link + 10: the program makes the call itself
 *     jmp over
 *     address of the instruction      link + 14
 *     over: instructions moved from after the call
 *     jmp back */

#include "machine.h"

#if defined(__x86_64__)

int is_unpatched(const uint8_t *call)
{
    return call[0] == 0x0F && call[1] == 0x05;
}

size_t detour_bytes(const struct site *site)
{
    return 38u + site->before + site->after;
}

static void put(struct cursor *cursor, const uint8_t *bytes, size_t count)
{
    for (size_t index = 0; index < count; index++)
        *cursor->at++ = bytes[index];
}

static void put_jump(struct cursor *cursor, const uint8_t *target)
{
    int64_t distance = target - (cursor->at + 5);
    uint8_t jump[5] = {0xE9, (uint8_t)distance, (uint8_t)(distance >> 8), (uint8_t)(distance >> 16),
                       (uint8_t)(distance >> 24)};
    put(cursor, jump, sizeof(jump));
}

void put_detour(struct cursor *cursor, const uint8_t *call, const struct site *site, const uint8_t *entry)
{
    static const uint8_t SKIP[] = {0x48, 0x8D, 0x64, 0x24, 0x80};
    static const uint8_t UNSKIP[] = {0x48, 0x8D, 0xA4, 0x24, 0x80, 0, 0, 0, 0xEB, 0x0C, 0x0F, 0x05, 0xEB, 0x08};
    put(cursor, call - site->before, site->before);
    put(cursor, SKIP, sizeof(SKIP));
    int32_t distance = (int32_t)(entry - (cursor->at + 6));
    uint8_t enter[6] = {0xFF, 0x15};
    *(int32_t *)(void *)(enter + 2) = distance;
    put(cursor, enter, sizeof(enter));
    put(cursor, UNSKIP, sizeof(UNSKIP));
    put(cursor, (const uint8_t *)&call, sizeof(call));
    put(cursor, call + 2, site->after);
    put_jump(cursor, call + 2 + site->after);
}

/* Replaces the instruction with a jump to its detour. */
void replace_call(uint8_t *base, const struct site *site, const uint8_t *detour)
{
    struct cursor cursor = {base + site->call};
    if (site->padding) {
        uint8_t *padding = base + site->padding;
        uint8_t jump[2] = {0xEB, (uint8_t)(padding - (cursor.at + 2))};
        put(&cursor, jump, sizeof(jump));
        cursor.at = padding;
        put_jump(&cursor, detour);
        return;
    }
    uint8_t *end = cursor.at + 2 + site->after;
    cursor.at -= site->before;
    put_jump(&cursor, detour);
    while (cursor.at < end)
        *cursor.at++ = 0x90;
}

/* The instruction cache is coherent on x86-64. */
void flush_code(uint8_t *start, size_t size)
{
    (void)start, (void)size;
}

/* Restores the registers of the program at its call. */
void restore_call(uint64_t *registers, const struct call *call)
{
    uint64_t instruction = call_address(call);
    registers[R15] = call->r15;
    registers[R14] = call->r14;
    registers[R13] = call->r13;
    registers[R12] = call->r12;
    registers[RBX] = call->rbx;
    registers[RBP] = call->rbp;
    registers[RDI] = (uint64_t)call->arguments[0];
    registers[RSI] = (uint64_t)call->arguments[1];
    registers[RDX] = (uint64_t)call->arguments[2];
    registers[R10] = (uint64_t)call->arguments[3];
    registers[R8] = (uint64_t)call->arguments[4];
    registers[R9] = (uint64_t)call->arguments[5];
    if (!local.is_made && registers[RIP] != (uint64_t)polyhaul_raw_end)
        registers[RAX] = (uint64_t)call->number;
    else
        instruction += CALL_BYTES;
    registers[RSP] = stack_at_call(call);
    registers[RIP] = instruction;
}

#endif
