// How was a run set up?  DeepSpeed's JSON, torchtitan's TOML, NeMo's YAML, and the environment and
// arguments that an sbatch script gives it.  What Megatron prints of its arguments is read with its
// log (training/log.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "diagnose/evidence.hpp"
#include "diagnose/kind.hpp"
#include "diagnose/line_reader.hpp"
#include "training/log.hpp"

namespace railhead::diagnose {

/// A value as written, under the names of the tables it is in: "zero_optimization.stage".
struct Setting {
    std::string key;
    std::string value;  ///< without quotes; of a list its parts with commas
    Evidence evidence;
};

struct RunConfiguration {
    FileKind kind = FileKind::unknown;
    std::vector<Setting> settings;  ///< in the order of the file
    std::uint64_t left_out = 0;
    /// What the settings say of topics that training logs tell too, in the same units.
    std::array<std::optional<training::Fact>, static_cast<std::size_t>(training::Topic::count_)>
        facts;
    std::vector<Error> errors;  ///< of a file that is no JSON, TOML or YAML

    /// The last value under `key`; null where there is none.
    [[nodiscard]] const Setting* find(std::string_view key) const;
    [[nodiscard]] const training::Fact* fact(training::Topic topic) const {
        const auto& found = facts.at(static_cast<std::size_t>(topic));
        return found ? &*found : nullptr;
    }
};

/// Reads a whole file of `kind`, which is one of deepspeed_config, torchtitan_config, nemo_config
/// and batch_script; a larger one than `limit` is cut.
class RunConfigurationReader : public Reader {
 public:
    static constexpr std::size_t limit = std::size_t{8} << 20U;
    static constexpr std::size_t most_settings = 16384;

    RunConfigurationReader(FileKind kind, std::uint32_t file, std::string name)
        : file_{file}, name_{std::move(name)} {
        configuration_.kind = kind;
    }
    void feed(std::string_view piece) override;
    void finish() override;
    [[nodiscard]] const RunConfiguration& configuration() const { return configuration_; }

 private:
    std::uint32_t file_;
    std::string name_;  ///< for errors
    std::string text_;
    RunConfiguration configuration_;
};

}  // namespace railhead::diagnose
