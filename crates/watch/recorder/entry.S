/* Where replaced system call instructions lead.
 *
 * A detour (`patch.c`) calls `polyhaul_entry` with the registers of the system call. Calls without an effect are made
 * at once; for others, the registers are saved as `struct call` and `polyhaul_call` decides. All registers but those
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

    /* In glibc, leaving the stack executable is the default without this section. */
    .section .note.GNU-stack,"",@progbits
#endif
