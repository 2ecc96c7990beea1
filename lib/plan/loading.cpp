#include "plan/loading.hpp"

#include <algorithm>
#include <cmath>

namespace railhead::plan {

namespace {

/// DGX H100: two CPUs of 56 cores (NVIDIA DGX SuperPOD reference architecture).
constexpr double usual_cores = 112;

/// What a CPU hands on from its memory to the GPUs of a node: DGX-2, NVIDIA's "GPUDirect Storage: A
/// Direct Path Between Storage and GPU Memory".  Bytes/s.
constexpr double bounce_bytes_per_s = 50e9;

bool is_positive(const std::optional<double>& value) {
    return !value || (*value > 0 && std::isfinite(*value));
}

Result<void> check(const DataQuestion& question) {
    for (const auto& value : {question.samples_per_s, question.sample_bytes,
                              question.samples_per_file, question.decode_s}) {
        if (!is_positive(value)) {
            return fail(Errc::bad_input,
                        "samples a second, their size, samples a file and the time to decode one "
                        "have to be more than 0");
        }
    }
    if (question.cores == std::uint64_t{0}) {
        return fail(Errc::bad_input, "a node with 0 cores");
    }
    if (question.samples_per_s.has_value() != question.sample_bytes.has_value()) {
        return fail(Errc::bad_input,
                    "samples a second and the size of a sample: one says nothing without the "
                    "other");
    }
    const bool has_more = question.samples_per_file || question.decode_s || question.cores;
    if (has_more && !question.samples_per_s) {
        return fail(Errc::bad_input,
                    "nothing tells how many samples are read: give samples a second and their "
                    "size");
    }
    return {};
}

/// Random reads: each sample is one where it is its own file, or is drawn out of one.
std::optional<double> reads_share(const Loading& loading, const Source& source, Bases& bases) {
    const auto& store = source.store;
    std::optional<double> share;
    if (store.client_reads) {
        bases.add("a node's random reads", *store.client_reads, Basis::Unit::per_s);
        share = loading.node_reads_per_s / store.client_reads->value;
    }
    if (store.unit_reads && source.units) {
        bases.add("a unit's random reads", *store.unit_reads, Basis::Unit::per_s);
        const auto all = store.unit_reads->value * static_cast<double>(*source.units);
        share = std::max(share.value_or(0), loading.reads_per_s / all);
    }
    return share;
}

/// GPUs that decode pay where CPUs cannot keep up, and may where they take half of the cores.
Pays gpu_decoding(const Loading& loading) {
    if (!loading.cores) {
        return Pays::no;
    }
    const auto cores = static_cast<double>(*loading.cores);
    return loading.cores_per_node > cores       ? Pays::yes
           : loading.cores_per_node > cores / 2 ? Pays::maybe
                                                : Pays::no;
}

/// Reading past the CPU pays where its memory is the narrowest part.  What a CPU decodes has to go
/// through its memory.
Pays gds(const Loading& loading, const Store& store) {
    if (!store.gds || loading.cores_per_node > 0) {
        return Pays::no;
    }
    const auto carried = loading.carried_bytes_per_s();
    return carried > bounce_bytes_per_s       ? Pays::yes
           : carried > bounce_bytes_per_s / 2 ? Pays::maybe
                                              : Pays::no;
}

}  // namespace

double Loading::carried_bytes_per_s() const {
    return node_bytes_per_s / std::max({1.0, store_share, reads_share.value_or(0)});
}

bool Loading::is_enough() const {
    return store_share < 1 && reads_share.value_or(0) < 1 && opens_share.value_or(0) < 1 &&
           (!cores || cores_per_node < static_cast<double>(*cores));
}

Result<std::optional<Loading>> plan_loading(const DataQuestion& question, const Source& source,
                                            Bases& bases) {
    if (auto checked = check(question); !checked) {
        return propagate(checked);
    }
    if (!question.samples_per_s) {
        return std::optional<Loading>{};
    }
    const auto nodes = static_cast<double>(source.nodes);
    Loading out;
    out.bytes_per_s = *question.samples_per_s * *question.sample_bytes;
    out.node_bytes_per_s = out.bytes_per_s / nodes;
    out.reads_per_s = *question.samples_per_s;
    out.node_reads_per_s = out.reads_per_s / nodes;
    if (!question.samples_per_file) {
        bases.guess("samples in a file", 1, Basis::Unit::count, "each sample a file of its own");
    }
    out.opens_per_s = *question.samples_per_s / question.samples_per_file.value_or(1);
    out.store_share = out.node_bytes_per_s / source.node_read_bytes_per_s;
    if (source.read_bytes_per_s) {
        out.store_share = std::max(out.store_share, out.bytes_per_s / *source.read_bytes_per_s);
    }
    out.reads_share = reads_share(out, source, bases);
    if (source.opens_per_s) {
        out.opens_share = out.opens_per_s / *source.opens_per_s;
    }
    if (question.decode_s) {
        out.cores_per_node = out.node_reads_per_s * *question.decode_s;
        out.cores = question.cores;
        if (!question.cores) {
            bases.guess("cores of a node", usual_cores, Basis::Unit::count,
                        "DGX H100: 2 x 56 (NVIDIA DGX SuperPOD reference architecture)");
            out.cores = static_cast<std::uint64_t>(usual_cores);
        }
    }
    out.gpu_decoding = gpu_decoding(out);
    out.gds = gds(out, source.store);
    if (source.store.gds && !question.decode_s) {
        bases.guess("CPU memory to GPUs", bounce_bytes_per_s, Basis::Unit::bytes_per_s,
                    "DGX-2 (NVIDIA blog on GPUDirect Storage); newer nodes have more");
    }
    return std::optional{out};
}

}  // namespace railhead::plan
