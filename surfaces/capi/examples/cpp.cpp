// The three C examples in C++: reads the arrays of an OBJ file and an image through callbacks, and writes an OBJ file.
//
//     cpp model.obj CACHE OFFSET SIZE OUT.obj
#include <polyhaul.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>

static void show_mesh(const std::string &path) {
    polyhaul::Scene scene = polyhaul::read_scene(polyhaul::Input::file(path));
    ph_mesh mesh = scene.mesh(0);
    polyhaul::Span<float> positions(mesh.positions, 3 * mesh.position_count);
    std::cout << scene.info().face_count << " faces, sum of positions "
              << std::accumulate(positions.begin(), positions.end(), 0.0) << "\n";
}

static void show_image(const std::string &path, long start, std::size_t size) {
    std::ifstream file(path, std::ios::binary);
    file.seekg(start);
    auto read = [&](void *out, std::size_t wanted) -> std::size_t {
        file.read(static_cast<char *>(out), static_cast<std::streamsize>(std::min(wanted, size)));
        size -= static_cast<std::size_t>(file.gcount());
        return static_cast<std::size_t>(file.gcount());
    };
    polyhaul::Image image = polyhaul::read_image(polyhaul::Input::callback(read, "wall.tga"));
    ph_pixels pixels = image.pixels();
    std::cout << pixels.width << " x " << pixels.height << " pixels of " << pixels.channels << " channels\n";
}

static void write_triangle(const std::string &path) {
    const std::array<float, 9> positions{0, 0, 0, 1, 0, 0, 0, 1, 0};
    const std::array<std::uint32_t, 2> offsets{0, 3};
    const std::array<std::uint32_t, 3> corners{0, 1, 2};
    ph_mesh mesh = polyhaul::record<ph_mesh>();
    mesh.positions = positions.data();
    mesh.position_count = 3;
    mesh.faces.offsets = offsets.data();
    mesh.faces.count = 1;
    mesh.faces.corner_positions = corners.data();
    mesh.faces.corner_count = 3;

    polyhaul::Scene scene;
    scene.add(mesh);
    ph_object object = polyhaul::record<ph_object>();
    object.name = polyhaul::text("triangle");
    scene.add(object);
    polyhaul::Options options;
    options.set("threads", 2).set("normals", false).set("digits", "shortest");
    polyhaul::Report report = polyhaul::write(scene, polyhaul::Output::file(path), options);
    std::cout << "wrote " << (report.info().bytes_out > 50 ? "some" : "no") << " bytes\n";
}

static void fail_on_purpose() {
    try {
        std::string text = "v 0 0 0\nf 1 2 x\n";
        polyhaul::read_scene(polyhaul::Input::memory(text.data(), text.size(), "broken.obj"));
    } catch (const polyhaul::Error &error) {
        std::cout << ph_status_name(error.status) << " at " << error.file << ":" << *error.line << ":" << *error.column
                  << "\n";
    }
    try {
        polyhaul::Options().set("obj.smoothing", "sideways");
    } catch (const polyhaul::Error &error) {
        std::cout << error.what() << "\n";
    }
    try {
        auto read = [](void *, std::size_t) -> std::size_t { throw std::logic_error("thrown by a callback"); };
        polyhaul::read_scene(polyhaul::Input::callback(read, "model.obj"));
    } catch (const std::logic_error &error) {
        std::cout << error.what() << "\n";
    }
}

int main(int argc, char **argv) {
    if (argc != 6) {
        std::cerr << "usage: cpp model.obj CACHE OFFSET SIZE OUT.obj\n";
        return 2;
    }
    try {
        show_mesh(argv[1]);
        show_image(argv[2], std::atol(argv[3]), static_cast<std::size_t>(std::atol(argv[4])));
        write_triangle(argv[5]);
        fail_on_purpose();
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
