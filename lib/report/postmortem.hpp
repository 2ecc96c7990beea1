// A post-mortem as Markdown.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/postmortem.hpp"

namespace railhead::report {

/// `zone` says which clock the times are of: "UTC".
[[nodiscard]] std::string postmortem_markdown(const diagnose::Postmortem& postmortem,
                                              std::string_view zone);

}  // namespace railhead::report
