#include "job_input.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "diagnose/job_details.hpp"
#include "diagnose/kind.hpp"
#include "policy/load_policy.hpp"

namespace railhead::cli {

namespace {

constexpr std::size_t most_outputs = 256;  // of an array with many tasks

std::vector<diagnose::JobDetails> details_of(const Asked& asked) {
    diagnose::JobDetailsReader reader{0};
    for (const auto& text : asked.texts) {
        if (text.name == "scontrol show job") {
            reader.feed(text.text);
            reader.feed("\n");
        }
    }
    reader.finish();
    return reader.jobs();
}

/// The user whose files these are: ourselves, unless we are root.
Result<Account> account_of(const std::string& user) {
    if (::geteuid() != 0) {
        return Account{::geteuid(), ::getegid(), {}, {}};
    }
    return find_account(user);
}

void add_output(JobInput& input, const std::string& path, const Account& account, bool is_assumed) {
    const bool is_known = std::ranges::any_of(
        input.outputs, [&](const JobOutput& other) { return other.path == path; });
    if (!path.empty() && !is_known && path != "/dev/null" && input.outputs.size() < most_outputs) {
        input.outputs.push_back({path, account, is_assumed});
    }
}

void add_outputs(JobInput& input, const std::vector<diagnose::JobDetails>& jobs, Console& console) {
    for (const auto& job : jobs) {
        const auto account = account_of(job.user);
        if (!account) {
            console.warn(account.error());
            continue;
        }
        add_output(input, job.std_out, *account, false);
        add_output(input, job.std_err, *account, false);
    }
}

/// A row of sacct by the names of its heading.
class Row {
 public:
    Row(std::string_view heading, std::string_view row)
        : names_{split(heading, '|')}, values_{split(row, '|')} {}
    [[nodiscard]] std::string get(std::string_view name) const {
        const auto at = std::ranges::find(names_, name);
        const auto place = static_cast<std::size_t>(at - names_.begin());
        return place < values_.size() ? std::string{trim(values_[place])} : std::string{};
    }

 private:
    std::vector<std::string_view> names_, values_;
};

/// What accounting tells of files.  Their names came with 24.05; before, Slurm's usual name in the
/// folder of the job is looked for.
void add_accounted_outputs(JobInput& input, const std::string& job, Console& console) {
    const std::vector<std::string> words = {"sacct", "--allocations", "--parsable2",
                                            "--jobs=" + job};
    auto with_files = words;
    with_files.insert(with_files.end(),
                      {"--expand-patterns", "--format=JobIDRaw,User,WorkDir,StdOut,StdErr"});
    auto text = ask_slurm(with_files, Clock::utc);
    if (!text) {
        auto without = words;
        without.emplace_back("--format=JobIDRaw,User,WorkDir");
        text = ask_slurm(without, Clock::utc);
    }
    const auto lines = text ? split(*text, '\n') : std::vector<std::string_view>{};
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const Row row{lines[0], lines[i]};
        const auto account = account_of(row.get("User"));
        if (row.get("JobIDRaw").empty()) {
            continue;
        }
        if (!account) {
            console.warn(account.error());
            continue;
        }
        const auto folder = row.get("WorkDir");
        const auto whole = [&](const std::string& path) {
            return path.empty() || path.front() == '/' ? path : folder + "/" + path;
        };
        add_output(input, whole(row.get("StdOut")), *account, false);
        add_output(input, whole(row.get("StdErr")), *account, false);
        if (row.get("StdOut").empty() && !folder.empty()) {
            add_output(input, fmt::format("{}/slurm-{}.out", folder, row.get("JobIDRaw")), *account,
                       true);
        }
    }
}

/// What its placement and its options are judged by.  What cannot be had is left out.
void add_surroundings(JobInput& input, const std::vector<diagnose::JobDetails>& jobs) {
    std::vector<std::string> partitions;
    for (const auto& job : jobs) {
        const auto script =
            ask_slurm({"scontrol", "write", "batch_script", job.id, "-"}, Clock::utc);
        if (script && diagnose::guess_kind(*script) == diagnose::FileKind::batch_script) {
            input.texts.push_back({fmt::format("batch script of job {}", job.id), *script});
        }
        if (!job.partition.empty() &&
            std::ranges::find(partitions, job.partition) == partitions.end()) {
            partitions.push_back(job.partition);
        }
    }
    for (const auto& partition : partitions) {
        if (auto text = ask_slurm({"scontrol", "show", "partition", partition}, Clock::utc)) {
            input.texts.push_back(
                {fmt::format("scontrol show partition {}", partition), std::move(*text)});
        }
    }
    const auto places = policy::default_places();
    const auto conf =
        places.slurm_conf.empty() ? std::string{"/etc/slurm/slurm.conf"} : places.slurm_conf;
    const auto folder = conf.substr(0, conf.rfind('/') + 1);
    const std::vector<std::string> candidates =
        places.topology.empty() ? std::vector{folder + "topology.yaml", folder + "topology.conf"}
                                : std::vector{places.topology};
    for (const auto& path : candidates) {
        if (auto text = read_file(path)) {
            input.texts.push_back({path, std::move(*text)});
            break;
        }
    }
}

void add_texts(JobInput& input, Asked asked, const std::string& job) {
    for (auto& text : asked.texts) {
        input.texts.push_back({fmt::format("{} ({})", text.name, job), std::move(text.text)});
    }
}

}  // namespace

Result<JobInput> find_job(const std::string& job, Console& console) {
    auto known = ask_slurmctld({job}, Clock::utc);
    auto accounted = ask_accounting({job}, Clock::utc);
    const bool has_records = accounted && !accounted->records.attempts.empty();
    if (!known && !has_records) {
        return fail(Errc::not_found,
                    fmt::format("no {}; accounting: {}", known.error().message,
                                accounted ? "knows no such job" : accounted.error().message));
    }
    if (!accounted) {
        console.warn({accounted.error().code,
                      "accounting does not answer, so only what slurmctld still knows is read: " +
                          accounted.error().message,
                      {}});
    }
    JobInput input;
    if (known) {
        const auto jobs = details_of(*known);
        add_texts(input, std::move(*known), job);
        add_outputs(input, jobs, console);
        add_surroundings(input, jobs);
    }
    if (has_records) {
        add_texts(input, std::move(*accounted), job);
    }
    if (input.outputs.empty() && has_records) {
        add_accounted_outputs(input, job, console);
    }
    return input;
}

Result<TextStream> open_output(const JobOutput& output) {
    const AsUser user{output.account};
    if (!user) {
        return fail(Errc::unavailable, fmt::format("\"{}\" is not read: cannot become its user",
                                                   printable(output.path)));
    }
    struct stat status {};
    if (::stat(output.path.c_str(), &status) != 0) {
        const int error = errno;
        return fail(
            error == ENOENT ? Errc::not_found : Errc::bad_input,
            fmt::format("\"{}\", {}, cannot be read here: {}", printable(output.path),
                        output.is_assumed ? "where sbatch puts a job's output" : "the job's output",
                        std::generic_category().message(error)));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\", the job's output, is no regular file: it is not read",
                                printable(output.path)));
    }
    return TextStream::open(output.path);
}

}  // namespace railhead::cli
