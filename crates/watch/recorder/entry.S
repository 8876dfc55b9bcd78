/* Entry point of replaced system call instructions.
 *
 * A detour (`patch.c`) calls `polyhaul_entry` with the registers of the system call. Calls without an effect are made
 * at once; for others, the registers are saved as `struct call`, and `polyhaul_call` decides. All registers except those
 * that the kernel changes are as before when the program continues; vector registers are never touched. */

#if defined(__x86_64__)

    .text
    .globl polyhaul_entry
    .hidden polyhaul_entry
    .type polyhaul_entry, @function
    .p2align 6
polyhaul_entry:
    .cfi_startproc
    cmpq $512, %rax
    jae 1f
    leaq polyhaul_effects(%rip), %r11
    cmpb $0, (%r11,%rax)
    jne 2f
1:  syscall
    ret
2:  pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    pushq %r9
    pushq %r8
    pushq %r10
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %rax
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    .cfi_adjust_cfa_offset 96
    movq %rsp, %rdi
    movq %rsp, %rbp
    .cfi_def_cfa %rbp, 112
    andq $-16, %rsp
    cld
    call polyhaul_call
    movq %rbp, %rsp
    .cfi_def_cfa %rsp, 112
    movl %eax, %ecx
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rax
    popq %rdi
    popq %rsi
    popq %rdx
    popq %r10
    popq %r8
    popq %r9
    popq %rbp
    .cfi_adjust_cfa_offset -104
    .cfi_restore %rbp
    testl %ecx, %ecx
    jnz 3f
    ret
    /* The detour makes the call itself, on the stack as it was: a thread or process begins on another stack, or on the
     * same one while this thread waits. */
3:  popq %rcx
    .cfi_adjust_cfa_offset -8
    addq $10, %rcx
    leaq 128(%rsp), %rsp
    jmp *%rcx
    .cfi_endproc
    .size polyhaul_entry, . - polyhaul_entry

    .globl polyhaul_raw_call
    .hidden polyhaul_raw_call
    .globl polyhaul_raw_start
    .hidden polyhaul_raw_start
    .globl polyhaul_raw_end
    .hidden polyhaul_raw_end
    .type polyhaul_raw_call, @function
    .p2align 4
polyhaul_raw_call:
    .cfi_startproc
    movq %rdi, %rax
    movq 40(%rsi), %r9
    movq 32(%rsi), %r8
    movq 24(%rsi), %r10
    movq 16(%rsi), %rdx
    movq (%rsi), %rdi
    movq 8(%rsi), %rsi
polyhaul_raw_start:
    syscall
polyhaul_raw_end:
    ret
    .cfi_endproc
    .size polyhaul_raw_call, . - polyhaul_raw_call

    /* Returns from a signal handler; unwinders recognize this code. */
    .globl polyhaul_signal_return
    .hidden polyhaul_signal_return
    .type polyhaul_signal_return, @function
    .p2align 4
    nop
polyhaul_signal_return:
    movq $15, %rax
    syscall
    .size polyhaul_signal_return, . - polyhaul_signal_return

#elif defined(__aarch64__)

    .text
    .globl polyhaul_entry
    .hidden polyhaul_entry
    .type polyhaul_entry, %function
    .p2align 6
polyhaul_entry:
    .cfi_startproc
    sub sp, sp, #256
    .cfi_adjust_cfa_offset 256
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x0, x1, [sp, #96]
    stp x2, x3, [sp, #112]
    stp x4, x5, [sp, #128]
    stp x6, x7, [sp, #144]
    stp x8, x30, [sp, #160]
    stp x9, x10, [sp, #176]
    stp x11, x12, [sp, #192]
    stp x13, x14, [sp, #208]
    stp x15, x17, [sp, #224]
    mrs x9, nzcv
    str x9, [sp, #240]
    /* x30 of the program, which the detour has pushed. */
    ldr x10, [sp, #264]
    stp x29, x10, [sp, #80]
    .cfi_rel_offset x29, 80
    .cfi_rel_offset x30, 168
    cmp x8, #512
    b.hs 1f
    adrp x9, polyhaul_effects
    add x9, x9, :lo12:polyhaul_effects
    ldrb w9, [x9, x8]
    cbnz w9, 2f
1:  svc #0
    str x0, [sp, #96]
    mov w19, #0
    b 3f
2:  mov x0, sp
    bl polyhaul_call
    mov w19, w0
3:  ldr x9, [sp, #240]
    msr nzcv, x9
    ldp x0, x1, [sp, #96]
    ldp x2, x3, [sp, #112]
    ldp x4, x5, [sp, #128]
    ldp x6, x7, [sp, #144]
    ldp x8, x30, [sp, #160]
    /* The detour makes the call itself if the result is CALL_LEFT. */
    add x30, x30, w19, uxtw #3
    ldp x9, x10, [sp, #176]
    ldp x11, x12, [sp, #192]
    ldp x13, x14, [sp, #208]
    ldp x15, x17, [sp, #224]
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldr x29, [sp, #80]
    add sp, sp, #256
    .cfi_adjust_cfa_offset -256
    ret
    .cfi_endproc
    .size polyhaul_entry, . - polyhaul_entry

    .globl polyhaul_raw_call
    .hidden polyhaul_raw_call
    .globl polyhaul_raw_start
    .hidden polyhaul_raw_start
    .globl polyhaul_raw_end
    .hidden polyhaul_raw_end
    .type polyhaul_raw_call, %function
    .p2align 4
polyhaul_raw_call:
    .cfi_startproc
    mov x8, x0
    mov x9, x1
    ldp x0, x1, [x9]
    ldp x2, x3, [x9, #16]
    ldp x4, x5, [x9, #32]
polyhaul_raw_start:
    svc #0
polyhaul_raw_end:
    ret
    .cfi_endproc
    .size polyhaul_raw_call, . - polyhaul_raw_call

    /* Returns from a signal handler; unwinders recognize this code. */
    .globl polyhaul_signal_return
    .hidden polyhaul_signal_return
    .type polyhaul_signal_return, %function
    .p2align 4
    nop
polyhaul_signal_return:
    mov x8, #139
    svc #0
    .size polyhaul_signal_return, . - polyhaul_signal_return

#endif

    /* Without this section, glibc makes the stack executable. */
    .section .note.GNU-stack,"",@progbits
