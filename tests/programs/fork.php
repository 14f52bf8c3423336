<?php
// A JIT's buffer shared with a forked child: the child runs what its parent had compiled, then something
// that it compiles itself. Prints "PID FUNCTION BEGIN END" (CLOCK_MONOTONIC nanoseconds) for each part.
function hot_first($n) { $s = 0; for ($i = 0; $i < $n; $i++) { $s = ($s * 31 + $i) & 0xffffff; } return $s; }
function hot_second($n) { $s = 1; for ($i = 0; $i < $n; $i++) { $s = ($s ^ ($i * 7)) & 0xfffff; } return $s; }
function child_only($n) { $s = 2; for ($i = 0; $i < $n; $i++) { $s = ($s + $i * 3 - 1) & 0xffff; } return $s; }

function run($function, $milliseconds) {
  $begin = hrtime(true);
  do {
    $function(20000);
    $end = hrtime(true);
  } while ($end - $begin < $milliseconds * 1000000);
  fprintf(STDOUT, "%d %s %d %d\n", getmypid(), $function, $begin, $end);
}

run('hot_first', 300);
run('hot_second', 300);
$child = pcntl_fork();
if ($child < 0) exit(1);
if ($child === 0) {
  run('hot_first', 300);
  run('hot_second', 300);
  run('child_only', 300);
  exit(0);
}
pcntl_waitpid($child, $status);
run('hot_second', 100);
echo "done $status\n";
