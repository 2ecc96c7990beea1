// Which checkpoints lie in a folder: each framework's own way to say that one is complete.
#include "checkpoint/layouts.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/layout_names.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace railhead;
using checkpoint::Found;
using checkpoint::Layout;
using checkpoint::Verdict;

namespace {

namespace fs = std::filesystem;

/// torch.save() writes a zip archive: its first and last record, and something between.
std::string zip(const std::string& inside = std::string(100, 'x')) {
    return "PK\x03\x04" + inside + "PK\x05\x06" + std::string(18, '\0');
}

class Tree {
 public:
    /// Writes a file, and the folders that it lies in.
    Tree& file(const std::string& name, const std::string& text = "x") {
        fs::create_directories(fs::path{dir_.path(name)}.parent_path());
        static_cast<void>(dir_.write(name, text));
        return *this;
    }
    Tree& folder(const std::string& name) {
        fs::create_directories(dir_.path(name));
        return *this;
    }
    Tree& link(const std::string& name, const std::string& to) {
        fs::create_symlink(to, dir_.path(name));
        return *this;
    }
    [[nodiscard]] checkpoint::Scan scan(const checkpoint::Limits& limits = {}) const {
        const auto folder = checkpoint::Folder::open(dir_.path());
        REQUIRE(folder);
        return checkpoint::scan_checkpoints(*folder, limits);
    }
    [[nodiscard]] std::string path(const std::string& name) const { return dir_.path(name); }

 private:
    test::TempDir dir_;
};

/// "iter_0000100 complete, iter_0000200 writing": what a scan found, by name.
std::string summary(const checkpoint::Scan& scan) {
    constexpr std::array<std::string_view, 4> verdicts{"complete", "settling", "quieting",
                                                       "writing"};
    std::string text;
    for (const auto& found : scan.found) {
        text += (text.empty() ? "" : ", ") + found.name + " ";
        text += verdicts.at(static_cast<std::size_t>(found.verdict));
    }
    return text;
}

struct Case {
    std::string why;
    void (*make)(Tree& tree);
    std::string expected;
};

void check_all(const std::vector<Case>& cases) {
    for (const auto& c : cases) {
        CAPTURE(c.why);
        Tree tree;
        c.make(tree);
        CHECK(summary(tree.scan()) == c.expected);
    }
}

}  // namespace

TEST_CASE("Megatron's checkpoint is the one that its tracker names", "[checkpoint][layouts]") {
    check_all({
        {"the one named is complete, a later one is written, an earlier one is of no interest",
         [](Tree& tree) {
             tree.file("latest_checkpointed_iteration.txt", "200\n");
             for (const auto* name : {"iter_0000100", "iter_0000200", "iter_0000300"}) {
                 tree.file(std::string{name} + "/mp_rank_00/model_optim_rng.pt", zip());
             }
         },
         "iter_0000200 complete, iter_0000300 writing"},
        {"a distributed checkpoint has a .metadata too: the tracker alone counts",
         [](Tree& tree) {
             tree.file("latest_checkpointed_iteration.txt", "100");
             tree.file("iter_0000100/.metadata").file("iter_0000100/__0_0.distcp");
             tree.file("iter_0000200/.metadata").file("iter_0000200/__0_0.distcp");
         },
         "iter_0000100 complete, iter_0000200 writing"},
        {"a converted model",
         [](Tree& tree) {
             tree.file("latest_checkpointed_iteration.txt", "release");
             tree.file("release/mp_rank_00/model_optim_rng.pt", zip());
         },
         "release complete"},
        {"more than seven digits",
         [](Tree& tree) {
             tree.file("latest_checkpointed_iteration.txt", "12345678");
             tree.file("iter_12345678/mp_rank_00/model_optim_rng.pt", zip());
         },
         "iter_12345678 complete"},
        {"the first one is being written: no tracker yet",
         [](Tree& tree) { tree.file("iter_0000100/__0_0.distcp"); }, "iter_0000100 writing"},
        {"the tracker is opened and not yet written",
         [](Tree& tree) {
             tree.file("latest_checkpointed_iteration.txt", "");
             tree.file("iter_0000100/mp_rank_00/model_optim_rng.pt", zip());
         },
         "iter_0000100 writing, latest_checkpointed_iteration.txt writing"},
        {"the tracker names what is not there",
         [](Tree& tree) { tree.file("latest_checkpointed_iteration.txt", "100"); },
         "iter_0000100 writing"},
        {"the tracker names a folder without files",
         [](Tree& tree) {
             tree.file("latest_checkpointed_iteration.txt", "100").folder("iter_0000100");
         },
         "iter_0000100 writing"},
        {"a disk that was full: a file of weights without a byte",
         [](Tree& tree) {
             tree.file("latest_checkpointed_iteration.txt", "100");
             tree.file("iter_0000100/mp_rank_00/model_optim_rng.pt", zip());
             tree.file("iter_0000100/mp_rank_01/model_optim_rng.pt", "");
         },
         "iter_0000100 writing"},
        {"a tracker that points out of the folder",
         [](Tree& tree) { tree.file("latest_checkpointed_iteration.txt", "../../etc"); },
         "latest_checkpointed_iteration.txt writing"},
    });
}

TEST_CASE("DeepSpeed's checkpoint is the one that latest names", "[checkpoint][layouts]") {
    check_all({
        {"as its engine names them",
         [](Tree& tree) {
             tree.file("latest", "global_step20");
             for (const auto* name : {"global_step10", "global_step20", "global_step30"}) {
                 tree.file(std::string{name} + "/mp_rank_00_model_states.pt", zip());
             }
         },
         "global_step20 complete, global_step30 writing"},
        {"a tag of the user's",
         [](Tree& tree) {
             tree.file("latest", "after-epoch\n")
                 .file("after-epoch/mp_rank_00_model_states.pt", zip());
         },
         "after-epoch complete"},
        {"a tag that leaves the folder", [](Tree& tree) { tree.file("latest", "../other"); },
         "latest writing"},
        {"a link called latest is another's way to say the same, and is not followed",
         [](Tree& tree) {
             tree.file("step-10/.metadata").file("step-10/__0_0.distcp").link("latest", "step-10");
         },
         "step-10 complete"},
    });
}

TEST_CASE("a DCP checkpoint is complete with its .metadata", "[checkpoint][layouts]") {
    check_all({
        {"torchtitan's folders",
         [](Tree& tree) {
             tree.file("step-100/.metadata").file("step-100/__0_0.distcp");
             tree.file("step-200/.metadata.tmp").file("step-200/__0_0.distcp");
         },
         "step-100 complete, step-200 writing"},
        {"any name",
         [](Tree& tree) {
             tree.file("abc/.metadata").file("abc/__0_0.distcp").file("def/__0_0.distcp");
         },
         "abc complete, def writing"},
        {"an empty .metadata",
         [](Tree& tree) { tree.file("step-1/.metadata", "").file("step-1/__0_0.distcp"); },
         "step-1 writing"},
        {"the folder itself, written over each time",
         [](Tree& tree) { tree.file(".metadata").file("__0_0.distcp"); },
         ". complete, __0_0.distcp quieting"},
        {"a .metadata that is a link",
         [](Tree& tree) {
             tree.file("other").file("step-1/__0_0.distcp").link("step-1/.metadata", "../other");
         },
         "step-1 writing"},
    });
}

TEST_CASE("a checkpoint of the HF Trainer has its trainer_state.json", "[checkpoint][layouts]") {
    check_all({
        {"settling: some releases write rng_state_N.pth behind it",
         [](Tree& tree) {
             tree.file("checkpoint-500/model.safetensors")
                 .file("checkpoint-500/optimizer.pt", zip());
             tree.file("checkpoint-500/trainer_state.json", "{\"global_step\": 500}\n");
         },
         "checkpoint-500 settling"},
        {"killed before it",
         [](Tree& tree) {
             tree.file("checkpoint-500/model.safetensors").file("checkpoint-500/config.json", "{}");
         },
         "checkpoint-500 writing"},
        {"killed in it",
         [](Tree& tree) { tree.file("checkpoint-500/trainer_state.json", "{\"global_step\": 5"); },
         "checkpoint-500 writing"},
        {"staged: transformers 4.36",
         [](Tree& tree) { tree.file("tmp-checkpoint-500/trainer_state.json", "{}"); },
         "tmp-checkpoint-500 writing"},
        {"Accelerate, which has no trainer_state.json",
         [](Tree& tree) {
             tree.file("checkpoint_3/optimizer.bin").file("checkpoint_3/random_states_0.pkl");
         },
         "checkpoint_3 settling"},
    });
}

TEST_CASE("NeMo marks what is not finished", "[checkpoint][layouts]") {
    check_all({
        {"a folder with its marker beside it, and one without",
         [](Tree& tree) {
             for (const auto* name : {"gpt--step=100-last", "gpt--step=200-last"}) {
                 tree.file(std::string{name} + "/weights/metadata.json", "{}");
                 tree.file(std::string{name} + "/weights/__0_0.distcp");
             }
             tree.file("gpt--step=200-last-unfinished", "");
         },
         "gpt--step=100-last settling, gpt--step=200-last writing"},
        {"NeMo 1: the metadata lies above",
         [](Tree& tree) {
             tree.file("gpt--val_loss=2.1-step=10/metadata.json", "{}");
             tree.file("gpt--val_loss=2.1-step=10/common.pt", zip());
         },
         "gpt--val_loss=2.1-step=10 settling"},
        {"a file: the marker has no .ckpt",
         [](Tree& tree) {
             tree.file("gpt--step=7.ckpt", zip()).file("gpt--step=7-unfinished", "");
         },
         "gpt--step=7.ckpt writing"},
    });
}

TEST_CASE("Lightning's file is complete when its archive has its end", "[checkpoint][layouts]") {
    check_all({
        {"whole", [](Tree& tree) { tree.file("epoch=0-step=10.ckpt", zip()); },
         "epoch=0-step=10.ckpt complete"},
        {"cut: it is copied, or the disk was full",
         [](Tree& tree) { tree.file("epoch=0-step=10.ckpt", zip().substr(0, 60)); },
         "epoch=0-step=10.ckpt writing"},
        {"empty", [](Tree& tree) { tree.file("last.ckpt", ""); }, "last.ckpt writing"},
        {"a folder of FSDP: meta.pt is written behind .metadata",
         [](Tree& tree) {
             tree.file("epoch=0-step=10.ckpt/.metadata").file("epoch=0-step=10.ckpt/__0_0.distcp");
         },
         "epoch=0-step=10.ckpt settling"},
        {"the link last.ckpt is the same one again",
         [](Tree& tree) { tree.file("step=10.ckpt", zip()).link("last.ckpt", "step=10.ckpt"); },
         "step=10.ckpt complete"},
    });
}

TEST_CASE("any other is known by a marker, a new name, or by being left alone",
          "[checkpoint][layouts]") {
    check_all({
        {"markers within",
         [](Tree& tree) {
             tree.file("step_1/data").file("step_1/_SUCCESS", "");
             tree.file("5/array").file("5/commit_success.txt", "");
         },
         "5 complete, step_1 complete"},
        {"a marker beside it", [](Tree& tree) { tree.file("step_1/data").file("step_1.done", ""); },
         "step_1 complete"},
        {"names of what is being written",
         [](Tree& tree) { tree.file("model.pt.tmp").file("7.orbax-checkpoint-tmp-1699/array"); },
         "7.orbax-checkpoint-tmp-1699 writing, model.pt.tmp writing"},
        {"nobody says", [](Tree& tree) { tree.file("step_5/data").file("model.safetensors"); },
         "model.safetensors quieting, step_5 quieting"},
        {"what is no checkpoint",
         [](Tree& tree) {
             tree.file("config.json").file("train.log").file("version_0/hparams.yaml");
             tree.file("tensorboard/events").folder("wandb").folder(".cache");
         },
         ""},
    });
}

TEST_CASE("no link leads out of the folder", "[checkpoint][layouts][hostile]") {
    Tree outside;
    outside.file("iter_0000100/mp_rank_00/model_optim_rng.pt", zip()).file("secret", "100");
    Tree tree;
    tree.link("iter_0000100", outside.path("iter_0000100"));
    tree.link("latest_checkpointed_iteration.txt", outside.path("secret"));
    tree.file("step-5/.metadata").file("step-5/__0_0.distcp", "12345");
    tree.link("step-5/more", outside.path("iter_0000100"));
    tree.link("weights.pt", outside.path("secret"));

    const auto scan = tree.scan();

    REQUIRE(summary(scan) == "step-5 complete");
    CHECK(scan.found[0].bytes == 6);  // nothing of the folder outside
}

TEST_CASE("devices and pipes are not opened", "[checkpoint][layouts][hostile]") {
    Tree tree;
    REQUIRE(::mkfifo(tree.path("latest").c_str(), 0600) == 0);
    REQUIRE(::mkfifo(tree.path("model.pt").c_str(), 0600) == 0);
    tree.folder("checkpoint-1");
    REQUIRE(::mkfifo(tree.path("checkpoint-1/trainer_state.json").c_str(), 0600) == 0);

    CHECK(summary(tree.scan()) == "checkpoint-1 writing");
}

TEST_CASE("a folder with too much in it is looked at in part, and that is said",
          "[checkpoint][layouts][hostile]") {
    Tree tree;
    for (int i = 0; i < 300; ++i) {
        tree.file("junk/" + std::to_string(i)).file("a" + std::to_string(i));
    }
    tree.file("latest_checkpointed_iteration.txt", "100");
    tree.file("iter_0000100/mp_rank_00/model_optim_rng.pt", zip());

    const auto scan = tree.scan({.entries = 50, .tree = 100, .depth = 6});

    CHECK(scan.is_cut);
    CHECK(summary(scan) == "iter_0000100 complete");  // wherever it stands among them
}

TEST_CASE("a folder without end is left at its depth", "[checkpoint][layouts][hostile]") {
    Tree tree;
    std::string path = "step-1";
    for (int i = 0; i < 40; ++i) {
        path += "/d";
    }
    tree.file(path + "/weights.pt", zip()).file("step-1/.metadata");

    const auto scan = tree.scan();

    CHECK(scan.is_cut);
    CHECK(summary(scan) == "step-1 complete");
}

TEST_CASE("names may hold any character", "[checkpoint][layouts][hostile]") {
    Tree tree;
    const std::string name = "step-1\n\x1b[2J\xff";
    tree.file(name + "/.metadata").file(name + "/__0_0.distcp");

    const auto scan = tree.scan();

    REQUIRE(scan.found.size() == 1);
    CHECK(scan.found[0].name == name);
}

TEST_CASE("a folder that vanishes, and one that cannot be read, are no error",
          "[checkpoint][layouts][hostile]") {
    test::TempDir dir;
    const auto folder = checkpoint::Folder::open(dir.path());
    REQUIRE(folder);
    fs::remove_all(dir.path());

    CHECK(checkpoint::scan_checkpoints(*folder).found.empty());
    CHECK(checkpoint::Folder::open(dir.path()).error().code == Errc::not_found);
}

TEST_CASE("what is known is not looked into again", "[checkpoint][layouts]") {
    Tree tree;
    tree.file("step-1/.metadata").file("step-1/__0_0.distcp", "12345");
    const auto folder = checkpoint::Folder::open(tree.path("."));

    const auto again = checkpoint::scan_checkpoints(
        *folder, {}, [](const std::string& name, std::int64_t) { return name == "step-1"; });

    REQUIRE(again.found.size() == 1);
    CHECK(again.found[0].files == 0);
    CHECK(again.found[0].seal_ns == tree.scan().found[0].seal_ns);
}

TEST_CASE("file systems that tell nothing of other nodes' changes are polled",
          "[checkpoint][layouts]") {
    CHECK(checkpoint::is_remote_magic(0x6969));
    CHECK(checkpoint::is_remote_magic(0x0bd00bd0));
    CHECK(checkpoint::is_remote_magic(0x65735546));
    CHECK_FALSE(checkpoint::is_remote_magic(0xef53));      // ext4
    CHECK_FALSE(checkpoint::is_remote_magic(0x01021994));  // tmpfs
}
