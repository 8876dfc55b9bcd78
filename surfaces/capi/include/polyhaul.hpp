/*
 * polyhaul for C++17: owns the handles of polyhaul.h, and throws its errors as exceptions.
 *
 * Header-only; link the C library. polyhaul.h is the reference manual, and its structs are used directly. An exception
 * thrown by a callback of Input or Output is rethrown by the function that called it. Callbacks of Options must not
 * throw.
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
#include <limits>
#include <locale>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace polyhaul {

/** Returns a zeroed struct of polyhaul.h with struct_size set. */
template <class T> T record() {
    T value{};
    value.struct_size = sizeof(T);
    return value;
}

/** The error that ph_last_error returns. */
class Error : public std::runtime_error {
public:
    explicit Error(const ph_error &error)
        : std::runtime_error(error.text), status(error.status), host_code(error.host_code), message(error.message),
          expected(error.expected), hint(error.hint), file(error.file), line(known(error.line)),
          column(known(error.column)), offset(known(error.offset)) {}

    /** Returns the last error of this thread. */
    static Error last() {
        ph_error error = record<ph_error>();
        ph_last_error(&error);
        return Error(error);
    }

    ph_status status;
    std::int32_t host_code;
    std::string message, expected, hint, file;
    /** Line and column start at 1, the offset in bytes at 0. */
    std::optional<std::uint64_t> line, column, offset;

private:
    static std::optional<std::uint64_t> known(std::uint64_t number) {
        return number == PH_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(number);
    }
};

/** Throws the last error if a function failed. */
inline void check(ph_status status) {
    if (status != PH_OK) throw Error::last();
}

/** A view of an array: it does not own the elements. */
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

/** Returns a view of a handle's text, which is valid as long as the handle. */
inline std::string_view view(ph_string text) { return {text.data, text.size}; }

/** Converts text for a struct of polyhaul.h, without copying it. */
inline ph_string text(std::string_view text) { return {text.data(), text.size()}; }

namespace detail {

template <class T, void (*free)(T *)> struct Free {
    void operator()(T *handle) const { free(handle); }
};

template <class T, void (*free)(T *)> using Owned = std::unique_ptr<T, Free<T, free>>;

/** Stores the first exception that a callback throws, until the library returns. */
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

/** Throws the exception of a callback, or the library's error. */
inline void finish(ph_status status, const std::shared_ptr<Thrown> &thrown) {
    if (thrown) thrown->rethrow();
    check(status);
}

} // namespace detail

/** Reads up to `size` bytes. Returns the number of bytes read; 0 at the end. */
using Read = std::function<std::size_t(void *out, std::size_t size)>;
/** Writes up to `size` bytes. Returns the number of bytes written. */
using Write = std::function<std::size_t(const void *data, std::size_t size)>;

/** A file, memory or callback to read from. Used for one call. */
class Input {
public:
    static Input file(std::string path) {
        Input input;
        input.text_ = std::make_shared<std::string>(std::move(path));
        input.input_.path = input.text_->c_str();
        return input;
    }

    /** Memory that must stay valid until the call returns. The extension of `name` sets the format. */
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

/** A file or callback to write to. Used for one call. */
class Output {
public:
    static Output file(std::string path) {
        Output output;
        output.text_ = std::make_shared<std::string>(std::move(path));
        output.output_.path = output.text_->c_str();
        return output;
    }

    /** The extension of `name` sets the format. `close` is called after the last write. */
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

/** A flag that cancels jobs: see Options::set_cancel. */
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

/**
 * Options for reading and writing: polyhaul.h lists them at its end. Copies are not supported; pass it by reference.
 *
 *     polyhaul::Options options;
 *     options.set("threads", 4).set("obj.smoothing", "groups");
 */
class Options {
public:
    /** Creates options with the default values. */
    Options() {
        ph_options *options = nullptr;
        check(ph_options_new(&options));
        handle_.reset(options);
    }

    /** Sets an option by name. */
    Options &set(const std::string &name, const std::string &value) {
        check(ph_options_set(handle_.get(), name.c_str(), value.c_str()));
        return *this;
    }
    Options &set(const std::string &name, const char *value) { return set(name, std::string(value)); }

    /** Sets an option to a number, or to true or false. */
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    Options &set(const std::string &name, T value) {
        if constexpr (std::is_same_v<T, bool>) {
            return set(name, value ? "true" : "false");
        } else {
            // The program's locale may use separators and decimal commas.
            std::ostringstream text;
            text.imbue(std::locale::classic());
            text.precision(std::numeric_limits<T>::max_digits10);
            text << +value; // A char is a number here.
            return set(name, text.str());
        }
    }

    /** Returns the value of an option. */
    std::string get(const std::string &name) {
        const char *value = nullptr;
        check(ph_options_get(handle_.get(), name.c_str(), &value));
        return value;
    }

    Options &set_cancel(const Cancel &cancel) {
        check(ph_options_set_cancel(handle_.get(), cancel.get()));
        return *this;
    }

    /** The handle, for callbacks and throttles: see the functions ph_options_set_... */
    ph_options *get() { return handle_.get(); }
    const ph_options *get() const { return handle_.get(); }

private:
    detail::Owned<ph_options, ph_options_free> handle_;
};

/** The report of a job. */
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

/** Meshes, objects and materials. The arrays and texts it returns are valid until it is changed or destroyed. */
class Scene {
public:
    /** Creates an empty scene. */
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

/** An image. The pixels it returns are valid until it is destroyed. */
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

/** Reads a scene. Stores the report of the job in `report`, unless it is null. */
inline Scene read_scene(const Input &input, const Options &options = Options(), Report *report = nullptr) {
    ph_scene *scene = nullptr;
    ph_report *job_report = nullptr;
    ph_status status = ph_scene_read(input.get(), options.get(), &scene, &job_report);
    // Owned before anything is thrown.
    Report owned(job_report);
    Scene result(scene);
    detail::finish(status, input.thrown());
    if (report) *report = std::move(owned);
    return result;
}

/** Reads an image. */
inline Image read_image(const Input &input, const Options &options = Options()) {
    ph_image *image = nullptr;
    ph_status status = ph_image_read(input.get(), options.get(), &image, nullptr);
    Image result(image);
    detail::finish(status, input.thrown());
    return result;
}

/** Writes a scene. */
inline Report write(const Scene &scene, const Output &output, const Options &options = Options()) {
    ph_report *report = nullptr;
    ph_status status = ph_scene_write(scene.get(), output.get(), options.get(), &report);
    Report result(report);
    detail::finish(status, output.thrown());
    return result;
}

/** Writes an image. */
inline Report write(const ph_pixels &pixels, const Output &output, const Options &options = Options()) {
    ph_report *report = nullptr;
    ph_status status = ph_image_write(&pixels, output.get(), options.get(), &report);
    Report result(report);
    detail::finish(status, output.thrown());
    return result;
}

/** Converts a scene, a table or an image to another format. */
inline Report convert(const Input &input, const Output &output, const Options &options = Options()) {
    ph_report *report = nullptr;
    ph_status status = ph_convert(input.get(), output.get(), options.get(), &report);
    Report result(report);
    if (input.thrown()) input.thrown()->rethrow();
    detail::finish(status, output.thrown());
    return result;
}

} // namespace polyhaul

#endif
