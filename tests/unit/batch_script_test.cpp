// Who in a batch script would be hit by a signal, and whether he would live.
#include "job/batch_script.hpp"

#include <string>

#include "support/catch.hpp"

namespace {

using railhead::job::BatchScript;
using railhead::job::look_at_script;

/// "tasks", "batch" or "nobody": who can take USR1.
std::string who(const std::string& text) {
    const auto script = look_at_script(text, "USR1");
    if (script.starts_steps) {
        return script.steps_catch() ? "tasks" : "nobody";
    }
    return script.catches() ? "batch" : "nobody";
}

}  // namespace

TEST_CASE("the script tells who can take a signal", "[job][checkpoint]") {
    struct Case {
        std::string why, text, expected;
    };
    const auto c = GENERATE(values<Case>({
        {"plain srun", "#!/bin/bash\nmodule load cuda\nsrun python train.py\n", "tasks"},
        {"srun by its path", "#!/bin/sh\n/usr/bin/srun -l python train.py\n", "tasks"},
        {"srun over two lines", "#!/bin/bash\nsrun --label \\\n  python train.py\n", "tasks"},
        {"srun in a command substitution", "#!/bin/bash\nout=$(srun hostname)\n", "tasks"},
        {"a comment on srun is none", "#!/bin/bash\n# srun python train.py\npython train.py\n",
         "nobody"},
        {"nor is one at the end of a line", "#!/bin/bash\npython train.py  # no srun here\n", "nobody"},
        {"a length is no comment", "#!/bin/bash\necho ${#a}; srun python train.py\n", "tasks"},
        {"a directive is no command", "#!/bin/bash\n#SBATCH --comment=srun\npython t.py\n", "nobody"},
        {"another word that has srun in it", "#!/bin/bash\nmysrun python train.py\n", "nobody"},
        {"a child of the shell: bash itself would die", "#!/bin/bash\npython train.py\n", "nobody"},
        {"the shell becomes the trainer", "#!/bin/bash\nexec python train.py\n", "batch"},
        {"exec only for the output", "#!/bin/bash\nexec 2>&1 >log\npython train.py\n", "nobody"},
        {"exec for a descriptor", "#!/bin/bash\nexec 3< file\npython train.py\n", "nobody"},
        {"a trap", "#!/bin/bash\ntrap 'kill -USR1 $pid' USR1\npython t.py & pid=$!\nwait\n", "batch"},
        {"a trap by the long name, in small letters", "#!/bin/bash\ntrap save sigusr1\npython t.py\n",
         "batch"},
        {"a trap for something else", "#!/bin/bash\ntrap cleanup EXIT TERM\npython t.py\n", "nobody"},
        {"the trainer is the script", "#!/usr/bin/env python3\nimport torch\n", "batch"},
        {"by env with options", "#!/usr/bin/env -S bash -e\npython t.py\n", "nobody"},
        {"no interpreter: sbatch would refuse it", "python train.py\n", "nobody"},
        {"torchrun dies of USR1", "#!/bin/bash\nsrun torchrun --nnodes 2 t.py\n", "nobody"},
        {"also as a module", "#!/bin/bash\nsrun python -m torch.distributed.run t.py\n", "nobody"},
        {"also from a variable", "#!/bin/bash\nL=\"torchrun --nnodes 2\"\nsrun $L t.py\n", "nobody"},
        {"also by exec", "#!/bin/bash\nexec torchrun t.py\n", "nobody"},
        {"a shell of each task", "#!/bin/bash\nsrun bash -c 'python train.py'\n", "nobody"},
        {"a wrapper of each task", "#!/bin/bash\nsrun ./run.sh\n", "nobody"},
        {"a shell that srun does not start", "#!/bin/bash\nbash prepare.sh\nsrun python t.py\n",
         "tasks"},
        {"mpirun", "#!/bin/bash\nmpirun python train.py\n", "nobody"},
        {"nothing at all", "", "nobody"},
    }));
    CAPTURE(c.why);

    CHECK(who(c.text) == c.expected);
}

TEST_CASE("a launcher is named as it was written", "[job][checkpoint]") {
    const auto script = look_at_script("#!/bin/bash\nsrun /opt/bin/torchrun t.py\n", "USR1");

    CHECK(script.launcher == "torchrun");
}

TEST_CASE("no more of a script is read than a quarter of a megabyte", "[job][checkpoint]") {
    const std::string filler(railhead::job::most_script_read, '\n');

    CHECK(who("#!/bin/bash\n" + filler + "srun python train.py\n") == "nobody");
    CHECK(who("#!/bin/bash\nsrun python train.py\n" + filler) == "tasks");
}

TEST_CASE("a line is found wherever it stands among others that do not matter", "[job][checkpoint]") {
    // Places are looked at many together: none may fall between two looks.
    for (std::size_t before = 0; before < 200; ++before) {
        CAPTURE(before);
        const auto filler = std::string(before, ':') + "\n";
        CHECK(who("#!/bin/bash\n" + filler + "srun python train.py\n") == "tasks");
        CHECK(who("#!/bin/bash\n" + filler + "srun python train.py" + std::string(200, 'y')) == "tasks");
        CHECK(who("#!/bin/bash\n" + filler + "trap x USR1") == "batch");
        CHECK(who("#!/bin/bash\n" + std::string(before, ' ') + "exec python t.py\n") == "batch");
        CHECK(who("#!/bin/bash\n: " + std::string(before, 'x') + " rerun # srun\npython t.py\n") ==
              "nobody");
        CHECK(who("#!/bin/bash\nsrun \\\n" + std::string(before, ' ') + "bash t\n") == "nobody");
    }
}

TEST_CASE("each launcher is known where nothing else in the script matters", "[job][checkpoint]") {
    for (const std::string launcher :
         {"torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "horovodrun", "ray"}) {
        CAPTURE(launcher);
        const auto text = "#!/bin/bash\n" + std::string(100, ':') + "\n/opt/" + launcher + " t.py\n";
        CHECK(look_at_script(text, "USR1").launcher == launcher);
    }
}

TEST_CASE("a script is read no further than to the answer", "[job][checkpoint]") {
    const auto script =
        look_at_script("#!/bin/bash\nsrun torchrun t.py\ntrap save USR1\nexec true\n", "USR1");

    CHECK(script.is_told());
    CHECK_FALSE(script.traps);
    CHECK_FALSE(script.catches());
}
