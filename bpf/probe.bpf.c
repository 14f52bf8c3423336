/* Counts hits of probe sites and, when asked, sends each with its registers to a ring buffer.
 *
 * Attached to uprobes (slots of a live image, in-place sites) and to hardware breakpoints. The site
 * is the attach cookie. Programs of uprobes may be preempted by others on the same CPU: counters
 * are therefore atomic, and no per-CPU scratch memory is used. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#include "probe_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile unsigned int target_pid = 0;
const volatile unsigned int with_events = 0;
const volatile unsigned int with_stacks = 0;
/* Events a second, and one of how many hits of a site is sent; 0: no limit, all. */
const volatile unsigned long long most_events = 0;
const volatile unsigned long long every = 0;
/* Set when jitscope itself runs in a pid namespace: pids are then seen as that namespace sees them.
 */
const volatile unsigned long long pid_namespace_dev = 0;
const volatile unsigned long long pid_namespace_inode = 0;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, unsigned int);
  __type(value, struct jitscope_site);
} sites SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, unsigned int);
  __type(value, struct jitscope_counts);
} counts SEC(".maps");

/* Hits of each site on all CPUs, for `every`. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, unsigned int);
  __type(value, unsigned long long);
} turns SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, unsigned int);
  __type(value, struct jitscope_gate);
} gates SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} calls SEC(".maps");

struct call_with_stack {
  struct jitscope_call call;
  unsigned char stack[JITSCOPE_STACK_BYTES];
};

static __always_inline unsigned long long current_pid_tgid(void) {
  if (pid_namespace_inode != 0) {
    struct bpf_pidns_info info = {};
    if (bpf_get_ns_current_pid_tgid(pid_namespace_dev, pid_namespace_inode, &info, sizeof(info)) ==
        0)
      return (unsigned long long)info.tgid << 32 | info.pid;
    return 0;
  }
  return bpf_get_current_pid_tgid();
}

static __always_inline void fill(struct jitscope_call* call, struct pt_regs* regs,
                                 unsigned int site, unsigned long long id) {
  call->time_ns = bpf_ktime_get_ns();
  call->pid = id >> 32;
  call->tid = (unsigned int)id;
  call->site = site;
  call->stack_bytes = 0;
  call->registers[0] = regs->rsi;
  call->registers[1] = regs->rdx;
  call->registers[2] = regs->rcx;
  call->registers[3] = regs->r8;
  call->registers[4] = regs->r9;
  call->registers[5] = regs->rdi;
  call->rax = regs->rax;
  call->sp = regs->rsp;
  call->fp = regs->rbp;
  call->reserved = 0;
  call->words_valid =
      bpf_probe_read_user(call->words, sizeof(call->words), (const void*)regs->rsp) == 0;
}

/* The user stack page by page, so that its end does not spoil what lies before it: the rest of the
 * first page, then whole pages at a constant distance behind it. */
static __always_inline void copy_stack(struct call_with_stack* record, unsigned long long sp) {
  unsigned int first = 4096 - (sp & 4095);
  record->call.stack_bytes = 0;
  if (first > 4096) return;
  if (bpf_probe_read_user(record->stack, first, (const void*)sp) != 0) return;
  record->call.stack_bytes = first;
#pragma unroll
  for (unsigned int page = 0; page < JITSCOPE_STACK_BYTES / 4096 - 1; page++) {
    unsigned int at = first + page * 4096;
    if (at > JITSCOPE_STACK_BYTES - 4096) return;
    if (bpf_probe_read_user(&record->stack[at], 4096, (const void*)(sp + at)) != 0) return;
    record->call.stack_bytes = at + 4096;
  }
}

/* The reader has found nothing for a while, and sleeps until the next event. */
unsigned int reader_sleeps = 0;

static __always_inline unsigned long long wakeup(void) {
  /* The reader polls; wake it only when it does not, or much is waiting: a wake-up costs the target
   * microseconds. */
  if (*(volatile unsigned int*)&reader_sleeps &&
      __sync_val_compare_and_swap(&reader_sleeps, 1, 0) == 1)
    return BPF_RB_FORCE_WAKEUP;
  return bpf_ringbuf_query(&calls, BPF_RB_AVAIL_DATA) > 512 * 1024 ? BPF_RB_FORCE_WAKEUP
                                                                   : BPF_RB_NO_WAKEUP;
}

/* What a flood of calls passes first: it writes nothing that other CPUs read once the second's
 * events are sent, and copies nothing. */
static __always_inline int chosen(unsigned int site_id) {
  if (every > 1) {
    unsigned long long* turn = bpf_map_lookup_elem(&turns, &site_id);
    if (!turn || __sync_fetch_and_add(turn, 1) % every != 0) return 0;
  }
  if (most_events == 0) return 1;
  unsigned int first = 0;
  struct jitscope_gate* gate = bpf_map_lookup_elem(&gates, &first);
  if (!gate) return 1;
  unsigned long long since = *(volatile unsigned long long*)&gate->since_ns;
  unsigned long long now = bpf_ktime_get_ns();
  if (now - since >= 1000000000ULL && (long long)(now - since) > 0 &&
      __sync_val_compare_and_swap(&gate->since_ns, since, now) == since)
    __sync_lock_test_and_set(&gate->sent, 0);
  if (*(volatile unsigned long long*)&gate->sent >= most_events) return 0;
  return __sync_fetch_and_add(&gate->sent, 1) < most_events;
}

static __always_inline int hit(void* context, struct pt_regs* regs) {
  unsigned long long id = current_pid_tgid();
  if (id >> 32 != target_pid) return 0;
  unsigned int site_id = (unsigned int)bpf_get_attach_cookie(context);
  struct jitscope_site* site = bpf_map_lookup_elem(&sites, &site_id);
  struct jitscope_counts* count = bpf_map_lookup_elem(&counts, &site_id);
  if (!site || !count || !site->enabled) return 0;
  if (site->check_address) {
    unsigned long long value = 0;
    int read = bpf_probe_read_user(&value, sizeof(value), (const void*)site->check_address) == 0;
    unsigned long long other = (value ^ site->check_value) & site->check_mask;
    if (!read || other) {
      /* The first 4 bytes tell which body it is: the same one, in another state, sends the call on.
       */
      int same_body = read && (unsigned int)other == 0;
      __sync_fetch_and_add(same_body ? &count->redispatched : &count->stale, 1);
      return 0;
    }
  }
  if (site->skip_if_jump) {
    unsigned char jump[8] = {}; /* e9 rel32 */
    if (bpf_probe_read_user(jump, 5, (const void*)regs->rip) == 0 && jump[0] == 0xe9) {
      int distance = (int)((unsigned int)jump[1] | (unsigned int)jump[2] << 8 |
                           (unsigned int)jump[3] << 16 | (unsigned int)jump[4] << 24);
      unsigned long long target = regs->rip + 5 + (long long)distance;
      if (target >= site->jump_low && target < site->jump_high) {
        __sync_fetch_and_add(&count->redispatched, 1);
        return 0;
      }
    }
  }
  __sync_fetch_and_add(&count->calls, 1);
  if (!with_events || !chosen(site_id)) return 0;
  if (with_stacks) {
    struct call_with_stack* record = bpf_ringbuf_reserve(&calls, sizeof(*record), 0);
    if (!record) {
      __sync_fetch_and_add(&count->lost, 1);
      return 0;
    }
    __sync_fetch_and_add(&count->sent, 1);
    fill(&record->call, regs, site_id, id);
    copy_stack(record, record->call.sp);
    bpf_ringbuf_submit(record, wakeup());
    return 0;
  }
  struct jitscope_call* record = bpf_ringbuf_reserve(&calls, sizeof(*record), 0);
  if (!record) {
    __sync_fetch_and_add(&count->lost, 1);
    return 0;
  }
  __sync_fetch_and_add(&count->sent, 1);
  fill(record, regs, site_id, id);
  bpf_ringbuf_submit(record, wakeup());
  return 0;
}

SEC("uprobe")
int on_uprobe(struct pt_regs* context) {
  return hit(context, context);
}

/* The same, loaded for links of many uprobes where the kernel has them. */
SEC("uprobe")
int on_uprobes(struct pt_regs* context) {
  return hit(context, context);
}

SEC("perf_event")
int on_breakpoint(struct bpf_perf_event_data* context) {
  return hit(context, (struct pt_regs*)&context->regs);
}
