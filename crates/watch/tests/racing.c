/* The cure of the recorder (`cure.c`) and its throttle with threads that read, seek, open and close at the same time,
 * for ThreadSanitizer.
 *
 * `racing FILE` makes FILE, of numbers that tell their position, and fails if a read returns anything else than one of
 * them. */

#include "../recorder/cure.c"
#include "../recorder/throttle.c"

int open(const char *path, int flags, ...);
int close(int file);
int dup(int file);
long write(int file, const void *bytes, size_t size);
long read(int file, void *bytes, size_t size);
void *calloc(size_t count, size_t size);
int printf(const char *format, ...);
void exit(int code);
int pthread_create(void *thread, const void *attributes, void *(*run)(void *), void *argument);
int pthread_join(uint64_t thread, void **result);

#define NUMBERS 200000u
#define READERS 3
#define TURNS 200000

struct record *record;
__thread struct local local;
uint32_t is_restricted;
static const char *path;
static int files[4];

/* What they need of the other parts. */
void count_several(uint32_t tally, uint32_t file, uint64_t calls, uint64_t bytes)
{
    static uint64_t totals[64];
    add(&totals[tally], calls), (void)file, (void)bytes;
}

long polyhaul_raw_call(long number, const long *arguments)
{
    return system_call(number, arguments[0], arguments[1], arguments[2], arguments[3], 0, 0);
}

static uint32_t number_at(uint32_t index)
{
    return (index + 1) * 2654435761u;
}

static long call(long number, long descriptor, long second, long third)
{
    struct call call = {.number = number, .arguments = {descriptor, second, third}};
    long result;
    int is_read = number == SYS_READ;
    if (is_read ? read_buffer(&call) : seek_in_buffer(&call)) {
#if defined(__x86_64__)
        return call.number;
#else
        return call.arguments[0];
#endif
    }
    if ((is_read ? read_file(&call, &result) : seek_in_file(&call, &result)) != ANSWER_NONE)
        return result;
    return system_call(number, descriptor, second, third, 0, 0, 0);
}

static void fail(const char *what, long detail)
{
    printf("%s: %ld\n", what, detail);
    exit(1);
}

/* Reads numbers of files that other threads read, too. All positions are multiples of four. */
static void *read_numbers(void *argument)
{
    uint32_t state = (uint32_t)(uint64_t)argument;
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t number = 0;
        int file = files[turn % 2];
        state = state * 1103515245 + 12345;
        if (turn % 50 == 0)
            call(SYS_LSEEK, file, state / 65536 % NUMBERS * 4, SEEK_SET);
        long size = call(SYS_READ, file, (long)&number, 4);
        if (size != 0 && size != 4)
            fail("size", size);
        /* The inverse of the factor is 244002641. */
        if (size == 4 && number * 244002641u - 1 >= NUMBERS)
            fail("number", number);
    }
    return NULL;
}

/* Opens, duplicates and closes others meanwhile, in the slots that become free. */
static void *open_files(void *argument)
{
    for (int turn = 0; turn < TURNS / 100; turn++) {
        uint32_t number = 0;
        int file = open(path, O_RDONLY | O_CLOEXEC);
        note_open((unsigned)file, 1, 1);
        int other = dup(file);
        duplicate_cure(file, other);
        for (uint32_t index = 0; index < 30; index++)
            if (call(SYS_READ, index % 2 ? file : other, (long)&number, 4) != 4 || number != number_at(index))
                fail("order", index);
        if (turn % 3 == 0)
            stop_cure(file, ASIDE_CONTROLLED);
        if (turn % 7 == 0)
            empty_buffers();
        if (call(SYS_LSEEK, other, 0, SEEK_CUR) != 120)
            fail("position", turn);
        end_cure((uint32_t)file);
        close(file);
        end_cure((uint32_t)other);
        close(other);
    }
    return argument;
}

int main(int count, char **arguments)
{
    static uint32_t numbers[NUMBERS];
    uint64_t threads[READERS + 1];
    if (count < 2)
        return 2;
    path = arguments[1];
    for (uint32_t index = 0; index < NUMBERS; index++)
        numbers[index] = number_at(index);
    int file = open(path, O_RDWR | 0100 | 01000, 0600);
    write(file, numbers, sizeof(numbers));
    close(file);
    record = calloc(1, sizeof(struct record));
    record->options = OPTION_CURE | OPTION_THROTTLE;
    record->throttles[0].byte_ticks = 1;
    record->tick_ns = 1ull << 32;
    record->file[1].name_bytes = 1;
    record->names[0] = 'x';
    record->patterns[0] = '*';
    begin_threads();
    for (int index = 0; index < 2; index++) {
        files[index] = open(path, O_RDONLY | O_CLOEXEC);
        note_open((unsigned)files[index], 1, 1);
    }
    for (long index = 0; index <= READERS; index++)
        pthread_create(&threads[index], NULL, index < READERS ? read_numbers : open_files, (void *)(index + 1));
    for (int index = 0; index <= READERS; index++)
        pthread_join(threads[index], NULL);
    count_cures();
    printf("all reads are right\n");
    return 0;
}
