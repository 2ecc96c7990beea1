// Writes the log of a job under NCCL_DEBUG=INFO, the same for the same seed:
//   nccl_log_generator [--ranks N] [--megabytes N] [--seed N] [--folder DIR] [--training SHARE]
// to standard output, lines of ranks mixed in short runs as srun mixes them; with --folder into a
// file a rank, as NCCL_DEBUG_FILE does.  --training is the share of lines from training, in
// percent.
#include <fcntl.h>
#include <iterator>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

constexpr unsigned gpus = 8;

struct Options {
    unsigned ranks = 1024;
    std::uint64_t bytes = std::uint64_t{1000} << 20U;
    unsigned seed = 1;
    unsigned training = 2;
    std::string folder;
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view key = argv[i];
        const auto number = std::strtoull(argv[i + 1], nullptr, 10);
        if (key == "--ranks") {
            options.ranks = static_cast<unsigned>(number);
        } else if (key == "--megabytes") {
            options.bytes = number * 1'000'000;
        } else if (key == "--seed") {
            options.seed = static_cast<unsigned>(number);
        } else if (key == "--training") {
            options.training = static_cast<unsigned>(number);
        } else if (key == "--folder") {
            options.folder = argv[i + 1];
        }
    }
    return options;
}

/// What a rank prints, line by line, without an end.
class Rank {
 public:
    Rank(unsigned number, unsigned of)
        : number_{number},
          of_{of},
          gpu_{number % gpus},
          prefix_{fmt::format("gpu-{:05}:{}:{} [{}] NCCL INFO ", number / gpus,
                              20'000 + number % 977, 21'000 + number % 1973, gpu_)} {}

    void write(std::string& out) {
        out += prefix_;
        if (at_ < 14) {
            write_start(out);
        } else {
            write_connection(out);
        }
        out += '\n';
        ++at_;
        if (at_ > 14 + 160) {  // the next communicator
            at_ = 10;
            ++communicator_;
        }
    }
    [[nodiscard]] const std::string& prefix() const { return prefix_; }

 private:
    void write_start(std::string& out) {
        const auto to = std::back_inserter(out);
        switch (at_) {
            case 0:
                out += "cudaDriverVersion 12040";
                break;
            case 1:
                out += "NCCL_IB_HCA set by environment to =mlx5_0,mlx5_1,mlx5_2,mlx5_3";
                break;
            case 2:
                fmt::format_to(to, "Bootstrap : Using eth0:10.{}.{}.{}<0>", number_ / 65536,
                               number_ / 256 % 256, number_ % 256);
                break;
            case 3:
                out += "NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.";
                break;
            case 4:
                out += "NET/Plugin: Loaded net plugin NCCL RDMA Plugin v7 (v7)";
                break;
            case 5:
                out += "NCCL_DEBUG set by environment to INFO";
                break;
            case 6:
                out += "NET/IB : Using ";
                for (unsigned i = 0; i < gpus; ++i) {
                    fmt::format_to(to, "[{}]mlx5_{}:1/IB ", i, i);
                }
                fmt::format_to(to, "[RO]; OOB eth0:10.0.0.{}<0>", number_ % 256);
                break;
            case 7:
                out += "Using network IBext_v7";
                break;
            case 8:
                fmt::format_to(to,
                               "GPU Direct RDMA Enabled for GPU {} / HCA {} (distance 4 <= 5), "
                               "read 1 mode Default",
                               gpu_, gpu_);
                break;
            case 9:
                fmt::format_to(to, "NVLS multicast support is available on dev {}", gpu_);
                break;
            case 10:
                write_communicator(out, "START");
                break;
            case 11:
                fmt::format_to(to, "Setting affinity for GPU {} to ffffffff,ffffff00", gpu_);
                break;
            case 12:
                out +=
                    "16 coll channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer";
                break;
            default:
                write_communicator(out, "COMPLETE");
                break;
        }
    }
    void write_communicator(std::string& out, std::string_view what) const {
        const unsigned size = communicator_ == 0 ? of_ : std::max(2U, of_ >> (communicator_ % 5));
        fmt::format_to(
            std::back_inserter(out),
            "comm 0x55d9607ee{:03x} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x}000 "
            "commId 0x{:x} - Init {}",
            number_ % 4096, number_ % size, size, gpu_, gpu_, 0x18 + 0x11 * gpu_,
            0x753d166fb39e0000U + communicator_ * 64 + number_ / size, what);
    }
    void write_connection(std::string& out) const {
        const auto to = std::back_inserter(out);
        const unsigned channel = at_ % 16;
        const unsigned other_node = (number_ + gpus) % of_;
        const unsigned neighbour = number_ - gpu_ + (gpu_ + 1) % gpus;
        switch (at_ % 5) {
            case 0:
                fmt::format_to(
                    to, "Channel {:02}/0 : {}[{}] -> {}[{}] [send] via NET/IBext_v7/{}/GDRDMA",
                    channel, number_, gpu_, other_node, gpu_, gpu_);
                break;
            case 1:
                fmt::format_to(
                    to, "Channel {:02}/0 : {}[{}] -> {}[{}] [receive] via NET/IBext_v7/{}/GDRDMA",
                    channel, other_node, gpu_, number_, gpu_, gpu_);
                break;
            case 2:
                fmt::format_to(
                    to, "Channel {:02}/1 : {}[{}] -> {}[{}] [send] via NET/IBext_v7/{}({})/GDRDMA",
                    channel, number_, gpu_, other_node, gpu_, (gpu_ + 1) % gpus, neighbour);
                break;
            default:
                fmt::format_to(to, "Channel {:02}/0 : {}[{}] -> {}[{}] via P2P/CUMEM", channel,
                               number_, gpu_, neighbour, (gpu_ + 1) % gpus);
                break;
        }
    }

    unsigned number_, of_, gpu_;
    std::string prefix_;
    unsigned at_ = 0;
    unsigned communicator_ = 0;
};

void write_all(int fd, std::string& out) {
    std::string_view rest = out;
    while (!rest.empty()) {
        const auto count = ::write(fd, rest.data(), rest.size());
        if (count <= 0) {
            std::exit(1);
        }
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    out.clear();
}

void write_mixed(const Options& options, std::vector<Rank>& ranks) {
    std::mt19937_64 random{options.seed};
    std::string out = "NCCL version 2.20.5+cuda12.4\n";
    std::uint64_t written = 0;
    unsigned step = 0;
    // Every rank begins once, then they mix.
    for (std::uint64_t turn = 0; written + out.size() < options.bytes; ++turn) {
        Rank& rank = ranks[turn < ranks.size() ? turn : random() % ranks.size()];
        for (auto lines = turn < ranks.size() ? 14 : 1 + random() % 6; lines > 0; --lines) {
            rank.write(out);
        }
        if (random() % 100 < options.training * 3) {
            ++step;
            fmt::format_to(
                std::back_inserter(out),
                " iteration {:8}/ 5000 | consumed samples: {:12} | elapsed time per "
                "iteration (ms): 4325.1 | learning rate: 1.5E-04 | lm loss: 2.31E+00 |\n",
                step, std::uint64_t{step} * 1024);
        }
        if (out.size() > (1U << 20U)) {
            written += out.size();
            write_all(STDOUT_FILENO, out);
        }
    }
    write_all(STDOUT_FILENO, out);
}

void write_files(const Options& options, std::vector<Rank>& ranks) {
    const std::uint64_t each = options.bytes / ranks.size();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        std::string out = i == 0 ? "NCCL version 2.20.5+cuda12.4\n" : "";
        while (out.size() < each) {
            ranks[i].write(out);
        }
        const auto name = fmt::format("{}/nccl.{:05}.log", options.folder, i);
        const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0) {
            std::perror(name.c_str());
            std::exit(1);
        }
        write_all(fd, out);
        ::close(fd);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    std::vector<Rank> ranks;
    for (unsigned i = 0; i < options.ranks; ++i) {
        ranks.emplace_back(i, options.ranks);
    }
    if (options.folder.empty()) {
        write_mixed(options, ranks);
    } else {
        write_files(options, ranks);
    }
    return 0;
}
