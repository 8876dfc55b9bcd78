// assimp: reads a file without any of its post-processing steps.

#include <assimp/scene.h>

#include <assimp/Importer.hpp>
#include <cstdlib>
#include <utility>

#include "measure.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    Assimp::Importer importer;
    const aiScene* scene = nullptr;
    auto read = [&] {
        scene = importer.ReadFile(argv[1], 0);
        std::fputs(importer.GetErrorString(), stderr);
        return scene != nullptr;
    };
    auto count = [&] {
        size_t positions = 0, faces = 0;
        for (unsigned index = 0; index < scene->mNumMeshes; ++index) {
            positions += scene->mMeshes[index]->mNumVertices;
            faces += scene->mMeshes[index]->mNumFaces;
        }
        return std::pair(positions, faces);
    };
    return measure(argv[1], read, count);
}
