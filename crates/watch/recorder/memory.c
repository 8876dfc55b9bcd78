/* Functions that compilers call for structures. */

#include "recorder.h"

void *memset(void *to, int value, size_t size) HIDDEN;
void *memcpy(void *restrict to, const void *restrict from, size_t size) HIDDEN;

void *memset(void *to, int value, size_t size)
{
    /* Volatile, so that the loop does not become a call of this function. */
    volatile unsigned char *bytes = to;
    for (size_t index = 0; index < size; index++)
        bytes[index] = (unsigned char)value;
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    volatile unsigned char *bytes = to;
    const unsigned char *source = from;
    for (size_t index = 0; index < size; index++)
        bytes[index] = source[index];
    return to;
}
