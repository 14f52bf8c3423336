// The tree merged from the leaf; the same face as ForwardTree.

// Leaves at the outside, their callers within. Children are made when first asked for: a node keeps
// the range of places in the forward tree that its samples have come from so far.
class ReverseTree {
  constructor(forward, widthOf) {
    this.forward = forward;
    this.model = forward.model;
    this.names = forward.names;
    this.classOf = forward.classOf;
    this.widthOf = widthOf;
    this.scale = forward.a[0] > 0 ? forward.b[0] / forward.a[0] : 1;
    const places = [];
    for (let i = 1; i < forward.count; i++) {
      if (forward.selfA[i] > 0 || forward.selfB[i] > 0) places.push(i);
    }
    this.place = Int32Array.from(places);
    this.placeA = Float64Array.from(places, (i) => forward.selfA[i]);
    this.placeB = Float64Array.from(places, (i) => forward.selfB[i]);
    for (const name of ['frame', 'parent', 'depth', 'start', 'width', 'a', 'b', 'selfA', 'selfB',
                        'low', 'high', 'child', 'sibling']) {
      this[name] = [];
    }
    this.slot = new Int32Array(forward.names.length).fill(-1);
    this.mergedAt = new Int32Array(forward.count).fill(-1);
    this.add(-1, 0, forward.a[0], forward.b[0], 0, places.length);
    this.maxDepth = forward.maxDepth;
  }

  add(frame, parent, a, b, low, high) {
    const node = this.frame.length;
    this.frame.push(frame);
    this.parent.push(parent);
    this.depth.push(node === 0 ? 0 : this.depth[parent] + 1);
    this.a.push(a);
    this.b.push(b);
    this.width.push(this.measure(a, b));
    this.start.push(0);
    this.selfA.push(0);
    this.selfB.push(0);
    this.low.push(low);
    this.high.push(high);
    this.child.push(-2);  // not made yet
    this.sibling.push(-1);
    return node;
  }

  measure(a, b) {
    if (!this.model.compares || this.widthOf === 'before') return a;
    return this.widthOf === 'after' ? b : a * this.scale + b;
  }

  first(node) {
    if (this.child[node] === -2) this.expand(node);
    return this.child[node];
  }
  next(node) {
    return this.sibling[node];
  }

  expand(node) {
    const { place, placeA, placeB, slot, forward } = this;
    const low = this.low[node];
    const high = this.high[node];
    // By frame.
    const frames = [];
    const members = [];
    for (let k = low; k < high; k++) {
      if (place[k] === 0) continue;  // the root has no caller
      const frame = forward.frame[place[k]];
      if (slot[frame] < 0) {
        slot[frame] = frames.length;
        frames.push(frame);
        members.push([]);
      }
      members[slot[frame]].push(k);
    }
    for (const frame of frames) slot[frame] = -1;
    // Each group moves to its callers; places that meet there are one from now on.
    const moved = members.map((group) => this.move(group));
    let at = low;
    const made = moved.map(({ places, a, b, sumA, sumB }, index) => {
      place.set(places, at);
      placeA.set(a, at);
      placeB.set(b, at);
      const child = this.add(frames[index], node, sumA, sumB, at, at + places.length);
      for (let k = 0; k < places.length; k++) {
        if (places[k] === 0) {
          this.selfA[child] += a[k];
          this.selfB[child] += b[k];
        }
      }
      at += places.length;
      return child;
    });
    made.sort((x, y) => this.width[y] - this.width[x] || this.frame[x] - this.frame[y]);
    let start = this.start[node];
    for (let k = 0; k < made.length; k++) {
      this.start[made[k]] = start;
      start += this.width[made[k]];
      this.sibling[made[k]] = k + 1 < made.length ? made[k + 1] : -1;
    }
    this.child[node] = made.length > 0 ? made[0] : -1;
  }

  move(group) {
    const { place, placeA, placeB, mergedAt, forward } = this;
    const places = [];
    const a = [];
    const b = [];
    let sumA = 0;
    let sumB = 0;
    for (const k of group) {
      const caller = forward.parent[place[k]];
      sumA += placeA[k];
      sumB += placeB[k];
      if (mergedAt[caller] < 0) {
        mergedAt[caller] = places.length;
        places.push(caller);
        a.push(placeA[k]);
        b.push(placeB[k]);
      } else {
        a[mergedAt[caller]] += placeA[k];
        b[mergedAt[caller]] += placeB[k];
      }
    }
    for (const caller of places) mergedAt[caller] = -1;
    return { places, a, b, sumA, sumB };
  }
}
