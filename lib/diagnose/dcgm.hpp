// What does NVIDIA's Data Center GPU Manager say?  dcgmi diag, dcgmi health, dcgmi dmon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"
#include "diagnose/line_reader.hpp"

namespace railhead::diagnose {

enum class DcgmResult : std::uint8_t { pass, skip, warn, fail };

/// A row of the tables of "dcgmi diag" and "dcgmi health".
struct DcgmCheck {
    std::string host;     ///< label of the launcher; empty: none
    std::string section;  ///< "Deployment", "Hardware"; empty where there is none
    std::string name;     ///< "GPU Memory"
    DcgmResult result = DcgmResult::pass;
    std::string detail;  ///< what its result, warnings and errors say: "GPU 3 has …"
    Evidence evidence;
};

/// A column of "dcgmi dmon" for one entity.
struct DcgmField {
    std::string host;
    std::string entity;  ///< "GPU 0"
    std::string field;   ///< as the column is headed: "SMACT"
    double least = 0, most = 0, sum = 0, last = 0;
    std::uint64_t samples = 0;
    Evidence evidence;  ///< the first sample
    [[nodiscard]] double mean() const {
        return samples == 0 ? 0 : sum / static_cast<double>(samples);
    }
};

struct DcgmReport {
    std::vector<DcgmCheck> checks;
    std::vector<DcgmField> fields;
    std::uint64_t left_out = 0;  ///< checks and fields beyond the most that are kept
};

class DcgmReader : public LineReader {
 public:
    static constexpr std::size_t most = 65536;

    using LineReader::LineReader;
    [[nodiscard]] const DcgmReport& report() const { return report_; }

 private:
    void read_line(std::string_view line) override;
    void read_row(std::string_view label, std::string_view name, std::string_view result);
    void add_check(std::string_view label, std::string_view name, DcgmResult result);
    void read_sample(std::string_view label, std::string_view line);
    void add_sample(std::string_view label, std::string_view entity, std::size_t column,
                    double value);

    DcgmReport report_;
    std::vector<std::string> columns_;
    std::string section_;
    bool continues_ = false;  ///< the last check may have more text on the next row
};

}  // namespace railhead::diagnose
