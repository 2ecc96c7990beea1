// What do the logs of NCCL_DEBUG say?  Facts, each with the line that it was first read from.
//
// A log of thousands of ranks says most things thousands of times.  So a text is kept once, in a
// Saying, and a rank has its number.  What is kept does not grow with the length of the log: a rank
// takes about 200 bytes, and every table has a limit (what was over it is counted).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/evidence.hpp"

namespace railhead::diagnose {

/// What a rank says once, or always in the same way.
enum class NcclTopic : std::uint8_t {
    version,         ///< "2.21.5+cuda12.4"; the first rank of a communicator alone prints it
    cuda_driver,     ///< "12040"
    network,         ///< what it uses: "IB", "Socket", "AWS Libfabric"
    ib_devices,      ///< "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]"
    socket_devices,  ///< names alone: "eth0 eth1"
    other_devices,   ///< of another network: "FastSocket: eth0 eth1"
    no_ib_device,    ///< "NET/IB : No device found."
    bootstrap,       ///< the interface: "eth0"
    oob,             ///< the interface that NET/IB takes for its own messages
    plugin,          ///< of the network, loaded: "IBext_v8", "NCCL RDMA Plugin v6"
    plugin_path,
    plugin_trouble,  ///< why one was not loaded, as NCCL says it
    coll_plugin,     ///< of in-network reduction, loaded: "SHARP (v6)"
    provider,        ///< of libfabric, or its complaint
    affinity,        ///< CPU mask of the GPU
    nvls,            ///< "available" or "not available"
    channels,        ///< "16 coll channels, 16 nvls channels, 32 p2p channels, …"
    pattern,         ///< of the search: "Pattern 4, crossNic 0, nChannels 16, bw …, type NVL/PIX"
    dmabuf,          ///< "available" or why not
    no_p2p,          ///< why GPUs cannot reach each other, as NCCL says it
    mnnvl,           ///< NVLink over nodes
    count_
};
[[nodiscard]] std::string_view name_of(NcclTopic topic);
constexpr auto nccl_topics = static_cast<std::size_t>(NcclTopic::count_);

/// A text that ranks say about a topic.
struct Saying {
    NcclTopic topic = NcclTopic::version;
    std::string value;
    std::uint64_t lines = 0;
    Evidence first;
};

/// How two ranks reach each other.
enum class PathClass : std::uint8_t {
    p2p,      ///< GPU to GPU: NVLink or PCI
    shm,      ///< through the memory of the node
    net,      ///< through the memory of the node, and the network
    net_gdr,  ///< from the GPU to the NIC
    collnet,  ///< reduced in the network
    other,
    count_
};
[[nodiscard]] std::string_view name_of(PathClass path);
constexpr auto path_classes = static_cast<std::size_t>(PathClass::count_);

/// A way that connections take, device numbers left out: "P2P/CUMEM", "NET/IB/GDRDMA".
struct NcclPath {
    std::string kind;
    PathClass path = PathClass::other;
    std::uint64_t lines = 0;
    Evidence first;
};

/// What NCCL found about GPUDirect RDMA between a GPU and a NIC.
struct GdrChoice {
    bool enabled = false;
    std::string hca;  ///< as written: "0", "0 'mlx5_0'"
    // In steps of NCCL's path types: PIX 4, PXB 5, PHB 8 (2.2x); older releases count otherwise.
    std::optional<int> distance, limit;
    std::uint64_t lines = 0;
    Evidence first;
};

/// "NCCL_IB_HCA set by environment to mlx5".
struct NcclVariable {
    std::string name, value;
    bool from_environment = false;  ///< else NCCL tells a value without its origin, or from a file
    std::uint64_t lines = 0;
    Evidence first;
};

enum class WarningKind : std::uint8_t {
    completion,      ///< a work request failed: see `status` and `vendor_error`
    port_event,      ///< a NIC's port changed its state
    modify_qp,       ///< two NICs cannot be connected
    open_device,     ///< a NIC is there and cannot be opened
    verbs,           ///< another call of libibverbs failed
    no_verbs,        ///< there is no libibverbs
    provider,        ///< libfabric has no provider
    no_network,      ///< the network that was asked for is not there
    no_interface,    ///< no IP interface is left
    connect,         ///< a connection was refused or took too long
    cuda,            ///< a CUDA call failed
    shared_memory,   ///< /dev/shm is too small, or not there
    duplicate_gpu,   ///< two ranks have one GPU
    version_clash,   ///< ranks with different releases or calls
    host_setting,    ///< the kernel or the BIOS
    remote_closed,   ///< a consequence: the other side went away
    receive_failed,  ///< a consequence
    proxy_failed,    ///< a consequence: says that an operation failed, not why
    test_failed,     ///< a consequence: nccl-tests' own line
    other,
    count_
};
[[nodiscard]] std::string_view name_of(WarningKind kind);

/// Whether such a warning only tells that something else went wrong before.
[[nodiscard]] bool is_consequence(WarningKind kind);

/// The two ends of a connection that failed, as written; empty where not told.
struct Link {
    std::string device, local, remote;
    bool operator==(const Link&) const = default;
};

/// Warnings that differ in numbers and addresses alone.
struct NcclWarning {
    WarningKind kind = WarningKind::other;
    std::optional<int> status, vendor_error;  ///< of a completion: ibv_wc_status, and the NIC's own
    /// A completion with the status of a flush (5), which all requests get after the first failed.
    [[nodiscard]] bool is_flush() const { return status == 5; }
    [[nodiscard]] bool is_consequence() const {
        return diagnose::is_consequence(kind) || is_flush();
    }
    std::uint32_t rank = 0;            ///< index of the rank that said it first
    std::uint32_t ranks = 0;           ///< that said it before any other warning
    std::optional<std::int64_t> at_s;  ///< of the first, seconds since 1970 by the log's clock
    std::vector<Link> links;           ///< the first few that differ
    std::uint64_t lines = 0;
    Evidence first;
};

constexpr std::uint32_t nothing = UINT32_MAX;

/// One GPU of one process.  What most lines change is first, in one line of the CPU's cache.
struct alignas(64) NcclRank {
    std::uint32_t pid = 0;                            ///< 0 where lines have no prefix
    std::int32_t device = -1;                         ///< in brackets: the CUDA device
    std::array<std::uint32_t, path_classes> paths{};  ///< lines about connections
    std::uint32_t pxn = 0;        ///< connections by the NIC of another GPU of the node
    std::uint32_t host = 0;       ///< index into NcclLog::hosts
    std::uint64_t nics = 0;       ///< bit n: NET/…/n carries a connection
    std::uint64_t last_line = 0;  ///< that it said

    // Of the largest communicator that it is in.
    std::int32_t rank = -1;
    std::uint32_t of = 0;           ///< ranks in it; 0 where no communicator was told
    std::int32_t nvml_device = -1;  ///< differs from `device` where GPUs are hidden
    std::optional<std::uint64_t> bus_id;
    std::uint32_t started = 0, completed = 0;       ///< communicators; 2.18 and later tell both
    std::array<std::uint32_t, nccl_topics> said{};  ///< its last: index into NcclLog::sayings
    std::uint32_t warnings = 0;                     ///< lines
    std::uint32_t first_warning = nothing;          ///< index into NcclLog::warnings
    std::uint32_t file = 0;                         ///< of its first line, or of its first warning
    std::uint64_t first_warning_line = 0;
    float init_s = 0;  ///< the longest; 0 where none is told (2.20 and later tell it)

    [[nodiscard]] std::uint32_t connections(PathClass path) const {
        return paths[static_cast<std::size_t>(path)];
    }
};

/// Communicators of one size.
struct NcclCommunicators {
    std::uint32_t ranks = 0;  ///< in each
    std::uint32_t count = 0;  ///< that have an id of their own; 0 before 2.18, which tell none
    std::uint64_t lines = 0;  ///< that tell of one
};

/// A link of the topology that NCCL prints (NCCL_DEBUG_SUBSYS=GRAPH): "PCI[24.0]".
struct GraphLink {
    std::string type;
    double gb_s = 0;
    std::uint64_t lines = 0;
    Evidence first;
};

/// GPUs and NICs below one PCI switch, by bus ids as printed.
struct GraphSwitch {
    std::uint32_t host = 0;
    std::string id;
    std::vector<std::string> gpus, nics;
};

/// A collective that did not end, as PyTorch's watchdog tells it.
struct CollectiveTimeout {
    std::string group;  ///< "0", "default_pg"; empty in older releases, which have no name
    std::uint64_t sequence = 0;
    std::string operation;  ///< "ALLREDUCE"
    std::uint64_t numel_in = 0, numel_out = 0;
    std::uint64_t limit_ms = 0, longest_ms = 0;
    std::vector<std::uint32_t> ranks;  ///< that waited, sorted
    Evidence first;
};

struct NcclLog {
    std::vector<std::string> hosts;  ///< the first is that of lines without a prefix: ""
    std::vector<NcclRank> ranks;     ///< as they appear
    std::vector<Saying> sayings;
    std::vector<NcclPath> paths;
    std::vector<GdrChoice> gdr;
    std::vector<NcclVariable> variables;
    std::vector<NcclWarning> warnings;             ///< as they appear
    std::vector<NcclCommunicators> communicators;  ///< the largest first
    std::vector<GraphLink> graph_links;
    std::vector<GraphSwitch> graph_switches;
    std::vector<CollectiveTimeout> timeouts;
    std::optional<Evidence> slowest_init;

    std::uint64_t bytes = 0, lines = 0;
    std::uint64_t records = 0;   ///< of NCCL
    std::uint64_t glued = 0;     ///< that began within a line
    std::uint64_t joined = 0;    ///< that were put together from two lines
    std::uint64_t torn = 0;      ///< that another program's line had cut
    std::uint64_t left_out = 0;  ///< facts that had no room in their table
    bool deduplicated = false;   ///< Ray left out lines that repeat: counts are too low
    bool cut = false;            ///< a file ends within a line

    /// What `rank` says about `topic`; null where it says nothing.
    [[nodiscard]] const Saying* said(const NcclRank& rank, NcclTopic topic) const;
    /// All that is said about `topic`, as it appears.
    [[nodiscard]] std::vector<const Saying*> all_said(NcclTopic topic) const;
    /// How many ranks say this.
    [[nodiscard]] std::uint32_t ranks_that_said(const Saying& saying) const;
    /// The warning that is no consequence of another, the first by time where lines have one and
    /// all are told on one clock, else by order; null where there is none.
    [[nodiscard]] const NcclWarning* first_cause() const;
    /// Ranks of the largest communicator; 0 where none is told.
    [[nodiscard]] std::uint32_t world() const;
    /// Ranks of the largest communicator that no line of the log is from, sorted.
    [[nodiscard]] std::vector<std::uint32_t> absent_ranks() const;
};

}  // namespace railhead::diagnose
