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

static int mapped(void)
{
    int file = open("input", O_RDONLY);
    /* Longer than the file: pages beyond its end take no time. */
    char *bytes = mmap(NULL, 8 * BYTES, PROT_READ, MAP_PRIVATE, file, 0);
    memcpy(data, bytes, BYTES);
    return bytes == MAP_FAILED;
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

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    if (!strcmp(name, "small"))
        return read_part(0, BYTES, 100);
    if (!strcmp(name, "large"))
        return read_part(0, BYTES, BYTES);
    if (!strcmp(name, "threads"))
        return threads();
    if (!strcmp(name, "children"))
        return children();
    if (!strcmp(name, "mapped"))
        return mapped();
    if (!strcmp(name, "vectors"))
        return vectors();
    if (!strcmp(name, "written"))
        return written();
    if (!strcmp(name, "sent"))
        return sent();
    if (!strcmp(name, "piped"))
        return piped();
    return 2;
}
