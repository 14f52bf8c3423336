// BodyFile: the jitdump file into which the follower writes what it learns about one process.
//
// What a look found goes out in a few writes of whole records, and the file gets its name after the
// first of them: a killed recording leaves files that readers take, cut within a record at most.
// The bytes of the code are read from the process as it is found; what cannot be read any more is
// zeros. Lines, inlining and unwind tables go along where they are known: as DEBUG_INFO and
// UNWINDING_INFO for all readers, and as SCOPES for jitscope.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/path.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "code/frame_shape.h"
#include "formats/jitdump/code_scopes.h"
#include "formats/jitdump/jitdump.h"
#include "process/memory_reader.h"

namespace jitscope {

enum class DumpForm : uint8_t {
  recorded,  // names with the tier (code/recorded_name.h), and jitscope's own records
  extended,  // plain names, and jitscope's own records (inlining, what is gone), which perf
             // complains about one by one
  standard,  // nothing but what the specification has
};

class BodyFile {
 public:
  // A code body of more bytes than this is no code body.
  static constexpr uint64_t kLargestBody = 64U << 20U;
  // No file grows beyond this.
  static constexpr uint64_t kLargestFile = 4ULL << 30U;

  // Nothing is created before the first body. `path` must not exist then. `folder`: that of the
  // path, open; where there is none it is opened then.
  BodyFile(std::string path, pid_t pid, DumpForm form = DumpForm::recorded,
           std::shared_ptr<const UniqueFd> folder = {})
      : path_(std::move(path)),
        folder_(std::move(folder)),
        pid_(static_cast<uint32_t>(pid)),
        own_records_(form != DumpForm::standard),
        writer_(pid_) {}
  BodyFile(const BodyFile&) = delete;
  BodyFile& operator=(const BodyFile&) = delete;
  // A file that never got its name (a full disk) is of no use to anybody.
  ~BodyFile();

  struct Body {
    uint64_t since = 0;  // 0: the same as `time`
    uint64_t time = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    std::string_view name;
    bool code = true;                    // false: without its bytes
    const CodeScopes* scopes = nullptr;  // lines and inlining; null: not known
    // Whether unwind tables are made, by `frame` and the code: of HotSpot's bodies, whose frames
    // keep rules.
    bool unwind = false;
    FrameInfo frame;
    uint64_t entry = 0;  // offset of the entry in the body
    // Bytes behind the body in which nothing else lies. perf maps unwind tables there, over
    // whatever it is: where they do not fit they are left out.
    uint64_t room = 0;
  };
  // Writes them down in this order. `memory` is the process's.
  Status load(std::span<const Body> bodies, MemoryReader& memory);
  void gone(uint64_t address, uint64_t size, uint64_t time);
  // What gone() noted; load() takes it along, in its place.
  Status flush();
  // The end of what is known about the process.
  Status close(uint64_t time);

  [[nodiscard]] const std::string& path() const { return path_; }
  // The file itself, once more; empty before it is created.
  [[nodiscard]] UniqueFd reopen() const;
  [[nodiscard]] bool created() const { return file_.valid(); }
  [[nodiscard]] uint64_t bytes() const { return written_; }

 private:
  [[nodiscard]] std::string name() const { return std::string(base_name(path_)); }
  [[nodiscard]] std::string unfinished() const { return name() + ".new"; }
  Status create(uint64_t time);
  Status write_out();
  void append(const Body& body, std::span<const std::byte> code);

  std::string path_;
  std::shared_ptr<const UniqueFd> folder_;
  uint32_t pid_;
  bool own_records_;
  jitdump::Writer writer_;
  UniqueFd file_;
  std::string pending_;
  // Of the body at hand.
  std::vector<jitdump::LineEntry> lines_;
  std::string scopes_;
  uint64_t written_ = 0;
  bool named_ = false;
};

}  // namespace jitscope
