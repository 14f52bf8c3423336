// A directory of its own for a test, and commands run in it: programs that a test compiles, strips
// and takes apart.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace jitscope::test {

class BuiltProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "/jitscope-built-XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    // mkdtemp keeps symbolic links of TMPDIR; paths in files do not.
    directory_ = std::filesystem::canonical(directory_);
  }
  void TearDown() override {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary | std::ios::trunc) << bytes;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  // Runs a shell command in the directory; what it printed is in output_.
  bool run(const std::string& command) {
    output_.clear();
    FILE* pipe = ::popen(("cd '" + directory_ + "' && { " + command + "; } 2>&1").c_str(), "re");
    if (pipe == nullptr) return false;
    std::array<char, 4096> buffer{};
    while (const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
      output_.append(buffer.data(), got);
    }
    return ::pclose(pipe) == 0;
  }
  bool have(const std::string& tool) { return run("command -v " + tool); }
  // The value of a symbol in a file that has it, by nm.
  uint64_t address_of(const std::string& name, const std::string& symbol) {
    if (!run("nm " + name + " | awk '$3 == \"" + symbol + "\" {print $1; exit}'")) return 0;
    return std::strtoull(output_.c_str(), nullptr, 16);
  }

  std::string directory_;
  std::string output_;
};

}  // namespace jitscope::test
