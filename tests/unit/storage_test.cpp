#include "plan/storage.hpp"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"
#include "support/commands.hpp"
#include "support/golden.hpp"
#include "support/published.hpp"
#include "support/temp_dir.hpp"

namespace checkpoint = railhead::checkpoint;
namespace plan = railhead::plan;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using plan::Limit;
using plan::Pays;
using plan::StorageQuestion;
using railhead::test::read_published;
using railhead::test::run;

namespace {

constexpr double gb = 1e9;

const plan::Store& store(const char* name) {
    return *plan::find_store(plan::built_in_stores(), name).value();
}

/// A checkpoint of 912 GB by 1,000 GPUs to a store that takes 100 GB/s.
StorageQuestion question(const char* name = "lustre") {
    StorageQuestion out;
    out.store = &store(name);
    out.local = &store("local-nvme");
    out.checkpoint.gpus = 1000;
    out.checkpoint.bytes = 912 * gb;
    if (!out.store->in_nodes) {
        out.write_bytes_per_s = out.read_bytes_per_s = 100 * gb;
    }
    return out;
}

/// The message that a question fails with.
std::string refusal(const StorageQuestion& question) {
    const auto plan = plan::plan_storage(question);
    return plan ? "no error" : plan.error().message;
}

void check_width(const std::string& text) {
    for (const auto line : railhead::split(text, '\n')) {
        CAPTURE(line);
        CHECK(railhead::report::columns(line) <= 80);
    }
}

}  // namespace

TEST_CASE("each built-in store has a source for each figure", "[storage]") {
    std::set<std::string> names;
    for (const auto& store : plan::built_in_stores()) {
        CAPTURE(store.name);
        names.insert(store.name);
        CHECK_FALSE(store.what.empty());
        CHECK_FALSE(store.unit.empty());
        CHECK(store.client_read.has_value());
        CHECK(store.client_write.has_value());
        for (const auto* figure :
             {&store.client_write, &store.client_read, &store.unit_write, &store.unit_read,
              &store.client_reads, &store.unit_reads, &store.creates, &store.opens}) {
            CHECK((!*figure || ((*figure)->value > 0 && !(*figure)->source.empty())));
        }
    }
    CHECK(names == std::set<std::string>{"lustre", "gpfs", "beegfs", "nvme-of", "object-store",
                                         "local-nvme"});
}

TEST_CASE("a store that is broken is refused with its line", "[storage]") {
    struct Case {
        const char* text;
        const char* error;
    };
    const auto broken = GENERATE(values<Case>({
        {"[[store]]\nname = \"a\"\n", "my.toml:1:1: store \"a\" needs client_write"},
        {"[[stor]]\n", "unknown key \"stor\", did you mean \"store\"?"},
        {"store = 1\n", "my.toml:1:9: expected tables [[store]]"},
        {"[[store]]\nnam = \"a\"\n", "my.toml:2:1: unknown key \"nam\", did you mean \"name\"?"},
        {"[[store]]\nclient_read = { gb_per_s = 1 }\n", "a figure needs a source"},
        {"[[store]]\nclient_read = { source = \"x\" }\n", "a figure needs gb_per_s, more than 0"},
        {"[[store]]\nclient_read = { gb_per_s = -1, source = \"x\" }\n", "-1 is not within"},
        {"[[store]]\nclient_read = { per_s = 1, source = \"x\" }\n", "unknown key \"per_s\""},
        {"[[store]]\nclient_read = 5\n", "expected a table, not a whole number"},
    }));
    CAPTURE(broken.text);
    const auto parsed = plan::parse_stores(broken.text, "my.toml");
    REQUIRE_FALSE(parsed);
    std::string all;
    for (const auto& error : parsed.error()) {
        all += to_string(error) + "\n";
    }
    CHECK_THAT(all, ContainsSubstring(broken.error));
}

TEST_CASE("a site's store takes the place of the one of its name", "[storage]") {
    const std::string figure = " = { gb_per_s = 3, source = \"IOR, May\" }\n";
    const auto text = "[[store]]\nname = \"Lustre\"\nclient_read" + figure + "client_write" +
                      figure + "[[store]]\nname = \"scratch\"\nclient_read" + figure +
                      "client_write" + figure;
    auto stores = plan::built_in_stores();
    const auto before = stores.size();
    plan::add_stores(stores, plan::parse_stores(text, "site.toml").value());
    CHECK(stores.size() == before + 1);
    CHECK(plan::find_store(stores, "lustre").value()->client_read->value == 3 * gb);
    CHECK(plan::find_store(stores, "SCRATCH").value()->client_read->source == "IOR, May");
    CHECK_THAT(plan::find_store(stores, "scrach").error().message,
               ContainsSubstring("did you mean \"scratch\"?"));
    const auto twice = plan::parse_stores(text + text, "site.toml");
    REQUIRE_FALSE(twice);
    CHECK_THAT(twice.error().front().message, ContainsSubstring("is here twice"));
}

TEST_CASE("published writes take as long as they took", "[storage][published]") {
    RAILHEAD_NEED_PUBLISHED();
    int timed = 0;
    for (const auto& row : read_published("checkpoint_sizes")) {
        CAPTURE(row.text("model"));
        if (!row.has("bytes") || !row.has("write_bytes_per_s")) {
            continue;  // the size alone, or the time alone, was published
        }
        auto about = question();
        about.checkpoint.bytes = row.number("bytes");
        about.write_bytes_per_s = row.number("write_bytes_per_s");
        const auto plan = plan::plan_storage(about).value();
        CHECK(plan.write.limit == Limit::store);
        if (row.has("blocking_write_s")) {
            ++timed;
            CHECK_THAT(plan.write.data_s, WithinRel(row.number("blocking_write_s"), 1e-3));
        }
    }
    CHECK(timed == 2);  // BLOOM and MT-NLG; of GPT 1T the bandwidth alone was published
}

TEST_CASE("Llama 3 405B's checkpoint is as its paper says", "[storage][published]") {
    RAILHEAD_NEED_PUBLISHED();
    // 2 TB/s sustained: 70B in 0.46 s and 405B in 2.6 s by bandwidth alone; each GPU writes
    // between 1 MB and 4 GB.
    double least = 0;
    double most = 0;
    double sustained = 0;
    for (const auto& row : read_published("checkpoint_storage_facts")) {
        const auto is = [&](const char* fact) { return row.text("fact") == fact; };
        least = is("Llama 3 ckpt size per GPU min") ? row.number("value") * 1e6 : least;
        most = is("Llama 3 ckpt size per GPU max") ? row.number("value") * 1e9 : most;
        sustained = is("Llama 3 sustained throughput") ? row.number("value") * 1e12 : sustained;
    }
    auto about = question();
    about.checkpoint.gpus = 16384;
    about.write_bytes_per_s = about.read_bytes_per_s = sustained;
    about.checkpoint.bytes = 5.29e12;  // MLPerf Storage
    const auto large = plan::plan_storage(about).value();
    CHECK_THAT(large.write.data_s, WithinAbs(2.6, 0.05));
    CHECK(large.write.bytes / static_cast<double>(large.writers) > least);
    CHECK(large.write.bytes / static_cast<double>(large.writers) < most);
    about.checkpoint.bytes = 0.912e12;
    CHECK_THAT(plan::plan_storage(about).value().write.data_s, WithinAbs(0.46, 0.005));
}

TEST_CASE("a few nodes cannot fill a fast store", "[storage]") {
    auto about = question();
    about.checkpoint.gpus = 32;  // 4 nodes of 15 GB/s
    const auto plan = plan::plan_storage(about).value();
    CHECK(plan.write.limit == Limit::nodes);
    CHECK(plan.write.bytes_per_s == 60 * gb);
    CHECK_THAT(plan.notes.front(), ContainsSubstring("a faster store would change nothing"));
    about.node_write_bytes_per_s = 40 * gb;
    CHECK(plan::plan_storage(about).value().write.bytes_per_s == 100 * gb);
}

TEST_CASE("units add up, and are told where a bandwidth is missing", "[storage]") {
    auto about = question();
    about.write_bytes_per_s.reset();
    CHECK_THAT(refusal(about), ContainsSubstring("each OSS writes 10 GB/s"));
    about.units = 30;
    CHECK(plan::plan_storage(about).value().write_bytes_per_s == 300 * gb);
    CHECK(plan::plan_storage(about).value().read_bytes_per_s == 100 * gb);  // as given
}

TEST_CASE("a thousand writers at once create their files before they write", "[storage]") {
    auto about = question();
    about.files_per_writer = 29;  // 29,000 files by 29,000 a second
    const auto plan = plan::plan_storage(about).value();
    CHECK(plan.writers == 1000);
    CHECK(plan.write.files == 29000);
    CHECK(plan.write.metadata_s == 1);
    CHECK(plan.write.total_s() == 912.0 / 100 + 1);
    CHECK_THAT(plan.share, WithinRel(plan.write.total_s() / plan.interval_s));
    about.metadata_servers = 4;
    CHECK(plan::plan_storage(about).value().write.metadata_s == 0.25);
    about.processes = 10;
    CHECK(plan::plan_storage(about).value().write.files == 290);
}

TEST_CASE("an object store is slow by requests, prefix by prefix", "[storage]") {
    auto about = question("object-store");
    about.write_bytes_per_s = about.read_bytes_per_s = std::nullopt;
    about.files_per_writer = 70;
    const auto one = plan::plan_storage(about).value();
    CHECK(one.write.limit == Limit::nodes);
    CHECK(one.write.metadata_s == 70000.0 / 3500);
    CHECK(one.restart.once.metadata_s == 70000.0 / 5500);
    CHECK_THAT(one.notes.front(), ContainsSubstring("creating the files takes longer"));
    about.units = 10;
    CHECK(plan::plan_storage(about).value().write.metadata_s == 2);
}

TEST_CASE("the interval is the one that railhead ckpt recommends, or the user's", "[storage]") {
    auto about = question();
    const auto plan = plan::plan_storage(about).value();
    auto same = about.checkpoint;
    same.cost_s = plan.write.total_s();
    CHECK_THAT(plan.interval_s,
               WithinRel(checkpoint::recommend(same).value().chosen.interval_s, 1e-9));
    about.checkpoint.own_interval_s = 1800;
    const auto own = plan::plan_storage(about).value();
    CHECK(own.is_own_interval);
    CHECK_THAT(own.share, WithinRel(plan.write.total_s() / 1800));
}

TEST_CASE("an asynchronous write stops training for its stall alone", "[storage]") {
    auto about = question();
    about.checkpoint.cost_s = 2;
    const auto plan = plan::plan_storage(about).value();
    CHECK(plan.checkpoint.checkpoint.cost_s == 2);
    CHECK_THAT(plan.checkpoint.checkpoint.background_s, WithinRel(plan.write.total_s() - 2));
}

TEST_CASE("at a restart every replica reads the weights", "[storage]") {
    // Of 14 bytes a parameter 2 are weights: 128 replicas read 912 x (1 + 127 / 7) GB.
    auto about = question();
    about.replicas = 128;
    const auto plan = plan::plan_storage(about).value();
    CHECK(plan.restart.once.bytes == 912 * gb);
    CHECK_THAT(plan.restart.by_all.bytes, WithinRel(912 * gb * (1 + 127.0 / 7)));
    CHECK(plan.restart.by_all.files == 128000);
    CHECK_THAT(plan.restart.by_all.data_s, WithinRel(plan.restart.by_all.bytes / (100 * gb)));
    about.checkpoint.restart_s = 30;
    const auto short_restart = plan::plan_storage(about).value();
    CHECK_THAT(short_restart.notes.back(), ContainsSubstring("reading alone takes longer"));
}

TEST_CASE("copies on the nodes' drives are those of two levels", "[storage]") {
    auto about = question();
    CHECK_FALSE(plan::plan_storage(about).value().checkpoint.levels);
    about.checkpoint.process_share = 0.7;
    const auto plan = plan::plan_storage(about).value();
    REQUIRE(plan.local_copy_s);
    CHECK_THAT(*plan.local_copy_s, WithinRel(912.0 / 125 / 28));  // 125 nodes of 28 GB/s
    REQUIRE(plan.checkpoint.levels);
    CHECK(plan.checkpoint.levels->levels.memory_cost_s == *plan.local_copy_s);
    const auto best = checkpoint::best_pattern(plan.checkpoint.levels->levels).value();
    CHECK(plan.checkpoint.levels->pattern.memory_per_storage == best.memory_per_storage);
    CHECK(plan.checkpoint.levels->ettr > plan.checkpoint.chosen.shares.useful);
}

TEST_CASE("drives in the nodes are as many as nodes, and die with them", "[storage]") {
    const auto plan = plan::plan_storage(question("local-nvme")).value();
    CHECK(plan.write.bytes_per_s == 125 * 28 * gb);
    CHECK(plan.write.metadata_s == 0);
    CHECK_THAT(plan.notes.front(), ContainsSubstring("die with it"));
}

TEST_CASE("samples need bandwidth, reads, opened files and cores", "[storage]") {
    auto about = question();
    about.data.samples_per_s = 250'000;
    about.data.sample_bytes = 100'000;
    const auto loading = [&] { return plan::plan_storage(about).value().loading.value(); };

    const auto plain = loading();  // 125 nodes, 100 GB/s
    CHECK(plain.bytes_per_s == 25 * gb);
    CHECK(plain.node_bytes_per_s == 0.2 * gb);
    CHECK(plain.store_share == 0.25);
    CHECK_THAT(*plain.reads_share, WithinRel(2000.0 / 50000));
    CHECK_THAT(*plain.opens_share, WithinRel(250'000.0 / 544'000));
    CHECK(plain.is_enough());

    about.units = 1;  // 250,000 of 1,500,000 random reads of one OSS
    CHECK_THAT(*loading().reads_share, WithinRel(1.0 / 6));

    about.data.samples_per_s = 600'000;
    CHECK_FALSE(loading().is_enough());  // more files than one metadata server opens
    about.data.samples_per_file = 1000;
    CHECK(loading().is_enough());
    about.data.sample_bytes = 200'000;
    CHECK(loading().store_share == 1.2);
    CHECK_FALSE(loading().is_enough());
    about.data.samples_per_s = 500'000;
    CHECK(loading().store_share == 1);
    CHECK_FALSE(loading().is_enough());  // with nothing to spare
}

TEST_CASE("decoding by GPUs pays where cores are short", "[storage]") {
    struct Case {
        double decode_s;
        Pays pays;
        bool is_enough;
    };
    const auto known = GENERATE(values<Case>({
        {0.010, Pays::no, true},     // 20 of 64 cores
        {0.020, Pays::maybe, true},  // 40: more than half
        {0.040, Pays::yes, false},   // 80
    }));
    auto about = question();
    about.data.samples_per_s = 250'000;
    about.data.sample_bytes = 100'000;
    about.data.cores = 64;
    about.data.decode_s = known.decode_s;
    const auto loading = plan::plan_storage(about).value().loading.value();
    CHECK_THAT(loading.cores_per_node, WithinRel(2000 * known.decode_s));
    CHECK(loading.gpu_decoding == known.pays);
    CHECK(loading.is_enough() == known.is_enough);
    CHECK(loading.gds == Pays::no);  // what the CPU decodes is in its memory
}

TEST_CASE("reading past the CPU pays where its memory is the narrowest part", "[storage]") {
    struct Case {
        const char* store;
        double gb_per_node;
        Pays pays;
    };
    const auto known = GENERATE(values<Case>({
        {"local-nvme", 20, Pays::no},
        {"local-nvme", 30, Pays::maybe},
        {"local-nvme", 51, Pays::yes},
        {"lustre", 51, Pays::no},        // a node reads 15 GB/s, and the store 0.8 for each
        {"object-store", 51, Pays::no},  // not read by it
    }));
    CAPTURE(known.store, known.gb_per_node);
    auto about = question(known.store);
    about.data.samples_per_s = 125'000;
    about.data.sample_bytes = known.gb_per_node * gb / 1000;
    CHECK(plan::plan_storage(about).value().loading.value().gds == known.pays);
}

TEST_CASE("a question that cannot be answered says what is missing", "[storage]") {
    struct Case {
        void (*change)(StorageQuestion&);
        const char* error;
    };
    const auto known = GENERATE(values<Case>({
        {[](StorageQuestion& q) { q.checkpoint.gpus.reset(); }, "give its nodes or GPUs"},
        {[](StorageQuestion& q) { q.checkpoint.bytes.reset(); }, "how large a checkpoint is"},
        {[](StorageQuestion& q) { q.checkpoint.params = 1e9; }, "say the same"},
        {[](StorageQuestion& q) { q.checkpoint.nodes = 3; }, "say the same"},
        {[](StorageQuestion& q) { q.write_bytes_per_s = 0; }, "more than 0"},
        {[](StorageQuestion& q) { q.read_bytes_per_s = NAN; }, "more than 0"},
        {[](StorageQuestion& q) { q.replicas = 0; }, "0 is none"},
        {[](StorageQuestion& q) { q.replicas = 1001; }, "1001 replicas on 1000 GPUs"},
        {[](StorageQuestion& q) { q.checkpoint.gpus_per_node = 0; }, "0 is none"},
        {[](StorageQuestion& q) { q.data.samples_per_s = 5; }, "without the other"},
        {[](StorageQuestion& q) { q.data.decode_s = 1; }, "how many samples are read"},
        {[](StorageQuestion& q) { q.data.cores = 0; }, "0 cores"},
        {[](StorageQuestion& q) { q.processes = q.files_per_writer = 100'000'000; },
         "more files than any store holds"},
        {[](StorageQuestion& q) { q.checkpoint.process_share = 2; }, "between 0 and 1"},
    }));
    CAPTURE(known.error);
    auto about = question();
    known.change(about);
    CHECK_THAT(refusal(about), ContainsSubstring(known.error));
}

TEST_CASE("answers of railhead storage are as we reviewed them", "[storage][cli][golden]") {
    struct Case {
        const char* name;
        std::vector<std::string> arguments;
    };
    for (const auto& known : std::vector<Case>{
             {"llama-405b",
              {"--units", "40", "--gpus", "16384", "--params", "405B", "--replicas", "128",
               "--process-share", "0.7", "--cost", "10s"}},
             {"images",
              {"--store", "object-store", "--units", "10", "--gpus", "64", "--params", "8B",
               "--samples", "50k", "--sample-bytes", "110kB", "--decode", "jpeg"}},
             {"drives",
              {"--store", "local-nvme", "--nodes", "4", "--bytes", "912GB", "--interval", "1h",
               "--samples", "1k", "--sample-bytes", "100MB", "--samples-per-file", "1000"}},
             {"list", {"--list"}},
         }) {
        CAPTURE(known.name);
        auto arguments = known.arguments;
        arguments.insert(arguments.begin(), "storage");
        const auto text = run(arguments);
        arguments.emplace_back("--json");
        const auto json = run(arguments);
        CHECK(text.status == 0);
        CHECK(text.err.empty());
        CHECK(json.status == 0);
        check_width(text.out);
        const auto file = std::string{"golden/storage/"} + known.name;
        CHECK(text.out == railhead::test::golden(file + ".txt", text.out));
        CHECK(json.out == railhead::test::golden(file + ".json", json.out));
    }
}

TEST_CASE("railhead storage reads a site's stores, and tells of broken ones", "[storage][cli]") {
    const railhead::test::TempDir folder;
    const auto good = folder.write("site.toml",
                                   "[[store]]\nname = \"scratch\"\n"
                                   "client_read = { gb_per_s = 3, source = \"IOR, May\" }\n"
                                   "client_write = { gb_per_s = 2, source = \"IOR, May\" }\n");
    const auto ran =
        run({"storage", "--stores", good, "--store", "scratch", "--nodes", "2", "--bytes", "40GB"});
    CHECK(ran.status == 0);
    CHECK_THAT(ran.out, ContainsSubstring("10 s at 4 GB/s (the nodes are the limit)"));
    CHECK_THAT(ran.out, ContainsSubstring("IOR, May"));

    const auto bad = folder.write("bad.toml", "[[store]]\nnam = \"x\"\n");
    const auto refused = run({"storage", "--stores", bad, "--list"});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, ContainsSubstring("bad.toml:2:1: unknown key \"nam\""));
    CHECK(run({"storage", "--stores", "/nowhere", "--list"}).status == 2);
    CHECK_THAT(run({"storage", "--store", "lustr"}).err,
               ContainsSubstring("did you mean \"lustre\"?"));
    CHECK_THAT(run({"storage", "--gpus", "8", "--bytes", "912"}).err,
               ContainsSubstring("--bytes \"912\" is no size"));
}

TEST_CASE("a store that does not end a write within the interval is a finding", "[storage][cli]") {
    const auto ask = [](const char* interval) {
        return run({"storage", "--gpus", "64", "--bytes", "100GB", "--write", "1GB/s", "--read",
                    "1GB/s", "--interval", interval});
    };
    const auto slow = ask("60s");
    CHECK(slow.status == 1);
    CHECK_THAT(slow.out, ContainsSubstring("impossible: a checkpoint write takes 100 s"));
    const auto enough = ask("1h");
    CHECK(enough.status == 0);
    CHECK_THAT(enough.out, !ContainsSubstring("impossible"));
}

TEST_CASE("options of railhead storage that would say nothing are refused", "[storage][cli]") {
    struct Case {
        std::vector<std::string> arguments;
        const char* message;
    };
    const auto wrong = GENERATE(values<Case>({
        {{"--units", "4", "--write", "1GB/s"}, "give one of them"},
        {{"--units", "4", "--store", "local-nvme"}, "as many as nodes"},
        {{"--units", "4", "--local", "local-nvme"}, "--local requires --process-share"},
        {{"--units", "4", "--process-share", "0.5", "--local", "gpfs"}, "is no drive in a node"},
    }));
    auto arguments = wrong.arguments;
    arguments.insert(arguments.begin(), {"storage", "--gpus", "64", "--bytes", "100GB"});
    CAPTURE(wrong.message);
    const auto ran = run(arguments);
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, ContainsSubstring(wrong.message));
}
