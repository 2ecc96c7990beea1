// Inputs of a diagnosis, from fixtures and from text.
#pragma once

#include <string>
#include <string_view>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace railhead::test {

inline std::string diagnose_file(std::string_view name) {
    auto text = read_file(data_file("diagnose/" + std::string{name}));
    REQUIRE(text);
    return *text;
}

/// `text` read by a `Reader`, which is given back: its facts live in it.
template <class Reader>
class ReadBy {
 public:
    explicit ReadBy(std::string_view text) : reader_{0} {
        reader_.feed(text);
        reader_.finish();
    }
    const Reader* operator->() const { return &reader_; }

 private:
    Reader reader_;
};

}  // namespace railhead::test
