// The Node of bench/following.py: some hundred functions are compiled, then it waits (idle), or goes on as a server
// does (busy), with a function now and then that was not there before.
'use strict';

function handle(number) {
  const words = new Map();
  for (const word of `request ${number} of ${number * 7}, a b c d`.split(/\W+/)) {
    words.set(word, (words.get(word) || 0) + word.length);
  }
  return JSON.stringify([...words]).length + [...words.keys()].sort().join().length;
}

let sum = 0;
for (let i = 0; i < 200000; i++) sum += handle(i);
console.log(`ready ${sum}`);
if (process.argv[2] === 'idle') {
  setInterval(() => {}, 1 << 30);
} else {
  let count = 0;
  setInterval(() => {
    for (let i = 0; i < 500; i++) sum += handle(i);
    if (++count % 30 !== 0) return;
    const fresh = new Function('n', `let s = 0; for (let i = 0; i < n; i++) s += i ^ ${count}; return s;`);
    for (let i = 0; i < 3000; i++) sum += fresh(20);
  }, 8);
}
