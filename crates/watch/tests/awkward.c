/* Programs that are awkward to record: each is a case by name, prints what it saw, and must print the same when it is
 * recorded. `tests/record.rs` compiles and runs them. */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

static void fail(const char *what)
{
    printf("failed: %s (%d)\n", what, errno);
    exit(9);
}

static void check(int holds, const char *what)
{
    if (!holds)
        fail(what);
}

static void *fork_in_thread(void *argument)
{
    for (int count = 0; count < 20; count++) {
        pid_t child = fork();
        if (child == 0) {
            int file = open("/dev/null", O_WRONLY);
            _exit(write(file, "a", 1) == 1 ? 7 : 8);
        }
        int status = 0;
        waitpid(child, &status, 0);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "child of a thread");
    }
    return argument;
}

static int case_forks(void)
{
    pthread_t threads[8];
    for (int index = 0; index < 8; index++)
        check(pthread_create(&threads[index], NULL, fork_in_thread, NULL) == 0, "thread");
    for (int index = 0; index < 8; index++)
        pthread_join(threads[index], NULL);
    printf("160 children\n");
    return 0;
}

static int case_vfork(void)
{
    char *arguments[] = {"true", NULL};
    for (int count = 0; count < 50; count++) {
        pid_t child = vfork();
        if (child == 0) {
            close(0);
            execvp(arguments[0], arguments);
            _exit(127);
        }
        int status = 0;
        waitpid(child, &status, 0);
        check(status == 0, "vfork");
    }
    check(fcntl(0, F_GETFD) >= 0 || errno == EBADF, "descriptor of the parent");
    pid_t child;
    check(posix_spawnp(&child, "false", NULL, NULL, (char *[]){"false", NULL}, environ) == 0, "spawn");
    int status = 0;
    waitpid(child, &status, 0);
    check(WEXITSTATUS(status) == 1, "status of a spawned process");
    child = vfork();
    if (child == 0)
        _exit(5);
    waitpid(child, &status, 0);
    printf("vfork %d\n", WEXITSTATUS(status));
    return 0;
}

static void *exec_in_thread(void *path)
{
    execl(path, path, "echo", NULL);
    return NULL;
}

static int case_exec(const char *self)
{
    pthread_t thread;
    fflush(stdout);
    pthread_create(&thread, NULL, exec_in_thread, (void *)self);
    pthread_join(thread, NULL);
    return 1;
}

static int case_echo(void)
{
    printf("executed by a thread, preload %s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
    return 0;
}

static int case_environment(void)
{
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "_=", 2) != 0)
            printf("%s\n", *variable);
    fflush(stdout);
    clearenv();
    return system("/usr/bin/env | /bin/grep -c LD_PRELOAD") == -1;
}

static int case_closefrom(void)
{
    for (int descriptor = 3; descriptor < 1024; descriptor++)
        close(descriptor);
    syscall(SYS_close_range, 3u, ~0u, 0u);
    int file = open("/dev/null", O_WRONLY);
    printf("first descriptor %d\n", file);
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(folder))
        count++;
    printf("%d entries\n", count);
    return 0;
}

static volatile sig_atomic_t signals;
static jmp_buf jump;

static void on_signal(int signal)
{
    (void)signal;
    signals++;
    int saved = errno;
    check(write(open("/dev/null", O_WRONLY), "s", 1) == 1, "write in a handler");
    errno = saved;
}

static void on_jump(int signal)
{
    (void)signal;
    siglongjmp(jump, 1);
}

static int case_signals(void)
{
    int pipes[2];
    check(pipe(pipes) == 0, "pipe");
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGALRM, &action, NULL);
    ualarm(1000, 1000);
    char byte;
    int interrupted = 0;
    while (signals < 50)
        interrupted += read(pipes[0], &byte, 1) == -1 && errno == EINTR;
    check(interrupted > 0, "interrupted reads");
    ualarm(0, 0);
    action.sa_handler = on_jump;
    sigaction(SIGALRM, &action, NULL);
    for (volatile int count = 0; count < 20; count++) {
        if (sigsetjmp(jump, 1) == 0) {
            ualarm(1000, 0);
            read(pipes[0], &byte, 1);
            fail("no signal");
        }
    }
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    signals = 0;
    if (fork() == 0) {
        usleep(20000);
        check(write(pipes[1], "x", 1) == 1, "write");
        _exit(0);
    }
    ualarm(1000, 1000);
    check(read(pipes[0], &byte, 1) == 1 && byte == 'x', "restarted read");
    printf("signals\n");
    return 0;
}

static int cleaned;

static void clean(void *argument)
{
    (void)argument;
    cleaned++;
}

static int cancel_pipe[2];

static void *wait_for_cancel(void *argument)
{
    char byte;
    pthread_cleanup_push(clean, NULL);
    if (argument)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        (void)!read(cancel_pipe[0], &byte, 1);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *cancel_disabled(void *argument)
{
    char byte;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int count = 0; count < 100; count++)
        (void)!read(cancel_pipe[0], &byte, 1);
    return argument;
}

static int case_cancel(void)
{
    check(pipe(cancel_pipe) == 0, "pipe");
    for (int count = 0; count < 100; count++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, wait_for_cancel, count % 2 ? &cleaned : NULL);
        if (count % 3)
            usleep(1000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        check(result == PTHREAD_CANCELED, "canceled");
    }
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_disabled, &cleaned);
    for (int count = 0; count < 100; count++) {
        pthread_cancel(thread);
        check(write(cancel_pipe[1], "x", 1) == 1, "write");
    }
    void *result;
    pthread_join(thread, &result);
    check(result == &cleaned, "not canceled");
    printf("%d of 100 cleaned\n", cleaned);
    return 0;
}

/* Works for some time on a processor. */
static void burn(long microseconds)
{
    struct timespec start, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < microseconds);
}

static int case_sandbox(void)
{
    /* Allows read, write, exit and exit_group alone. */
    struct sock_filter filter[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 4, 0, SYS_read},
        {BPF_JMP | BPF_JEQ | BPF_K, 3, 0, SYS_write},
        {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_exit},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_exit_group},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    int file = open("/dev/zero", O_RDONLY);
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "filter");
    char byte = 1;
    for (int count = 0; count < 100; count++)
        if (read(file, &byte, 1) != 1 || byte != 0)
            _exit(3);
    /* The filter forbids the return from handlers, so no signal may arrive; it forbids reading the clock, too. */
    for (volatile long count = 0; count < 30000000; count++)
        ;
    (void)!write(1, "sandbox\n", 8);
    _exit(4);
}

static ucontext_t main_context, coroutine_context;
static char coroutine_stack[16384];

static void coroutine(void)
{
    for (int count = 0; count < 100; count++) {
        int file = open("/proc/self/stat", O_RDONLY);
        char text[64];
        check(read(file, text, sizeof(text)) > 0, "read in a coroutine");
        close(file);
        swapcontext(&coroutine_context, &main_context);
    }
}

static int case_coroutine(void)
{
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = coroutine_stack;
    coroutine_context.uc_stack.ss_size = sizeof(coroutine_stack);
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, coroutine, 0);
    for (int count = 0; count < 100; count++)
        swapcontext(&main_context, &coroutine_context);
    printf("coroutine\n");
    return 0;
}

static int case_alternate(void)
{
    stack_t stack = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    for (int count = 0; count < 100; count++)
        raise(SIGUSR1);
    printf("%d signals on another stack\n", (int)signals);
    return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long shared_total;

static void *contend(void *argument)
{
    for (int count = 0; count < 2000; count++) {
        pthread_mutex_lock(&mutex);
        shared_total++;
        if (count % 100 == 0)
            usleep(1);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void *open_and_close(void *argument)
{
    for (int count = 0; count < 100; count++) {
        int file = open("/dev/zero", O_RDONLY);
        char byte;
        check(read(file, &byte, 1) == 1, "read");
        close(file);
    }
    return argument;
}

static int case_threads(void)
{
    static pthread_t threads[1000];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (int index = 0; index < 1000; index++)
        check(pthread_create(&threads[index], &attributes, index < 16 ? contend : open_and_close, NULL) == 0,
              "thread");
    for (int index = 0; index < 16; index++)
        pthread_join(threads[index], NULL);
    printf("%ld\n", shared_total);
    fflush(stdout);
    _exit(0);
}

static int case_many(void)
{
    static pthread_t threads[200];
    for (int round = 0; round < 3; round++) {
        for (int index = 0; index < 200; index++)
            check(pthread_create(&threads[index], NULL, open_and_close, NULL) == 0, "thread");
        for (int index = 0; index < 200; index++)
            pthread_join(threads[index], NULL);
    }
    printf("60,000 reads\n");
    return 0;
}

/* No signal of the program's arrives, so no call may be interrupted. */
static int case_sleeps(void)
{
    int events = epoll_create1(0);
    int queue = semget(IPC_PRIVATE, 1, 0600);
    struct epoll_event event;
    struct timespec little = {0, 1000};
    for (int count = 0; count < 100; count++) {
        burn(500);
        check(nanosleep(&little, NULL) == 0, "nanosleep");
        burn(500);
        check(poll(NULL, 0, 1) == 0, "poll");
        burn(500);
        check(epoll_wait(events, &event, 1, 1) == 0, "epoll_wait");
        struct timeval time = {0, 1000};
        burn(500);
        check(select(0, NULL, NULL, NULL, &time) == 0, "select");
        struct sembuf take = {0, -1, 0};
        burn(500);
        check(semtimedop(queue, &take, 1, &little) == -1 && errno == EAGAIN, "semtimedop");
    }
    semctl(queue, 0, IPC_RMID);
    printf("sleeps\n");
    return 0;
}

/* Uses the signal of the recorder, and is ended by it. */
static int case_handlers(void)
{
    struct sigaction action = {0}, old;
    for (int signal = 1; signal < 65; signal++)
        if (sigaction(signal, NULL, &old) == 0 && old.sa_handler != SIG_DFL && signal != SIGPIPE)
            printf("handler for %d\n", signal);
    action.sa_handler = on_signal;
    check(sigaction(61, &action, &old) == 0 && old.sa_handler == SIG_DFL, "first handler");
    for (int count = 0; count < 50; count++) {
        raise(61);
        burn(1000);
    }
    action.sa_handler = SIG_DFL;
    check(sigaction(61, &action, &old) == 0 && old.sa_handler == on_signal, "second handler");
    burn(10000);
    printf("%d signals\n", (int)signals);
    fflush(stdout);
    raise(61);
    return 0;
}

/* Executes itself again and again, each time after some work. */
static int case_relay(const char *self, int left)
{
    burn(3000);
    char number[16];
    snprintf(number, sizeof(number), "%d", left - 1);
    if (left > 0)
        execl(self, self, "relay", number, NULL);
    printf("relay\n");
    return 0;
}

static void *end_detached(void *argument)
{
    int file = open("/dev/zero", O_RDONLY);
    char byte;
    check(read(file, &byte, 1) == 1, "read");
    close(file);
    return argument;
}

static int case_detached(void)
{
    for (int count = 0; count < 200; count++) {
        pthread_t thread;
        check(pthread_create(&thread, NULL, end_detached, NULL) == 0, "thread");
        pthread_detach(thread);
        usleep(200);
    }
    usleep(20000);
    printf("detached\n");
    return 0;
}

static void *outlive(void *argument)
{
    usleep(300000);
    for (int count = 0; count < 100; count++)
        end_detached(argument);
    printf("outlived\n");
    fflush(stdout);
    exit(0);
}

/* The first thread ends long before the process. */
static int case_outlived(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, outlive, NULL);
    pthread_exit(NULL);
}

static void *read_restarted(void *argument)
{
    char byte;
    (void)!read(cancel_pipe[0], &byte, 1);
    return argument;
}

/* A handler makes a call while a thread waits in one that is restarted; then the thread is canceled. */
static int case_restarted(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    check(pipe(cancel_pipe) == 0, "pipe");
    for (int count = 0; count < 20; count++) {
        pthread_t thread;
        void *result;
        check(pthread_create(&thread, NULL, read_restarted, NULL) == 0, "thread");
        usleep(2000);
        pthread_kill(thread, SIGUSR1);
        usleep(2000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        check(result == PTHREAD_CANCELED, "canceled");
    }
    printf("restarted and canceled\n");
    return 0;
}

static int case_daemon(void)
{
    fflush(stdout);
    check(daemon(1, 1) == 0, "daemon");
    usleep(30000);
    printf("daemon\n");
    return 0;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_held(void *argument)
{
    pthread_setname_np(pthread_self(), "waiter");
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return argument;
}

/* One thread computes, then sleeps, while another waits for it. */
static int case_phases(void)
{
    pthread_t waiter;
    static char buffer[1 << 16];
    int zero = open("/dev/zero", O_RDONLY);
    pthread_mutex_lock(&held);
    pthread_create(&waiter, NULL, wait_for_held, NULL);
    burn(200000);
    for (int count = 0; count < 100; count++)
        check(read(zero, buffer, sizeof(buffer)) == sizeof(buffer), "read");
    usleep(200000);
    pthread_mutex_unlock(&held);
    pthread_join(waiter, NULL);
    /* The timeline lacks what happened after its last interval. */
    usleep(100000);
    printf("phases\n");
    return 0;
}

/* Submits operations that do nothing to io_uring, if the system allows it. */
static int case_uring(void)
{
    struct io_uring_params params = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 4, &params);
    if (ring < 0) {
        printf("0 submitted\n");
        return 0;
    }
    size_t bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    char *queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    unsigned *array = (unsigned *)(queue + params.sq_off.array);
    for (unsigned index = 0; index < 3; index++) {
        memset(&entries[index], 0, sizeof(*entries));
        entries[index].opcode = IORING_OP_NOP;
        array[index] = index;
    }
    __atomic_store_n((unsigned *)(queue + params.sq_off.tail), 3, __ATOMIC_RELEASE);
    printf("%ld submitted\n", syscall(SYS_io_uring_enter, ring, 3, 3, IORING_ENTER_GETEVENTS, NULL, 0));
    return 0;
}

/* Calls on names and folders. */
static int case_names(void)
{
    char folder[] = "/tmp/awkward-XXXXXX";
    struct stat status;
    check(mkdtemp(folder) != NULL, "mkdtemp");
    for (int count = 0; count < 1000; count++)
        check(stat("/does/not/exist", &status) != 0, "stat");
    for (int count = 0; count < 100; count++) {
        check(rmdir(folder) == 0, "rmdir");
        check(mkdir(folder, 0700) == 0, "mkdir");
    }
    DIR *list = opendir(folder);
    while (readdir(list))
        ;
    closedir(list);
    check(rmdir(folder) == 0, "rmdir");
    printf("names\n");
    return 0;
}

/* Reads at two places in turn, then in steps. */
static int case_jumps(void)
{
    char name[] = "/tmp/awkward-jumps-XXXXXX", bytes[8];
    int file = mkstemp(name);
    check(file >= 0 && ftruncate(file, 1 << 20) == 0, "mkstemp");
    for (int count = 0; count < 50; count++)
        check(pread(file, bytes, 8, count % 2 * 500000) == 8, "pread");
    check(lseek(file, 0, SEEK_SET) == 0, "lseek");
    for (int count = 0; count < 100; count++)
        check(read(file, bytes, 3) == 3 && lseek(file, 100, SEEK_CUR) > 0, "read");
    unlink(name);
    printf("jumps\n");
    return 0;
}

/* Allocates memory in large pieces, and reserves more. */
static int case_memory(void)
{
    size_t bytes = 2 << 20;
    for (int count = 0; count < 5; count++) {
        char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(memory != MAP_FAILED, "mmap");
        memory[count] = 1;
    }
    /* The command has to see where the code is. */
    usleep(100000);
    check(mmap(NULL, 1ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED, "mmap");
    printf("memory\n");
    return 0;
}

static int case_crash(void)
{
    char byte;
    int file = open("/dev/zero", O_RDONLY);
    printf("crash\n");
    fflush(stdout);
    /* The last calls that are counted: others could move the count out of the thread's own ones. */
    for (int count = 0; count < 10; count++)
        check(read(file, &byte, 1) == 1, "read");
    abort();
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "";
    struct { const char *name; int (*run)(void); } cases[] = {
        {"forks", case_forks}, {"vfork", case_vfork}, {"echo", case_echo}, {"environment", case_environment},
        {"closefrom", case_closefrom}, {"signals", case_signals}, {"cancel", case_cancel}, {"sandbox", case_sandbox},
        {"coroutine", case_coroutine}, {"alternate", case_alternate}, {"threads", case_threads}, {"many", case_many},
        {"daemon", case_daemon}, {"crash", case_crash}, {"sleeps", case_sleeps}, {"handlers", case_handlers},
        {"detached", case_detached}, {"outlived", case_outlived}, {"restarted", case_restarted},
        {"phases", case_phases}, {"uring", case_uring}, {"names", case_names}, {"jumps", case_jumps}, {"memory", case_memory},
    };
    if (strcmp(name, "relay") == 0)
        return case_relay(arguments[0], count > 2 ? atoi(arguments[2]) : 100);
    if (strcmp(name, "exec") == 0)
        return case_exec(arguments[0]);
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++)
        if (strcmp(name, cases[index].name) == 0)
            return cases[index].run();
    return 99;
}
