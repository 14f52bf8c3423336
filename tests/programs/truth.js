// A function that a test counts calls of, in Node: "warm N" and "go N" call it exactly N times and check
// every result. Run with --perf-basic-prof --no-turbo-inlining so that it has a body of its own.
'use strict';
const readline = require('readline');

function hot(a, b) {
  return (a * 3 + b) | 0;
}

function drive(n) {
  let errors = 0;
  for (let i = 0; i < n; i++) {
    const a = i & 1023;
    if (hot(a, 7) !== a * 3 + 7) errors++;
  }
  return errors;
}

console.log(`ready ${process.pid}`);
readline.createInterface({input: process.stdin}).on('line', (line) => {
  const [verb, count] = line.trim().split(' ');
  const n = Number(count || 0);
  if (verb === 'quit') process.exit(n);
  console.log(`${verb} calls ${n} errors ${drive(n)}`);
});
