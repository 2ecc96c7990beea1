#include "as_user.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::cli {

// NOLINTBEGIN(concurrency-mt-unsafe): the command has one thread

Result<Account> find_account(const std::string& name) {
    const auto* found = ::getpwnam(name.c_str());
    if (found == nullptr) {
        return fail(Errc::not_found, fmt::format("there is no user \"{}\"", printable(name)));
    }
    return Account{found->pw_uid, found->pw_gid, name,
                   std::string{static_cast<const char*>(found->pw_dir)}};
}

AsUser::AsUser(const Account& account) : uid_{::geteuid()}, gid_{::getegid()} {
    if (account.uid == uid_) {
        is_ = true;
        return;
    }
    const int count = ::getgroups(0, nullptr);
    if (uid_ != 0 || count < 0) {
        return;
    }
    groups_.resize(static_cast<std::size_t>(count));
    if (::getgroups(count, groups_.data()) != count ||
        ::initgroups(account.name.c_str(), account.gid) != 0) {
        return;
    }
    is_changed_ = true;
    is_ = ::setegid(account.gid) == 0 && ::seteuid(account.uid) == 0;
}

// NOLINTEND(concurrency-mt-unsafe)

AsUser::~AsUser() {
    if (is_changed_ && (::seteuid(uid_) != 0 || ::setegid(gid_) != 0 ||
                        ::setgroups(groups_.size(), groups_.data()) != 0)) {
        std::abort();  // root again is what this process may be
    }
}

}  // namespace railhead::cli
