// How long was each node in a set of times?  Times that overlap count once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace railhead::diagnose {

struct NodeCount;

class NodeTimes {
 public:
    /// From `begin_s` to `end_s`; nothing where it ends before it begins.
    void add(const std::string& node, std::int64_t begin_s, std::int64_t end_s);
    /// Such times do not count, whatever was or will be added.
    void remove(const std::string& node, std::int64_t begin_s, std::int64_t end_s);

    /// The nodes with their times, sorted by name, failures 0.
    [[nodiscard]] std::vector<NodeCount> take();

    /// Of all times that were added; 0 where there is none.
    [[nodiscard]] std::int64_t first_s() const { return first_s_; }
    [[nodiscard]] std::int64_t last_s() const { return last_s_; }

 private:
    using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;
    std::unordered_map<std::string, Spans> in_, out_;
    std::int64_t first_s_ = 0, last_s_ = 0;
};

}  // namespace railhead::diagnose
