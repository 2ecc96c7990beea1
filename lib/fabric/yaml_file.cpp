#include "fabric/yaml_file.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <istream>
#include <new>
#include <optional>
#include <streambuf>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/text.hpp"

namespace railhead::fabric {

namespace {

constexpr std::size_t max_bytes = std::size_t{8} << 20U;
constexpr std::size_t max_values = std::size_t{1} << 19U;
constexpr std::size_t max_depth = 16;  // a torus' placements are 8 deep

/// Reads a text in place, as an istream does a file.
class TextBuffer : public std::streambuf {
 public:
    explicit TextBuffer(std::string_view text) {
        auto* begin = const_cast<char*>(text.data());  // a get area is never written to
        setg(begin, begin, begin + text.size());
    }
};

/// Makes the tree from what the parser meets.  After a first error the rest is let pass: the
/// parser cannot be stopped but by an exception.
class TreeMaker : public YAML::EventHandler {
 public:
    explicit TreeMaker(const std::string& file) : file_{file} {}

    Result<Yaml> take() {
        if (error_) {
            return tl::unexpected<Error>{std::move(*error_)};
        }
        return std::move(root_);
    }

    void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
        add(Yaml::Shape::empty, mark, {});
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
        refuse(mark, "an alias: Slurm takes none, write the value again");
    }
    void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  const std::string& value) override {
        add(Yaml::Shape::word, mark, value);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                         YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {
        open(Yaml::Shape::list, mark);
    }
    void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                    YAML::EmitterStyle::value /*style*/) override {
        open(Yaml::Shape::map, mark);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapEnd() override { close(); }

 private:
    /// A list or map that is not complete yet.
    struct Open {
        Yaml value;
        std::optional<Yaml> key;  ///< of a map: read, and its value is not
    };

    void refuse(const YAML::Mark& mark, std::string message) {
        if (!error_) {
            error_ = Error{Errc::bad_input, std::move(message), position(mark)};
        }
    }

    [[nodiscard]] Position position(const YAML::Mark& mark) const {
        return {file_, static_cast<unsigned>(mark.line + 1),
                static_cast<unsigned>(mark.column + 1)};
    }

    /// Whether a value at `mark` is wanted: nothing is wrong so far, nor with one more.
    bool wanted(const YAML::Mark& mark) {
        if (++values_ > max_values) {
            refuse(mark, "more values than any topology has");
        }
        return !error_;
    }

    static Yaml value_at(Yaml::Shape shape, const YAML::Mark& mark) {
        Yaml value;
        value.shape = shape;
        value.line = static_cast<unsigned>(mark.line + 1);
        value.column = static_cast<unsigned>(mark.column + 1);
        return value;
    }

    void add(Yaml::Shape shape, const YAML::Mark& mark, const std::string& word) {
        if (wanted(mark)) {
            auto value = value_at(shape, mark);
            value.word = word;
            place(std::move(value));
        }
    }

    void open(Yaml::Shape shape, const YAML::Mark& mark) {
        if (!wanted(mark)) {
            return;
        }
        if (open_.size() == max_depth) {
            return refuse(mark, "nested deeper than any topology");
        }
        if (awaits_key()) {
            return refuse(mark, "a key is to be a word");
        }
        open_.push_back({value_at(shape, mark), std::nullopt});
    }

    void close() {
        if (!error_) {
            auto done = std::move(open_.back().value);
            open_.pop_back();
            place(std::move(done));
        }
    }

    [[nodiscard]] bool awaits_key() const {
        return !open_.empty() && open_.back().value.shape == Yaml::Shape::map && !open_.back().key;
    }

    void place(Yaml value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return;
        }
        auto& into = open_.back();
        if (awaits_key()) {
            into.key = std::move(value);
            return;
        }
        if (into.key) {
            value.key = std::move(into.key->word);
            value.line = into.key->line;
            value.column = into.key->column;
            into.key.reset();
        }
        into.value.items.push_back(std::move(value));
    }

    const std::string& file_;
    std::vector<Open> open_;
    Yaml root_;
    std::size_t values_ = 0;
    std::optional<Error> error_;
};

/// Takes the library's exceptions: the only place that knows them.
template <class Body>
Result<Yaml> without_exceptions(const std::string& file, Body&& body) {
    try {
        return body();
    } catch (const YAML::Exception& error) {
        return fail(Errc::bad_input, fmt::format("this is no YAML: {}", printable(error.msg)),
                    {file, static_cast<unsigned>(std::max(error.mark.line, 0) + 1),
                     static_cast<unsigned>(std::max(error.mark.column, 0) + 1)});
    } catch (const std::bad_alloc&) {
        throw;  // not the file's fault
    } catch (const std::exception& error) {
        return fail(Errc::bad_input, fmt::format("this is no YAML: {}", printable(error.what())),
                    {file, 1, 1});
    }
}

}  // namespace

const Yaml* Yaml::find(std::string_view wanted) const {
    const auto found = std::find_if(items.rbegin(), items.rend(),
                                    [wanted](const Yaml& item) { return item.key == wanted; });
    return shape != Shape::map || found == items.rend() ? nullptr : &*found;
}

std::string_view Yaml::shape_word() const {
    switch (shape) {
        case Shape::empty: return "nothing";
        case Shape::word: return "a word";
        case Shape::list: return "a list";
        case Shape::map: return "a map";
    }
    return "?";
}

Result<Yaml> parse_yaml(std::string_view text, const std::string& file, bool& more) {
    if (text.size() > max_bytes) {
        return fail(Errc::bad_input, "longer than any topology", {file, 1, 1});
    }
    return without_exceptions(file, [&]() -> Result<Yaml> {
        TextBuffer buffer{text};
        std::istream stream{&buffer};
        YAML::Parser parser{stream};
        TreeMaker maker{file};
        parser.HandleNextDocument(maker);
        more = static_cast<bool>(parser);
        return maker.take();
    });
}

}  // namespace railhead::fabric
