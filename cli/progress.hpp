// How far a long piece of work is: one line on the terminal, gone when the work is done.
#pragma once

#include <cstdint>
#include <string>

#include "command.hpp"

namespace railhead::cli {

/// Writes to standard error, and only where that is a terminal and the command's own.
class Progress {
 public:
    Progress(Console& console, std::string what);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();
    /// Shows whole percents, each once.
    void show(std::uint64_t done, std::uint64_t all);
    /// Shows a text, where there is no telling how much is left.
    void say(const std::string& text);
    /// Whether somebody watches.
    [[nodiscard]] bool is_seen() const { return out_ != nullptr; }

 private:
    std::ostream* out_;  ///< null: nobody watches
    std::string what_;
    std::uint64_t percent_ = UINT64_MAX;
    std::string said_;
};

}  // namespace railhead::cli
