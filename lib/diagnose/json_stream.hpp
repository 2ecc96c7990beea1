// JSON as it comes, in pieces cut anywhere and in bounded memory: profiler traces have gigabytes.
//
// Tolerant of what Python and C++ write into such files: NaN, Infinity, commas too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::diagnose {

/// Takes what a document has, in its order.
class JsonHandler {
 public:
    JsonHandler() = default;
    JsonHandler(const JsonHandler&) = delete;
    JsonHandler& operator=(const JsonHandler&) = delete;
    virtual ~JsonHandler() = default;

    /// An object or a list begins; its depth is 1 for the outermost.
    virtual void begin(bool is_object) = 0;
    virtual void end() = 0;
    virtual void key(std::string_view name) = 0;
    /// A text (escapes resolved, cut at `JsonStream::longest`), or a number or a word as written.
    virtual void value(std::string_view text, bool is_text) = 0;
};

class JsonStream {
 public:
    static constexpr std::size_t longest = 4096;  ///< of a text, bytes
    static constexpr std::size_t deepest = 256;

    explicit JsonStream(JsonHandler& handler) : handler_{handler} {}

    void feed(std::string_view piece);
    /// There is no more.
    void finish();

    /// Whether what came so far is no JSON; nothing is handed on from there.
    [[nodiscard]] bool is_broken() const { return broken_; }
    /// Whether the document has ended.
    [[nodiscard]] bool is_whole() const { return began_ && open_.empty() && !broken_; }
    [[nodiscard]] std::uint64_t line() const { return line_; }  ///< 1-based

 private:
    enum class State : std::uint8_t { between, text, escape, unicode, word };

    void take(char c);
    void take_between(char c);
    void take_escape(char c);
    void take_unicode(char c);
    void close(bool is_object);
    void end_text();
    void end_word();
    void append(char c);

    JsonHandler& handler_;
    std::vector<bool> open_;  ///< of each that is open: whether it is an object
    std::string token_;
    State state_ = State::between;
    unsigned digits_ = 0;  ///< of \uXXXX, read so far
    std::uint32_t code_ = 0;
    std::uint64_t line_ = 1;
    bool expects_key_ = false;
    bool began_ = false;
    bool broken_ = false;
};

}  // namespace railhead::diagnose
