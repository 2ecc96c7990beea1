// What slurmctld is set to: `scontrol show config`, or slurm.conf itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railhead::diagnose {

struct SlurmSetting {
    std::string key, value;
    std::string from;  ///< "scontrol show config:17"; "Slurm's default" where the file has none
};

/// Keys of one file.  `scontrol show config` has all of them; of slurm.conf what is not there is
/// Slurm's default, unless a file that it includes may have it.
class SlurmSettings {
 public:
    /// Whether a text that begins with `head` is one of the two.
    [[nodiscard]] static bool is_known(std::string_view head);
    /// `name` is what people are told of it.
    SlurmSettings(std::string_view text, const std::string& name);

    /// In any case.  "(null)" is an empty value.  Nothing where the file does not tell.
    [[nodiscard]] std::optional<SlurmSetting> find(std::string_view key) const;

 private:
    void read_config(std::string_view text, const std::string& name);
    void read_slurm_conf(std::string_view text, const std::string& name);

    std::vector<SlurmSetting> settings_;
    bool has_defaults_ = false;  ///< slurm.conf, which includes nothing
    std::string name_;
};

}  // namespace railhead::diagnose
