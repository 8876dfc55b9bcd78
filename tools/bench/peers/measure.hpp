// Wall time, CPU time and peak memory around one read, in the line that `cargo xtask bench` takes.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

inline double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](timeval time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

inline long long peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    return usage.ru_maxrss;
#else
    return usage.ru_maxrss * 1024LL;
#endif
}

// `read` does the work; `count` says afterwards how many positions and faces there are.
template <typename Read, typename Count>
int measure(const char* file, Read read, Count count) {
    const double cpu = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    if (!read()) {
        return 1;
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const double used = cpu_seconds() - cpu;
    const auto [positions, faces] = count();
    std::printf("bench seconds=%.6f cpu_seconds=%.6f peak_rss_bytes=%lld bytes=%llu positions=%llu faces=%llu\n",
                elapsed.count(), used, peak_rss_bytes(), (unsigned long long)std::filesystem::file_size(file),
                (unsigned long long)positions, (unsigned long long)faces);
    std::fflush(stdout);
    // Taking the model apart is not measured.
    std::_Exit(0);
}
