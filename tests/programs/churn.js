// Compiles a function under a name of its own, runs it for a while, drops it, collects, and so on: V8
// puts the next one's code where the last one's was. Every function is called churn_K or inner_K.
//   node --expose-gc churn.js ROUNDS MILLISECONDS LOG [kill]
// LOG: a line "K BEGIN END" for each, CLOCK_MONOTONIC nanoseconds; no other churn function runs between.
// kill: it kills itself in the middle of the last round.
'use strict';
const fs = require('fs');

const rounds = Number(process.argv[2]);
const lasting = BigInt(process.argv[3]) * 1000000n;
const log = fs.openSync(process.argv[4], 'w');
const kill = process.argv[5] === 'kill';

function source(k) {
  // Bodies of different sizes, so that they do not lie in the same place one for one.
  const lines = [];
  for (let i = 0; i < 1 + (k * 7) % 40; i++) {
    lines.push(`s = (Math.imul(s, ${2 * i + 3}) + (s >>> ${1 + i % 7}) + ${k}) | 0;`);
  }
  return `(function() {
    function inner_${k}(s) { ${lines.join(' ')} return s; }
    return function churn_${k}(n) { let s = n; for (let i = 0; i < n; i++) s = (s + inner_${k}(s ^ i)) | 0; return s; };
  })()`;
}

function round(k) {
  const run = (0, eval)(source(k));
  const begin = process.hrtime.bigint();
  let end = begin;
  let sum = 0;
  do {
    sum = (sum + run(3000)) | 0;
    end = process.hrtime.bigint();
    if (kill && k === rounds - 1 && end - begin >= lasting / 2n) process.kill(process.pid, 'SIGKILL');
  } while (end - begin < lasting);
  fs.writeSync(log, `${k} ${begin} ${end}\n`);
  return sum;
}

let sum = 0;
console.log(`ready ${process.pid}`);
for (let k = 0; k < rounds; k++) {
  sum = (sum + round(k)) | 0;
  if (global.gc) global.gc();
}
console.log(`done ${sum}`);
