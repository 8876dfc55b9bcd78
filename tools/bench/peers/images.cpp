// FreeImage and stb_image: decode files of a folder, from the file and through callbacks that count.
//
//     images FOLDER ROUNDS FILE...
//
// Prints a line for each reader of each file, as `bench-obj images` does.

#define STB_IMAGE_IMPLEMENTATION
#include <FreeImage.h>
#include <stb/stb_image.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

// What a reader found: the sum of all samples, which does not depend on their order.
struct Found {
    bool read = false;
    double sum = 0;
    size_t pixels = 0;
};

static unsigned long long calls = 0;

// Only the first call sums up: the others are measured.
static Found of_freeimage(FIBITMAP* image, bool count) {
    Found found;
    found.read = image != nullptr;
    if (image && count) {
        const unsigned width = FreeImage_GetWidth(image), height = FreeImage_GetHeight(image);
        const bool is_float = FreeImage_GetImageType(image) == FIT_RGBF;
        const unsigned samples = width * (is_float ? 3 : FreeImage_GetBPP(image) / 8);
        found.pixels = size_t(width) * height;
        for (unsigned y = 0; y < height; ++y) {
            const BYTE* row = FreeImage_GetScanLine(image, int(y));
            for (unsigned i = 0; i < samples; ++i) {
                found.sum += is_float ? double(reinterpret_cast<const float*>(row)[i]) : double(row[i]);
            }
        }
    }
    if (image) {
        FreeImage_Unload(image);
    }
    return found;
}

static Found freeimage(const std::string& path, bool count) {
    const FREE_IMAGE_FORMAT format = FreeImage_GetFIFFromFilename(path.c_str());
    return of_freeimage(FreeImage_Load(format, path.c_str()), count);
}

// A host's file: nothing is buffered, since a host's archive is none of the system's business.
static FILE* open_host(const std::string& path) {
    FILE* file = std::fopen(path.c_str(), "rb");
    if (file) {
        std::setvbuf(file, nullptr, _IONBF, 0);
    }
    return file;
}

static Found freeimage_callbacks(const std::string& path, bool count) {
    FILE* file = open_host(path);
    if (!file) {
        return {};
    }
    FreeImageIO io{};
    io.read_proc = [](void* out, unsigned size, unsigned items, fi_handle handle) -> unsigned {
        ++calls;
        return unsigned(std::fread(out, size, items, static_cast<FILE*>(handle)));
    };
    io.seek_proc = [](fi_handle handle, long offset, int origin) -> int {
        return std::fseek(static_cast<FILE*>(handle), offset, origin);
    };
    io.tell_proc = [](fi_handle handle) -> long { return std::ftell(static_cast<FILE*>(handle)); };
    const FREE_IMAGE_FORMAT format = FreeImage_GetFIFFromFilename(path.c_str());
    const Found found = of_freeimage(FreeImage_LoadFromHandle(format, &io, file), count);
    std::fclose(file);
    return found;
}

static Found of_stb(const void* pixels, bool is_float, int width, int height, int channels, bool count) {
    Found found;
    found.read = pixels != nullptr;
    if (pixels && count) {
        found.pixels = size_t(width) * size_t(height);
        for (size_t i = 0; i < found.pixels * size_t(channels); ++i) {
            found.sum += is_float ? double(static_cast<const float*>(pixels)[i])
                                  : double(static_cast<const unsigned char*>(pixels)[i]);
        }
    }
    stbi_image_free(const_cast<void*>(pixels));
    return found;
}

static Found stb(const std::string& path, bool count) {
    int width = 0, height = 0, channels = 0;
    const bool is_float = stbi_is_hdr(path.c_str());
    const void* pixels = is_float ? static_cast<const void*>(stbi_loadf(path.c_str(), &width, &height, &channels, 0))
                                  : stbi_load(path.c_str(), &width, &height, &channels, 0);
    return of_stb(pixels, is_float, width, height, channels, count);
}

static Found stb_callbacks(const std::string& path, bool count) {
    FILE* file = open_host(path);
    if (!file) {
        return {};
    }
    stbi_io_callbacks io{};
    io.read = [](void* user, char* out, int size) -> int {
        ++calls;
        return int(std::fread(out, 1, size_t(size), static_cast<FILE*>(user)));
    };
    io.skip = [](void* user, int count) { std::fseek(static_cast<FILE*>(user), count, SEEK_CUR); };
    io.eof = [](void* user) -> int { return std::feof(static_cast<FILE*>(user)); };
    int width = 0, height = 0, channels = 0;
    const bool is_float = path.size() > 4 && path.compare(path.size() - 4, 4, ".hdr") == 0;
    const void* pixels = is_float
                             ? static_cast<const void*>(stbi_loadf_from_callbacks(&io, file, &width, &height, &channels, 0))
                             : stbi_load_from_callbacks(&io, file, &width, &height, &channels, 0);
    const Found found = of_stb(pixels, is_float, width, height, channels, count);
    std::fclose(file);
    return found;
}

int main(int argc, char** argv) {
    if (argc < 4) {
        return 2;
    }
    using Reader = std::pair<const char*, std::function<Found(const std::string&, bool)>>;
    const std::vector<Reader> readers = {{"FreeImage", freeimage},
                                         {"FreeImage,_callbacks", freeimage_callbacks},
                                         {"stb_image", stb},
                                         {"stb_image,_callbacks", stb_callbacks}};
    const int rounds = std::max(1, std::atoi(argv[2]));
    for (int file = 3; file < argc; ++file) {
        const std::string path = std::string(argv[1]) + "/" + argv[file];
        for (const auto& [name, read] : readers) {
            calls = 0;
            const Found found = read(path, true);
            if (!found.read) {
                std::fprintf(stderr, "%s: %s did not read it\n", path.c_str(), name);
                continue;
            }
            const unsigned long long asked = calls;
            std::vector<double> times;
            for (int round = 0; round < rounds; ++round) {
                const auto start = std::chrono::steady_clock::now();
                read(path, false);
                const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
                times.push_back(elapsed.count());
            }
            std::sort(times.begin(), times.end());
            std::printf("image group=%s name=%s seconds=%.6f median_seconds=%.6f pixels=%zu sum=%.17g calls=%llu extra_bytes=0\n",
                        argv[file], name, times[0], times[times.size() / 2], found.pixels, found.sum, asked);
        }
    }
    return 0;
}
