// tinyobjloader: reads a file without triangulating it.

#define TINYOBJLOADER_IMPLEMENTATION
#include <tiny_obj_loader.h>

#include <cstdlib>
#include <utility>

#include "measure.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    const std::string file = argv[1];
    const std::string folder = file.substr(0, file.find_last_of('/') + 1);
    tinyobj::attrib_t attributes;
    std::vector<tinyobj::shape_t> shapes;
    std::vector<tinyobj::material_t> materials;
    auto read = [&] {
        std::string warning, error;
        const bool triangulate = false;
        const bool done = tinyobj::LoadObj(&attributes, &shapes, &materials, &warning, &error, file.c_str(),
                                           folder.c_str(), triangulate);
        std::fputs(error.c_str(), stderr);
        return done;
    };
    auto count = [&] {
        size_t faces = 0;
        for (const auto& shape : shapes) {
            faces += shape.mesh.num_face_vertices.size();
        }
        return std::pair(attributes.vertices.size() / 3, faces);
    };
    return measure(argv[1], read, count);
}
