/*
 * polyhaul for C++17: owns the handles of polyhaul.h, and throws its errors as exceptions.
 *
 * Header-only; link the C library. polyhaul.h is the reference manual, and its structs are used directly. Handles can
 * be moved, but not copied. Callbacks may throw: the exception stops the job, and the function that started the job
 * rethrows it.
 *
 *     polyhaul::Scene scene = polyhaul::read_scene(polyhaul::Input::file("model.obj"));
 *     ph_mesh mesh = scene.mesh(0);
 *     for (float x : polyhaul::Span<float>(mesh.positions, 3 * mesh.position_count)) { ... }
 */
#ifndef POLYHAUL_HPP
#define POLYHAUL_HPP

#include "polyhaul.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <ios>
#include <istream>
#include <limits>
#include <locale>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace polyhaul {

/** Returns the version of the library, such as "0.1.0". */
inline const char *version() { return ph_version(); }

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

/** Returns zero-terminated text. Throws if it contains a zero, which would end it early. */
inline const char *terminated(const std::string &text) {
    if (text.find('\0') != std::string::npos) throw std::invalid_argument("a name contains a null character");
    return text.c_str();
}

/** Stores the first exception that callbacks throw, until the library returns. */
class Thrown {
public:
    void catch_now() noexcept {
        const Lock lock(is_locked_);
        if (!exception_) exception_ = std::current_exception();
    }
    std::exception_ptr take() {
        const Lock lock(is_locked_);
        return std::exchange(exception_, nullptr);
    }

private:
    /** Waits without the system: not every C++ library for Windows has std::mutex, and a pointer is moved at once. */
    class Lock {
    public:
        explicit Lock(std::atomic_flag &flag) : flag_(flag) {
            while (flag_.test_and_set(std::memory_order_acquire)) continue;
        }
        ~Lock() { flag_.clear(std::memory_order_release); }
        Lock(const Lock &) = delete;
        Lock &operator=(const Lock &) = delete;

    private:
        std::atomic_flag &flag_;
    };

    std::atomic_flag is_locked_ = ATOMIC_FLAG_INIT;
    std::exception_ptr exception_;
};

/** Calls a callback. If it throws, stores the exception and returns `failure`. */
template <class T, class F> T guarded(Thrown &thrown, T failure, F &&callback) noexcept {
    try {
        return callback();
    } catch (...) {
        thrown.catch_now();
        return failure;
    }
}

/** Throws the first exception of callbacks, or the library's error. */
template <class... Sources> void finish(ph_status status, const Sources &...sources) {
    std::exception_ptr first;
    auto take = [&](std::exception_ptr exception) {
        if (!first) first = std::move(exception);
    };
    (take(sources.thrown().take()), ...);
    if (first) std::rethrow_exception(first);
    check(status);
}

/** The number of a type in polyhaul.h. */
template <class T> constexpr ph_scalar scalar_of() {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8);
    if constexpr (std::is_floating_point_v<T>) {
        return sizeof(T) == 4 ? PH_SCALAR_F32 : PH_SCALAR_F64;
    } else {
        constexpr ph_scalar of_size = sizeof(T) == 1   ? PH_SCALAR_I8
                                      : sizeof(T) == 2 ? PH_SCALAR_I16
                                      : sizeof(T) == 4 ? PH_SCALAR_I32
                                                       : PH_SCALAR_I64;
        return std::is_signed_v<T> ? of_size : of_size + 1;
    }
}

inline const char *name_of(ph_scalar scalar) {
    constexpr const char *names[] = {"int8",  "uint8",  "int16",   "uint16", "int32",
                                     "uint32", "int64", "uint64", "float32", "float64"};
    return scalar >= PH_SCALAR_I8 && scalar <= PH_SCALAR_F64 ? names[scalar - PH_SCALAR_I8] : "unknown";
}

template <class T> void check_scalar(ph_scalar scalar) {
    if (scalar == scalar_of<T>()) return;
    throw std::invalid_argument(std::string("the values are ") + name_of(scalar) + ", not " + name_of(scalar_of<T>()));
}

/** Appends the values of a column of one type as doubles. */
template <class T> void append(const ph_column &column, std::vector<double> &numbers) {
    const T *values = static_cast<const T *>(column.values);
    for (const T value : Span<T>(values, column.value_count)) numbers.push_back(static_cast<double>(value));
}

} // namespace detail

/** Returns the values of a column without copying them. Throws std::invalid_argument if they have another type. */
template <class T> Span<T> values(const ph_column &column) {
    detail::check_scalar<T>(column.scalar);
    return {static_cast<const T *>(column.values), column.value_count};
}

/** Returns the values of a row of a column: one, or those of a list. Throws as values() does. */
template <class T> Span<T> row(const ph_column &column, std::size_t index) {
    if (index >= column.row_count) throw std::out_of_range("the column has no such row");
    Span<T> all = values<T>(column);
    if (!column.offsets) return {all.data() + index, 1};
    return {all.data() + column.offsets[index], column.offsets[index + 1] - column.offsets[index]};
}

/** Returns a copy of the values of a column of any type. 64-bit integers are rounded. */
inline std::vector<double> numbers(const ph_column &column) {
    std::vector<double> numbers;
    numbers.reserve(column.value_count);
    switch (column.scalar) {
    case PH_SCALAR_I8: detail::append<std::int8_t>(column, numbers); break;
    case PH_SCALAR_U8: detail::append<std::uint8_t>(column, numbers); break;
    case PH_SCALAR_I16: detail::append<std::int16_t>(column, numbers); break;
    case PH_SCALAR_U16: detail::append<std::uint16_t>(column, numbers); break;
    case PH_SCALAR_I32: detail::append<std::int32_t>(column, numbers); break;
    case PH_SCALAR_U32: detail::append<std::uint32_t>(column, numbers); break;
    case PH_SCALAR_I64: detail::append<std::int64_t>(column, numbers); break;
    case PH_SCALAR_U64: detail::append<std::uint64_t>(column, numbers); break;
    case PH_SCALAR_F32: detail::append<float>(column, numbers); break;
    case PH_SCALAR_F64: detail::append<double>(column, numbers); break;
    default: throw std::invalid_argument("the column has an unknown type");
    }
    return numbers;
}

/** Returns the samples of an image that was read. Throws std::invalid_argument if they have another type. */
template <class T> Span<T> samples(const ph_pixels &pixels) {
    detail::check_scalar<T>(pixels.scalar);
    return {static_cast<const T *>(pixels.samples), pixels.width * pixels.height * pixels.channels};
}

/** Reads up to `size` bytes. Returns the number of bytes read; 0 at the end. */
using Read = std::function<std::size_t(void *out, std::size_t size)>;
/** Seeks to an offset in bytes from the start. Returns whether that is supported. */
using Seek = std::function<bool(std::uint64_t offset)>;
/** Returns the size of an input in bytes, if it is known. */
using Size = std::function<std::optional<std::uint64_t>()>;
/** Writes up to `size` bytes. Returns the number of bytes written. */
using Write = std::function<std::size_t(const void *data, std::size_t size)>;
/** Flushes or closes an output. */
using Finish = std::function<void()>;

/** A file, memory, stream or callbacks to read from. Used for one call. */
class Input {
public:
    static Input file(std::string path) {
        Input input;
        input.state_->text = std::move(path);
        detail::terminated(input.state_->text);
        input.state_->is_file = true;
        input.state_->connect();
        return input;
    }

    /** Memory that must stay valid until the call returns. The extension of `name` sets the format. */
    static Input memory(const void *data, std::size_t size, std::string name = {}) {
        Input input(std::move(name));
        input.state_->raw.memory = data;
        input.state_->raw.memory_size = size;
        return input;
    }

    /** Memory that the input owns. */
    static Input content(std::string bytes, std::string name = {}) {
        auto owned = std::make_shared<const std::string>(std::move(bytes));
        Input input = memory(owned->data(), owned->size(), std::move(name));
        input.state_->content = std::move(owned);
        return input;
    }

    /** Callbacks; `seek` and `size` may be empty. They are called from one thread at a time. */
    static Input callback(Read read, std::string name = {}, Seek seek = {}, Size size = {}) {
        Input input(std::move(name));
        input.state_->read = std::move(read);
        input.state_->seek = std::move(seek);
        input.state_->size = std::move(size);
        input.state_->connect();
        return input;
    }

    /** A stream from its current position on. It must stay valid until the call returns. */
    static Input stream(std::istream &stream, std::string name = {}) {
        std::streambuf *buffer = stream.rdbuf();
        const std::streamoff start = buffer->pubseekoff(0, std::ios_base::cur, std::ios_base::in);
        auto read = [buffer](void *out, std::size_t size) {
            const auto count = static_cast<std::streamsize>(size);
            return static_cast<std::size_t>(buffer->sgetn(static_cast<char *>(out), count));
        };
        if (start < 0) return callback(read, std::move(name));
        auto seek = [buffer, start](std::uint64_t offset) {
            const auto place = start + static_cast<std::streamoff>(offset);
            return buffer->pubseekpos(place, std::ios_base::in) == std::streampos(place);
        };
        auto size = [buffer, start]() -> std::optional<std::uint64_t> {
            const std::streamoff end = buffer->pubseekoff(0, std::ios_base::end, std::ios_base::in);
            if (end < start || buffer->pubseekpos(start, std::ios_base::in) < 0) return std::nullopt;
            return static_cast<std::uint64_t>(end - start);
        };
        return callback(read, std::move(name), seek, size);
    }

    const ph_input *get() const { return &state_->raw; }
    detail::Thrown &thrown() const { return *state_->thrown; }

private:
    friend class Options;

    struct State {
        ph_input raw = record<ph_input>();
        std::string text;
        bool is_file = false;
        std::shared_ptr<const std::string> content;
        Read read;
        Seek seek;
        Size size;
        std::shared_ptr<detail::Thrown> thrown = std::make_shared<detail::Thrown>();
        /** Keeps the answer of a resolver until it is released. */
        std::shared_ptr<State> self;

        /** Points `raw` to this. */
        void connect() {
            (is_file ? raw.path : raw.name) = text.c_str();
            raw.user = this;
            raw.read = read ? call_read : nullptr;
            raw.seek = seek ? call_seek : nullptr;
            raw.size = size ? call_size : nullptr;
        }
    };

    Input() : state_(std::make_shared<State>()) {}
    explicit Input(std::string name) : Input() {
        state_->text = std::move(name);
        detail::terminated(state_->text);
        state_->connect();
    }

    static std::int64_t call_read(void *user, void *out, std::size_t size) {
        State &state = *static_cast<State *>(user);
        return detail::guarded(*state.thrown, std::int64_t{-1},
                               [&] { return static_cast<std::int64_t>(state.read(out, size)); });
    }
    static std::int32_t call_seek(void *user, std::uint64_t offset) {
        State &state = *static_cast<State *>(user);
        return detail::guarded(*state.thrown, std::int32_t{-1}, [&] { return state.seek(offset) ? 0 : 1; });
    }
    static std::int64_t call_size(void *user) {
        State &state = *static_cast<State *>(user);
        return detail::guarded(*state.thrown, std::int64_t{-1}, [&]() -> std::int64_t {
            const std::optional<std::uint64_t> size = state.size();
            return size ? static_cast<std::int64_t>(*size) : -1;
        });
    }

    /** Makes a copy that lives until the library releases it. */
    ph_input answer(const std::shared_ptr<detail::Thrown> &thrown) const {
        auto state = std::make_shared<State>(*state_);
        state->thrown = thrown;
        state->connect();
        state->raw.release = [](void *user) { std::exchange(static_cast<State *>(user)->self, nullptr).reset(); };
        ph_input raw = state->raw;
        state->self = state;
        return raw;
    }

    std::shared_ptr<State> state_;
};

/** A file, stream or callbacks to write to. Used for one call. */
class Output {
public:
    static Output file(std::string path) {
        Output output(std::move(path));
        std::swap(output.raw_.path, output.raw_.name);
        return output;
    }

    /** The extension of `name` sets the format. After the last write, `flush` and then `close` are called. */
    static Output callback(Write write, std::string name = {}, Finish close = {}, Finish flush = {}) {
        Output output(std::move(name));
        output.state_->write = std::move(write);
        output.state_->close = std::move(close);
        output.state_->flush = std::move(flush);
        output.raw_.write = call_write;
        if (output.state_->flush) output.raw_.flush = call_flush;
        if (output.state_->close) output.raw_.close = call_close;
        return output;
    }

    /** A stream, from its current position on. It must stay valid until the call returns. */
    static Output stream(std::ostream &stream, std::string name = {}) {
        auto write = [&stream](const void *data, std::size_t size) {
            const auto count = static_cast<std::streamsize>(size);
            if (stream.rdbuf()->sputn(static_cast<const char *>(data), count) != count)
                throw std::ios_base::failure("the stream does not accept all bytes");
            return size;
        };
        auto flush = [&stream] {
            if (stream.rdbuf()->pubsync() != 0) throw std::ios_base::failure("the stream cannot be flushed");
        };
        return callback(write, std::move(name), {}, flush);
    }

    const ph_output *get() const { return &raw_; }
    detail::Thrown &thrown() const { return state_->thrown; }

private:
    struct State {
        std::string text;
        Write write;
        Finish close;
        Finish flush;
        detail::Thrown thrown;
    };

    explicit Output(std::string name) : raw_(record<ph_output>()), state_(std::make_shared<State>()) {
        state_->text = std::move(name);
        raw_.name = detail::terminated(state_->text);
        raw_.user = state_.get();
    }

    static std::int64_t call_write(void *user, const void *data, std::size_t size) {
        State &state = *static_cast<State *>(user);
        return detail::guarded(state.thrown, std::int64_t{-1},
                               [&] { return static_cast<std::int64_t>(state.write(data, size)); });
    }
    static std::int32_t finish(State &state, const Finish &step) {
        return detail::guarded(state.thrown, std::int32_t{-1}, [&] { return step(), 0; });
    }
    static std::int32_t call_flush(void *user) {
        State &state = *static_cast<State *>(user);
        return finish(state, state.flush);
    }
    static std::int32_t call_close(void *user) {
        State &state = *static_cast<State *>(user);
        return finish(state, state.close);
    }

    ph_output raw_;
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
    void request() { check(ph_cancel_request(handle_.get())); }
    const ph_cancel *get() const { return handle_.get(); }

private:
    detail::Owned<ph_cancel, ph_cancel_free> handle_;
};

/** A job's work, to be run for each index below a count. */
class Task {
public:
    Task(ph_task_fn function, void *context) : function_(function), context_(context) {}
    void operator()(std::size_t index) const { function_(context_, index); }

private:
    ph_task_fn function_;
    void *context_;
};

/** Called with the bytes done and their total, if known: see ph_progress_fn. Returns whether to continue. */
using Progress = std::function<bool(std::uint64_t done, std::optional<std::uint64_t> total)>;
/** Calls `task(index)` for every index below `count`, and returns when all calls have returned: see ph_pool_fn. */
using Pool = std::function<void(std::size_t count, Task task)>;
/** Returns a file that a scene refers to, or nothing to have it looked up beside the scene: see ph_resolve_fn. */
using Resolve = std::function<std::optional<Input>(const std::string &name)>;

/**
 * Options for reading and writing: polyhaul.h lists them at its end. Jobs may use them in parallel; they must not be
 * changed, moved or destroyed meanwhile. If a callback throws during parallel jobs, one of them throws the exception,
 * and the others may fail as cancelled or with PH_ERROR_HOST.
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
        check(ph_options_set(handle_.get(), detail::terminated(name), detail::terminated(value)));
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
        check(ph_options_get(handle_.get(), detail::terminated(name), &value));
        return value;
    }

    /** Sets the flag that cancels jobs; it may be destroyed at any time. */
    Options &set_cancel(const Cancel &cancel) {
        check(ph_options_set_cancel(handle_.get(), cancel.get()));
        return *this;
    }
    /** Removes the flag. */
    Options &set_cancel(std::nullptr_t) {
        check(ph_options_set_cancel(handle_.get(), nullptr));
        return *this;
    }

    /** Sets the progress callback; an empty function removes it. */
    Options &set_progress(Progress progress) {
        check(ph_options_set_progress(handle_.get(), progress ? call_progress : nullptr, state_.get()));
        state_->progress = std::move(progress);
        return *this;
    }

    /** Runs jobs on the threads of a pool; an empty function has each job start its own. */
    Options &set_pool(Pool pool) {
        check(ph_options_set_pool(handle_.get(), pool ? call_pool : nullptr, state_.get()));
        state_->pool = std::move(pool);
        return *this;
    }

    /** Sets the function that supplies the files that a scene refers to; an empty function removes it. */
    Options &set_resolver(Resolve resolve) {
        check(ph_options_set_resolver(handle_.get(), resolve ? call_resolve : nullptr, state_.get()));
        state_->resolve = std::move(resolve);
        return *this;
    }

    /** Simulates a slower device for reading: see ph_options_set_read_throttle. */
    Options &set_read_throttle(std::uint64_t bytes_per_second, std::chrono::nanoseconds latency = {}) {
        check(ph_options_set_read_throttle(handle_.get(), bytes_per_second, count(latency)));
        return *this;
    }
    /** Simulates a slower device for writing. */
    Options &set_write_throttle(std::uint64_t bytes_per_second, std::chrono::nanoseconds latency = {}) {
        check(ph_options_set_write_throttle(handle_.get(), bytes_per_second, count(latency)));
        return *this;
    }

    ph_options *get() { return handle_.get(); }
    const ph_options *get() const { return handle_.get(); }
    detail::Thrown &thrown() const { return *state_->thrown; }

private:
    struct State {
        Progress progress;
        Pool pool;
        Resolve resolve;
        std::shared_ptr<detail::Thrown> thrown = std::make_shared<detail::Thrown>();
    };

    static std::uint64_t count(std::chrono::nanoseconds latency) {
        if (latency.count() < 0) throw std::invalid_argument("a latency cannot be negative");
        return static_cast<std::uint64_t>(latency.count());
    }

    static std::int32_t call_progress(void *user, std::uint64_t done, std::uint64_t total) {
        State &state = *static_cast<State *>(user);
        return detail::guarded(*state.thrown, std::int32_t{1}, [&] {
            const auto known = total == PH_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(total);
            return state.progress(done, known) ? 0 : 1;
        });
    }
    static void call_pool(void *user, std::size_t count, ph_task_fn task, void *context) {
        State &state = *static_cast<State *>(user);
        // Tasks that were not run are run by the library.
        detail::guarded(*state.thrown, 0, [&] { return state.pool(count, Task(task, context)), 0; });
    }
    static std::int32_t call_resolve(void *user, const char *name, ph_input *answer) {
        State &state = *static_cast<State *>(user);
        return detail::guarded(*state.thrown, std::int32_t{-1}, [&] {
            const std::optional<Input> input = state.resolve(name);
            if (!input) return 1;
            *answer = input->answer(state.thrown);
            return 0;
        });
    }

    // Freed after the handle, which refers to it.
    std::unique_ptr<State> state_ = std::make_unique<State>();
    detail::Owned<ph_options, ph_options_free> handle_;
};

/** The report of a job. Texts are valid until it is destroyed. */
class Report {
public:
    /** No report, to be assigned one. */
    Report() = default;
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
    /** Returns the warnings that are kept: the first 1000. */
    std::vector<ph_warning> warnings() const {
        std::vector<ph_warning> warnings;
        const std::uint64_t count = info().kept_warning_count;
        for (std::size_t index = 0; index < count; index++) warnings.push_back(warning(index));
        return warnings;
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
    ph_column vertex_column(std::size_t mesh, std::size_t index) const {
        return get<ph_column>(ph_scene_vertex_column, mesh, index);
    }
    ph_column face_column(std::size_t mesh, std::size_t index) const {
        return get<ph_column>(ph_scene_face_column, mesh, index);
    }

    void set_axes(ph_axis forward, ph_axis up) { check(ph_scene_set_axes(handle_.get(), forward, up)); }
    /** Adds a mesh. With PH_BORROW, its arrays must stay valid until the scene is destroyed. */
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

/** The tables of a file. The columns and texts it returns are valid until it is destroyed. */
class Tables {
public:
    explicit Tables(ph_tables *handle) : handle_(handle) {}
    std::size_t count() const { return ph_tables_count(handle_.get()); }
    ph_table table(std::size_t index) const {
        auto table = record<ph_table>();
        check(ph_tables_table(handle_.get(), index, &table));
        return table;
    }
    ph_column column(std::size_t table, std::size_t index) const {
        auto column = record<ph_column>();
        check(ph_tables_column(handle_.get(), table, index, &column));
        return column;
    }
    /** Returns the column with a name. Throws std::out_of_range if there is none. */
    ph_column column(std::size_t index, std::string_view name) const {
        for (std::size_t number = 0, count = table(index).column_count; number < count; number++) {
            const ph_column found = column(index, number);
            if (view(found.name) == name) return found;
        }
        throw std::out_of_range("the table has no column " + std::string(name));
    }

private:
    detail::Owned<ph_tables, ph_tables_free> handle_;
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

namespace detail {

/** Reads with a function of polyhaul.h, and owns what it returns before anything is thrown. */
template <class T, class Handle, class F>
T read(F function, const Input &input, const Options &options, Report *report) {
    Handle *handle = nullptr;
    ph_report *job_report = nullptr;
    const ph_status status = function(input.get(), options.get(), &handle, &job_report);
    T result(handle);
    Report owned(job_report);
    finish(status, input, options);
    if (report) *report = std::move(owned);
    return result;
}

} // namespace detail

/** Reads a scene. Stores the report of the job in `report`, unless it is null. */
inline Scene read_scene(const Input &input, const Options &options = Options(), Report *report = nullptr) {
    return detail::read<Scene, ph_scene>(ph_scene_read, input, options, report);
}

/** Reads the tables of a file. */
inline Tables read_tables(const Input &input, const Options &options = Options(), Report *report = nullptr) {
    return detail::read<Tables, ph_tables>(ph_tables_read, input, options, report);
}

/** Reads an image. */
inline Image read_image(const Input &input, const Options &options = Options(), Report *report = nullptr) {
    return detail::read<Image, ph_image>(ph_image_read, input, options, report);
}

/** Writes a scene. */
inline Report write(const Scene &scene, const Output &output, const Options &options = Options()) {
    ph_report *report = nullptr;
    const ph_status status = ph_scene_write(scene.get(), output.get(), options.get(), &report);
    Report result(report);
    detail::finish(status, output, options);
    return result;
}

/** Writes an image. */
inline Report write(const ph_pixels &pixels, const Output &output, const Options &options = Options()) {
    ph_report *report = nullptr;
    const ph_status status = ph_image_write(&pixels, output.get(), options.get(), &report);
    Report result(report);
    detail::finish(status, output, options);
    return result;
}

/** Converts a scene, a table or an image to another format. */
inline Report convert(const Input &input, const Output &output, const Options &options = Options()) {
    ph_report *report = nullptr;
    const ph_status status = ph_convert(input.get(), output.get(), options.get(), &report);
    Report result(report);
    detail::finish(status, input, output, options);
    return result;
}

} // namespace polyhaul

#endif
