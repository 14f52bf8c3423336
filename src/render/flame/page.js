// The page: choices, search, keys.

class Page extends View {
  constructor(data) {
    super();
    this.model = new Model(data);
    this.settings = {
      event: Math.min(data.options.event, Math.max(this.model.events.length - 1, 0)),
      measure: data.options.measure, groups: null, grouping: 'none', widthOf: 'after',
      change: 'share', reverse: data.options.reverse,
    };
    document.body.classList.toggle('compares', this.model.compares);
    this.graph = new FlameCanvas(byId('canvas'), byId('scroller'), byId('spacer'), this.model);
    this.graph.icicle = data.options.icicle;
    this.graph.drawn = () => { this.lastPath = this.showPath(); };
    this.search = { text: '', share: 0, frames: 0 };
    this.fillChoices();
    this.listen();
    this.build();
  }

  get tree() { return this.graph.tree; }

  // ---- the tree that is shown ----

  build() {
    const begin = performance.now();
    this.forward = new ForwardTree(this.model, this.settings);
    this.reverseTree = null;
    this.buildTime = performance.now() - begin;
    this.show();
  }

  show() {
    if (this.settings.reverse && this.reverseTree === null) {
      this.reverseTree = new ReverseTree(this.forward, this.settings.widthOf);
    }
    this.graph.setTree(this.settings.reverse ? this.reverseTree : this.forward);
    this.graph.change = this.model.compares ? this.changeScale() : null;
    byId('reverse').setAttribute('aria-pressed', String(this.settings.reverse));
    byId('icicle').setAttribute('aria-pressed', String(this.graph.icicle));
    this.applySearch();
    this.showSummary();
    this.showLegend();
    this.describe(-1);
    this.graph.height = 0;
    this.graph.draw();
    this.graph.home();
    this.graph.redraw();
  }

  // How much more or less of a node there is, against the greatest change of all: -1 to 1.
  changeScale() {
    const { forward } = this;
    let greatest = 0;
    for (let i = 1; i < forward.count; i++) {
      greatest = Math.max(greatest, Math.abs(this.changeOf(forward, i)));
    }
    this.greatestChange = greatest;
    return (node) => {
      const part = greatest === 0 ? 0 : this.changeOf(this.tree, node) / greatest;
      return Math.sign(part) * Math.sqrt(Math.min(Math.abs(part), 1));
    };
  }
  changeOf(tree, node) {
    if (this.settings.change === 'count') return tree.b[node] - tree.a[node];
    return this.share(tree.b[node], tree.b[0]) - this.share(tree.a[node], tree.a[0]);
  }

  share(part, whole) { return whole > 0 ? part / whole : 0; }

  // ---- search ----

  applySearch() {
    const { text } = this.search;
    const { forward, model } = this;
    const input = byId('search');
    input.removeAttribute('aria-invalid');
    if (text === '') {
      this.graph.matches = null;
      this.search = { text: '', share: 0, frames: 0 };
      byId('matched').textContent = '';
      return;
    }
    // Small letters match both; one that is no regular expression is taken as it stands.
    const flags = text === text.toLowerCase() ? 'i' : '';
    let pattern;
    try {
      pattern = new RegExp(text, flags);
    } catch {
      input.setAttribute('aria-invalid', 'true');
      pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags);
    }
    const { data } = model;
    const matches = new Uint8Array(forward.names.length);
    for (let i = 0; i < matches.length; i++) {
      matches[i] = pattern.test(forward.names[i])
        || (i < model.frameCount && pattern.test(data.strings[data.frames.dso[i]])) ? 1 : 0;
    }
    const { share, frames } = forward.matched(matches);
    this.graph.matches = matches;
    this.search = { text, share, frames };
    byId('matched').textContent = `${this.percent(share)} in ${frames.toLocaleString('en')} ${frames === 1 ? 'frame' : 'frames'}`;
  }

  setSearch(text) {
    this.search.text = text;
    this.applySearch();
    this.graph.redraw(false);
  }

  // The next visible match in reading order.
  nextMatch(step) {
    const { graph, tree } = this;
    if (graph.matches === null) return;
    const nodes = [];
    graph.rows.forEach((row) => nodes.push(...row.node.filter(
      (node) => node > 0 && graph.matches[tree.frame[node]])));
    if (nodes.length === 0) return;
    const at = nodes.indexOf(graph.selected);
    const next = at < 0 ? (step > 0 ? 0 : nodes.length - 1) : (at + step + nodes.length) % nodes.length;
    this.select(nodes[next]);
  }

  // ---- movement ----

  select(node) {
    this.graph.selected = node;
    this.graph.reveal(node);
    this.graph.redraw(false);
    this.describe(node);
    if (node >= 0) this.say(node);
  }

  zoomTo(node) {
    this.graph.zoom = node;
    this.graph.hovered = -1;
    this.showTip(-1);
    this.graph.selected = node;
    this.graph.redraw();
    this.describe(node);
    this.say(node);
  }

  zoomOut() {
    if (this.graph.zoom !== 0) this.zoomTo(this.tree.parent[this.graph.zoom]);
  }

  // A neighbour that is drawn, in the row.
  sideways(node, step) {
    const row = this.graph.rows[this.tree.depth[node]];
    for (let i = row.node.indexOf(node) + step; i >= 0 && i < row.node.length; i += step) {
      if (row.node[i] >= 0) return row.node[i];
    }
    return node;
  }

  inward(node) {
    let widest = node;
    const { tree, graph } = this;
    for (let child = tree.first(node); child >= 0; child = tree.next(child)) {
      if ((widest === node || tree.width[child] > tree.width[widest]) && graph.boxOf(child) !== null) {
        widest = child;
      }
    }
    return widest;
  }

  move(key) {
    const from = Math.max(this.graph.selected, 0);
    if (this.graph.selected < 0 || this.graph.boxOf(from) === null) {
      this.select(this.graph.zoom);
      return;
    }
    const callee = key === (this.graph.icicle ? 'ArrowDown' : 'ArrowUp');
    if (key === 'ArrowLeft') this.select(this.sideways(from, -1));
    else if (key === 'ArrowRight') this.select(this.sideways(from, 1));
    else if (callee) this.select(this.inward(from));
    else this.select(this.tree.parent[from]);
  }

  toggleReverse() {
    this.settings.reverse = !this.settings.reverse;
    this.show();
  }

  toggleIcicle() {
    this.graph.icicle = !this.graph.icicle;
    byId('icicle').setAttribute('aria-pressed', String(this.graph.icicle));
    this.graph.draw();
    this.graph.home();
    this.graph.redraw(false);
  }

  toggleChange() {
    this.settings.change = this.settings.change === 'share' ? 'count' : 'share';
    byId('change').value = this.settings.change;
    this.graph.change = this.changeScale();
    this.showLegend();
    this.describe(this.graph.selected);
    this.graph.redraw(false);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
    const active = document.activeElement;
    const typing = active && (active.tagName === 'INPUT' || active.tagName === 'SELECT');
    if (typing) {
      if (event.key === 'Escape' && active.id === 'search') {
        active.value = '';
        this.setSearch('');
        byId('canvas').focus();
      }
      if (event.key === 'Enter' && active.id === 'search') byId('canvas').focus();
      return;
    }
    const onButton = active && active.tagName === 'BUTTON';
    const actions = {
      'ArrowUp': () => this.move(event.key), 'ArrowDown': () => this.move(event.key),
      'ArrowLeft': () => this.move(event.key), 'ArrowRight': () => this.move(event.key),
      'Enter': () => this.zoomTo(Math.max(this.graph.selected, 0)),
      'Backspace': () => this.zoomOut(), 'Home': () => this.zoomTo(0),
      'Escape': () => {
        if (this.search.text === '') this.zoomOut();
        byId('search').value = '';
        this.setSearch('');
      },
      '/': () => byId('search').focus(), 'n': () => this.nextMatch(1), 'N': () => this.nextMatch(-1),
      'r': () => this.toggleReverse(), 'o': () => this.toggleIcicle(),
      'c': () => { if (this.model.compares) this.toggleChange(); },
      '?': () => byId('keys').showModal(),
    };
    if (!Object.hasOwn(actions, event.key) || (onButton && event.key === 'Enter')) return;
    event.preventDefault();
    actions[event.key]();
  }

  // ---- controls ----

  fillChoices() {
    const { model, settings } = this;
    const option = (select, value, text) => {
      const made = element('option', text);
      made.value = value;
      byId(select).append(made);
    };
    model.events.forEach((event, i) => option('event', String(i), event.name));
    byId('event-choice').hidden = model.events.length < 2;
    byId('event').value = String(settings.event);
    option('measure', 'samples', 'samples');
    option('measure', 'weight', 'weight of the event');
    byId('measure').value = settings.measure;
    byId('measure-choice').hidden = model.sameMeasures();
    const processes = model.processes();
    const threads = model.groups.length;
    option('threads', 'all', 'all');
    processes.forEach((process, p) => {
      option('threads', `p${p}`, process.label);
      if (process.threads.length < 2) return;
      for (const thread of process.threads) {
        option('threads', `t${thread.index}`, `\u2003${thread.label}`);
      }
    });
    byId('thread-choice').hidden = threads < 2;
    byId('grouping-choice').hidden = threads < 2;
    if (processes.length > 1) settings.grouping = 'process';
    byId('grouping').value = settings.grouping;
    byId('threads').addEventListener('change', ({ target }) => {
      const number = Number(target.value.slice(1));
      if (target.value === 'all') settings.groups = null;
      else if (target.value[0] === 't') settings.groups = new Set([number]);
      else settings.groups = new Set(processes[number].threads.map(({ index }) => index));
      this.build();
    });
  }

  listen() {
    const { settings, graph } = this;
    const onChange = (id, apply) => byId(id).addEventListener('change', ({ target }) => {
      apply(target.value);
      this.build();
    });
    onChange('event', (value) => { settings.event = Number(value); });
    onChange('measure', (value) => { settings.measure = value; });
    onChange('grouping', (value) => { settings.grouping = value; });
    onChange('width', (value) => { settings.widthOf = value; });
    byId('change').addEventListener('change', () => this.toggleChange());
    byId('search').addEventListener('input', ({ target }) => this.setSearch(target.value));
    byId('reverse').addEventListener('click', () => this.toggleReverse());
    byId('icicle').addEventListener('click', () => this.toggleIcicle());
    byId('reset').addEventListener('click', () => this.zoomTo(0));
    byId('help').addEventListener('click', () => byId('keys').showModal());
    window.addEventListener('keydown', (event) => this.key(event));

    const canvas = byId('canvas');
    const nodeOf = (event) => {
      const box = canvas.getBoundingClientRect();
      return graph.nodeAt(event.clientX - box.left, event.clientY - box.top);
    };
    canvas.addEventListener('pointermove', (event) => {
      const node = nodeOf(event);
      const box = byId('graph').getBoundingClientRect();
      this.showTip(node, event.clientX - box.left, event.clientY - box.top);
      if (node === graph.hovered) return;
      graph.hovered = node;
      this.describe(node);
      graph.redraw(false);
    });
    canvas.addEventListener('pointerleave', () => {
      graph.hovered = -1;
      this.showTip(-1);
      this.describe(-1);
      graph.redraw(false);
    });
    canvas.addEventListener('click', (event) => {
      const node = nodeOf(event);
      if (node >= 0) this.zoomTo(node);
    });
    byId('scroller').addEventListener('scroll', () => graph.redraw(false));
    new ResizeObserver(() => graph.redraw()).observe(byId('scroller'));
    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      graph.restyle();
      this.showLegend();
      this.describe(graph.selected);
      graph.redraw();
    });
  }
}

// For tests and for the curious: what is drawn and chosen, as plain values.
const began = performance.now();
const page = new Page(JSON.parse(byId('data').textContent));
window.jitscope = {
  loadTime: performance.now() - began,
  get buildTime() { return page.buildTime; },
  get redraw() { return { ...page.graph.stats }; },
  get zoom() {
    return { node: page.graph.zoom, name: page.nameOf(page.graph.zoom), depth: page.tree.depth[page.graph.zoom] };
  },
  get selected() { return page.graph.selected < 0 ? null : page.nameOf(page.graph.selected); },
  get search() { return { ...page.search }; },
  get settings() { return { ...page.settings, icicle: page.graph.icicle }; },
  get counts() {
    return { frames: page.model.frameCount, nodes: page.model.nodeCount, entries: page.model.entries.count };
  },
  // Frames that are drawn, with their place in the canvas.
  get visible() {
    const { graph, tree } = page;
    const found = [];
    graph.rows.forEach((row, depth) => row.node.forEach((node, i) => {
      if (node < 0) return;
      found.push({ node, name: page.nameOf(node), depth, x: row.x[i], y: graph.rowTop(depth),
                   width: row.width[i], height: ROW, total: tree.a[node], self: tree.selfA[node],
                   colour: graph.colourOf(node) });
    }));
    return found;
  },
};
