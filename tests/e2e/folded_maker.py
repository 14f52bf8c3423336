"""Folded stacks that look like a server's: Java over libjvm over libc over the kernel."""

import random

PACKAGES = ["com.acme.shop.order", "com.acme.shop.search", "org.springframework.web.servlet", "java.util",
            "java.util.concurrent", "io.netty.channel", "com.fasterxml.jackson.databind", "org.hibernate.engine"]
CLASSES = ["Handler", "Dispatcher", "OrderService", "PriceIndex", "HashMap", "Executor", "Session", "Mapper",
           "Channel", "Query", "Cache", "Router", "Decoder", "Pipeline"]
METHODS = ["handle", "get", "put", "invoke", "run", "doFilter", "process", "read", "write", "resolve", "find",
           "compute", "apply", "flush", "encode"]
NATIVE = ["JavaThread::run()", "JavaCalls::call_helper(JavaValue*, methodHandle const&, Thread*)", "__libc_start_main",
          "start_thread", "G1CollectedHeap::mem_allocate(unsigned long)", "memcpy_avx_unaligned", "malloc",
          "PhaseIdealLoop::build_loop_late(Node*)", "[libjvm.so]", "[unknown]"]
KERNEL = ["entry_SYSCALL_64_after_hwframe", "do_syscall_64", "__x64_sys_read", "vfs_read", "tcp_sendmsg",
          "tcp_write_xmit", "net_rx_action", "__alloc_pages", "asm_exc_page_fault", "handle_mm_fault", "schedule"]


def _names(random_source, count):
    names = []
    for number in range(count):
        name = (f"{random_source.choice(PACKAGES)}.{random_source.choice(CLASSES)}{number % 37}."
                f"{random_source.choice(METHODS)}")
        if number % 3 == 0:
            name += "(java.lang.Object,int)"
        names.append(name + random_source.choice(["_[j]", "_[j]", "_[j]", "_[i]"]))
    return names


def stacks(count, depth=40, seed=7):
    """{(frame, ...): samples} of so many different stacks, about `depth` deep."""
    rng = random.Random(seed)
    pool = _names(rng, 2500)
    found = {}
    while len(found) < count:
        frames = [rng.choices(["java", "C2_CompilerThre", "GC_Thread#0"], [8, 2, 1])[0], "start_thread",
                  "JavaThread::run()"]
        length = rng.randint(depth - 14, depth + 8)
        place = len(frames[0])
        while len(frames) < length:
            # Most calls have one callee or a favourite one; every sixth level is a dispatcher.
            ways = 5 if len(frames) % 6 == 0 else 2 if len(frames) % 3 == 0 else 1
            place = (place * 31 + int(rng.random() ** 2.2 * ways) * 977 + 1) % 999983
            frames.append(pool[place % len(pool)])
            if rng.random() < 0.012:
                break
        kind = rng.random()
        if kind < 0.3:
            frames += [f"{name}_[k]" for name in KERNEL[:rng.randint(2, 6)]]
            frames.append(rng.choice(KERNEL) + "_[k]")
        elif kind < 0.55:
            frames.append(rng.choice(NATIVE))
        found[tuple(frames)] = found.get(tuple(frames), 0) + 1 + int(rng.paretovariate(1.2))
    return found


def write(path, counted):
    with open(path, "w", encoding="utf-8") as out:
        for frames, samples in counted.items():
            out.write(";".join(frames) + f" {samples}\n")
