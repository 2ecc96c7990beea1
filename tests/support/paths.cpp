#include "support/paths.hpp"

namespace railhead::test {

namespace {
std::string below(const char* folder, std::string_view name) {
    return std::string{folder}.append(name.empty() ? "" : "/").append(name);
}
}  // namespace

std::string data_file(std::string_view name) {
    return below(RAILHEAD_TEST_DATA, name);
}

std::string checkout(std::string_view name) {
    return below(RAILHEAD_CHECKOUT, name);
}

}  // namespace railhead::test
