/* Tells when libjvm publishes or frees a compiled body: its USDT probes
 * hotspot:compiled__method__load (class, length, name, length, signature, length, code, size) and
 * __unload (the first six). An object of its own: it needs the kernel's BTF, the probes themselves
 * do not. */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

#include "probe_shared.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} loads SEC(".maps");

/* Events that found no room: the reader then looks at all bodies again. */
unsigned long long loads_lost = 0;

static __always_inline unsigned int copy_text(char* to, const void* from, long length) {
  if (length < 0) return 0;
  if (length > JITSCOPE_TEXT_BYTES - 1) length = JITSCOPE_TEXT_BYTES - 1;
  if (bpf_probe_read_user(to, length & (JITSCOPE_TEXT_BYTES - 1), from) != 0) return 0;
  return (unsigned int)length;
}

static __always_inline long argument(struct pt_regs* context, int number) {
  long value = 0;
  if (bpf_usdt_arg(context, number, &value) != 0) return 0;
  return value;
}

static __always_inline int send(struct pt_regs* context, int unload) {
  struct jitscope_load* record = bpf_ringbuf_reserve(&loads, sizeof(*record), 0);
  if (!record) {
    __sync_fetch_and_add(&loads_lost, 1);
    return 0;
  }
  record->time_ns = bpf_ktime_get_ns();
  record->unload = unload;
  record->reserved = 0;
  record->code = unload ? 0 : argument(context, 6);
  record->class_length =
      copy_text(record->class_name, (const void*)argument(context, 0), (int)argument(context, 1));
  record->method_length =
      copy_text(record->method_name, (const void*)argument(context, 2), (int)argument(context, 3));
  bpf_ringbuf_submit(record, 0);
  return 0;
}

SEC("usdt")
int on_load(struct pt_regs* context) {
  return send(context, 0);
}

SEC("usdt")
int on_unload(struct pt_regs* context) {
  return send(context, 1);
}
