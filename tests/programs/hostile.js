// One function whose name is written for the terminal of whoever looks at it. Answers lines on standard input:
//   go N      calls it N times
const NAME = 'hot\u001b[2J\u009b31m\u202etxt\u2066\u200b;b\u0007';
const methods = {
  'hot\u001b[2J\u009b31m\u202etxt\u2066\u200b;b\u0007'(x) {
    let sum = 0;
    for (let i = 0; i < 20; i++) sum += x ^ i;
    return sum;
  },
};

function call(count) {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += methods[NAME](i);
  return sum;
}

for (let i = 0; i < 200; i++) call(1000);
console.log(`ready ${process.pid}`);
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  call(Number(line.split(' ')[1]));
  console.log('go calls errors 0');
});
