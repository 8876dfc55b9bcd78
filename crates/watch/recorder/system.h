/* The system calls that the recorder makes, with their numbers and constants.
 *
 * The recorder uses no C library, so it works in programs with any C library. Numbers are from asm/unistd.h,
 * structures from the kernel's headers. */

#ifndef POLYHAUL_SYSTEM_H
#define POLYHAUL_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define SYS_READ 0
#define SYS_CLOSE 3
#define SYS_FSTAT 5
#define SYS_LSEEK 8
#define SYS_IOCTL 16
#define SYS_DUP 32
#define SYS_FLOCK 73
#define SYS_READV 19
#define SYS_SENDMSG 46
#define SYS_FCNTL 72
#define SYS_SPLICE 275
#define SYS_FSTATFS 138
#define SYS_PREADV 295
#define SYS_UNSHARE 272
#define SYS_TRUNCATE 76
#define SYS_NEWFSTATAT 262
#define SYS_NANOSLEEP 35
#define SYS_USERFAULTFD 323
#define SYS_MADVISE 28
#define SYS_MREMAP 25
#define SYS_SCHED_YIELD 24
#define SYS_MMAP 9
#define SYS_PREAD 17
#define SYS_MPROTECT 10
#define SYS_MUNMAP 11
#define SYS_RT_SIGACTION 13
#define SYS_GETPID 39
#define SYS_PRCTL 157
#define SYS_GETTID 186
#define SYS_TKILL 200
#define SYS_FUTEX 202
#define SYS_TIMER_CREATE 222
#define SYS_TIMER_SETTIME 223
#define SYS_TIMER_DELETE 226
#define SYS_CLOCK_GETTIME 228
#define SYS_PROCESS_VM_READV 310
#define SYS_OPENAT 257
#define SYS_READLINKAT 267
#define SYS_FACCESSAT 269
#elif defined(__aarch64__)
#define SYS_READ 63
#define SYS_CLOSE 57
#define SYS_FSTAT 80
#define SYS_LSEEK 62
#define SYS_IOCTL 29
#define SYS_DUP 23
#define SYS_FLOCK 32
#define SYS_READV 65
#define SYS_SENDMSG 211
#define SYS_FCNTL 25
#define SYS_SPLICE 76
#define SYS_FSTATFS 44
#define SYS_PREADV 69
#define SYS_UNSHARE 97
#define SYS_TRUNCATE 45
#define SYS_NEWFSTATAT 79
#define SYS_NANOSLEEP 101
#define SYS_USERFAULTFD 282
#define SYS_MADVISE 233
#define SYS_MREMAP 216
#define SYS_SCHED_YIELD 124
#define SYS_MMAP 222
#define SYS_PREAD 67
#define SYS_MPROTECT 226
#define SYS_MUNMAP 215
#define SYS_RT_SIGACTION 134
#define SYS_GETPID 172
#define SYS_PRCTL 167
#define SYS_GETTID 178
#define SYS_TKILL 130
#define SYS_FUTEX 98
#define SYS_TIMER_CREATE 107
#define SYS_TIMER_SETTIME 110
#define SYS_TIMER_DELETE 111
#define SYS_CLOCK_GETTIME 113
#define SYS_PROCESS_VM_READV 270
#define SYS_OPENAT 56
#define SYS_READLINKAT 78
#define SYS_FACCESSAT 48
#endif

#define AT_FDCWD (-100)
#define AT_EMPTY_PATH 0x1000
#define O_RDONLY 0
#define O_RDWR 2
#define O_ACCMODE 3
#define O_PATH 010000000
#define O_CLOEXEC 02000000
#define O_NONBLOCK 04000
#define R_OK 4
#if defined(__x86_64__)
#define O_DIRECT 040000
#elif defined(__aarch64__)
#define O_DIRECT 0200000
#endif

#define SEEK_SET 0
#define SEEK_CUR 1

#define F_DUPFD 0
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_GETLK 5
#define F_SETLK 6
#define F_SETLKW 7
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#define F_DUPFD_CLOEXEC 1030
#define F_SETSIG 10
#define F_SETLEASE 1024
#define F_RDLCK 0
#define F_UNLCK 2

#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MAP_DENYWRITE 0x800
#define MAP_NORESERVE 0x4000
#define MAP_FIXED_NOREPLACE 0x100000

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

#define CLONE_VM 0x100
#define CLONE_FILES 0x400
#define CLONE_VFORK 0x4000
#define CLONE_SETTLS 0x80000

#define EINTR 4
#define EINVAL 22

#define SA_SIGINFO 4ul
#define SA_RESTORER 0x04000000ul
#define SA_ONSTACK 0x08000000ul
#define SA_RESTART 0x10000000ul
#define SIGEV_THREAD_ID 4
#define CLOCK_MONOTONIC 1
#define CLOCK_THREAD_CPUTIME_ID 3

#define MADV_POPULATE_READ 22

#define SIGURG 23

#define PR_GET_NAME 16
#define PR_SET_SECCOMP 22
#define PR_SET_TIMERSLACK 29
#define PR_GET_TIMERSLACK 30

/* Errors are results from -4095 to -1. */
static inline int is_error(long result)
{
    return (unsigned long)result > -4096ul;
}

static inline long system_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
#endif
}

#define SYSTEM1(number, a) system_call(number, (long)(a), 0, 0, 0, 0, 0)
#define SYSTEM2(number, a, b) system_call(number, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYSTEM3(number, a, b, c) system_call(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYSTEM4(number, a, b, c, d) system_call(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)


#define MODE_TYPE 0170000
#define MODE_PIPE 0010000
#define MODE_CHARACTERS 0020000
#define MODE_FOLDER 0040000
#define MODE_BLOCKS 0060000
#define MODE_FILE 0100000
#define MODE_SOCKET 0140000

struct timespec_of_kernel {
    int64_t seconds;
    int64_t nanoseconds;
};

/* `struct stat` of the kernel. */
struct file_status {
    uint64_t device;
    uint64_t inode;
#if defined(__x86_64__)
    uint64_t links;
    uint32_t mode;
    uint32_t owner[3];
    uint64_t of_device;
#elif defined(__aarch64__)
    uint32_t mode;
    uint32_t links;
    uint32_t owner[2];
    uint64_t of_device[2];
#endif
    int64_t size;
    uint64_t blocks[2];
    struct timespec_of_kernel read;
    struct timespec_of_kernel written;
    struct timespec_of_kernel changed;
    uint64_t unused[3];
};
_Static_assert(offsetof(struct file_status, size) == 48 && offsetof(struct file_status, written) == 88, "asm/stat.h");

/* Start and length of memory. */
struct memory_range {
    uint64_t start;
    uint64_t size;
};

/* `struct sigevent` of the kernel. */
struct signal_event {
    uint64_t value;
    int32_t signal;
    int32_t notify;
    int32_t thread;
    int32_t others[11];
};

struct timer_setting {
    struct timespec_of_kernel interval;
    struct timespec_of_kernel first;
};

struct signal_action {
    void (*handler)(int, void *, void *);
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

#endif
