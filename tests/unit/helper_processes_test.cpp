// Whom the helper may take for a step's process.
#include "processes.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "support/catch.hpp"

using railhead::helper::Process;

TEST_CASE("nobody gets init's children for a step's tasks", "[helper][processes]") {
    const auto view = railhead::helper::process_view();
    CHECK(view.children(0).empty());
    CHECK(view.children(1).empty());
    CHECK(view.children(-1).empty());
    const auto ours = view.children(::getppid());
    CHECK(std::ranges::find(ours, ::getpid()) != ours.end());
}

TEST_CASE("a process runs until it has ended", "[helper][processes]") {
    CHECK_FALSE(Process{}.runs());
    CHECK_FALSE(Process{0}.runs());
    CHECK_FALSE(Process{1}.runs());
    CHECK(Process{::getpid()}.runs());

    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const Process process{child};
    CHECK(process.runs());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK_FALSE(process.runs());
}
