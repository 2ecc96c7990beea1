// An SVG picture as text: shapes with classes, which one style sheet colours for light and dark
// screens.  Numbers have one decimal, so that equal pictures are equal texts.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace railhead::report {

struct Box {
    double x = 0, y = 0, width = 0, height = 0;
    [[nodiscard]] double right() const { return x + width; }
    [[nodiscard]] double bottom() const { return y + height; }
    [[nodiscard]] double middle() const { return x + width / 2; }
};

struct Point {
    double x = 0, y = 0;
};

/// Lengths are pixels; a `tip` is shown where the pointer rests.  Texts need no escaping.
class Svg {
 public:
    void rect(const Box& box, std::string_view classes, std::string_view tip = {});
    /// `text` starts at x, or is centred on it where a class of the style sheet says so.
    void text(double x, double y, std::string_view classes, std::string_view text);
    /// A curve that leaves (x1, y1) downwards and comes to (x2, y2) from above.
    void curve(double x1, double y1, double x2, double y2, std::string_view classes,
               std::string_view tip = {});

    /// A curve that leaves (x1, y1) to the right and comes back to (x2, y2) from there.
    void detour(double x1, double y1, double x2, double y2, double right, std::string_view classes,
                std::string_view tip = {});

    /// Straight from point to point.
    void line(std::span<const Point> points, std::string_view classes, std::string_view tip = {});

    void circle(Point middle, double radius, std::string_view classes, std::string_view tip = {});

    /// The whole file.  `title` is read out by screen readers.
    [[nodiscard]] std::string file(double width, double height, std::string_view title,
                                   std::string_view style) const;

 private:
    void bezier(Point from, Point by, Point past, Point to, std::string_view classes,
                std::string_view tip);
    void shape(std::string_view element, std::string_view tip);
    std::string body_;
};

}  // namespace railhead::report
