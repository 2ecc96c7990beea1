// Is this storage fast enough for a training job?  What `railhead storage` answers.
//
// The write of a checkpoint by all its writers at once, the read storm of a restart, copies on two
// levels, and the samples that are read while training.  Every figure that was not given is listed
// with its source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/recommend.hpp"
#include "plan/store.hpp"

namespace railhead::plan {

/// What one core takes to decode a JPEG of ImageNet: 537 images a second by Pillow on one thread of
/// an EPYC 9B14 (Iglovikov and Kosarevsky, arXiv:2605.08731).  Seconds.
constexpr double jpeg_decode_s = 1.0 / 537;

/// Samples that training reads.
struct DataQuestion {
    std::optional<double> samples_per_s;     ///< of the whole job
    std::optional<double> sample_bytes;      ///< as stored
    std::optional<double> samples_per_file;  ///< 1: each sample is a file
    std::optional<double> decode_s;          ///< of one CPU core and sample
    std::optional<std::uint64_t> cores;      ///< of a node
};

/// All of it may be missing but the store; plan_storage() says what cannot be.
struct StorageQuestion {
    const Store* store = nullptr;
    const Store* local = nullptr;  ///< drives in the nodes, for copies on two levels
    std::optional<double> write_bytes_per_s, read_bytes_per_s;  ///< of the whole store
    std::optional<double> node_write_bytes_per_s, node_read_bytes_per_s;
    std::optional<std::uint64_t> units, metadata_servers;
    std::optional<std::uint64_t> processes;         ///< that write a checkpoint
    std::optional<std::uint64_t> files_per_writer;  ///< 1 unless said
    std::optional<std::uint64_t> replicas;          ///< of the model, in data parallelism

    /// Nodes or GPUs, size, failures, cost, restart, interval.  The bandwidth is ours to say.
    checkpoint::Question checkpoint;
    DataQuestion data;
};

/// A figure that was not given.
struct Basis {
    enum class Unit : std::uint8_t { bytes_per_s, per_s, count, bytes, seconds };
    std::string_view what;
    double value = 0;
    Unit unit = Unit::count;
    std::string source;
    bool is_guess = false;
};

/// What holds a transfer back.
enum class Limit : std::uint8_t { store, nodes };

/// Bytes that all nodes move at once.
struct Transfer {
    double bytes = 0;
    double bytes_per_s = 0;
    Limit limit = Limit::store;
    double data_s = 0;
    std::uint64_t files = 0;
    std::optional<double> files_per_s;  ///< none where no limit is known
    double metadata_s = 0;              ///< to create or to open the files
    [[nodiscard]] double total_s() const { return data_s + metadata_s; }
};

/// A restart, by what is read.
struct Restart {
    Transfer once;    ///< each byte by one GPU, which sends it on
    Transfer by_all;  ///< weights by every replica, its own part of the optimizer by each GPU
    std::uint64_t replicas = 1;
};

enum class Pays : std::uint8_t { no, maybe, yes };

/// Samples, as they are read.
struct Loading {
    double bytes_per_s = 0, node_bytes_per_s = 0;
    double reads_per_s = 0, node_reads_per_s = 0;  ///< of samples
    double opens_per_s = 0;
    double store_share = 0;  ///< of the bandwidth of the store, or of its nodes
    std::optional<double> reads_share, opens_share;
    double cores_per_node = 0;  ///< that decode
    std::optional<std::uint64_t> cores;
    Pays gpu_decoding = Pays::no;  ///< DALI and its like
    Pays gds = Pays::no;           ///< GPUDirect Storage
    /// To a node: what is wanted, or the part of it that comes.
    [[nodiscard]] double carried_bytes_per_s() const;
    /// Nothing is used in full.
    [[nodiscard]] bool is_enough() const;
};

struct StoragePlan {
    explicit StoragePlan(checkpoint::Recommendation about) : checkpoint{std::move(about)} {}

    const Store* store = nullptr;
    std::uint64_t nodes = 1;
    std::optional<double> write_bytes_per_s, read_bytes_per_s;  ///< of the store; none: no limit
    double node_write_bytes_per_s = 0, node_read_bytes_per_s = 0;

    std::uint64_t writers = 1;
    Transfer write;
    double interval_s = 0;  ///< the user's own, else the recommended one
    bool is_own_interval = false;
    double share = 0;                       ///< of the write in an interval
    checkpoint::Recommendation checkpoint;  ///< interval, ETTR, copies in memory
    std::optional<double> local_copy_s;     ///< of a copy to the node's own drives
    Restart restart;
    std::optional<Loading> loading;

    std::vector<Basis> bases;
    std::vector<std::string> notes;

    /// A write ends within the interval.
    [[nodiscard]] bool is_fast_enough() const;
};

/// Fails with `bad_input` where a figure is missing that no source and no guess can stand for: how
/// fast the store is as a whole, the size of the checkpoint, the nodes of the job.
[[nodiscard]] Result<StoragePlan> plan_storage(const StorageQuestion& question);

}  // namespace railhead::plan
