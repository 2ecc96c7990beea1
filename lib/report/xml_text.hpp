// Text for an XML file: no character of it is markup, and none makes the file no XML.
#pragma once

#include <string>
#include <string_view>

namespace railhead::report {

/// `text` for an element or a quoted attribute; "?" for each byte that is no character of XML in
/// UTF-8.
[[nodiscard]] std::string escape_xml(std::string_view text);

}  // namespace railhead::report
