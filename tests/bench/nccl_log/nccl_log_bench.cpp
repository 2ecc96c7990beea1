// How fast NCCL logs are read, all facts extracted, and in how much memory:
//   nccl_log_bench [--repeats N] [--facts] FILE… (- is standard input, .gz is seen by its content)
// Prints MB/s of text (after decompression), and the most memory that was resident.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/nccl_log.hpp"
#include "text_stream.hpp"

namespace {

using namespace railhead;
using Clock = std::chrono::steady_clock;

struct Options {
    int repeats = 1;
    bool facts = false;
    std::vector<std::string> files;
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--facts") {
            options.facts = true;
        } else if (word == "--repeats" && i + 1 < argc) {
            options.repeats = std::max(1, std::atoi(argv[++i]));
        } else {
            options.files.emplace_back(word);
        }
    }
    return options;
}

Result<diagnose::NcclLog> read_all(const std::vector<std::string>& files) {
    diagnose::Sources sources;
    diagnose::NcclLogReader reader;
    for (const std::string& file : files) {
        auto stream = cli::TextStream::open(file);
        if (!stream) {
            return propagate(stream);
        }
        reader.begin_file(sources.add(file));
        while (true) {
            const auto piece = stream->read();
            if (!piece) {
                return tl::unexpected{piece.error()};
            }
            if (piece->empty()) {
                break;
            }
            reader.feed(*piece);
        }
        reader.end_file();
    }
    return reader.take();
}

void show(const diagnose::NcclLog& log) {
    for (const auto& saying : log.sayings) {
        std::printf("%s: %s (%u ranks, %llu lines, line %llu)\n",
                    std::string{name_of(saying.topic)}.c_str(), saying.value.c_str(),
                    log.ranks_that_said(saying), static_cast<unsigned long long>(saying.lines),
                    static_cast<unsigned long long>(saying.first.line));
    }
    for (const auto& path : log.paths) {
        std::printf("path %s: %llu\n", path.kind.c_str(),
                    static_cast<unsigned long long>(path.lines));
    }
    for (const auto& gdr : log.gdr) {
        std::printf("GDR %s HCA %s, distance %d of %d\n", gdr.enabled ? "on" : "off",
                    gdr.hca.c_str(), gdr.distance.value_or(-1), gdr.limit.value_or(-1));
    }
    for (const auto& variable : log.variables) {
        std::printf("%s=%s\n", variable.name.c_str(), variable.value.c_str());
    }
    for (const auto& warning : log.warnings) {
        std::printf("warning (%s%s, status %d, vendor %d, %llu lines, %u ranks first): %s\n",
                    std::string{name_of(warning.kind)}.c_str(),
                    warning.is_consequence() ? ", consequence" : "", warning.status.value_or(-1),
                    warning.vendor_error.value_or(-1),
                    static_cast<unsigned long long>(warning.lines), warning.ranks,
                    warning.first.text.c_str());
        for (const auto& link : warning.links) {
            std::printf("    %s %s - %s\n", link.device.c_str(), link.local.c_str(),
                        link.remote.c_str());
        }
    }
    for (const auto& sizes : log.communicators) {
        std::printf("communicators of %u ranks: %u\n", sizes.ranks, sizes.count);
    }
    for (const auto& link : log.graph_links) {
        std::printf("link %s %g GB/s: %llu\n", link.type.c_str(), link.gb_s,
                    static_cast<unsigned long long>(link.lines));
    }
    for (const auto& below : log.graph_switches) {
        std::printf("switch %s: GPUs", below.id.c_str());
        for (const auto& gpu : below.gpus) {
            std::printf(" %s", gpu.c_str());
        }
        std::printf(", NICs");
        for (const auto& nic : below.nics) {
            std::printf(" %s", nic.c_str());
        }
        std::printf("\n");
    }
    for (const auto& timeout : log.timeouts) {
        std::printf("timeout %s %llu %s in %llu out %llu: %zu ranks from %u\n",
                    timeout.group.c_str(), static_cast<unsigned long long>(timeout.sequence),
                    timeout.operation.c_str(), static_cast<unsigned long long>(timeout.numel_in),
                    static_cast<unsigned long long>(timeout.numel_out), timeout.ranks.size(),
                    timeout.ranks.front());
    }
}

/// Seconds that this process ran on a CPU.
double cpu_seconds() {
    struct timespec time {};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void summarize(const diagnose::NcclLog& log, double seconds, double cpu) {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    std::printf(
        "%.0f MB/s, %.0f MB/s of CPU time: %.1f MB, %llu lines in %.3f s; %zu ranks on %zu hosts, "
        "world %u, "
        "%zu absent; glued %llu, joined %llu, torn %llu, left out %llu; %.0f MB resident\n",
        static_cast<double>(log.bytes) / seconds / 1e6, static_cast<double>(log.bytes) / cpu / 1e6,
        static_cast<double>(log.bytes) / 1e6, static_cast<unsigned long long>(log.lines), seconds,
        log.ranks.size(), log.hosts.size() - 1, log.world(), log.absent_ranks().size(),
        static_cast<unsigned long long>(log.glued), static_cast<unsigned long long>(log.joined),
        static_cast<unsigned long long>(log.torn), static_cast<unsigned long long>(log.left_out),
        static_cast<double>(usage.ru_maxrss) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    for (int i = 0; i < options.repeats; ++i) {
        const auto begin = Clock::now();
        const double cpu_begin = cpu_seconds();
        const auto log = read_all(options.files);
        const double cpu = cpu_seconds() - cpu_begin;
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        if (!log) {
            std::fprintf(stderr, "%s\n", to_string(log.error()).c_str());
            return 2;
        }
        if (options.facts) {
            show(*log);
        }
        summarize(*log, seconds, cpu);
    }
    return 0;
}
