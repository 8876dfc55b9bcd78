/*
 * polyhaul for C++17: the handles of polyhaul.h as objects that free themselves, and its errors as exceptions.
 *
 * Header only; link the C library. polyhaul.h is the manual, and its structs are used as they are: what is here only owns
 * them. Exceptions of Input's and Output's callbacks come out of the call that made them, as they were thrown; none may
 * leave the functions in options.
 *
 *     polyhaul::Scene scene = polyhaul::read_scene(polyhaul::Input::file("model.obj"));
 *     ph_mesh mesh = scene.mesh(0);
 *     for (float x : polyhaul::Span<float>(mesh.positions, 3 * mesh.position_count)) { ... }
 */
#ifndef POLYHAUL_HPP
#define POLYHAUL_HPP

#include "polyhaul.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace polyhaul {

/** A struct of polyhaul.h with its size set, and all else 0. */
template <class T> T record() {
    T value{};
    value.struct_size = sizeof(T);
    return value;
}

/** What ph_last_error says, as an exception. */
class Error : public std::runtime_error {
public:
    explicit Error(const ph_error &error)
        : std::runtime_error(error.text), status(error.status), host_code(error.host_code), message(error.message),
          expected(error.expected), hint(error.hint), file(error.file), line(known(error.line)),
          column(known(error.column)), offset(known(error.offset)) {}

    /** The last error of this thread. */
    static Error last() {
        ph_error error = record<ph_error>();
        ph_last_error(&error);
        return Error(error);
    }

    ph_status status;
    std::int32_t host_code;
    std::string message, expected, hint, file;
    /** From 1; the offset in bytes from 0. */
    std::optional<std::uint64_t> line, column, offset;

private:
    static std::optional<std::uint64_t> known(std::uint64_t number) {
        return number == PH_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(number);
    }
};

/** Throws where a function failed. */
inline void check(ph_status status) {
    if (status != PH_OK) throw Error::last();
}

/** Elements of somebody else. */
template <class T> class Span {
public:
    Span(const T *data, std::size_t size) : data_(data), size_(size) {}
    const T *data() const { return data_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T *begin() const { return data_; }
    const T *end() const { return data_ + size_; }
    const T &operator[](std::size_t index) const { return data_[index]; }

private:
    const T *data_;
    std::size_t size_;
};

/** Text of a handle, as long as the handle lives. */
inline std::string_view view(ph_string text) { return {text.data, text.size}; }

/** Text for a struct of polyhaul.h; it is not copied. */
inline ph_string text(std::string_view text) { return {text.data(), text.size()}; }

namespace detail {

template <class T, void (*free)(T *)> struct Free {
    void operator()(T *handle) const { free(handle); }
};

template <class T, void (*free)(T *)> using Owned = std::unique_ptr<T, Free<T, free>>;

/** The first exception that a callback threw: it goes on when the call is over. */
class Thrown {
public:
    void catch_now() {
        if (!exception_) exception_ = std::current_exception();
    }
    void rethrow() {
        if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
    }

private:
    std::exception_ptr exception_;
};

/** Throws what a callback threw, or what the library says. */
inline void finish(ph_status status, const std::shared_ptr<Thrown> &thrown) {
    if (thrown) thrown->rethrow();
    check(status);
}

} // namespace detail

/** Reads up to `size` bytes; returns how many, 0 at the end. */
using Read = std::function<std::size_t(void *out, std::size_t size)>;
/** Takes up to `size` bytes; returns how many. */
using Write = std::function<std::size_t(const void *data, std::size_t size)>;

/** Where something is read from; for one call. */
class Input {
public:
    static Input file(std::string path) {
        Input input;
        input.text_ = std::make_shared<std::string>(std::move(path));
        input.input_.path = input.text_->c_str();
        return input;
    }

    /** Memory that stays until the call is over. The name's extension says the format. */
    static Input memory(const void *data, std::size_t size, std::string name = {}) {
        Input input(std::move(name));
        input.input_.memory = data;
        input.input_.memory_size = size;
        return input;
    }

    static Input callback(Read read, std::string name = {}) {
        Input input(std::move(name));
        input.state_ = std::make_shared<State>(State{std::move(read), std::make_shared<detail::Thrown>()});
        input.input_.user = input.state_.get();
        input.input_.read = [](void *user, void *out, std::size_t size) -> std::int64_t {
            State &state = *static_cast<State *>(user);
            try {
                return static_cast<std::int64_t>(state.read(out, size));
            } catch (...) {
                state.thrown->catch_now();
                return -1;
            }
        };
        return input;
    }

    const ph_input *get() const { return &input_; }
    std::shared_ptr<detail::Thrown> thrown() const { return state_ ? state_->thrown : nullptr; }

private:
    struct State {
        Read read;
        std::shared_ptr<detail::Thrown> thrown;
    };

    Input() : input_(record<ph_input>()) {}
    explicit Input(std::string name) : Input() {
        text_ = std::make_shared<std::string>(std::move(name));
        input_.name = text_->c_str();
    }

    ph_input input_;
    std::shared_ptr<std::string> text_;
    std::shared_ptr<State> state_;
};

/** Where something is written to; for one call. */
class Output {
public:
    static Output file(std::string path) {
        Output output;
        output.text_ = std::make_shared<std::string>(std::move(path));
        output.output_.path = output.text_->c_str();
        return output;
    }

    /** The name's extension says the format. `close` is called when all was written. */
    static Output callback(Write write, std::string name = {}, std::function<void()> close = {}) {
        Output output;
        output.text_ = std::make_shared<std::string>(std::move(name));
        output.output_.name = output.text_->c_str();
        auto thrown = std::make_shared<detail::Thrown>();
        output.state_ = std::make_shared<State>(State{std::move(write), std::move(close), std::move(thrown)});
        output.output_.user = output.state_.get();
        output.output_.write = [](void *user, const void *data, std::size_t size) -> std::int64_t {
            State &state = *static_cast<State *>(user);
            try {
                return static_cast<std::int64_t>(state.write(data, size));
            } catch (...) {
                state.thrown->catch_now();
                return -1;
            }
        };
        output.output_.close = [](void *user) -> std::int32_t {
            State &state = *static_cast<State *>(user);
            try {
                if (state.close) state.close();
                return 0;
            } catch (...) {
                state.thrown->catch_now();
                return -1;
            }
        };
        return output;
    }

    const ph_output *get() const { return &output_; }
    std::shared_ptr<detail::Thrown> thrown() const { return state_ ? state_->thrown : nullptr; }

private:
    struct State {
        Write write;
        std::function<void()> close;
        std::shared_ptr<detail::Thrown> thrown;
    };

    Output() : output_(record<ph_output>()) {}

    ph_output output_;
    std::shared_ptr<std::string> text_;
    std::shared_ptr<State> state_;
};

/** A flag that stops jobs: put get() into their options. */
class Cancel {
public:
    Cancel() {
        ph_cancel *cancel = nullptr;
        check(ph_cancel_new(&cancel));
        handle_.reset(cancel);
    }
    void request() { ph_cancel_request(handle_.get()); }
    const ph_cancel *get() const { return handle_.get(); }

private:
    detail::Owned<ph_cancel, ph_cancel_free> handle_;
};

/** What a job did. */
class Report {
public:
    explicit Report(ph_report *handle) : handle_(handle) {}
    ph_report_info info() const {
        auto info = record<ph_report_info>();
        check(ph_report_get(handle_.get(), &info));
        return info;
    }
    ph_warning warning(std::size_t index) const {
        auto warning = record<ph_warning>();
        check(ph_report_warning(handle_.get(), index, &warning));
        return warning;
    }

private:
    detail::Owned<ph_report, ph_report_free> handle_;
};

/** Meshes, objects, materials. What it lends lives as long as it, and until it is changed. */
class Scene {
public:
    /** Without anything. */
    Scene() {
        ph_scene *scene = nullptr;
        check(ph_scene_new(&scene));
        handle_.reset(scene);
    }
    explicit Scene(ph_scene *handle) : handle_(handle) {}

    ph_scene_info info() const { return get<ph_scene_info>(ph_scene_get); }
    ph_mesh mesh(std::size_t index) const { return get<ph_mesh>(ph_scene_mesh, index); }
    ph_object object(std::size_t index) const { return get<ph_object>(ph_scene_object, index); }
    ph_material material(std::size_t index) const { return get<ph_material>(ph_scene_material, index); }
    ph_texture texture(std::size_t material, std::size_t index) const {
        return get<ph_texture>(ph_scene_texture, material, index);
    }

    void set_axes(ph_axis forward, ph_axis up) { check(ph_scene_set_axes(handle_.get(), forward, up)); }
    void add(const ph_mesh &mesh, ph_keep keep = PH_COPY) { check(ph_scene_add_mesh(handle_.get(), &mesh, keep)); }
    void add(const ph_material &material) { check(ph_scene_add_material(handle_.get(), &material)); }
    void add(std::size_t material, const ph_texture &texture) {
        check(ph_scene_add_texture(handle_.get(), material, &texture));
    }
    void add(const ph_object &object) { check(ph_scene_add_object(handle_.get(), &object)); }

    const ph_scene *get() const { return handle_.get(); }

private:
    template <class T, class F, class... Indices> T get(F function, Indices... indices) const {
        auto value = record<T>();
        check(function(handle_.get(), indices..., &value));
        return value;
    }

    detail::Owned<ph_scene, ph_scene_free> handle_;
};

/** An image that was read; its pixels live as long as it. */
class Image {
public:
    explicit Image(ph_image *handle) : handle_(handle) {}
    ph_pixels pixels() const {
        auto pixels = record<ph_pixels>();
        check(ph_image_get(handle_.get(), &pixels));
        return pixels;
    }

private:
    detail::Owned<ph_image, ph_image_free> handle_;
};

/** Reads a scene; a report is told to `report`, where there is one. */
inline Scene read_scene(const Input &input, const ph_read_options *options = nullptr, Report *report = nullptr) {
    ph_scene *scene = nullptr;
    ph_report *told = nullptr;
    ph_status status = ph_scene_read(input.get(), options, &scene, &told);
    // Owned before anything is thrown.
    Report owned(told);
    Scene result(scene);
    detail::finish(status, input.thrown());
    if (report) *report = std::move(owned);
    return result;
}

/** Reads an image. */
inline Image read_image(const Input &input, const ph_read_options *options = nullptr) {
    ph_image *image = nullptr;
    ph_status status = ph_image_read(input.get(), options, &image, nullptr);
    Image result(image);
    detail::finish(status, input.thrown());
    return result;
}

/** Writes a scene. */
inline Report write(const Scene &scene, const Output &output, const ph_write_options *options = nullptr) {
    ph_report *report = nullptr;
    ph_status status = ph_scene_write(scene.get(), output.get(), options, &report);
    Report result(report);
    detail::finish(status, output.thrown());
    return result;
}

/** Writes an image. */
inline Report write(const ph_pixels &pixels, const Output &output, const ph_write_options *options = nullptr) {
    ph_report *report = nullptr;
    ph_status status = ph_image_write(&pixels, output.get(), options, &report);
    Report result(report);
    detail::finish(status, output.thrown());
    return result;
}

/** Reads something and writes it in another format. */
inline Report convert(const Input &input, const Output &output, const ph_read_options *reading = nullptr,
                      const ph_write_options *writing = nullptr) {
    ph_report *report = nullptr;
    ph_status status = ph_convert(input.get(), output.get(), reading, writing, &report);
    Report result(report);
    if (input.thrown()) input.thrown()->rethrow();
    detail::finish(status, output.thrown());
    return result;
}

} // namespace polyhaul

#endif
