#include "node/limits.hpp"

namespace railhead::node {

bool is_device_name(std::string_view name) {
    constexpr std::size_t longest = 64;  // the kernel's IB_DEVICE_NAME_MAX
    return !name.empty() && name.size() <= longest &&
           name.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
               std::string_view::npos;
}

}  // namespace railhead::node
