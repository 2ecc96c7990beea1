#include "report/page.hpp"

#include <fmt/format.h>

#include "report/page_parts.hpp"
#include "report/xml_text.hpp"

namespace railhead::report {

bool has_pages() {
    return !page_script().empty();
}

std::string page_html(const Page& page) {
    // The hashes in page_security() are of what stands between the tags, to the byte.
    return fmt::format(
        "<!doctype html>\n"
        "<html lang=\"en\">\n"
        "<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n"
        "<title>{}</title>\n"
        "<style>{}</style>\n"
        "</head>\n"
        "<body>\n"
        "{}"
        "<script type=\"application/json\" id=\"data\">{}</script>\n"
        "<script>{}</script>\n"
        "<script>{}</script>\n"
        "</body>\n"
        "</html>\n",
        page_security(), escape_xml(page.title), page_style(), page_body(), page_data(page),
        chart_library(), page_script());
}

}  // namespace railhead::report
