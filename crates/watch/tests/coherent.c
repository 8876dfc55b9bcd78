/* Programs whose reads depend on positions, on other descriptors or on other processes, for `cure.rs`.
 *
 * `coherent CASE` reads the file `data` in the working directory and prints what it saw. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (256 * 1024)

extern char **environ;

static int open_data(void) { return open("data", O_RDONLY | O_CLOEXEC); }

/* Reads `count` times `size` bytes, and prints a hash of them with the number of bytes and the last result. */
static void take(int file, int size, int count)
{
    static unsigned char bytes[SIZE];
    unsigned long hash = 5381, total = 0;
    long result = 0;
    for (int done = 0; done < count && (result = read(file, bytes, size)) > 0; done++) {
        for (long at = 0; at < result; at++)
            hash = hash * 33 + bytes[at];
        total += result;
    }
    printf("%lu bytes, hash %lx, last %ld, errno %d\n", total, hash, result, result < 0 ? errno : 0);
    fflush(stdout);
}

static void where(int file) { printf("at %ld\n", (long)lseek(file, 0, SEEK_CUR)); }

/* Waits for a child that reads first. */
static void wait_for(pid_t child)
{
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

static void change(const char *flags)
{
    int writer = open("data", O_WRONLY | (strchr(flags, 'a') ? O_APPEND : 0));
    for (int at = 0; at < 300; at++)
        if (strchr(flags, 'a'))
            write(writer, "appended", 8);
        else
            pwrite(writer, "CHANGED", 7, at * 700);
    if (!strchr(flags, 'k'))
        close(writer);
}

/* Cases that stay cured. */
static void small(void) { take(open_data(), 3, SIZE); }
static void lines(void) { int file = open_data(); for (int at = 0; at < 50; at++) take(file, 17, 30); where(file); }
static void seek_set(void)
{
    int file = open_data();
    for (int at = 0; at < 400; at++) {
        lseek(file, (at * 7919) % SIZE, SEEK_SET);
        take(file, 5, 3);
    }
}
static void seek_current(void)
{
    int file = open_data();
    take(file, 3, 100);
    for (int at = 0; at < 200; at++) {
        printf("%ld ", (long)lseek(file, at % 3 ? 11 : -5, SEEK_CUR));
        take(file, 4, 2);
    }
}
static void seek_end(void)
{
    int file = open_data();
    take(file, 3, 10);
    printf("%ld\n", (long)lseek(file, -1000, SEEK_END));
    take(file, 3, 1000);
    printf("%ld\n", (long)lseek(file, 10, SEEK_END));
    take(file, 3, 2);
    lseek(file, 0, SEEK_SET);
    take(file, 3, 20);
}
static void seek_data(void)
{
    int file = open_data();
    take(file, 3, 10);
    printf("%ld %ld\n", (long)lseek(file, 100, SEEK_DATA), (long)lseek(file, 100, SEEK_HOLE));
    lseek(file, 5, SEEK_SET);
    take(file, 3, 100);
}
static void size_first(void)
{
    int file = open_data();
    for (int at = 0; at < 200; at++) {
        long here = lseek(file, 0, SEEK_CUR), end = lseek(file, 0, SEEK_END);
        lseek(file, here, SEEK_SET);
        printf("%ld ", end);
        take(file, 3, 1);
    }
}
static void mixed_sizes(void)
{
    int file = open_data();
    for (int at = 0; at < 6; at++) {
        take(file, 3, 100);
        take(file, 40000, 1);
        take(file, 1, 5);
    }
}
static void positioned(void)
{
    char bytes[10] = {0};
    int file = open_data();
    for (int at = 0; at < 100; at++) {
        take(file, 3, 2);
        printf("%ld %.5s\n", (long)pread(file, bytes, 5, at * 1000), bytes);
    }
}
static void vectors(void)
{
    char first[3], second[7];
    struct iovec parts[2] = {{first, 3}, {second, 7}};
    int file = open_data();
    for (int at = 0; at < 100; at++) {
        take(file, 3, 2);
        printf("%ld %.3s %.7s\n", (long)readv(file, parts, 2), first, second);
    }
}
static void nothing(void) { int file = open_data(); take(file, 3, 50); printf("%ld\n", (long)read(file, NULL, 0)); take(file, 3, 50); }
static void bad_pointer(void)
{
    int file = open_data();
    take(file, 3, 50);
    printf("%ld %d\n", (long)read(file, (char *)16, 3), errno);
    where(file);
    take(file, 3, 50);
}
static void unmapped(void)
{
    int file = open_data();
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int at = 0; at < 50; at++)
        read(file, page + at, 3);
    munmap(page, 4096);
    printf("%ld %d\n", (long)read(file, page, 3), errno);
    where(file);
}
static void protected(void)
{
    int file = open_data();
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int at = 0; at < 50; at++)
        read(file, page + at, 3);
    mprotect(page, 4096, PROT_READ);
    printf("%ld %d\n", (long)read(file, page, 3), errno);
    where(file);
}
static void page_border(void)
{
    int file = open_data();
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int at = 0; at < 300; at++) {
        long result = read(file, pages + 3990 + at % 200, 9);
        printf("%ld %.9s\n", result, pages + 3990 + at % 200);
    }
}
static void twice(void)
{
    int first = open_data(), second = open_data();
    for (int at = 0; at < 50; at++) {
        take(first, 3, 5);
        take(second, 7, 5);
    }
}
static void reopened(void)
{
    for (int at = 0; at < 100; at++) {
        int file = open_data();
        lseek(file, at, SEEK_SET);
        take(file, 3, 10);
        close(file);
    }
}
static void unlinked(void) { int file = open_data(); take(file, 3, 50); unlink("data"); take(file, 3, 50); where(file); }
static void renamed(void)
{
    int file = open_data();
    take(file, 3, 50);
    int other = open("other", O_WRONLY | O_CREAT, 0600);
    write(other, "another file\n", 13);
    close(other);
    rename("other", "data");
    take(file, 3, 50);
    take(open_data(), 3, 50);
}
static void mapped(void)
{
    int file = open_data();
    take(file, 3, 50);
    const char *bytes = mmap(0, SIZE, PROT_READ, MAP_SHARED, file, 0);
    printf("%.20s\n", bytes + 150);
    take(file, 3, 50);
}
static void flags(void)
{
    int file = open_data();
    take(file, 3, 50);
    printf("%x %x\n", fcntl(file, F_GETFL), fcntl(file, F_GETFD));
    fcntl(file, F_SETFD, FD_CLOEXEC);
    printf("%d\n", isatty(file));
    take(file, 3, 50);
}
static void status(void)
{
    struct stat status;
    int file = open_data();
    take(file, 3, 50);
    fstat(file, &status);
    printf("%ld\n", (long)status.st_size);
    posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
    readahead(file, 0, 100);
    take(file, 3, 50);
}
static void read_only(void) { int file = open_data(); take(file, 3, 50); printf("%ld %d\n", (long)write(file, "x", 1), errno); take(file, 3, 50); }
static void unbuffered(void)
{
    FILE *file = fopen("data", "re");
    setvbuf(file, NULL, _IONBF, 0);
    unsigned hash = 0;
    for (int at = 0; at < 5000; at++)
        hash = hash * 33 + fgetc(file);
    ungetc('x', file);
    printf("%u %ld %c\n", hash, ftell(file), fgetc(file));
    fseek(file, 100, SEEK_SET);
    printf("%d %ld\n", fgetc(file), ftell(file));
}
static void buffered(void)
{
    FILE *file = fopen("data", "re");
    unsigned hash = 0;
    for (int at = 0; at < 9000; at++) {
        if (at % 100 == 0)
            fseek(file, at * 20, SEEK_SET);
        hash = hash * 33 + fgetc(file);
    }
    printf("%u %ld\n", hash, ftell(file));
}
static void *read_own(void *number)
{
    long sum = 0;
    unsigned char bytes[3];
    int file = open_data();
    for (int at = 0; at < 20000 && read(file, bytes, 3) == 3; at++)
        sum = sum * 31 + bytes[0];
    return (void *)sum;
}
static void threads(void)
{
    pthread_t threads[4];
    for (int at = 0; at < 4; at++)
        pthread_create(&threads[at], NULL, read_own, NULL);
    for (int at = 0; at < 4; at++) {
        void *sum;
        pthread_join(threads[at], &sum);
        printf("%lx\n", (long)sum);
    }
}
static int shared_file;
static void *read_shared(void *sums)
{
    unsigned long *to = sums;
    unsigned char bytes[2];
    while (read(shared_file, bytes, 2) == 2) {
        to[0]++;
        to[1] += bytes[0] * 7 + bytes[1];
    }
    return NULL;
}
static void threads_share(void)
{
    unsigned long sums[4][2] = {{0}}, total[2] = {0};
    pthread_t threads[4];
    shared_file = open_data();
    for (int at = 0; at < 4; at++)
        pthread_create(&threads[at], NULL, read_shared, sums[at]);
    for (int at = 0; at < 4; at++) {
        pthread_join(threads[at], NULL);
        total[0] += sums[at][0];
        total[1] += sums[at][1];
    }
    printf("%lu %lu\n", total[0], total[1]);
}
static volatile unsigned long in_handler[2];
static void read_in_handler(int signal)
{
    unsigned char bytes[2];
    if (read(shared_file, bytes, 2) == 2) {
        in_handler[0]++;
        in_handler[1] += bytes[0] * 7 + bytes[1];
    }
}
static void start_timer(void (*handler)(int), int microseconds)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, microseconds}, {0, microseconds}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}
static void stop_timer(void) { struct itimerval never = {{0}}; setitimer(ITIMER_REAL, &never, NULL); }
static void handlers(void)
{
    unsigned long sums[2] = {0};
    shared_file = open_data();
    start_timer(read_in_handler, 200);
    for (int turn = 0; turn < 20; turn++) {
        read_shared(sums);
        lseek(shared_file, 0, SEEK_SET);
    }
    stop_timer();
    /* Each pair was read once in each turn, by one of the two; a few at the ends are read in the next turn. */
    printf("%d\n", sums[0] + in_handler[0] >= 19ul * SIZE / 2);
}
static sigjmp_buf back;
static void jump(int signal) { siglongjmp(back, 1); }
static void jumps(void)
{
    unsigned char bytes[3];
    volatile int turns = 0;
    int file = open_data();
    sigsetjmp(back, 1);
    if (++turns < 100) {
        start_timer(jump, 300);
        for (;;)
            if (read(file, bytes, 3) < 3)
                lseek(file, 0, SEEK_SET);
    }
    stop_timer();
    lseek(file, 0, SEEK_SET);
    take(file, 3, SIZE);
}
static void large(void)
{
    int file = open("sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    pwrite(file, "far away from the start", 23, 5ll << 30);
    close(file);
    file = open("sparse", O_RDONLY | O_CLOEXEC);
    take(file, 3, 50);
    lseek(file, 5ll << 30, SEEK_SET);
    take(file, 3, 50);
    unlink("sparse");
}
static void spawned(void)
{
    pid_t child;
    int file = open_data();
    take(file, 3, 50);
    posix_spawn(&child, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, environ);
    wait_for(child);
    take(file, 3, 50);
}
static void own_output(void)
{
    int to = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int file = open_data();
    unsigned char bytes[3];
    long size;
    while ((size = read(file, bytes, 3)) > 0)
        write(to, bytes, size);
    close(to);
    take(open("out", O_RDONLY | O_CLOEXEC), 3, SIZE);
}
static void chunks(void)
{
    /* PNG and RIFF files are read so: a header, a jump over data, a header. */
    int file = open_data();
    for (int at = 0; at < 500; at++) {
        take(file, 4, 2);
        lseek(file, 500, SEEK_CUR);
    }
}
static void backwards(void)
{
    int file = open_data();
    for (int at = SIZE - 10; at > 0; at -= 10) {
        char bytes[3];
        lseek(file, at, SEEK_SET);
        read(file, bytes, 3);
        if (at % 1000 < 10)
            printf("%.3s", bytes);
    }
}
static void many_opens(void)
{
    for (int at = 0; at < 2000; at++) {
        int file = open_data();
        char bytes[3];
        read(file, bytes, 3);
        read(file, bytes, 3);
        if (at % 100 == 0)
            printf("%.3s", bytes);
        close(file);
    }
}
static void errors(void)
{
    int file = open_data();
    take(file, 3, 50);
    printf("%ld %d\n", (long)lseek(file, -1, SEEK_SET), errno);
    printf("%ld %d\n", (long)lseek(file, 0, 99), errno);
    where(file);
    take(file, 3, 50);
}

/* Cases in which the cure steps aside. */
static void duplicated(void) { int file = open_data(); take(file, 3, 50); int other = dup(file); take(other, 3, 50); take(file, 3, 50); }
static void replaced(void) { int file = open_data(); take(file, 3, 50); dup2(file, 50); take(50, 3, 50); take(file, 3, 50); }
static void not_replaced(void) { int file = open_data(); take(file, 3, 50); printf("%d\n", dup2(-1, file)); take(file, 3, 50); }
static void itself(void) { int file = open_data(); take(file, 3, 50); printf("%d\n", dup2(file, file) == file); take(file, 3, 50); }
static void fcntl_duplicated(void) { int file = open_data(); take(file, 3, 50); int other = fcntl(file, F_DUPFD_CLOEXEC, 60); take(other, 3, 50); take(file, 3, 50); }
static void forked(void)
{
    int file = open_data();
    take(file, 3, 50);
    pid_t child = fork();
    if (child == 0) {
        take(file, 3, 50);
        _exit(0);
    }
    wait_for(child);
    where(file);
    take(file, 3, 50);
}
static void forked_in_turns(void)
{
    int file = open_data();
    for (int at = 0; at < 5; at++) {
        take(file, 3, 20);
        pid_t child = fork();
        if (child == 0) {
            take(file, 3, 20);
            _exit(0);
        }
        wait_for(child);
    }
}
static void executed(void)
{
    char number[10];
    int file = open("data", O_RDONLY);
    take(file, 3, 50);
    sprintf(number, "%d", file);
    execl("/proc/self/exe", "coherent", "inherited", number, NULL);
}
static void spawned_input(void)
{
    pid_t child;
    posix_spawn_file_actions_t actions;
    int file = open_data();
    take(file, 3, 50);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, file, 0);
    posix_spawn(&child, "/usr/bin/head", &actions, NULL, (char *[]){"head", "-c", "20", NULL}, environ);
    wait_for(child);
    where(file);
    take(file, 3, 50);
}
static void vforked(void)
{
    int file = open("data", O_RDONLY);
    take(file, 3, 50);
    pid_t child = vfork();
    if (child == 0) {
        dup2(file, 0);
        execl("/usr/bin/head", "head", "-c", "20", NULL);
        _exit(1);
    }
    wait_for(child);
    where(file);
    take(file, 3, 50);
}
static void shell(void) { int file = open("data", O_RDONLY); take(file, 3, 50); dup2(file, 0); system("head -c 30; echo"); where(file); take(file, 3, 50); }
static void changed_here(void) { int file = open_data(); take(file, 3, 50); change(""); take(file, 3, 200); take(file, 3, SIZE); }
static void changed_while_open(void) { int file = open_data(); take(file, 3, 50); change("k"); take(file, 3, SIZE); }
static void appended(void) { int file = open_data(); take(file, 3, SIZE); change("a"); take(file, 3, SIZE); }
static void changed_by_child(void)
{
    int file = open_data();
    take(file, 3, 50);
    pid_t child = fork();
    if (child == 0) {
        change("");
        _exit(0);
    }
    wait_for(child);
    take(file, 3, SIZE);
}
static void changed_by_program(void)
{
    char byte;
    int begin[2], end[2];
    pipe(begin);
    pipe(end);
    if (fork() == 0) {
        read(begin[0], &byte, 1);
        execl("/proc/self/exe", "coherent", "change", NULL);
    }
    close(end[1]);
    int file = open_data();
    take(file, 3, 50);
    write(begin[1], "x", 1);
    read(end[0], &byte, 1);
    take(file, 3, SIZE);
}
static void changed_by_output(void)
{
    pid_t child;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "data", O_WRONLY, 0);
    int go[2];
    char byte = 'x';
    pipe(go);
    posix_spawn_file_actions_adddup2(&actions, go[0], 0);
    posix_spawn(&child, "/usr/bin/head", &actions, NULL, (char *[]){"head", "-c", "300", NULL}, environ);
    int file = open_data();
    take(file, 3, 50);
    for (int at = 0; at < 300; at++)
        write(go[1], &byte, 1);
    wait_for(child);
    take(file, 3, SIZE);
}
static void truncated(void) { int file = open_data(); take(file, 3, 50); truncate("data", 1000); take(file, 3, SIZE); where(file); }
static void truncated_by_open(void) { int file = open_data(); take(file, 3, 50); close(open("data", O_WRONLY | O_TRUNC)); take(file, 3, SIZE); where(file); }
static void shortened(void) { int file = open_data(); take(file, 3, 50); int writer = open("data", O_RDWR); ftruncate(writer, 1000); take(file, 3, SIZE); where(file); }
static void mapped_writer(void)
{
    int writer = open("data", O_RDWR);
    char *bytes = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0);
    close(writer);
    int file = open_data();
    take(file, 3, 50);
    memset(bytes + 100, 'M', 1000);
    take(file, 3, 500);
}
static void both(void)
{
    int file = open("data", O_RDWR | O_CLOEXEC);
    for (int at = 0; at < 50; at++) {
        take(file, 3, 3);
        write(file, "both", 4);
    }
    where(file);
}
static void locked(void)
{
    struct flock lock = {.l_type = F_RDLCK};
    int file = open_data();
    take(file, 3, 50);
    printf("%d\n", fcntl(file, F_SETLKW, &lock));
    take(file, 3, 50);
}
static void flocked(void) { int file = open_data(); take(file, 3, 50); printf("%d\n", flock(file, LOCK_SH)); take(file, 3, 50); }
static void rest(void) { int file = open_data(), more = 0; take(file, 3, 50); ioctl(file, FIONREAD, &more); printf("%d\n", more); take(file, 3, 50); }
static void sent(void)
{
    int file = open_data(), to = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    take(file, 3, 50);
    printf("%ld\n", (long)sendfile(to, file, NULL, 100));
    where(file);
    take(file, 3, 50);
}
static void spliced(void)
{
    int file = open_data(), ends[2];
    char bytes[101] = {0};
    pipe(ends);
    take(file, 3, 50);
    printf("%ld\n", (long)splice(file, NULL, ends[1], NULL, 100, 0));
    read(ends[0], bytes, 100);
    printf("%s\n", bytes);
    where(file);
    take(file, 3, 50);
}
static void copied(void)
{
    int file = open_data(), to = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    take(file, 3, 50);
    printf("%ld\n", (long)copy_file_range(file, NULL, to, NULL, 100, 0));
    where(file);
    take(file, 3, 50);
}
static void passed(void)
{
    int file = open_data(), ends[2], received;
    char byte = 'x', space[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    take(file, 3, 50);
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    *control = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(control), &file, sizeof(file));
    sendmsg(ends[0], &message, 0);
    recvmsg(ends[1], &message, 0);
    memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(received));
    take(received, 3, 50);
    take(file, 3, 50);
}
static void current_vectors(void)
{
    char bytes[10] = {0};
    struct iovec part = {bytes, 9};
    int file = open_data();
    take(file, 3, 50);
    printf("%ld %s\n", (long)preadv2(file, &part, 1, -1, 0), bytes);
    take(file, 3, 50);
}
static void sandboxed(void)
{
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_pread64},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {4, code};
    int file = open_data();
    take(file, 3, 50);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("%d\n", prctl(PR_SET_SECCOMP, 2, &program));
    take(file, 3, 50);
}
static void queued(void)
{
    char space[200] = {0};
    int file = open_data();
    take(file, 3, 50);
    syscall(425, 1, space);
    take(file, 3, 50);
    where(file);
}
static void unshared(void) { int file = open_data(); take(file, 3, 50); unshare(CLONE_FILES); take(file, 3, 50); where(file); }
static void crowded(void)
{
    int files[40];
    for (int at = 0; at < 40; at++)
        files[at] = open_data();
    for (int turn = 0; turn < 3; turn++)
        for (int at = 0; at < 40; at++)
            take(files[at], 3 + at % 4, 4);
}

/* Cases without a file to cure. */
static void proc(void) { int file = open("/proc/self/comm", O_RDONLY); take(file, 1, 100); lseek(file, 0, SEEK_SET); take(file, 3, 100); }
static void pipes(void) { int ends[2]; pipe(ends); write(ends[1], "through a pipe", 14); close(ends[1]); take(ends[0], 3, 100); }
static void zeros(void) { take(open("/dev/zero", O_RDONLY), 3, 100); }
static void folder(void) { take(open(".", O_RDONLY), 3, 10); }
static void standard_input(void) { take(0, 3, 50); where(0); }

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(small), CASE(lines), CASE(seek_set), CASE(seek_current), CASE(seek_end), CASE(seek_data), CASE(size_first),
    CASE(mixed_sizes), CASE(positioned), CASE(vectors), CASE(nothing), CASE(bad_pointer), CASE(unmapped),
    CASE(protected), CASE(page_border), CASE(twice), CASE(reopened), CASE(unlinked), CASE(renamed), CASE(mapped),
    CASE(flags), CASE(status), CASE(read_only), CASE(unbuffered), CASE(buffered), CASE(threads), CASE(threads_share),
    CASE(handlers), CASE(jumps), CASE(large), CASE(spawned), CASE(own_output), CASE(chunks), CASE(backwards),
    CASE(many_opens), CASE(errors), CASE(duplicated), CASE(replaced), CASE(not_replaced), CASE(itself), CASE(fcntl_duplicated), CASE(forked),
    CASE(forked_in_turns), CASE(executed), CASE(spawned_input), CASE(vforked), CASE(shell), CASE(changed_here),
    CASE(changed_while_open), CASE(appended), CASE(changed_by_child), CASE(changed_by_program), CASE(changed_by_output), CASE(truncated),
    CASE(truncated_by_open), CASE(shortened), CASE(mapped_writer), CASE(both), CASE(locked), CASE(flocked), CASE(rest),
    CASE(sent), CASE(spliced), CASE(copied), CASE(passed), CASE(current_vectors), CASE(sandboxed), CASE(queued),
    CASE(unshared), CASE(crowded), CASE(proc), CASE(pipes), CASE(zeros), CASE(folder), CASE(standard_input),
};

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (!strcmp(arguments[1], "inherited"))
        take(atoi(arguments[2]), 3, 50);
    if (!strcmp(arguments[1], "change"))
        change("");
    for (size_t index = 0; index < sizeof(cases) / sizeof(*cases); index++)
        if (!strcmp(arguments[1], cases[index].name))
            cases[index].run();
    fflush(stdout);
    return 0;
}
