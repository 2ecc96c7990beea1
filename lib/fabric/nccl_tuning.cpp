#include "fabric/nccl_tuning.hpp"

#include <algorithm>
#include <cmath>

namespace railhead::fabric {

namespace {

constexpr std::size_t protocols = 3;
using ByProtocol = std::array<double, protocols>;  // LL, LL128, Simple
using ByAlgorithm = std::array<ByProtocol, 8>;     // in the order of Algorithm
using ByNodes = std::array<double, 3>;             // one, two, more
using ByGeneration = std::array<ByNodes, 4>;       // in the order of Generation

constexpr std::array<std::string_view, 7> algorithms{
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, protocols> protocol_list{"LL", "LL128", "Simple"};
constexpr std::array<std::string_view, 4> generations{"volta", "ampere", "hopper", "blackwell"};

// An all-to-all is not in NCCL's table: its sends are reckoned as steps of a ring.
constexpr ByAlgorithm base_us{{{6.8, 14, 8.4},
                               {6.6, 14, 8.4},
                               {0, 0, 0},
                               {0, 0, 0},
                               {0, 0, 0},
                               {0, 0, 0},
                               {8, 8, 8},
                               {6.6, 14, 8.4}}};

/// In the order of Link.
constexpr std::array<ByAlgorithm, 3> step_us{ByAlgorithm{{{0.6, 1.25, 4},
                                                          {0.6, 1.9, 3.4},
                                                          {0, 0, 3.7},
                                                          {0, 0, 2.8},
                                                          {0, 0, 25},
                                                          {0, 0, 25},
                                                          {0, 0, 4},
                                                          {0.6, 1.9, 3.4}}},
                                             ByAlgorithm{{{1, 1.9, 4},
                                                          {1, 2.5, 5.7},
                                                          {0, 0, 3.7},
                                                          {0, 0, 2.8},
                                                          {0, 0, 0},
                                                          {0, 0, 0},
                                                          {0, 0, 4},
                                                          {1, 2.5, 5.7}}},
                                             ByAlgorithm{{{5, 8.5, 14},
                                                          {2.7, 4, 14},
                                                          {0, 0, 31},
                                                          {0, 0, 30},
                                                          {0, 0, 18},
                                                          {0, 0, 20.9},
                                                          {0, 0, 14},
                                                          {2.7, 4, 14}}}};

constexpr ByGeneration ll_limits{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr ByGeneration ring_ll128_limits{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr ByGeneration tree_ll128_limits{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr ByGeneration tree_limits{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr ByGeneration nvls_tree_limits{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};

constexpr std::array<std::array<double, tree_corrections>, protocols> corrections{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
      .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

template <class Enum>
constexpr std::size_t at(Enum value) {
    return static_cast<std::size_t>(value);
}

std::size_t column_of(std::uint64_t nodes) {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(nodes, 1, 3) - 1);
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
    return algorithm == Algorithm::pairwise ? "SendRecv" : algorithms[at(algorithm)];
}

std::string_view name_of(Protocol protocol) {
    return protocol_list[at(protocol)];
}

std::string_view name_of(Generation generation) {
    return generations[at(generation)];
}

std::span<const std::string_view> algorithm_names() {
    return algorithms;
}

std::span<const std::string_view> protocol_names() {
    return protocol_list;
}

std::span<const std::string_view> generation_names() {
    return generations;
}

double base_latency_us(Algorithm algorithm, Protocol protocol) {
    return base_us[at(algorithm)][at(protocol)];
}

double step_latency_us(Link link, Algorithm algorithm, Protocol protocol) {
    return step_us[at(link)][at(algorithm)][at(protocol)];
}

double post_overhead_us(Cpu cpu, Protocol protocol) {
    const double once = cpu == Cpu::amd ? 2 : 1;
    return protocol == Protocol::simple ? once * factor::simple_post : once;
}

double ll_limit_gb_per_s(Generation generation, Cpu cpu, std::uint64_t nodes) {
    // On more than one node the rows of the table stand for CPUs: the first Intel's, the second
    // AMD's.
    const auto row = nodes <= 1        ? at(generation)
                     : cpu == Cpu::amd ? at(Generation::ampere)
                                       : at(Generation::volta);
    return ll_limits[row][column_of(nodes)];
}

ChannelLimits channel_limits_gb_per_s(Generation generation, std::uint64_t nodes) {
    const auto row = at(generation);
    const auto column = column_of(nodes);
    return {ring_ll128_limits[row][column], tree_ll128_limits[row][column],
            tree_limits[row][column], nvls_tree_limits[row][column]};
}

double nvls_efficiency(Generation generation) {
    constexpr std::array<double, 4> shares{0, 0, 0.85, 0.74};
    return shares[at(generation)];
}

double fastest_channel_gb_per_s(Generation generation) {
    constexpr std::array<double, 4> speeds{40, 40, 60, 90};
    return speeds[at(generation)];
}

double tree_correction(Protocol protocol, double bytes) {
    constexpr double first = 64;
    if (bytes < first) {
        return 1;
    }
    const auto step = static_cast<std::size_t>(std::floor(std::log2(bytes / first)));
    return step < tree_corrections ? corrections[at(protocol)][step] : 1;
}

NvLink nvlink_of(Generation generation) {
    constexpr std::array<NvLink, 4> all{NvLink{6, 25, 20}, NvLink{12, 25, 20}, NvLink{18, 25, 20.6},
                                        NvLink{18, 50, 40.1}};
    return all[at(generation)];
}

}  // namespace railhead::fabric
