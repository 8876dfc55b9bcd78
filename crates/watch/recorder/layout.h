/* The memory that recorders and the command share, which src/preload/layout.rs repeats for Rust.
 *
 * One memory file, mapped by all recorded processes. Counts only grow. When a thread or process has ended, the command
 * reads its slot and frees it. All tables have a fixed size; entries that do not fit are counted in `lost`. */

#ifndef POLYHAUL_LAYOUT_H
#define POLYHAUL_LAYOUT_H

#include <stdint.h>

#define MAGIC 0x3176636572796c70u /* "plyrecv1" */

/* Number of slots of each table. */
#define MAX_CALLS 512
#define MAX_MODULES 1024
#define MAX_SITES 65536
#define MAX_PROCESSES 16384
#define MAX_THREADS 4096
#define MAX_FILES 32768
#define MAX_NAME_BYTES (6u << 20)
#define MAX_COUNTS 65536
#define MAX_SAMPLES 512
#define MAX_SHARED_FILES 16384
#define MAX_PATTERN_BYTES 65536
#define MAX_FILLED_MAPS 256

/* Bytes of a stack that a sample copies. */
#define STACK_BYTES 16384

/* Number of counts in each thread's slot, which are added to the common counts later. */
#define OWN_COUNTS 8

/* Classes of call sizes, and sizes that are counted exactly. */
#define SIZE_CLASSES 11
#define EXACT_SIZES 4

/* Effects of system calls. src/preload/effects.rs assigns them to numbers. */
enum effect {
    EFFECT_NONE,
    EFFECT_OPEN,
    EFFECT_READ,
    EFFECT_WRITE,
    EFFECT_COPY_FROM_1_TO_0,
    EFFECT_COPY_FROM_0_TO_2,
    EFFECT_CLOSE,
    EFFECT_CLOSE_RANGE,
    EFFECT_REPLACE,
    EFFECT_MAP,
    EFFECT_SYNC,
    EFFECT_WAIT,
    EFFECT_WAIT_SEVERAL,
    EFFECT_QUEUE,
    EFFECT_CLONE,
    EFFECT_CLONE3,
    EFFECT_FORK,
    EFFECT_VFORK,
    EFFECT_EXEC,
    EFFECT_EXEC_AT,
    EFFECT_EXIT,
    EFFECT_EXIT_ALL,
    EFFECT_SIGNAL_HANDLER,
    EFFECT_RESTRICT,
    EFFECT_PROCESS_OPTION,
    EFFECT_SLEEP,
    EFFECT_SIGNAL_MASK,
    EFFECT_SEEK,
    EFFECT_LOOKUP,
    EFFECT_CHANGE,
    EFFECT_LIST,
    EFFECT_READ_AT,
    EFFECT_WRITE_AT,
    EFFECT_SHARE, /* This and the next one matter for cures alone. */
    EFFECT_MEMORY,
};

/* Kinds of objects that descriptors refer to, in the order of src/files.rs. */
enum object {
    OBJECT_FILE,
    OBJECT_FOLDER,
    OBJECT_PIPE,
    OBJECT_SOCKET,
    OBJECT_DEVICE,
    OBJECT_OTHER,
};

/* States of slots. */
enum slot {
    SLOT_FREE,
    SLOT_TAKEN,
    SLOT_READY,
    SLOT_ENDED,
    SLOT_SERVED, /* A mapping that the command fills. */
};

/* A module, by the device and inode of its file. */
struct module {
    uint32_t state; /* SLOT_TAKEN: its sites are requested. SLOT_READY: they are available. */
    uint32_t process;
    uint64_t device;
    uint64_t inode;
    uint64_t start; /* Its address in the requesting process. */
    uint32_t first_site;
    uint32_t sites;
};

/* A system call instruction. Addresses are relative to the start of the module. */
struct site {
    uint32_t call;
    uint32_t padding;
    uint16_t before;
    uint16_t after;
};

struct process {
    uint32_t state;
    int32_t id;
    uint64_t start;
    uint64_t end;
    uint32_t program; /* Index of its name. */
    uint32_t generation; /* Number of programs that it executed after the first. */
};

/* A call size with its count, and the count of the size that it replaced. */
struct exact_size {
    uint64_t bytes;
    uint32_t calls;
    uint32_t before;
};

/* Kinds of calls that are counted or sampled. */
enum tally {
    TALLY_NONE,
    TALLY_OPEN,
    TALLY_READ,
    TALLY_WRITE,
    TALLY_MAP,
    TALLY_SYNC,
    TALLY_UNRECORDED, /* Programs that were executed without a recorder. */
    TALLY_WAIT, /* This and the next one are never counted by file. */
    TALLY_SLEEP,
    TALLY_SEEK,
    TALLY_LOOKUP, /* This and the next two are counted for all files together. */
    TALLY_CHANGE,
    TALLY_LIST,
    TALLY_JUMP, /* A read, write or seek far from the last one. */
    TALLY_ALLOCATE,
    TALLY_WAKE, /* A release of something that threads wait for. */
    TALLY_ANSWERED, /* Reads and seeks without a system call. */
    TALLY_ASIDE, /* The first reason of `enum aside`; the others follow. */
};

/* Why small reads of a file are not answered any more. */
enum aside {
    ASIDE_SHARED, /* Another process may use the position. */
    ASIDE_WRITTEN, /* A recorded program may write to it. */
    ASIDE_CHANGED, /* Another program has changed it. */
    ASIDE_CONTROLLED, /* A call needs the position in the kernel. */
    ASIDE_KIND, /* The file system may change it without a call. */
    ASIDE_CROWDED, /* Too many files at a time. */
    ASIDE_UNSEEN, /* The program makes calls that cannot be seen. */
};

/* Calls of one kind on one file. */
struct count {
    uint32_t state;
    uint32_t file;
    uint32_t tally;
    uint32_t is_busy;
    uint64_t calls;
    uint64_t failed;
    uint64_t bytes;
    uint64_t ticks;
    uint64_t waited_ticks;
    uint64_t classes[SIZE_CLASSES];
    struct exact_size sizes[EXACT_SIZES];
};

/* All calls of one kind in a thread, so that the command can tell at any time what the thread does. */
struct activity {
    uint64_t ticks;
    uint64_t waited_ticks;
    uint64_t bytes;
};

/* Kinds of activity: reads with seeks, writes, syncs. */
#define ACTIVITIES 3

struct thread {
    uint32_t state;
    int32_t id;
    uint32_t process;
    uint32_t is_spawning; /* Whether a child may use the memory of this thread (vfork). */
    uint64_t start;
    uint64_t end;
    /* The call in progress. */
    uint32_t tally;
    uint32_t file;
    uint64_t call_start;
    uint64_t waits;
    uint64_t wait_ticks;
    uint32_t is_counting;
    uint32_t generation; /* Of its process, when it began. */
    char name[16];       /* Set when it ends, like the next one. */
    uint64_t delay_ns; /* Time for which it was runnable, but waited for a processor. */
    uint32_t timer; /* Of its samples, plus one. */
    uint32_t unused;
    struct activity activity[ACTIVITIES];
    struct count counts[OWN_COUNTS];
};

/* The position of a thread, after some time on a processor or at a call. */
struct sample {
    uint32_t state;
    int32_t process;
    int32_t thread;
    uint32_t tally; /* Of the call; TALLY_NONE on a processor. */
    uint32_t file;
    uint32_t stack_bytes;
    uint32_t generation; /* Of the process. */
    uint32_t unused;
    uint64_t weight; /* Periods on a processor, or calls since the last sample of a call. */
    uint64_t amount; /* Ticks in those calls; bytes of TALLY_ALLOCATE. */
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint64_t link;
    uint8_t stack[STACK_BYTES];
};

/* The name of a file. */
struct file {
    uint32_t state;
    uint32_t object;
    uint64_t hash;
    uint32_t name;
    uint32_t name_bytes;
};

/* A file that is read from a buffer or written to. */
struct shared_file {
    uint32_t state;
    uint32_t writers; /* Descriptors that may write to it. */
    uint64_t changes; /* Times that one was opened, and others that it may have changed. */
    uint64_t device;
    uint64_t inode;
};

/* A device that is slower than the real one, which all processes share. */
struct throttle {
    uint64_t byte_ticks; /* Time of a byte, times 2^32; 0 for no limit. */
    uint64_t latency_ticks; /* Of each call. */
    uint64_t free; /* When it has moved all bytes so far. */
    uint64_t first, last; /* When the first call began, and the last one ended. */
    uint64_t calls, bytes;
};

/* Whether a process waits for all of a mapping, before it forks, and whether all of it is there. */
enum wish {
    WISH_NONE,
    WISH_ALL,
    WISH_FULFILLED,
    WISH_LEFT, /* The process executes another program, or tries to. */
};

/* A mapped file that the command fills as it is used. */
struct filled_map {
    uint32_t state; /* SLOT_READY: requested. */
    uint32_t process;
    int32_t faults, file; /* Descriptors of that process, until the request is served. */
    uint64_t start, bytes, offset;
    uint64_t device, inode; /* Of the file. */
    uint32_t wish;
    uint32_t unused;
};

struct record {
    uint64_t magic;
    uint32_t bell; /* Rung when something waits for the command. */
    uint32_t options;
    uint64_t wait_ticks; /* Calls that take longer count as waits. */
    uint64_t size_limits[SIZE_CLASSES - 1];
    /* Totals. */
    uint64_t processes;
    uint64_t threads;
    uint64_t failed_opens;
    uint64_t has_queues;
    uint64_t queued; /* Operations that were submitted to io_uring. */
    uint64_t lost;
    uint64_t not_patched;
    uint64_t lost_samples;
    uint64_t sample_ticks;   /* Time between two samples of calls in a thread. */
    uint64_t sample_ns;      /* Time on a processor between two samples; 0 for none. */
    uint64_t tick_ns;        /* Nanoseconds of a tick, times 2^32. */
    uint64_t credit_ticks;   /* Time for which throttled devices read ahead. */
    struct throttle throttles[2]; /* Of reads and of writes. */
    uint64_t filled_bytes;   /* Of mapped files that were to be filled. */
    uint64_t held_maps;      /* Mappings that took the time of all their bytes at once. */
    uint32_t next_thread;
    uint32_t next_process;
    uint32_t next_site;
    uint32_t next_name;
    uint32_t next_sample;
    uint8_t effects[MAX_CALLS];
    struct module modules[MAX_MODULES];
    struct site sites[MAX_SITES];
    struct process process[MAX_PROCESSES];
    struct file file[MAX_FILES];
    char names[MAX_NAME_BYTES];
    struct count counts[MAX_COUNTS];
    struct thread thread[MAX_THREADS];
    struct sample samples[MAX_SAMPLES];
    struct shared_file shared_files[MAX_SHARED_FILES];
    struct filled_map filled_maps[MAX_FILLED_MAPS];
    char patterns[MAX_PATTERN_BYTES]; /* Of files to cure, each with a NUL byte, and an empty one. */
};

/* Option: name pipes, sockets and other objects, too. */
#define OPTION_ALL 1u
/* Option: read the time from the system, because the counter of the processor is not reliable. */
#define OPTION_CLOCK 2u
/* Option: answer small reads of the files of `patterns`. */
#define OPTION_CURE 4u
/* Option: hold reads and writes as `throttles` say. */
#define OPTION_THROTTLE 8u

_Static_assert(sizeof(struct count) == 208, "src/preload/layout.rs has the same size");
_Static_assert(sizeof(struct thread) == 1840, "src/preload/layout.rs has the same size");
_Static_assert(sizeof(struct record) == 38634336, "src/preload/layout.rs has the same size");
_Static_assert(sizeof(struct record) < (64u << 20), "the record has at most 64 MiB");

#endif
