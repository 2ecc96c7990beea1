#include "job/job_name.hpp"

#include <algorithm>
#include <vector>

#include "job/directives.hpp"
#include "job/option_scan.hpp"

namespace railhead::job {

namespace {

Result<Scan> scan(std::span<const Word> words, ScriptOption::Source source) {
    std::vector<Error> warnings;
    return scan_options(words, source, warnings);
}

std::optional<std::string> value_of(const Scan& scan, std::string_view option) {
    std::optional<std::string> value;
    for (const auto& found : scan.options) {
        if (found.name == option) {
            value = found.value;  // the last one counts
        }
    }
    return value;
}

std::optional<std::string> name_in_script(const std::string& text, const std::string& path) {
    std::vector<Error> warnings;
    const auto directives = read_directives(text, path, warnings);
    if (!directives || directives->empty()) {
        return std::nullopt;
    }
    const auto options = scan(directives->front(), ScriptOption::Source::script);
    return options ? value_of(*options, "job-name") : std::nullopt;
}

const char* variable_of(Command command) {
    switch (command) {
        case Command::sbatch:
            return "SBATCH_JOB_NAME";
        case Command::salloc:
            return "SALLOC_JOB_NAME";
        case Command::srun:
            return "SLURM_JOB_NAME";
    }
    return "";
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

std::string find_job_name(const NameSources& sources) {
    std::vector<Word> words;
    for (const auto& argument : sources.arguments) {
        words.push_back({argument, {}});
    }
    const auto line = scan(words, ScriptOption::Source::command_line);
    if (!line) {
        return {};
    }
    if (const auto name = value_of(*line, "job-name")) {
        return *name;
    }
    if (auto name = sources.environment(variable_of(sources.command)); name && !name->empty()) {
        return *name;
    }
    if (sources.command == Command::sbatch && value_of(*line, "wrap")) {
        return "wrap";
    }
    auto at = line->used;
    if (at < words.size() && words[at].text == "--") {
        ++at;
    }
    if (at >= words.size()) {
        return sources.command == Command::sbatch ? "sbatch" : "interactive";
    }
    const auto& program = words[at].text;
    if (sources.command == Command::sbatch) {
        const auto text = sources.script(program);
        if (auto name = text ? name_in_script(*text, program) : std::nullopt) {
            return *name;
        }
    }
    return file_name(program);
}

}  // namespace railhead::job
