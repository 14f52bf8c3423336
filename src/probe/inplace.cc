#include "probe/inplace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "probe/eligibility.h"
#include "process/mapped_identity.h"

namespace jitscope {
namespace {

constexpr uint64_t page_bytes = 4096;

using Arg = RemoteArgument;

uint64_t protection(const Mapping& mapping) {
  return (mapping.readable ? PROT_READ : 0U) | (mapping.writable ? PROT_WRITE : 0U) |
         (mapping.executable ? PROT_EXEC : 0U);
}

// Bytes and identity, read inside the stop.
bool still_there(const Process& process, const SiteRequest& request,
                 std::span<const std::byte> page, uint64_t page_address) {
  const uint64_t at = request.body.entry - page_address;
  if (!why_not(request.body, page.subspan(at), EntryUse::trap).empty()) return false;
  for (const Guard& guard : guards_of(request.body)) {
    Bytes seen(guard.expected.size());
    if (!process.memory().read(guard.address, seen) || seen != guard.expected) return false;
  }
  return true;
}

}  // namespace

InplacePages::~InplacePages() {
  for (const ImageHome& home : homes_) remove_image_file(home);
}

Status InplacePages::place_page(uint64_t page, std::span<const SiteRequest* const> requests,
                                std::span<SiteOutcome* const> outcomes, const PageReady& ready) {
  JITSCOPE_ASSIGN(const auto maps, process_.maps());
  const Mapping* mapping = find_mapping(maps, page);
  if (mapping == nullptr) return fail(ErrorKind::not_possible, "its page is gone");
  if (mapping->shared) {
    return fail(ErrorKind::not_possible, "its page is a shared mapping", {},
                "the kernel sets no uprobe there; use --backend breakpoint");
  }
  JITSCOPE_ASSIGN(ImageHome home, create_image_file(process_, 2 * page_bytes));
  if (::ftruncate(home.fd.get(), page_bytes) != 0) {
    remove_image_file(home);
    return fail(system_error("cannot size the page's file", home.path_here));
  }

  // Inside the stop, before anything is changed: what the page holds now goes to the file.
  auto copy_page = [&]() -> Status {
    Bytes bytes(page_bytes);
    JITSCOPE_TRY(process_.memory().read(page, bytes));
    for (const SiteRequest* request : requests) {
      if (!still_there(process_, *request, bytes, page)) {
        return fail(ErrorKind::not_possible, "the runtime changed the body just before");
      }
    }
    if (::pwrite(home.fd.get(), bytes.data(), bytes.size(), 0) !=
        static_cast<ssize_t>(bytes.size())) {
      return fail(system_error("cannot write the page's file", home.path_here));
    }
    return {};
  };

  // All are stopped: what the target opened is what it will map.
  auto opened = [&](int64_t result) -> Status {
    if (result < 0)
      return fail(system_error("the target cannot open the page's file", home.path_here,
                               static_cast<int>(-result)));
    return check_descriptor(process_, static_cast<int>(result), home.fd.get());
  };

  auto register_sites = [&](int64_t mapped) -> Status {
    if (mapped < 0 && mapped >= -4095) {
      return fail(system_error("cannot map over the page", {}, static_cast<int>(-mapped)));
    }
    std::vector<ReadySlot> slots;
    for (const SiteRequest* request : requests) {
      slots.push_back({request->id, request->body.entry - page});
    }
    const Status status = ready(path_of_descriptor(home.fd.get()), slots);
    for (SiteOutcome* outcome : outcomes) {
      outcome->placed = status.has_value();
      if (!status) outcome->reason = to_string(status.error());
    }
    return {};
  };

  const std::vector<RemoteCall> calls = {
      {SYS_openat,
       {Arg::of(static_cast<uint64_t>(AT_FDCWD)), Arg::of_text(home.path_in_target),
        Arg::of(O_RDONLY | O_CLOEXEC | O_NOFOLLOW)},
       opened},
      {SYS_mmap,
       {Arg::of(page), Arg::of(page_bytes), Arg::of(PROT_READ | PROT_EXEC),
        Arg::of(MAP_PRIVATE | MAP_FIXED), Arg::of_result(0), Arg::of(0)},
       register_sites},
      {SYS_mprotect, {Arg::of(page), Arg::of(page_bytes), Arg::of(protection(*mapping))}, {}},
      {SYS_close, {Arg::of_result(0)}, {}},
  };
  auto report = patiently<RemoteReport>(
      patience_, [&] { return run_remote_calls(process_, calls, true, copy_page); });
  if (!report) {
    remove_image_file(home);
    return fail(std::move(report.error()));
  }
  stopped_ += report->stop.stopped;
  pages_.insert(page);
  homes_.push_back(std::move(home));
  return {};
}

Result<std::vector<SiteOutcome>> InplacePages::place(std::span<const SiteRequest> requests,
                                                     const PageReady& ready) {
  if (pages_.empty()) JITSCOPE_TRY(wait_until_alone(process_, patience_));
  std::vector<SiteOutcome> outcomes(requests.size());
  struct Page {
    std::vector<const SiteRequest*> requests;
    std::vector<SiteOutcome*> outcomes;
  };
  std::map<uint64_t, Page> pages;
  for (size_t i = 0; i < requests.size(); ++i) {
    const CodeBody& body = requests[i].body;
    Bytes entry(16);
    if (body.entry == 0 || !process_.memory().read(body.entry, entry)) entry.clear();
    outcomes[i].reason = why_not(body, entry, EntryUse::trap);
    if (!outcomes[i].reason.empty()) continue;
    const uint64_t page = body.entry & ~(page_bytes - 1);
    if (pages_.contains(page)) {
      outcomes[i].reason = "its page carries an in-place site already";
      continue;
    }
    pages[page].requests.push_back(&requests[i]);
    pages[page].outcomes.push_back(&outcomes[i]);
  }
  for (auto& [page, each] : pages) {
    if (Status status = place_page(page, each.requests, each.outcomes, ready); !status) {
      if (status.error().kind == ErrorKind::target_gone) return fail(std::move(status.error()));
      for (SiteOutcome* outcome : each.outcomes) {
        if (!outcome->placed) outcome->reason = to_string(status.error());
      }
    }
  }
  return outcomes;
}

}  // namespace jitscope
