// Question and SourceOfNames: how the Resolver asks each source of names in turn.
//
// A source that knows the address answers; one that does not narrows the question (for which
// addresses and times its silence holds, and the reason) and passes. CONTRIBUTING.md says how a
// source is added.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "code/address_space.h"
#include "naming/resolution.h"
#include "replay/mapped_files.h"
#include "replay/processes.h"
#include "symbolize/mapping_kind.h"

namespace jitscope {

struct Question {
  Question(ProcessLife& of, const MappedRange& mapping, const MappedFileInfo& mapped,
           const AddressQuery& asked, uint64_t address)
      : life(of),
        range(mapping),
        file(mapped),
        query(asked),
        lookup(address),
        reach{mapping.start, mapping.end - 1} {}

  ProcessLife& life;
  const MappedRange& range;  // the mapping that holds the address
  const MappedFileInfo& file;
  const AddressQuery& query;
  uint64_t lookup = 0;  // of a return address: the call's

  // The answer, whatever it becomes, holds for these addresses, and in [from, until).
  AddressRange reach;
  uint64_t from = 0;
  uint64_t until = kForever;
  NoName why = NoName::none;  // why those that were asked have no name

  // Anonymous memory and the like, where a JIT may write code.
  [[nodiscard]] bool in_memory() const { return is_jit_memory(file.kind); }
  // The kernel's own pages in a process.
  [[nodiscard]] bool special() const {
    return file.kind == MappingKind::vsyscall || file.kind == MappingKind::kernel;
  }
};

class SourceOfNames {
 public:
  virtual ~SourceOfNames() = default;
  // Nothing: it does not know, and the next one is asked. An answer without a name ends the search
  // too. Location and `named` are the source's to fill in; addresses and times come from the
  // question.
  virtual std::optional<Resolution> answer(Question& question) = 0;
};

}  // namespace jitscope
