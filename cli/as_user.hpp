// Looking at files with the rights of the user whose they are.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.hpp"

namespace railhead::cli {

struct Account {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string name;  ///< empty: ourselves
    std::string home;  ///< empty where not known
};

/// The account of this name.  Fails with `not_found` where there is none.
[[nodiscard]] Result<Account> find_account(const std::string& name);

/// Looks with the rights of the user for as long as it lives: root may read what the user cannot,
/// and may not enter what the user can.  Without root it is true for ourselves alone.
class AsUser {
 public:
    explicit AsUser(const Account& account);
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;
    ~AsUser();
    explicit operator bool() const { return is_; }

 private:
    uid_t uid_;
    gid_t gid_;
    std::vector<gid_t> groups_;  ///< ours
    bool is_changed_ = false;
    bool is_ = false;
};

}  // namespace railhead::cli
