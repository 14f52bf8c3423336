// BpfSession on libbpf. The objects are embedded as skeletons at build time (bpf/CMakeLists.txt).

#include "ebpf/bpf_session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <memory>
#include <vector>

#include "ebpf/bpf_support.h"
#include "ebpf/uprobe_multi.h"
#include "perf_event/perf_event.h"
#include "probe.skel.h"
#include "probe_shared.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

constexpr uint64_t initial_pid_namespace_inode = 0xeffffffcU;  // PROC_PID_INIT_INO

class Session final : public BpfSession {
 public:
  Session(pid_t pid, const BpfSessionOptions& options) : pid_(pid), options_(options) {}

  ~Session() override {
    sites_.clear();
    linked_.clear();
    if (ring_ != nullptr) ring_buffer__free(ring_);
    if (object_ != nullptr) probe_bpf__destroy(object_);
  }

  Status start() {
    prepare_libbpf();
    multi_ = kernel_has_uprobe_multi();
    int code = load();
    if (code == -EINVAL && multi_) {  // a kernel that does not have what its version promises
      multi_ = false;
      code = load();
    }
    if (code != 0) return fail(bpf_error("the kernel does not take the eBPF program", -code));
    ring_ = ring_buffer__new(bpf_map__fd(object_->maps.calls), &Session::take_call, this, nullptr);
    if (ring_ == nullptr) return fail(bpf_error("cannot map the event ring", errno));
    cpus_ = libbpf_num_possible_cpus();
    return {};
  }

  Status add_uprobes(const std::string& file, std::span<const UprobeSite> sites) override {
    if (sites.empty()) return {};
    for (const UprobeSite& each : sites) JITSCOPE_TRY(enable(each.site, each.check));
    if (multi_) return add_linked_uprobes(file, sites);
    for (size_t i = 0; i < sites.size(); ++i) {
      Status status;
      if (auto event = open_uprobe_event(file, sites[i].offset, uprobe_pid()); !event) {
        status = fail(std::move(event.error()));
      } else {
        status = attach(sites[i].site, object_->progs.on_uprobe, std::move(*event));
      }
      if (status) continue;
      for (size_t done = 0; done < i; ++done) remove(sites[done].site);
      return status;
    }
    return {};
  }

  Status add_breakpoint(uint32_t site, uint64_t address, const HitCheck& check) override {
    JITSCOPE_TRY(enable(site, check));
    JITSCOPE_ASSIGN(auto events, open_breakpoint_events(address));
    for (UniqueFd& event : events) {
      if (Status status = attach(site, object_->progs.on_breakpoint, std::move(event)); !status) {
        remove(site);
        return status;
      }
    }
    return {};
  }

  // A link of several uprobes closes with the last of its sites; until then this one is switched
  // off.
  void remove(uint32_t site) override {
    if (linked_.erase(site) != 0) disable(site);
    sites_.erase(site);
  }

  [[nodiscard]] SiteCounts counts(uint32_t site) const override {
    std::vector<jitscope_counts> values(static_cast<size_t>(cpus_));
    SiteCounts sum;
    if (bpf_map__lookup_elem(object_->maps.counts, &site, sizeof(site), values.data(),
                             values.size() * sizeof(jitscope_counts), 0) != 0) {
      return sum;
    }
    for (const jitscope_counts& value : values) {
      sum.calls += value.calls;
      sum.sent += value.sent;
      sum.lost += value.lost;
      sum.stale += value.stale;
      sum.redispatched += value.redispatched;
    }
    return sum;
  }

  Result<size_t> poll(std::chrono::milliseconds wait,
                      const std::function<void(const CallEvent&)>& on_call) override {
    on_call_ = &on_call;
    int got = ring_buffer__consume(ring_);
    size_t handed = got > 0 ? static_cast<size_t>(got) : 0;
    if (got == 0 && wait.count() > 0) {
      // Events come without a wake-up (see the program), so look again after the wait.
      got = ring_buffer__poll(ring_, static_cast<int>(wait.count()));
      if (got > 0) handed += static_cast<size_t>(got);
      if (got >= 0 || got == -EINTR) got = ring_buffer__consume(ring_);
      if (got > 0) handed += static_cast<size_t>(got);
    }
    on_call_ = nullptr;
    if (got < 0 && got != -EINTR) return fail(system_error("cannot read the event ring", {}, -got));
    return handed;
  }

  int wait_for_call(bool sleeps) override {
    if (!options_.events) return -1;
    __atomic_store_n(&object_->bss->reader_sleeps, sleeps ? 1U : 0U, __ATOMIC_SEQ_CST);
    return ring_buffer__epoll_fd(ring_);
  }

 private:
  // 0, or -errno.
  int load() {
    if (object_ != nullptr) probe_bpf__destroy(object_);
    object_ = probe_bpf__open();
    if (object_ == nullptr) return -errno;
    object_->rodata->target_pid = static_cast<unsigned>(pid_);
    object_->rodata->with_events = options_.events ? 1 : 0;
    object_->rodata->with_stacks = options_.stacks ? 1 : 0;
    object_->rodata->most_events = options_.events_a_second;
    object_->rodata->every = options_.every;
    struct stat info = {};
    if (::stat("/proc/self/ns/pid", &info) == 0 && info.st_ino != initial_pid_namespace_inode) {
      object_->rodata->pid_namespace_dev = info.st_dev;
      object_->rodata->pid_namespace_inode = info.st_ino;
    }
    bpf_map__set_max_entries(object_->maps.sites, options_.max_sites);
    bpf_map__set_max_entries(object_->maps.counts, options_.max_sites);
    bpf_map__set_max_entries(object_->maps.turns, options_.every > 1 ? options_.max_sites : 1);
    bpf_map__set_max_entries(object_->maps.calls, options_.events ? options_.ring_bytes : 4096);
    bpf_program__set_autoload(object_->progs.on_uprobes, multi_);
    bpf_program__set_autoload(object_->progs.on_uprobe, !multi_);
    bpf_program__set_expected_attach_type(object_->progs.on_uprobes,
                                          static_cast<bpf_attach_type>(uprobe_multi_attach_type));
    return probe_bpf__load(object_);
  }

  // Whose memory the kernel puts uprobes in, by the main thread's. One that has exited has none,
  // and no uprobe would ever be set: then in whosoever maps the file, which is the target and what
  // it forked; the program looks at the process anyway.
  [[nodiscard]] pid_t uprobe_pid() const { return live_thread(pid_) == pid_ ? pid_ : 0; }

  Status add_linked_uprobes(const std::string& file, std::span<const UprobeSite> sites) {
    std::vector<uint64_t> offsets;
    std::vector<uint64_t> cookies;
    for (const UprobeSite& each : sites) {
      offsets.push_back(each.offset);
      cookies.push_back(each.site);
    }
    const pid_t whose = uprobe_pid();
    const int program = bpf_program__fd(object_->progs.on_uprobes);
    JITSCOPE_ASSIGN(UniqueFd link, attach_uprobe_multi(program, file, offsets, cookies, whose));
    if (whose != uprobe_pid()) {  // the main thread ended meanwhile
      JITSCOPE_ASSIGN(link, attach_uprobe_multi(program, file, offsets, cookies, 0));
    }
    const auto shared = std::make_shared<UniqueFd>(std::move(link));
    for (const UprobeSite& each : sites) linked_[each.site] = shared;
    return {};
  }

  void disable(uint32_t site) {
    const jitscope_site value = {};
    bpf_map__update_elem(object_->maps.sites, &site, sizeof(site), &value, sizeof(value), 0);
  }

  Status enable(uint32_t site, const HitCheck& check) {
    if (site >= options_.max_sites) {
      return fail(ErrorKind::not_possible, fmt::format("more than {} sites", options_.max_sites),
                  {}, "trace fewer methods at once");
    }
    const jitscope_site value = {check.address,
                                 check.value,
                                 check.mask,
                                 check.jump_low,
                                 check.jump_high,
                                 check.skip_if_jump ? 1U : 0U,
                                 1U};
    if (bpf_map__update_elem(object_->maps.sites, &site, sizeof(site), &value, sizeof(value), 0) !=
        0) {
      return fail(bpf_error("cannot describe a site to the kernel", errno));
    }
    return {};
  }

  Status attach(uint32_t site, bpf_program* program, UniqueFd event) {
    bpf_perf_event_opts attach_options = {};
    attach_options.sz = sizeof(attach_options);
    attach_options.bpf_cookie = site;
    // On success the link owns the descriptor, on failure it is still ours.
    bpf_link* raw = bpf_program__attach_perf_event_opts(program, event.get(), &attach_options);
    if (raw == nullptr) return fail(bpf_error("cannot attach the eBPF program to a site", errno));
    (void)event.release();
    sites_[site].push_back(BpfLink(raw));
    return {};
  }

  static int take_call(void* context, void* data, size_t size) {
    auto* self = static_cast<Session*>(context);
    if (self->on_call_ == nullptr || size < sizeof(jitscope_call)) return 0;
    const auto* call = static_cast<const jitscope_call*>(data);
    const size_t behind = size - sizeof(jitscope_call);
    const size_t stack = call->stack_bytes < behind ? call->stack_bytes : behind;
    (*self->on_call_)({call, {static_cast<const std::byte*>(data) + sizeof(jitscope_call), stack}});
    return 0;
  }

  pid_t pid_;
  BpfSessionOptions options_;
  probe_bpf* object_ = nullptr;
  ring_buffer* ring_ = nullptr;
  int cpus_ = 1;
  bool multi_ = false;
  std::map<uint32_t, std::vector<BpfLink>> sites_;
  std::map<uint32_t, std::shared_ptr<UniqueFd>> linked_;  // one link for all sites of a call
  const std::function<void(const CallEvent&)>* on_call_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<BpfSession>> BpfSession::open(const Process& process,
                                                     const BpfSessionOptions& options) {
  auto session = std::make_unique<Session>(process.pid(), options);
  JITSCOPE_TRY(session->start());
  return session;
}

}  // namespace jitscope
