#include "policy/load_policy.hpp"

#include <sys/stat.h>


#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "policy/parse.hpp"

namespace railhead::policy {

namespace {

constexpr std::string_view default_folder = "/etc/slurm";

std::string environment(const char* name) {
    return own_variable(name).value_or("");  // read at load only
}

/// The FILE of "slurmctld -f FILE", which slurmctld tells its plugins in no other way.
std::string slurm_conf_of_this_daemon() {
    const auto command = read_file("/proc/self/cmdline", std::size_t{64} << 10U);
    if (!command) {
        return {};
    }
    const auto words = split(*command, '\0');
    if (words.front().find("slurmctld") == std::string_view::npos) {
        return {};
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "-f" && i + 1 < words.size()) {
            return std::string{words[i + 1]};
        }
        if (words[i].starts_with("-f")) {
            return std::string{words[i].substr(2)};
        }
    }
    return {};
}

std::vector<std::string> candidates(const Places& places) {
    if (!places.policy.empty()) {
        return {places.policy};
    }
    std::vector<std::string> paths{
        beside(places.slurm_conf_said.empty() ? places.slurm_conf : places.slurm_conf_said,
               "railhead.toml")};
    if (const auto fallback = fmt::format("{}/railhead.toml", default_folder);
        fallback != paths.front()) {
        paths.push_back(fallback);
    }
    return paths;
}

}  // namespace

LoadedPolicy load_policy(const Places& places,
                         const std::function<Result<std::string>(const std::string& path)>& read) {
    LoadedPolicy loaded;
    for (const auto& path : candidates(places)) {
        loaded.path = path;
        const auto text = read(path);
        if (text) {
            if (auto policy = parse_policy(*text, path)) {
                loaded.policy = std::move(*policy);
            } else {
                loaded.errors = std::move(policy.error());
            }
            return loaded;
        }
        if (text.error().code != Errc::not_found) {
            loaded.errors.push_back(text.error());
            return loaded;
        }
    }
    loaded.absent = places.policy.empty();  // a file that was named must be there
    if (!loaded.absent) {
        loaded.errors.push_back(
            {Errc::not_found, fmt::format("there is no policy \"{}\"", places.policy), {}});
    }
    return loaded;
}

uid_t trusted_owner(const std::string& slurm_conf) {
    struct stat about {};
    constexpr uid_t root = 0;
    return ::stat(slurm_conf.c_str(), &about) == 0 ? about.st_uid : root;
}

std::string beside(const std::string& path, std::string_view name) {
    const auto slash = path.rfind('/');
    return std::string{path.substr(0, slash == std::string::npos ? 0 : slash + 1)}.append(name);
}

Places default_places() {
    Places places;
    places.policy = environment("RAILHEAD_POLICY");
    places.slurm_conf = slurm_conf_of_this_daemon();
    if (places.slurm_conf.empty()) {
        places.slurm_conf = environment("SLURM_CONF");
    }
    if (places.slurm_conf.empty()) {
        places.slurm_conf = fmt::format("{}/slurm.conf", default_folder);
    }
    return places;
}

}  // namespace railhead::policy
