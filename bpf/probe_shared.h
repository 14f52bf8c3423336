/* What the eBPF programs and src/process/bpf_session share. Plain C, fixed-width, no padding holes.
 */
#ifndef JITSCOPE_PROBE_SHARED_H
#define JITSCOPE_PROBE_SHARED_H

#define JITSCOPE_STACK_BYTES 8192
#define JITSCOPE_STACK_WORDS 8
#define JITSCOPE_TEXT_BYTES 128

/* One address at which a probe fires; index of the `sites` map. */
struct jitscope_site {
  unsigned long long check_address; /* 0: no check */
  unsigned long long check_value;   /* of the 8 bytes there, under the mask */
  unsigned long long check_mask;
  unsigned long long jump_low; /* where the runtime's own jumps lead: */
  unsigned long long jump_high;
  unsigned int skip_if_jump; /* a hit on such a jump is a call on its way to another body */
  unsigned int enabled;
};

struct jitscope_counts {
  unsigned long long calls;
  unsigned long long sent;         /* of these, handed to the reader */
  unsigned long long lost;         /* chosen to be shown, but its event found no room in the ring */
  unsigned long long stale;        /* another body lies there now: not counted as calls */
  unsigned long long redispatched; /* entry was no longer entrant: counted where the call arrives */
};

/* How many events were let through in the second that began at `since_ns`: of all sites. */
struct jitscope_gate {
  unsigned long long since_ns;
  unsigned long long sent;
};

/* One hit. With stacks `stack_bytes` of the user stack, from `sp` on, follow. */
struct jitscope_call {
  unsigned long long time_ns; /* CLOCK_MONOTONIC */
  unsigned int pid;
  unsigned int tid;
  unsigned int site;
  unsigned int stack_bytes;
  unsigned long long registers[6]; /* rsi rdx rcx r8 r9 rdi: HotSpot's integer argument order */
  unsigned long long rax;
  unsigned long long sp;
  unsigned long long fp;
  unsigned long long
      words[JITSCOPE_STACK_WORDS]; /* at sp: the return address, then stack arguments */
  unsigned int words_valid;
  unsigned int reserved;
};

/* A USDT event of libjvm: a compiled body was published or is about to be freed. */
struct jitscope_load {
  unsigned long long time_ns;
  unsigned long long code;
  unsigned int unload;
  unsigned int class_length;
  unsigned int method_length;
  unsigned int reserved;
  char class_name[JITSCOPE_TEXT_BYTES];
  char method_name[JITSCOPE_TEXT_BYTES];
};

#endif
