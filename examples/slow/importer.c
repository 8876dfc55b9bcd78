/* Story 3: reads a TGA image through callbacks of its host, as an image library does: two seeks and a read of three bytes
 * for each pixel.
 *
 *     cc -O2 -g -o importer importer.c
 *     ./importer --make part.tga
 *     polyhaul watch -- ./importer part.tga
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SIDE 512
#define HEADER_BYTES 18

struct callbacks {
    long (*read)(void *host, void *bytes, long size);
    long (*seek)(void *host, long offset, int whence);
    void *host;
};

static long host_read(void *host, void *bytes, long size)
{
    return read(*(int *)host, bytes, (size_t)size);
}

static long host_seek(void *host, long offset, int whence)
{
    return lseek(*(int *)host, offset, whence);
}

__attribute__((noinline)) static unsigned long load_pixels(struct callbacks *callbacks, long pixels)
{
    unsigned long sum = 0;
    for (long pixel = 0; pixel < pixels; pixel++) {
        unsigned char color[3];
        long here = callbacks->seek(callbacks->host, 0, SEEK_CUR);
        callbacks->seek(callbacks->host, here, SEEK_SET);
        if (callbacks->read(callbacks->host, color, 3) != 3)
            break;
        sum += color[0] + color[1] + color[2];
    }
    return sum;
}

/* An uncompressed image of SIDE by SIDE pixels, with 24 bits each. */
static int make_image(const char *path)
{
    unsigned char header[HEADER_BYTES] = {[2] = 2, [12] = SIDE & 255, [13] = SIDE >> 8, [14] = SIDE & 255, [15] = SIDE >> 8, [16] = 24};
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return 1;
    fwrite(header, 1, HEADER_BYTES, file);
    for (long byte = 0; byte < 3L * SIDE * SIDE; byte++)
        fputc((int)(byte * 7 & 255), file);
    return fclose(file) != 0;
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "--make") == 0)
        return make_image(arguments[2]);
    if (count != 2) {
        fprintf(stderr, "usage: importer [--make] FILE\n");
        return 2;
    }
    int file = open(arguments[1], O_RDONLY);
    struct callbacks callbacks = {host_read, host_seek, &file};
    unsigned char header[HEADER_BYTES];
    if (file < 0 || host_read(&file, header, HEADER_BYTES) != HEADER_BYTES) {
        perror(arguments[1]);
        return 1;
    }
    long pixels = (header[12] | header[13] << 8) * (long)(header[14] | header[15] << 8);
    printf("%lu\n", load_pixels(&callbacks, pixels));
    return 0;
}
