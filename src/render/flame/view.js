// What the page says in words: numbers, the frame that is pointed at, the path of the zoom, the
// legend. All text goes into the document as text nodes, never as markup.

const byId = (id) => document.getElementById(id);

function element(tag, content, className) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (content !== undefined) made.append(content);
  return made;
}

const KIND_NAMES = {
  'unknown': 'No name', 'native': 'Native', 'native inlined': 'Native, inlined',
  'kernel': 'Kernel', 'jit': 'JIT', 'jit inlined': 'JIT, inlined',
  'runtime': 'Runtime stub', 'interpreted': 'Interpreted', 'thread': 'Process or thread',
};
const SOURCE_NAMES = {
  'none': 'nobody', 'elf': 'symbols of the file', 'kernel': 'kernel symbols',
  'bpf': 'BPF program', 'vdso': 'vdso', 'offline map': 'map given by --map',
  'perf map': 'perf map (no times)', 'jitdump': 'jitdump', 'recording': 'jitscope record',
};

class View {
  // ---- texts ----

  percent(share) {
    const value = share * 100;
    return `${value.toFixed(value !== 0 && Math.abs(value) < 0.1 ? 3 : 2)}%`;
  }

  amount(value) {
    const unit = this.unit();
    if (unit === 'nanoseconds') {
      const size = Math.abs(value);
      if (size >= 1e9) return `${(value / 1e9).toFixed(2)} s`;
      if (size >= 1e6) return `${(value / 1e6).toFixed(1)} ms`;
      return `${(value / 1e3).toFixed(1)} µs`;
    }
    return `${value.toLocaleString('en')}${unit === 'samples' && value === 1 ? ' sample' : ` ${unit}`}`;
  }

  unit() {
    if (this.settings.measure === 'samples') return 'samples';
    const event = this.model.events[this.settings.event];
    return event.unit === 'nanoseconds' ? event.unit : event.name;
  }

  signed(text, value) { return value > 0 ? `+${text}` : text; }

  nameOf(node) {
    return node === 0 ? 'all' : this.tree.names[this.tree.frame[node]];
  }

  showSummary() {
    const { data, events } = this.model;
    byId('title').textContent = data.title || (this.model.compares ? 'Comparison' : 'Flame graph');
    const parts = [];
    const { forward } = this;
    if (this.model.compares) {
      parts.push(`${data.sides[0]}: ${this.amount(forward.a[0])}`,
                 `${data.sides[1]}: ${this.amount(forward.b[0])}`);
    } else {
      parts.push(this.amount(forward.a[0]));
    }
    const event = events.length > 0 ? events[this.settings.event].name : 'samples';
    if (event !== 'samples') parts.push(`of ${event}`);
    const seconds = (data.last - data.first) / 1e9;
    if (seconds > 0) parts.push(`in ${seconds.toFixed(1)} s`);
    if (data.lost > 0) parts.push(`${data.lost.toLocaleString('en')} lost`);
    if (data.host) parts.push(`on ${data.host}`);
    byId('summary').textContent = parts.join(' · ').replace(' · of ', ' of ').replace(' · in ', ' in ');
  }

  // ---- what is said of one frame ----

  describe(node) {
    const { tree } = this;
    const shown = node >= 0 ? node : Math.max(this.graph.selected, this.graph.zoom);
    const panel = byId('details');
    panel.replaceChildren(element('h2', 'Frame'));
    const frameId = tree.frame[shown];
    const facts = frameId < 0 ? null : this.model.frame(frameId);
    panel.append(element('p', this.nameOf(shown), 'name'));
    const badges = element('p', undefined, 'badges');
    const badge = (text, colour, className) => {
      const made = element('span', text, `badge ${className || ''}`);
      if (colour) made.style.background = colour;
      badges.append(made);
    };
    if (frameId >= 0) {
      const { kind, tier } = this.model.classes[tree.classOf[frameId]];
      badge(KIND_NAMES[kind] || kind, this.graph.palette.classes[tree.classOf[frameId]]);
      const anyTier = facts && facts.tier !== 'unknown' ? facts.tier : tier;
      if (anyTier && anyTier !== 'unknown') badge(anyTier);
      if (facts && facts.ambiguous) badge('ambiguous', '', 'warn');
      panel.append(badges);
    }
    const list = element('dl');
    const fact = (key, value, code) => {
      if (value === '' || value === undefined) return;
      list.append(element('dt', key), element('dd', value, code ? 'code' : ''));
    };
    this.countFacts(fact, shown, frameId);
    if (facts !== null) {
      if (facts.raw !== facts.method) fact('Raw name', facts.raw, true);
      fact('File', facts.path || facts.dso, true);
      if (facts.file !== '') {
        const lines = facts.lastLine > facts.line ? `${facts.line}–${facts.lastLine}` : facts.line;
        fact('Source', facts.line > 0 ? `${facts.file}:${lines}` : facts.file, true);
      }
      if (facts.source !== 'none') fact('Named by', SOURCE_NAMES[facts.source] || facts.source);
      fact('Could be', facts.candidates, true);
      if (facts.method === '') fact('No name:', facts.reason || 'the reason is not known');
    }
    panel.append(list);
  }

  countFacts(fact, node, frameId) {
    const { tree, forward } = this;
    const { data } = this.model;
    const all = tree.depth[this.graph.zoom] > 0 ? this.graph.zoom : 0;
    const line = (value, whole) =>
      `${this.amount(value)}, ${this.percent(this.share(value, whole))}`;
    if (this.model.compares) {
      const a = tree.a[node];
      const b = tree.b[node];
      fact(data.sides[0], line(a, tree.a[0]));
      fact(data.sides[1], line(b, tree.b[0]));
      const points = this.share(b, tree.b[0]) - this.share(a, tree.a[0]);
      const by = this.settings.change === 'count' ? b - a : points;
      fact('Change', element('span',
        `${this.signed(this.amount(b - a), b - a)}, ${this.signed(`${(points * 100).toFixed(2)}`, points)} points`,
        by > 0 ? 'more' : by < 0 ? 'less' : ''));
      fact('Self', `${this.amount(tree.selfA[node])} → ${this.amount(tree.selfB[node])}`);
      return;
    }
    fact('Total', line(tree.a[node], tree.a[0]));
    fact(this.settings.reverse ? 'Outermost' : 'Self', line(tree.selfA[node], tree.a[0]));
    if (all !== 0 && node !== all) {
      fact('Of zoom', this.percent(this.share(tree.a[node], tree.a[all])));
    }
    if (frameId >= 0) {
      const sums = forward.frameSums();
      fact('All stacks', `total ${this.percent(this.share(sums.total[frameId], forward.a[0]))}, `
        + `self ${this.percent(this.share(sums.self[frameId], forward.a[0]))}`);
    }
  }

  say(node) {
    const { tree } = this;
    const facts = this.model.frame(tree.frame[node]);
    const parts = [this.nameOf(node)];
    if (this.model.compares) {
      parts.push(`change ${(100 * (this.share(tree.b[node], tree.b[0]) - this.share(tree.a[node], tree.a[0]))).toFixed(2)} points`);
    } else {
      parts.push(`${this.percent(this.share(tree.a[node], tree.a[0]))} of samples`);
    }
    if (facts !== null) parts.push(KIND_NAMES[facts.kind] || facts.kind);
    if (facts !== null && facts.method === '') parts.push(facts.reason);
    if (facts !== null && facts.ambiguous) parts.push(`ambiguous: ${facts.candidates}`);
    parts.push(`depth ${tree.depth[node]}`);
    byId('live').textContent = parts.join(', ');
  }

  showTip(node, x, y) {
    const tip = byId('tip');
    if (node < 0) {
      tip.hidden = true;
      return;
    }
    const { tree } = this;
    const line = this.model.compares
      ? `${this.percent(this.share(tree.a[node], tree.a[0]))} → ${this.percent(this.share(tree.b[node], tree.b[0]))}`
      : `${this.percent(this.share(tree.a[node], tree.a[0]))} total, ${this.percent(this.share(tree.selfA[node], tree.a[0]))} self`;
    tip.replaceChildren(element('b', this.nameOf(node)), line);
    tip.hidden = false;
    const room = byId('graph');
    tip.style.left = `${Math.max(4, Math.min(x + 14, room.clientWidth - tip.offsetWidth - 8))}px`;
    const below = y + 18 + tip.offsetHeight < room.clientHeight;
    tip.style.top = `${below ? y + 18 : y - tip.offsetHeight - 8}px`;
  }

  showPath() {
    const { tree, graph } = this;
    const nodes = [];
    for (let node = graph.zoom; ; node = tree.parent[node]) {
      nodes.unshift(node);
      if (node === 0) break;
    }
    const key = nodes.join(' ');
    if (key === this.lastPath) return key;
    const path = byId('path');
    path.replaceChildren();
    if (nodes.length === 1) {
      path.append('Click or Enter zooms in, arrow keys move, / searches, ? lists all keys');
      return key;
    }
    const shown = nodes.length > 4 ? [0, -1, ...nodes.slice(-3)] : nodes;
    shown.forEach((node, i) => {
      if (i > 0) path.append('›');
      if (node < 0) {
        path.append(' … ');
        return;
      }
      const button = element('button', this.nameOf(node));
      button.type = 'button';
      button.title = this.nameOf(node);
      button.addEventListener('click', () => this.zoomTo(node));
      path.append(button);
    });
    return key;
  }

  // ---- legend ----

  showLegend() {
    const legend = byId('legend');
    legend.replaceChildren(element('h2', 'Colours'));
    if (this.model.compares) {
      const ends = element('div', undefined, 'ends');
      const greatest = this.settings.change === 'count'
        ? this.amount(this.greatestChange) : `${(this.greatestChange * 100).toFixed(1)} points`;
      ends.append(element('span', `less (−${greatest})`), element('span', 'same'),
                  element('span', `more (+${greatest})`));
      legend.append(element('div', undefined, 'scale'), ends);
      legend.append(element('p', `Red: more in ${this.model.data.sides[1]}. Blue: less. `
        + 'Shares are of all samples of each side.', 'note'));
      return;
    }
    const { forward } = this;
    const shares = new Float64Array(this.model.classes.length);
    const present = new Uint8Array(this.model.classes.length);
    for (let i = 1; i < forward.count; i++) {
      if (forward.width[i] === 0) continue;
      shares[forward.classOf[forward.frame[i]]] += forward.selfA[i];
      present[forward.classOf[forward.frame[i]]] = 1;
    }
    const list = element('ul');
    const order = [...this.model.classes.keys()].filter((each) => present[each])
      .sort((x, y) => shares[y] - shares[x]);
    for (const each of order) {
      const { kind, tier } = this.model.classes[each];
      const swatch = element('span', undefined, 'swatch');
      swatch.style.background = this.graph.palette.classes[each];
      const name = KIND_NAMES[kind] || kind;
      const item = element('li', swatch);
      item.append(element('span', tier && tier !== 'unknown' ? `${name} ${tier}` : name));
      if (kind !== 'thread') {
        item.append(element('span', this.percent(this.share(shares[each], forward.a[0])), 'share'));
      }
      list.append(item);
    }
    legend.append(list, element('p', 'Percentages: self, of all that is shown.', 'note'));
  }
}
