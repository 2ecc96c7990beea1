// A folder of its own for a test, gone with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace railhead::test {

class TempDir {
   public:
    TempDir() {
        std::string path = (std::filesystem::temp_directory_path() / "railhead-XXXXXX").string();
        if (::mkdtemp(path.data()) == nullptr) {
            throw std::runtime_error{"no temporary folder"};
        }
        path_ = path;
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string path(const std::string& name = "") const {
        return name.empty() ? path_ : path_ + "/" + name;
    }
    /// Writes a file and gives its path.
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{path(name), std::ios::binary} << text;
        return path(name);
    }

   private:
    std::string path_;
};

/// Sets an environment variable for the life of the object.  The environment is the process's:
/// not for tests with threads.
class ScopedVariable {
   public:
    ScopedVariable(std::string name, const std::string& value) : name_{std::move(name)} {
        if (const char* old = std::getenv(name_.c_str()); old != nullptr) {
            old_ = old;
            had_ = true;
        }
        ::setenv(name_.c_str(), value.c_str(), 1);
    }
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;
    ~ScopedVariable() {
        if (had_) {
            ::setenv(name_.c_str(), old_.c_str(), 1);
        } else {
            ::unsetenv(name_.c_str());
        }
    }

   private:
    std::string name_, old_;
    bool had_ = false;
};

}  // namespace railhead::test
