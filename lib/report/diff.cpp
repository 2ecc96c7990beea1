#include "report/diff.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace railhead::report {

namespace {

using Lines = std::vector<std::string_view>;

constexpr std::size_t context = 3;
constexpr std::size_t most_cells = std::size_t{4} << 20U;  // of the table below: 16 MiB

/// The lines of `text`, each with its line end where it has one.
Lines lines_of(std::string_view text) {
    Lines lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size() - 1);
        lines.push_back(text.substr(0, end + 1));
        text.remove_prefix(end + 1);
    }
    return lines;
}

/// One line of the comparison: ' ' in both, '-' gone, '+' new.
struct Edit {
    char kind;
    std::string_view line;
};

/// Lengths of the longest common subsequences of all pairs of ends of two lists.
class Common {
 public:
    Common(std::span<const std::string_view> a, std::span<const std::string_view> b)
        : width_{b.size() + 1}, cells_((a.size() + 1) * width_) {
        for (auto i = a.size(); i-- > 0;) {
            for (auto k = b.size(); k-- > 0;) {
                cells_[i * width_ + k] =
                    a[i] == b[k] ? at(i + 1, k + 1) + 1 : std::max(at(i + 1, k), at(i, k + 1));
            }
        }
    }
    [[nodiscard]] std::uint32_t at(std::size_t i, std::size_t k) const {
        return cells_[i * width_ + k];
    }

 private:
    std::size_t width_;
    std::vector<std::uint32_t> cells_;
};

void compare(std::span<const std::string_view> a, std::span<const std::string_view> b,
             std::vector<Edit>& edits) {
    std::size_t i = 0;
    std::size_t k = 0;
    if ((a.size() + 1) * (b.size() + 1) <= most_cells) {
        const Common common{a, b};
        while (i < a.size() && k < b.size()) {
            if (a[i] == b[k]) {
                edits.push_back({' ', a[i++]});
                ++k;
            } else if (common.at(i + 1, k) >= common.at(i, k + 1)) {
                edits.push_back({'-', a[i++]});
            } else {
                edits.push_back({'+', b[k++]});
            }
        }
    }
    for (; i < a.size(); ++i) {
        edits.push_back({'-', a[i]});
    }
    for (; k < b.size(); ++k) {
        edits.push_back({'+', b[k]});
    }
}

std::vector<Edit> edits_of(const Lines& a, const Lines& b) {
    const auto [x, y] = std::ranges::mismatch(a, b);
    const auto head = static_cast<std::size_t>(x - a.begin());
    std::size_t tail = 0;
    while (tail < a.size() - head && tail < b.size() - head &&
           a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
        ++tail;
    }
    std::vector<Edit> edits;
    for (std::size_t i = 0; i < head; ++i) {
        edits.push_back({' ', a[i]});
    }
    compare(std::span{a}.subspan(head, a.size() - head - tail),
            std::span{b}.subspan(head, b.size() - head - tail), edits);
    for (auto i = a.size() - tail; i < a.size(); ++i) {
        edits.push_back({' ', a[i]});
    }
    return edits;
}

/// "3,4", as diff counts: a range of one line is its number, an empty one ends before it.
std::string range_text(std::size_t first, std::size_t count) {
    return count == 1 ? fmt::format("{}", first + 1)
                      : fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

/// Where the hunk that begins at change `i` ends: further changes join it while at most twice the
/// context lies between.
std::size_t hunk_end(std::span<const Edit> edits, std::size_t i) {
    auto last = i;
    for (; i < edits.size() && i - last <= 2 * context + 1; ++i) {
        if (edits[i].kind != ' ') {
            last = i;
        }
    }
    return std::min(edits.size(), last + 1 + context);
}

void append_line(std::string& out, const Edit& edit) {
    out += edit.kind;
    out += edit.line;
    if (!edit.line.ends_with('\n')) {
        out += "\n\\ No newline at end of file\n";
    }
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view before_text,
                         std::string_view after, std::string_view after_text) {
    if (before_text == after_text) {
        return {};
    }
    const auto edits = edits_of(lines_of(before_text), lines_of(after_text));
    auto out = fmt::format("--- {}\n+++ {}\n", before, after);
    std::size_t done = 0;    // edits that are written or passed over
    std::size_t old_at = 0;  // lines of each text that lie before them
    std::size_t new_at = 0;
    const auto pass = [&](std::size_t until, std::string* body) {
        for (; done < until; ++done) {
            old_at += edits[done].kind != '+' ? 1 : 0;
            new_at += edits[done].kind != '-' ? 1 : 0;
            if (body != nullptr) {
                append_line(*body, edits[done]);
            }
        }
    };
    for (;;) {
        const auto next = std::ranges::find_if(
            edits.begin() + static_cast<std::ptrdiff_t>(done), edits.end(),
            [](char k) { return k != ' '; }, &Edit::kind);
        if (next == edits.end()) {
            return out;
        }
        const auto change = static_cast<std::size_t>(next - edits.begin());
        pass(change - std::min(context, change - done), nullptr);
        const auto old_first = old_at;
        const auto new_first = new_at;
        std::string body;
        pass(hunk_end(edits, change), &body);
        out += fmt::format("@@ -{} +{} @@\n{}", range_text(old_first, old_at - old_first),
                           range_text(new_first, new_at - new_first), body);
    }
}

}  // namespace railhead::report
