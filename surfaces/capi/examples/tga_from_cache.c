/* Reads a TGA from a cache file with many assets: an LZ4 frame at some offset. The program reads the file in callbacks,
 * and counts them.
 *
 *     tga_from_cache CACHE OFFSET SIZE
 */
#include <polyhaul.h>
#include <stdio.h>
#include <stdlib.h>

/* An asset in a cache file. */
typedef struct asset {
    FILE *file;
    long start;
    int64_t size;
    int64_t at;
    int calls;
    int released;
} asset;

static int64_t asset_read(void *user, void *out, size_t size)
{
    asset *self = user;
    int64_t left = self->size - self->at;
    size_t wanted = (int64_t)size < left ? size : (size_t)left;
    size_t count = fread(out, 1, wanted, self->file);

    self->calls++;
    self->at += (int64_t)count;
    return count < wanted ? -5 : (int64_t)count; /* the cache file is shorter than it should be */
}

static int32_t asset_seek(void *user, uint64_t offset)
{
    asset *self = user;

    if (fseek(self->file, self->start + (long)offset, SEEK_SET) != 0)
        return -6;
    self->at = (int64_t)offset;
    return 0;
}

static int64_t asset_size(void *user)
{
    return ((asset *)user)->size;
}

static void asset_release(void *user)
{
    asset *self = user;

    fclose(self->file);
    self->released++;
}

static int show(const ph_image *image)
{
    ph_pixels pixels = {.struct_size = sizeof pixels};
    const unsigned char *samples;
    unsigned long sum = 0;
    size_t index, count;

    if (ph_image_get(image, &pixels) != PH_OK || pixels.scalar != PH_SCALAR_U8)
        return 1;
    samples = pixels.samples;
    count = pixels.height * pixels.row_bytes;
    for (index = 0; index < count; index++)
        sum += samples[index];
    printf("%zu x %zu pixels of %u channels, sum %lu\n", pixels.width, pixels.height, (unsigned)pixels.channels, sum);
    return 0;
}

int main(int argc, char **argv)
{
    asset self = {0};
    ph_input input = {.struct_size = sizeof input};
    ph_image *image;
    int failed;

    if (argc != 4 || (self.file = fopen(argv[1], "rb")) == NULL) {
        fprintf(stderr, "usage: tga_from_cache CACHE OFFSET SIZE\n");
        return 2;
    }
    self.start = atol(argv[2]);
    self.size = atol(argv[3]);
    fseek(self.file, self.start, SEEK_SET);
    input.read = asset_read;
    input.seek = asset_seek;
    input.size = asset_size;
    input.release = asset_release;
    input.user = &self;
    input.name = "wall.tga";

    if (ph_image_read(&input, NULL, &image, NULL) != PH_OK) {
        ph_error error = {.struct_size = sizeof error};
        ph_last_error(&error);
        fprintf(stderr, "%s (host code %d)\n", error.text, (int)error.host_code);
        return self.released == 1 ? 1 : 3;
    }
    failed = show(image);
    ph_image_free(image);
    printf("at most %s calls, released %d time\n", self.calls <= (self.size >> 16) + 4 ? "ceil(size / 64 KiB) + 4" : "many",
           self.released);
    return failed;
}
