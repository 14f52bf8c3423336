// The tree as it was recorded, for one event and one choice of threads.
//
// Trees answer the same questions by node number: frame[], parent[], depth[], start[] and width[]
// (in the measure shown), a[] and b[] (totals of the two sides; b only in comparisons), selfA[],
// selfB[], first(node) and next(node) among siblings, -1 at the end. Node 0 is all of it.

// `grouping`: 'none', 'process' or 'thread' (these become the outermost frames). `widthOf`: what a
// frame's width is in a comparison: 'after', 'before' or 'both'.
class ForwardTree {
  constructor(model, { event, measure, groups, grouping, widthOf }) {
    this.model = model;
    this.names = model.names;
    this.classOf = model.classOf;
    this.frameCount = model.frameCount;
    const { chosen, values } = model.choose(event, measure, groups);
    const { entries } = model;
    const place = grouping === 'none' ? this.share(chosen) : this.split(chosen, grouping);
    const count = this.parent.length;
    this.count = count;
    this.selfA = new Float64Array(count);
    this.selfB = model.compares ? new Float64Array(count) : this.selfA;
    for (let k = 0; k < chosen.length; k++) {
      const self = entries.side[chosen[k]] === 0 ? this.selfA : this.selfB;
      self[place[k]] += values[chosen[k]];
    }
    this.sum();
    this.lay(widthOf);
  }

  // Without grouping the recorded tree is used as it is.
  share(chosen) {
    this.parent = this.model.parent;
    this.frame = this.model.frameOf;
    return chosen.map((entry) => this.model.entries.node[entry]);
  }

  // A copy of the tree's part for each process or thread, under a frame with its name.
  split(chosen, grouping) {
    const { model } = this;
    const { entries, groups } = model;
    const labelOf = groups.map((group) => grouping === 'process'
      ? model.processLabel(group)
      : `${model.processLabel(group)} / ${model.threadLabel(group)}`);
    const byLabel = new Map();
    chosen.forEach((entry, k) => {
      const label = labelOf[entries.group[entry]];
      if (!byLabel.has(label)) byLabel.set(label, []);
      byLabel.get(label).push(k);
    });
    const parent = [0];
    const frame = [-1];
    const place = new Int32Array(chosen.length);
    const markedFor = new Int32Array(model.nodeCount).fill(-1);
    const copy = new Int32Array(model.nodeCount);
    this.names = model.names.slice();
    const classes = [...model.classOf];
    [...byLabel.keys()].sort().forEach((label, number) => {
      const found = [];
      for (const k of byLabel.get(label)) {
        for (let node = entries.node[chosen[k]]; node !== 0 && markedFor[node] !== number;
             node = model.parent[node]) {
          markedFor[node] = number;
          found.push(node);
        }
      }
      const root = parent.length;
      parent.push(0);
      frame.push(this.names.length);
      this.names.push(label);
      classes.push(model.thread);
      copy[0] = root;
      // Numbers ascend in depth-first order, and so does the copy's.
      for (const node of Int32Array.from(found).sort()) {
        copy[node] = parent.length;
        parent.push(copy[model.parent[node]]);
        frame.push(model.frameOf[node]);
      }
      for (const k of byLabel.get(label)) place[k] = copy[entries.node[chosen[k]]];
    });
    this.parent = Int32Array.from(parent);
    this.frame = Int32Array.from(frame);
    this.classOf = Int32Array.from(classes);
    return place;
  }

  sum() {
    const { parent, count } = this;
    this.a = this.selfA.slice();
    this.b = this.model.compares ? this.selfB.slice() : this.a;
    this.end = new Int32Array(count);
    this.depth = new Int32Array(count);
    for (let i = count - 1; i > 0; i--) {
      this.a[parent[i]] += this.a[i];
      if (this.b !== this.a) this.b[parent[i]] += this.b[i];
      if (this.end[i] === 0) this.end[i] = i + 1;
      if (this.end[parent[i]] < this.end[i]) this.end[parent[i]] = this.end[i];
    }
    if (this.end[0] === 0) this.end[0] = 1;
    for (let i = 1; i < count; i++) this.depth[i] = this.depth[parent[i]] + 1;
  }

  lay(widthOf) {
    const { parent, count } = this;
    this.width = widthsOf(this, widthOf);
    this.start = new Float64Array(count);
    const cursor = new Float64Array(count);
    this.maxDepth = 0;
    for (let i = 1; i < count; i++) {
      this.start[i] = cursor[parent[i]];
      cursor[i] = this.start[i];
      cursor[parent[i]] += this.width[i];
      if (this.width[i] > 0 && this.depth[i] > this.maxDepth) this.maxDepth = this.depth[i];
    }
  }

  first(node) {
    return node + 1 < this.end[node] ? node + 1 : -1;
  }
  next(node) {
    const next = this.end[node];
    return next < this.end[this.parent[node]] ? next : -1;
  }

  // Share of all samples with a frame that `matches` says yes to on their stack, and the number of
  // such frames in the tree.
  matched(matches) {
    let found = 0;
    let frames = 0;
    let until = 0;
    for (let i = 1; i < this.count; i++) {
      if (this.width[i] === 0 || !matches[this.frame[i]]) continue;
      frames++;
      if (i >= until) {
        found += this.width[i];
        until = this.end[i];
      }
    }
    return { share: this.width[0] === 0 ? 0 : found / this.width[0], frames };
  }

  // Self and total of each frame over all stacks; recursion counts once.
  frameSums() {
    if (this.sums) return this.sums;
    const self = new Float64Array(this.names.length);
    const total = new Float64Array(this.names.length);
    const onPath = new Int32Array(this.names.length);
    const path = [];
    for (let i = 1; i < this.count; i++) {
      while (path.length >= this.depth[i]) onPath[path.pop()]--;
      const frame = this.frame[i];
      self[frame] += this.selfA[i];
      if (onPath[frame]++ === 0) total[frame] += this.a[i];
      path.push(frame);
    }
    this.sums = { self, total };
    return this.sums;
  }
}

function widthsOf(tree, widthOf) {
  if (!tree.model.compares || widthOf === 'before') return tree.a;
  if (widthOf === 'after') return tree.b;
  const scale = tree.a[0] > 0 ? tree.b[0] / tree.a[0] : 1;
  return tree.a.map((value, i) => value * scale + tree.b[i]);
}
