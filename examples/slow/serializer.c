/* Story 4: serializes on 16 threads that share one allocator, so they wait for its lock.
 *
 *     cc -O2 -g -pthread -o serializer serializer.c
 *     polyhaul watch -- ./serializer
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 16
#define ROWS 300000
#define ROW_BYTES 2000

static void *serialize(void *argument)
{
    for (int row = 0; row < ROWS; row++) {
        char *text = malloc(ROW_BYTES);
        if (text == NULL)
            abort();
        memset(text, row, ROW_BYTES);
        free(text);
    }
    return argument;
}

int main(void)
{
    pthread_t threads[THREADS];
    mallopt(M_ARENA_MAX, 1);
    for (int index = 0; index < THREADS; index++)
        if (pthread_create(&threads[index], NULL, serialize, NULL) != 0)
            return 1;
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    puts("done");
    return 0;
}
