// Uses everything that polyhaul.hpp has, and breaks its contracts. Prints the first check that fails.
#include <polyhaul.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                               \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

using polyhaul::Input;
using polyhaul::Options;
using polyhaul::Output;

template <class T>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                            !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(moves_only<polyhaul::Scene> && moves_only<polyhaul::Image> && moves_only<polyhaul::Tables>);
static_assert(moves_only<polyhaul::Report> && moves_only<Options> && moves_only<polyhaul::Cancel>);

static const std::string HOUSE = "mtllib house.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl wall\nf 1 2 3\n";
static const std::string MATERIALS = "newmtl wall\nKd 0.5 0.25 1\n";

// Returns the exception of type E that a function throws.
template <class E, class F> static E thrown_by(F &&function) {
    try {
        function();
    } catch (const E &error) {
        return error;
    }
    std::fprintf(stderr, "nothing was thrown\n");
    std::exit(1);
}

// A callback that reads text a few bytes at a time.
static polyhaul::Read reader(const std::string &text, std::size_t &place) {
    return [&text, &place](void *out, std::size_t size) {
        const std::size_t count = std::min({size, std::size_t{7}, text.size() - place});
        text.copy(static_cast<char *>(out), count, place);
        place += count;
        return count;
    };
}

static std::string grid(std::size_t rows) {
    std::string text = "x,y,n\n";
    for (std::size_t row = 0; row < rows; row++)
        text += std::to_string(row) + ",0.5," + std::to_string(row * row) + "\n";
    return text;
}

static void inputs() {
    CHECK(polyhaul::read_scene(Input::content(HOUSE, "house.obj")).info().face_count == 1);
    std::istringstream stream("skipped " + HOUSE);
    stream.seekg(8);
    CHECK(polyhaul::read_scene(Input::stream(stream, "house.obj")).info().position_count == 3);

    std::size_t place = 0;
    std::size_t sizes = 0;
    auto seek = [&](std::uint64_t offset) {
        place = static_cast<std::size_t>(offset);
        return true;
    };
    auto size = [&]() -> std::optional<std::uint64_t> {
        sizes++;
        return HOUSE.size();
    };
    CHECK(polyhaul::read_scene(Input::callback(reader(HOUSE, place), "a.obj", seek, size)).info().face_count == 1);
    CHECK(sizes == 1);
    place = 0;
    auto unknown = [] { return std::optional<std::uint64_t>(); };
    auto unsupported = [](std::uint64_t) { return false; };
    auto input = Input::callback(reader(HOUSE, place), "a.obj", unsupported, unknown);
    CHECK(polyhaul::read_scene(input).info().face_count == 1);

    place = 0;
    auto broken = []() -> std::optional<std::uint64_t> { throw std::logic_error("size"); };
    auto bad_size = [&] { polyhaul::read_scene(Input::callback(reader(HOUSE, place), "a.obj", {}, broken)); };
    CHECK(thrown_by<std::logic_error>(bad_size).what() == std::string("size"));
    auto no_reader = [] { polyhaul::read_scene(Input::callback({}, "a.obj")); };
    CHECK(thrown_by<polyhaul::Error>(no_reader).status == PH_ERROR_USAGE);
    thrown_by<std::invalid_argument>([] { Input::file(std::string("a\0b", 3)); });
    thrown_by<std::invalid_argument>([] { Options().set("threads", std::string("4\0", 2)); });
}

static void outputs(const polyhaul::Scene &scene) {
    std::ostringstream stream;
    polyhaul::write(scene, Output::stream(stream, "house.obj"));
    CHECK(stream.str().find("f 1 2 3") != std::string::npos);

    std::string written;
    std::string steps;
    auto write = [&](const void *data, std::size_t size) {
        written.append(static_cast<const char *>(data), size);
        return size;
    };
    auto step = [&](char name) { return [&steps, name] { steps += name; }; };
    polyhaul::write(scene, Output::callback(write, "house.obj", step('c'), step('f')));
    CHECK(written == stream.str() && steps == "fc");

    auto fails = []() { throw std::runtime_error("closing failed"); };
    auto closing = [&] { polyhaul::write(scene, Output::callback(write, "house.obj", fails)); };
    CHECK(thrown_by<std::runtime_error>(closing).what() == std::string("closing failed"));
    std::ofstream closed;
    thrown_by<std::ios_base::failure>([&] { polyhaul::write(scene, Output::stream(closed, "house.obj")); });
}

// The material library comes from a resolver, in each way that an input can be made.
static void resolver() {
    std::size_t place = 0;
    const std::map<std::string, std::function<Input()>> ways = {
        {"content", [] { return Input::content(MATERIALS); }},
        {"memory", [] { return Input::memory(MATERIALS.data(), MATERIALS.size()); }},
        {"callback", [&] { return Input::callback(reader(MATERIALS, place)); }},
    };
    for (const auto &[name, way] : ways) {
        std::vector<std::string> asked;
        Options options;
        options.set_resolver([&, make = way](const std::string &file) -> std::optional<Input> {
            asked.push_back(file);
            return make();
        });
        // The callbacks move with the options.
        Options moved = std::move(options);
        polyhaul::Scene scene = polyhaul::read_scene(Input::content(HOUSE, "house.obj"), moved);
        CHECK(asked == std::vector<std::string>{"house.mtl"});
        CHECK(polyhaul::view(scene.material(0).name) == "wall" && scene.material(0).diffuse[1] == 0.25f);
        CHECK(scene.material(0).missing == 0);
    }
    Options options;
    options.set_resolver([](const std::string &) { return std::optional<Input>(); });
    CHECK(polyhaul::read_scene(Input::content(HOUSE, "house.obj"), options).material(0).missing == 1);
    options.set_resolver([](const std::string &name) -> std::optional<Input> { throw std::range_error(name); });
    auto read = [&] { polyhaul::read_scene(Input::content(HOUSE, "house.obj"), options); };
    CHECK(thrown_by<std::range_error>(read).what() == std::string("house.mtl"));
    options.set_resolver([](const std::string &) {
        return Input::callback([](void *, std::size_t) -> std::size_t { throw std::range_error("in the answer"); });
    });
    CHECK(thrown_by<std::range_error>(read).what() == std::string("in the answer"));
    options.set_resolver({});
    read();
}

static void pool() {
    const std::string text = grid(200000);
    std::atomic<std::size_t> tasks{0};
    Options options;
    options.set("threads", 3).set_pool([&](std::size_t count, polyhaul::Task task) {
        std::vector<std::thread> threads;
        for (std::size_t index = 0; index < count; index++) threads.emplace_back([&tasks, task, index] {
            tasks++;
            task(index);
        });
        for (std::thread &thread : threads) thread.join();
    });
    polyhaul::Tables tables = polyhaul::read_tables(Input::memory(text.data(), text.size(), "grid.csv"), options);
    CHECK(tables.table(0).row_count == 200000 && tasks > 1);
    // The library does the work of a pool that fails.
    options.set_pool([](std::size_t, polyhaul::Task) { throw std::runtime_error("no threads"); });
    auto read = [&] { polyhaul::read_tables(Input::memory(text.data(), text.size(), "grid.csv"), options); };
    CHECK(thrown_by<std::runtime_error>(read).what() == std::string("no threads"));
    options.set_pool({});
    read();
}

static void progress() {
    const std::string text = grid(600000);
    const Input input = Input::memory(text.data(), text.size(), "grid.csv");
    std::uint64_t last = 0;
    Options options;
    options.set_progress([&](std::uint64_t done, std::optional<std::uint64_t> total) {
        CHECK(done >= last && total == text.size());
        last = done;
        return true;
    });
    polyhaul::read_tables(input, options);
    CHECK(last > 0);
    options.set_progress([](std::uint64_t, std::optional<std::uint64_t>) { return false; });
    CHECK(thrown_by<polyhaul::Error>([&] { polyhaul::read_tables(input, options); }).status == PH_ERROR_CANCELLED);
    options.set_progress([](std::uint64_t, std::optional<std::uint64_t>) -> bool { throw std::logic_error("enough"); });
    thrown_by<std::logic_error>([&] { polyhaul::read_tables(input, options); });
    options.set_progress({});
    polyhaul::read_tables(input, options);

    polyhaul::Cancel cancel;
    cancel.request();
    options.set_cancel(cancel);
    CHECK(thrown_by<polyhaul::Error>([&] { polyhaul::read_tables(input, options); }).status == PH_ERROR_CANCELLED);
    options.set_cancel(nullptr).set_read_throttle(0).set_write_throttle(0, std::chrono::nanoseconds(1));
    polyhaul::read_tables(input, options);
    thrown_by<std::invalid_argument>([&] { options.set_read_throttle(0, std::chrono::nanoseconds(-1)); });
}

static void tables() {
    polyhaul::Report report;
    polyhaul::Tables tables = polyhaul::read_tables(Input::content(grid(3), "grid.csv"), Options(), &report);
    CHECK(report.info().warning_count == 0 && report.warnings().empty());
    CHECK(tables.count() == 1 && tables.table(0).column_count == 3);
    CHECK(polyhaul::numbers(tables.column(0, "n")) == (std::vector<double>{0, 1, 4}));
    const ph_column first = tables.column(0, 0);
    CHECK(polyhaul::numbers(first).back() == 2);
    thrown_by<std::out_of_range>([&] { tables.column(0, "z"); });
    CHECK(thrown_by<polyhaul::Error>([&] { tables.column(1, "x"); }).status == PH_ERROR_USAGE);
    CHECK(thrown_by<polyhaul::Error>([&] { tables.column(0, 9); }).status == PH_ERROR_USAGE);

    const std::string ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
                            "property float z\nproperty uchar q\nelement face 1\n"
                            "property list uchar int vertex_indices\nproperty short m\n"
                            "end_header\n0 0 0 7\n1 0 0 8\n0 1 0 9\n3 0 1 2 -5\n";
    polyhaul::Tables elements = polyhaul::read_tables(Input::content(ply, "a.ply"));
    CHECK(elements.count() == 2 && polyhaul::view(elements.table(1).name) == "face");
    const ph_column indices = elements.column(1, "vertex_indices");
    CHECK(polyhaul::row<std::int32_t>(indices, 0).size() == 3 && polyhaul::row<std::int32_t>(indices, 0)[2] == 2);
    CHECK(polyhaul::values<std::int16_t>(elements.column(1, "m"))[0] == -5);
    CHECK(polyhaul::row<std::uint8_t>(elements.column(0, "q"), 1)[0] == 8);
    const auto wrong = thrown_by<std::invalid_argument>([&] { polyhaul::values<double>(elements.column(1, "m")); });
    CHECK(wrong.what() == std::string("the values are int16, not float64"));
    thrown_by<std::out_of_range>([&] { polyhaul::row<std::int16_t>(elements.column(1, "m"), 1); });

    const polyhaul::Scene scene = polyhaul::read_scene(Input::content(ply, "a.ply"));
    CHECK(polyhaul::view(scene.vertex_column(0, 0).name) == "q");
    CHECK(polyhaul::numbers(scene.face_column(0, 0)) == std::vector<double>{-5});
    CHECK(thrown_by<polyhaul::Error>([&] { scene.face_column(0, 1); }).status == PH_ERROR_USAGE);
}

static void images() {
    const std::array<std::uint8_t, 6> bytes{1, 2, 3, 4, 5, 6};
    auto pixels = polyhaul::record<ph_pixels>();
    pixels.width = 2;
    pixels.height = 1;
    pixels.channels = 3;
    pixels.scalar = PH_SCALAR_U8;
    pixels.samples = bytes.data();
    std::ostringstream png;
    polyhaul::write(pixels, Output::stream(png, "a.png"));
    polyhaul::Report report;
    polyhaul::Image image = polyhaul::read_image(Input::content(png.str(), "a.png"), Options(), &report);
    CHECK(report.info().bytes_in == png.str().size());
    const polyhaul::Span<std::uint8_t> samples = polyhaul::samples<std::uint8_t>(image.pixels());
    CHECK(std::equal(samples.begin(), samples.end(), bytes.begin(), bytes.end()));
    thrown_by<std::invalid_argument>([&] { polyhaul::samples<float>(image.pixels()); });
    std::ostringstream tga;
    polyhaul::convert(Input::content(png.str(), "a.png"), Output::stream(tga, "a.tga"));
    CHECK(!tga.str().empty());
}

int main() {
    CHECK(polyhaul::version() == std::string(ph_version()));
    CHECK(thrown_by<polyhaul::Error>([] { polyhaul::Report().info(); }).status == PH_ERROR_USAGE);
    inputs();
    polyhaul::Scene scene = polyhaul::read_scene(Input::content(HOUSE, "house.obj"));
    const polyhaul::Scene moved = std::move(scene);
    outputs(moved);
    resolver();
    pool();
    progress();
    tables();
    images();
    std::puts("all as it should be");
    return 0;
}
