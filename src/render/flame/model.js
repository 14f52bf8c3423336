// The data of the page: what the data block (render/flame_data.h) holds, unpacked. No document here.

function unbase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

class VarintReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  next() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let factor = 128;
    do {  // by multiplication: counts may be beyond 32 bits
      byte = this.bytes[this.at++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    return value;
  }
}

class Model {
  constructor(data) {
    this.data = data;
    this.compares = data.sides.length > 1;
    this.events = data.events;
    this.groups = data.groups;
    this.readFrames();
    this.readNodes();
    this.readEntries();
  }

  readFrames() {
    const { frames, strings } = this.data;
    const count = frames.method.length;
    this.frameCount = count;
    this.names = new Array(count);
    this.classOf = new Int32Array(count);
    this.classes = [];
    const known = new Map();
    for (let i = 0; i < count; i++) {
      const method = strings[frames.method[i]];
      const dso = strings[frames.dso[i]];
      this.names[i] = method === '' ? (dso === '' ? '[unknown]' : `[${dso}]`)
                                    : method + (frames.ambiguous[i] ? '?' : '');
      const kind = strings[frames.kind[i]];
      const tier = kind === 'jit' ? strings[frames.tier[i]] : '';
      const key = `${kind} ${tier}`;
      if (!known.has(key)) {
        known.set(key, this.classes.length);
        this.classes.push({ kind, tier });
      }
      this.classOf[i] = known.get(key);
    }
    this.thread = this.classes.length;
    this.classes.push({ kind: 'thread', tier: '' });
  }

  // All that is known of a frame; null for the frames that stand for a process or thread.
  frame(id) {
    if (id < 0 || id >= this.frameCount) return null;
    const { frames, strings } = this.data;
    const facts = {};
    for (const key of ['method', 'raw', 'dso', 'path', 'kind', 'tier', 'source', 'reason',
                       'candidates', 'file']) {
      facts[key] = strings[frames[key][id]];
    }
    facts.ambiguous = frames.ambiguous[id] === 1;
    facts.line = frames.line[id];
    facts.lastLine = frames.lastLine[id];
    return facts;
  }

  readNodes() {
    const count = this.data.nodeCount + 1;
    const reader = new VarintReader(unbase64(this.data.nodes));
    this.parent = new Int32Array(count);
    this.frameOf = new Int32Array(count).fill(-1);
    let at = 0;
    for (let i = 1; i < count; i++) {
      this.frameOf[i] = reader.next();
      for (let up = reader.next(); up > 0; up--) at = this.parent[at];
      this.parent[i] = at;
      at = i;
    }
    this.nodeCount = count;
    this.data.nodes = '';
  }

  readEntries() {
    const count = this.data.entryCount;
    const reader = new VarintReader(unbase64(this.data.entries));
    const entries = {
      count, node: new Int32Array(count), group: new Int32Array(count),
      event: new Int32Array(count), side: new Uint8Array(count),
      samples: new Float64Array(count), weight: new Float64Array(count),
    };
    let node = 0;
    for (let i = 0; i < count; i++) {
      node += reader.next();
      entries.node[i] = node;
      entries.group[i] = reader.next();
      entries.event[i] = reader.next();
      entries.side[i] = reader.next();
      entries.samples[i] = reader.next();
      entries.weight[i] = reader.next();
    }
    this.entries = entries;
    this.data.entries = '';
  }

  // Processes with their threads, the busiest first, for the choice of one.
  processes() {
    const found = new Map();
    const { entries } = this;
    const perGroup = new Float64Array(this.groups.length);
    for (let i = 0; i < entries.count; i++) perGroup[entries.group[i]] += entries.samples[i];
    this.groups.forEach((group, index) => {
      const label = this.processLabel(group);
      if (!found.has(label)) found.set(label, { label, samples: 0, threads: [] });
      const process = found.get(label);
      process.samples += perGroup[index];
      process.threads.push({ index, label: this.threadLabel(group), samples: perGroup[index] });
    });
    const all = [...found.values()].sort((x, y) => y.samples - x.samples);
    for (const each of all) each.threads.sort((x, y) => y.samples - x.samples);
    return all;
  }

  processLabel(group) {
    return group.pid ? `${group.process} (${group.pid})` : group.process;
  }
  threadLabel(group) {
    return group.tid ? `${group.comm} (${group.tid})` : group.comm;
  }

  // Whether it makes no difference if samples or weights are counted (folded text).
  sameMeasures() {
    return this.entries.samples.every((samples, i) => samples === this.entries.weight[i]);
  }

  // The entries of an event and of chosen groups (null: all) as [indexes, values].
  choose(event, measure, groups) {
    const { entries } = this;
    const values = measure === 'samples' ? entries.samples : entries.weight;
    const chosen = [];
    for (let i = 0; i < entries.count; i++) {
      if (entries.event[i] === event && (groups === null || groups.has(entries.group[i]))) {
        chosen.push(i);
      }
    }
    return { chosen, values };
  }
}
