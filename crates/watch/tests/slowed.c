/* Programs that read or write a megabyte of the file `input` in various ways, for `slowed.rs`. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 1000000
#define PARTS 4

static char data[BYTES];

static int read_part(long from, long bytes, long size)
{
    int file = open("input", O_RDONLY);
    lseek(file, from, SEEK_SET);
    while (bytes > 0) {
        long got = read(file, data, size < bytes ? size : bytes);
        if (got <= 0)
            return 1;
        bytes -= got;
    }
    return close(file);
}

static void *read_in_thread(void *part)
{
    static __thread char own[BYTES / PARTS];
    int file = open("input", O_RDONLY);
    for (long at = 0, got; at < BYTES / PARTS; at += got) {
        got = pread(file, own, 1000, (long)part * (BYTES / PARTS) + at);
        if (got <= 0)
            abort();
    }
    close(file);
    return NULL;
}

static int threads(void)
{
    pthread_t ids[PARTS];
    for (long part = 0; part < PARTS; part++)
        pthread_create(&ids[part], NULL, read_in_thread, (void *)part);
    for (long part = 0; part < PARTS; part++)
        pthread_join(ids[part], NULL);
    return 0;
}

static int children(void)
{
    int status, failed = 0;
    for (long part = 0; part < PARTS; part++)
        if (fork() == 0)
            _exit(read_part(part * (BYTES / PARTS), BYTES / PARTS, 10000));
    while (wait(&status) > 0)
        failed |= status;
    return failed != 0;
}

/* The content of the input. */
static char byte_at(long at)
{
    return (char)(at * 7 + at / 251);
}

static int is_right(const char *bytes, long from, long end)
{
    for (long at = from; at < end; at++)
        if (bytes[at] != byte_at(at))
            return 0;
    return 1;
}

static char *map(int flags, long size)
{
    int file = open("input", O_RDONLY);
    char *bytes = mmap(NULL, size, PROT_READ, flags, file, 0);
    close(file);
    return bytes;
}

/* Longer than the file: pages beyond its end take no time. */
static int mapped(void)
{
    return !is_right(map(MAP_PRIVATE, 8 * BYTES), 0, BYTES);
}

static int mapped_shared(void)
{
    char *bytes = map(MAP_SHARED, BYTES);
    return !is_right(bytes, BYTES / 2, BYTES) || !is_right(bytes, 0, BYTES / 2);
}

/* The rest of the last page is zero. */
static int mapped_end(void)
{
    char *bytes = map(MAP_PRIVATE, BYTES);
    long end = (BYTES + 4095) / 4096 * 4096;
    for (long at = BYTES; at < end; at++)
        if (bytes[at])
            return 1;
    return !is_right(bytes, 0, BYTES);
}

static char *shared_bytes;

static void *check_in_thread(void *part)
{
    long from = (long)part * (BYTES / PARTS);
    return (void *)(long)!is_right(shared_bytes, from, from + BYTES / PARTS);
}

static int mapped_by_threads(void)
{
    pthread_t ids[PARTS];
    long failed = 0;
    void *result;
    shared_bytes = map(MAP_PRIVATE, BYTES);
    for (long part = 0; part < PARTS; part++)
        pthread_create(&ids[part], NULL, check_in_thread, (void *)part);
    for (long part = 0; part < PARTS; part++) {
        pthread_join(ids[part], &result);
        failed |= (long)result;
    }
    return failed != 0;
}

/* A child has the same memory. */
static int mapped_forked(void)
{
    int status;
    char *bytes = map(MAP_PRIVATE, BYTES);
    if (!is_right(bytes, 300000, 300100))
        return 1;
    if (fork() == 0)
        _exit(!is_right(bytes, 0, BYTES));
    wait(&status);
    return status != 0 || !is_right(bytes, 0, BYTES);
}

/* Memory that was emptied has the file again. */
static int mapped_emptied(void)
{
    char *bytes = map(MAP_PRIVATE, BYTES);
    if (!is_right(bytes, 0, BYTES))
        return 1;
    madvise(bytes + 8192, 4096, MADV_DONTNEED);
    madvise(bytes + 262144, 500000 / 4096 * 4096, MADV_DONTNEED);
    if (!is_right(bytes, 0, BYTES))
        return 1;
    /* A child has what was emptied before it began. */
    int status;
    madvise(bytes, BYTES, MADV_DONTNEED);
    if (fork() == 0)
        _exit(!is_right(bytes, 0, BYTES));
    wait(&status);
    return status != 0;
}

/* Part of a mapping, before it was read. */
static int mapped_moved_partly(void)
{
    char *bytes = map(MAP_PRIVATE, BYTES);
    char *target = mmap(NULL, 409600, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *moved = mremap(bytes + 409600, 409600, 409600, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    if (moved != target || !is_right(bytes, 0, 409600))
        return 1;
    for (long at = 0; at < 409600; at++)
        if (moved[at] != byte_at(409600 + at))
            return 1;
    return 0;
}

/* A private mapping shows what the process writes to the file. */
static int mapped_written_here(void)
{
    int file = open("output", O_RDWR | O_CREAT | O_TRUNC, 0600);
    ftruncate(file, BYTES);
    const volatile char *bytes = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, file, 0);
    pwrite(file, "x", 1, 700000);
    return bytes[700000] != 'x';
}

static int mapped_moved(void)
{
    char *bytes = map(MAP_PRIVATE, BYTES);
    if (!is_right(bytes, 0, 100))
        return 1;
    char *moved = mremap(bytes, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, map(MAP_PRIVATE, BYTES));
    return moved == MAP_FAILED || !is_right(moved, 0, BYTES);
}

static int unmapped(void)
{
    for (int round = 0; round < 20; round++) {
        char *bytes = map(MAP_PRIVATE, BYTES);
        if (!is_right(bytes, 50000 * round, 50000 * round + 50000))
            return 1;
        munmap(bytes + 4096, BYTES - 4096);
        if (!is_right(bytes, 0, 4096))
            return 1;
        munmap(bytes, 4096);
    }
    return 0;
}

/* The kernel waits for the pages, too. */
static int mapped_written(void)
{
    char *bytes = map(MAP_PRIVATE, BYTES);
    int file = open("output", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(file, bytes, BYTES) != BYTES)
        return 1;
    return pread(file, data, BYTES, 0) != BYTES || !is_right(data, 0, BYTES);
}

/* From the middle of the file, and more mappings than are filled at a time. */
static int mapped_often(void)
{
    int file = open("input", O_RDONLY);
    for (long part = 0; part < 400; part++) {
        long from = part % 100 * 4096;
        char *bytes = mmap(NULL, 400000, PROT_READ, MAP_PRIVATE, file, from);
        for (long at = 0; at < 400000; at += 999)
            if (bytes[at] != byte_at(from + at))
                return 1;
    }
    return 0;
}

/* A mapping that shows what others write stays one. */
static int mapped_changing(void)
{
    int writer = open("output", O_RDWR | O_CREAT | O_TRUNC, 0600);
    ftruncate(writer, BYTES);
    int reader = open("output", O_RDONLY);
    const volatile char *bytes = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, reader, 0);
    for (int round = 1; round < 100; round++) {
        char letter = (char)round;
        pwrite(writer, &letter, 1, 500000);
        if (bytes[500000] != letter)
            return 1;
    }
    return 0;
}

static int vectors(void)
{
    int file = open("input", O_RDONLY);
    struct iovec parts[2] = {{data, BYTES / 2}, {data + BYTES / 2, BYTES / 2}};
    return readv(file, parts, 2) != BYTES;
}

static int written(void)
{
    int file = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (long at = 0; at < BYTES; at += 50000)
        if (write(file, data + at, 50000) != 50000)
            return 1;
    return close(file);
}

static int sent(void)
{
    int from = open("input", O_RDONLY);
    int to = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return sendfile(to, from, NULL, BYTES) != BYTES;
}

/* What goes through a pipe is not slowed down. */
static int piped(void)
{
    int ends[2];
    long left = BYTES;
    pipe(ends);
    if (fork() == 0) {
        close(ends[0]);
        for (long at = 0; at < BYTES; at += 10000)
            if (write(ends[1], data + at, 10000) != 10000)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    for (long got; (got = read(ends[0], data, BYTES)) > 0;)
        left -= got;
    wait(NULL);
    return left != 0;
}

/* Names of cases and what they do. */
static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
    {"threads", threads},
    {"children", children},
    {"mapped", mapped},
    {"mapped_shared", mapped_shared},
    {"mapped_end", mapped_end},
    {"mapped_by_threads", mapped_by_threads},
    {"mapped_forked", mapped_forked},
    {"mapped_emptied", mapped_emptied},
    {"mapped_moved", mapped_moved},
    {"mapped_moved_partly", mapped_moved_partly},
    {"mapped_written_here", mapped_written_here},
    {"unmapped", unmapped},
    {"mapped_written", mapped_written},
    {"mapped_often", mapped_often},
    {"mapped_changing", mapped_changing},
    {"vectors", vectors},
    {"written", written},
    {"sent", sent},
    {"piped", piped},
};

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    if (!strcmp(name, "small"))
        return read_part(0, BYTES, 100);
    if (!strcmp(name, "large"))
        return read_part(0, BYTES, BYTES);
    for (unsigned index = 0; index < sizeof(cases) / sizeof(*cases); index++)
        if (!strcmp(name, cases[index].name))
            return cases[index].run();
    return 2;
}
