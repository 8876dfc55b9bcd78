/* Story 1: writes a mesh as text, number by number with fprintf, on one thread.
 *
 *     cc -O2 -g -o exporter exporter.c -lm
 *     polyhaul watch -- ./exporter mesh.obj
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void write_vertices(FILE *file, long count)
{
    for (long index = 0; index < count; index++)
        fprintf(file, "v %.6f %.6f %.6f\n", sin((double)index), cos((double)index), 0.001 * (double)index);
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "usage: exporter FILE [VERTICES]\n");
        return 2;
    }
    FILE *file = fopen(arguments[1], "w");
    if (file == NULL) {
        perror(arguments[1]);
        return 1;
    }
    write_vertices(file, count > 2 ? atol(arguments[2]) : 1000000);
    return fclose(file) != 0;
}
