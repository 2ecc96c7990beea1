#include "report/svg.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/xml_text.hpp"

namespace railhead::report {

namespace {

/// A picture's texts are lines: no line end and no other control character stays.
std::string escaped(std::string_view text) {
    return escape_xml(printable(text));
}

}  // namespace

void Svg::shape(std::string_view element, std::string_view tip) {
    const auto name = element.substr(0, element.find(' '));
    body_ += tip.empty() ? fmt::format("<{}/>\n", element)
                         : fmt::format("<{}><title>{}</title></{}>\n", element, escaped(tip), name);
}

void Svg::rect(const Box& box, std::string_view classes, std::string_view tip) {
    shape(fmt::format(
              R"(rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="4")",
              classes, box.x, box.y, box.width, box.height),
          tip);
}

void Svg::text(double x, double y, std::string_view classes, std::string_view text) {
    body_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", classes, x, y,
                         escaped(text));
}

void Svg::bezier(Point from, Point by, Point past, Point to, std::string_view classes,
                 std::string_view tip) {
    shape(fmt::format(
              R"(path class="{}" d="M{:.1f},{:.1f} C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}")",
              classes, from.x, from.y, by.x, by.y, past.x, past.y, to.x, to.y),
          tip);
}

void Svg::curve(double x1, double y1, double x2, double y2, std::string_view classes,
                std::string_view tip) {
    constexpr double bend = 28;
    bezier({x1, y1}, {x1, y1 + bend}, {x2, y2 - bend}, {x2, y2}, classes, tip);
}

void Svg::detour(double x1, double y1, double x2, double y2, double right, std::string_view classes,
                 std::string_view tip) {
    bezier({x1, y1}, {right, y1}, {right, y2}, {x2, y2}, classes, tip);
}

void Svg::line(std::span<const Point> points, std::string_view classes, std::string_view tip) {
    auto element = fmt::format("polyline class=\"{}\" points=\"", classes);
    for (const auto& point : points) {
        element += fmt::format("{}{:.1f},{:.1f}", &point == points.data() ? "" : " ", point.x,
                               point.y);
    }
    shape(element + "\"", tip);
}

void Svg::circle(Point middle, double radius, std::string_view classes, std::string_view tip) {
    shape(fmt::format(R"(circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}")", classes, middle.x,
                      middle.y, radius),
          tip);
}

std::string Svg::file(double width, double height, std::string_view title,
                      std::string_view style) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>\n{3}</style>\n{4}</svg>\n",
        width, height, escaped(title), style, body_);
}

}  // namespace railhead::report
