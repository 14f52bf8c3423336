#include "ebpf/load_watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

// The generated header is C: it spells bool as _Bool, which clang does not know in C++.
#ifdef __clang__
#define _Bool bool  // NOLINT(bugprone-reserved-identifier)
#endif
#include "ebpf/bpf_support.h"
#include "loads.skel.h"
#include "probe_shared.h"

namespace jitscope {
namespace {

class UsdtWatch final : public LoadWatch {
 public:
  ~UsdtWatch() override {
    links_.clear();
    if (ring_ != nullptr) ring_buffer__free(ring_);
    if (object_ != nullptr) loads_bpf__destroy(object_);
  }

  Status start(pid_t pid, const std::string& file) {
    prepare_libbpf();
    object_ = loads_bpf__open_and_load();
    if (object_ == nullptr) return fail(bpf_error("cannot load the USDT program", errno));
    for (const auto& [program, name] :
         {std::pair{object_->progs.on_load, "compiled__method__load"},
          std::pair{object_->progs.on_unload, "compiled__method__unload"}}) {
      BpfLink link(bpf_program__attach_usdt(program, pid, file.c_str(), "hotspot", name, nullptr));
      if (!link) {
        return fail(
            bpf_error(fmt::format("cannot attach to the USDT probe hotspot:{}", name), errno));
      }
      links_.push_back(std::move(link));
    }
    ring_ = ring_buffer__new(bpf_map__fd(object_->maps.loads), &UsdtWatch::take, this, nullptr);
    if (ring_ == nullptr) return fail(bpf_error("cannot map the ring of load events", errno));
    return {};
  }

  bool poll(const std::function<void(const LoadEvent&)>& on_load) override {
    on_load_ = &on_load;
    ring_buffer__consume(ring_);
    on_load_ = nullptr;
    const uint64_t lost = __atomic_load_n(&object_->bss->loads_lost, __ATOMIC_RELAXED);
    return std::exchange(lost_seen_, lost) != lost;
  }

  [[nodiscard]] int wake_fd() const override { return ring_buffer__epoll_fd(ring_); }

 private:
  static int take(void* context, void* data, size_t size) {
    auto* self = static_cast<UsdtWatch*>(context);
    if (self->on_load_ == nullptr || size < sizeof(jitscope_load)) return 0;
    const auto* load = static_cast<const jitscope_load*>(data);
    constexpr uint32_t most = JITSCOPE_TEXT_BYTES;
    (*self->on_load_)({{load->class_name, std::min(load->class_length, most)},
                       {load->method_name, std::min(load->method_length, most)},
                       load->code,
                       load->time_ns,
                       load->unload != 0});
    return 0;
  }

  loads_bpf* object_ = nullptr;
  ring_buffer* ring_ = nullptr;
  uint64_t lost_seen_ = 0;
  std::vector<BpfLink> links_;
  const std::function<void(const LoadEvent&)>* on_load_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<LoadWatch>> LoadWatch::open(const Process& process,
                                                   const std::string& file) {
  auto watch = std::make_unique<UsdtWatch>();
  JITSCOPE_TRY(watch->start(process.pid(), file));
  return watch;
}

}  // namespace jitscope
