// A text that may be large, compressed by gzip, or come through a pipe; and one that still grows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace railhead::cli {

/// Read from front to end, piece by piece.  What gzip wrote is seen by its content, not its name.
class TextStream {
 public:
    /// "-" is standard input.  Fails with `not_found` or `bad_input`.
    [[nodiscard]] static Result<TextStream> open(const std::string& path);

    /// The next piece, valid until the next call; empty at the end.  Fails with `bad_input` where
    /// the file cannot be read on, or the compressed data is damaged; what was before it was given.
    [[nodiscard]] Result<std::string_view> read();

    /// How much of the file was read, and its size, bytes; 0 where it has none.
    [[nodiscard]] std::uint64_t done() const;
    [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
    struct Close {
        void operator()(void* file) const noexcept;
    };
    TextStream() = default;
    std::unique_ptr<void, Close> file_;  ///< a gzFile
    std::string path_;
    std::string cut_;  ///< why the compressed data ends too early, once it is known
    std::vector<char> piece_;
    std::uint64_t size_ = 0;
};

/// A plain file that another program writes.
class GrowingText {
 public:
    [[nodiscard]] static Result<GrowingText> open(const std::string& path);
    /// What was added since the last call, at most a piece; empty when there is nothing.  A file
    /// that was cut or replaced by a new one is read from its front.
    [[nodiscard]] Result<std::string_view> read();

 private:
    GrowingText() = default;
    [[nodiscard]] bool is_new_file() const;
    UniqueFd fd_;
    std::string path_;
    std::vector<char> piece_;
    std::uint64_t at_ = 0;
};

}  // namespace railhead::cli
