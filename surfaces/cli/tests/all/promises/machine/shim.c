/* Faults of machines for one process, by LD_PRELOAD. Counting starts at 1; what is not set never happens.
 *
 * FAULT_FILE    the end of the path of the file that reads are counted of
 * FAULT_READ    N:ACTION - at the N-th read: eio (it and all later ones fail), half (the file is cut in half), grow (a
 *               line is appended), touch (the last byte is replaced, at another time)
 * FAULT_OPEN    N:ERRNO or N:ERRNO:all - the N-th opening fails, or all from there on
 * FAULT_CLOCK   N:SECONDS - from the N-th reading of a clock on, the clocks of the machine are ahead by so much, or
 *               behind; that since its start is never negative, and that of processor time does not jump
 * FAULT_POWER   N:STATE - the machine stops at the N-th rename: before (it did not happen), empty, cut, zeros, old (it
 *               happened, but what was written since the last sync did not: nothing of it, less than half, zeros
 *               instead of the second half, what the disk had there before)
 * FAULT_LOG     a file that gets the number of reads, openings, clock readings and renames at the end
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FILES = 1024, SECTOR = 512 };

static int reads, openings, clocks, renames;
/* Whether a descriptor has unsynced data, and where it starts. */
static char is_dirty[MAX_FILES];
static long long dirty_from[MAX_FILES];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int next(int *counter) { return __sync_add_and_fetch(counter, 1); }

/* The number before the colon, and the word after it; 0 without the variable. */
static int setting(const char *name, const char **word) {
    const char *text = getenv(name);
    *word = text ? strchr(text, ':') : NULL;
    if (!*word) return 0;
    ++*word;
    return atoi(text);
}

static int path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static void damage(const char *path, const char *action) {
    struct stat now;
    if (stat(path, &now)) return;
    if (!strcmp(action, "half")) {
        if (truncate(path, now.st_size / 2)) abort();
        return;
    }
    int fd = REAL(open)(path, O_WRONLY | (strcmp(action, "grow") ? 0 : O_APPEND));
    if (fd < 0) abort();
    if (!strcmp(action, "grow")) {
        if (REAL(write)(fd, "# more\n", 7) != 7) abort();
    } else {
        if (REAL(pwrite)(fd, "#", 1, now.st_size - 1) != 1) abort();
    }
    struct timespec times[2] = {{now.st_mtime + 10, 0}, {now.st_mtime + 10, 0}};
    futimens(fd, times);
    REAL(close)(fd);
}

/* Returns whether this read fails. */
static int read_fails(int fd) {
    const char *end = getenv("FAULT_FILE"), *action;
    char path[4096];
    int at = setting("FAULT_READ", &action);
    if (!end || !path_of(fd, path, sizeof path)) return 0;
    size_t length = strlen(path);
    if (length < strlen(end) || strcmp(path + length - strlen(end), end)) return 0;
    int count = next(&reads);
    if (!at || count < at) return 0;
    if (!strcmp(action, "eio")) {
        errno = EIO;
        return 1;
    }
    if (count == at) damage(path, action);
    return 0;
}

ssize_t read(int fd, void *out, size_t size) { return read_fails(fd) ? -1 : REAL(read)(fd, out, size); }

ssize_t pread64(int fd, void *out, size_t size, off64_t at) {
    return read_fails(fd) ? -1 : REAL(pread64)(fd, out, size, at);
}

ssize_t pread(int fd, void *out, size_t size, off_t at) { return read_fails(fd) ? -1 : REAL(pread)(fd, out, size, at); }

static int open_fails(void) {
    const char *word;
    int at = setting("FAULT_OPEN", &word), count = next(&openings);
    if (!at || count < at || (count > at && !strstr(word, ":all"))) return 0;
    errno = strncmp(word, "ENFILE", 6) ? EMFILE : ENFILE;
    return 1;
}

#define OPEN(name)                                                       \
    int name(const char *path, int flags, ...) {                         \
        va_list rest;                                                    \
        va_start(rest, flags);                                           \
        mode_t mode = va_arg(rest, mode_t);                              \
        va_end(rest);                                                    \
        return open_fails() ? -1 : REAL(name)(path, flags, mode);        \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                     \
    int name(int folder, const char *path, int flags, ...) {             \
        va_list rest;                                                    \
        va_start(rest, flags);                                           \
        mode_t mode = va_arg(rest, mode_t);                              \
        va_end(rest);                                                    \
        return open_fails() ? -1 : REAL(name)(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

int clock_gettime(clockid_t clock, struct timespec *now) {
    const char *seconds;
    int at = setting("FAULT_CLOCK", &seconds), count = next(&clocks);
    int result = REAL(clock_gettime)(clock, now);
    if (!at || count < at || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) return result;
    now->tv_sec += atoll(seconds);
    if (clock != CLOCK_REALTIME && now->tv_sec < 0) now->tv_sec = 0;
    return result;
}

static void written(int fd, long long from) {
    if (fd < 0 || fd >= MAX_FILES) return;
    if (!is_dirty[fd] || from < dirty_from[fd]) dirty_from[fd] = from;
    is_dirty[fd] = 1;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    if (fd > 2) written(fd, lseek(fd, 0, SEEK_CUR));
    return REAL(write)(fd, bytes, size);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
    written(fd, at);
    return REAL(pwrite64)(fd, bytes, size, at);
}

static void synced(int fd) {
    if (fd >= 0 && fd < MAX_FILES) is_dirty[fd] = 0;
}

int fsync(int fd) {
    synced(fd);
    return REAL(fsync)(fd);
}

int fdatasync(int fd) {
    synced(fd);
    return REAL(fdatasync)(fd);
}

/* The files that were closed unsynced: the system keeps their data in memory for a while. */
static struct { dev_t device; ino_t inode; long long from; } unsynced[MAX_FILES];
static int unsynced_count;

int close(int fd) {
    struct stat now;
    if (fd >= 0 && fd < MAX_FILES && is_dirty[fd]) {
        if (!fstat(fd, &now) && S_ISREG(now.st_mode) && unsynced_count < MAX_FILES) {
            int i = unsynced_count++;
            unsynced[i].device = now.st_dev;
            unsynced[i].inode = now.st_ino;
            unsynced[i].from = dirty_from[fd];
        }
        is_dirty[fd] = 0;
    }
    return REAL(close)(fd);
}

/* Where the unsynced data of a file starts; -1 if all of it is on disk. */
static long long unsynced_from(const char *path) {
    struct stat now, other;
    if (stat(path, &now)) return -1;
    for (int fd = 0; fd < MAX_FILES; fd++) {
        if (is_dirty[fd] && !fstat(fd, &other) && other.st_ino == now.st_ino) return dirty_from[fd];
    }
    for (int i = 0; i < unsynced_count; i++) {
        if (unsynced[i].inode == now.st_ino && unsynced[i].device == now.st_dev) return unsynced[i].from;
    }
    return -1;
}

static void lose(const char *path, const char *state) {
    struct stat now;
    long long from = unsynced_from(path);
    if (from < 0 || stat(path, &now)) return;
    long long middle = (from + (now.st_size - from) / 2) / SECTOR * SECTOR;
    if (middle < from) middle = from;
    if (!strcmp(state, "empty")) {
        if (truncate(path, from)) abort();
        return;
    }
    if (truncate(path, middle)) abort();
    if (!strcmp(state, "cut")) return;
    if (truncate(path, now.st_size)) abort();
    if (strcmp(state, "old")) return;
    int fd = REAL(open)(path, O_WRONLY);
    for (long long at = middle; at < now.st_size; at++) {
        if (REAL(pwrite)(fd, "old sector\n" + at % 11, 1, at) != 1) abort();
    }
    REAL(close)(fd);
}

static int rename_or_stop(const char *to, int (*real)(const char *, const char *), const char *from) {
    const char *state;
    int at = setting("FAULT_POWER", &state), count = next(&renames);
    if (!at || count != at) return real(from, to);
    if (strcmp(state, "before")) {
        if (real(from, to)) abort();
        lose(to, state);
    }
    kill(getpid(), SIGKILL);
    return -1;
}

int rename(const char *from, const char *to) { return rename_or_stop(to, REAL(rename), from); }

__attribute__((destructor)) static void finish(void) {
    const char *path = getenv("FAULT_LOG");
    if (!path) return;
    int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char text[128];
    int length = snprintf(text, sizeof text, "%d %d %d %d\n", reads, openings, clocks, renames);
    if (fd < 0 || REAL(write)(fd, text, length) != length) return;
    REAL(close)(fd);
}
