<?php
// A target on PHP: functions that are known to be hot. Requests come as arguments, or a line each on standard
// input (after "ready PID"):
//   run MS     runs each hot function for so long; prints "part NAME BEGIN END" for each
//   call N     calls counted so often
// Each ends with "VERB done errors E". Times are CLOCK_MONOTONIC nanoseconds.
namespace Shop;

class Hot {
  // Each calls nothing.
  static function first($n) { $s = 1; for ($i = 0; $i < $n; $i++) { $s = ($s * 31 + $i) & 0xffffff; } return $s; }
  static function second($n) { $s = 1; for ($i = 0; $i < $n; $i++) { $s = ($s ^ ($i * 7)) & 0xfffff; } return $s; }
  static function counted($n) { return $n + 7; }
}

function part($name, $milliseconds) {
  $begin = hrtime(true);
  do {
    Hot::$name(100000);
    $end = hrtime(true);
  } while ($end - $begin < $milliseconds * 1000000);
  echo "part $name $begin $end\n";
}

function request($line) {
  $words = explode(' ', trim($line));
  if ($words[0] === 'run') {
    part('first', (int)$words[1]);
    part('second', (int)$words[1]);
    echo "run done errors 0\n";
  } elseif ($words[0] === 'call') {
    $n = (int)$words[1];
    $sum = 0;
    for ($i = 0; $i < $n; $i++) $sum = Hot::counted($sum);
    echo 'call done errors ', $sum === $n * 7 ? 0 : 1, "\n";
  }
}

echo 'ready ', getmypid(), "\n";
if ($argc > 1) {
  foreach (array_slice($argv, 1) as $line) request($line);
} else {
  while (($line = fgets(STDIN)) !== false) request($line);
}
