// The canvas: which frames of a tree are in view, where they lie, and how they look.
//
// layout() walks down from the zoomed node and leaves out all that is thinner than a pixel, so its
// cost is bounded by the canvas, not by the profile; paint() draws the rows that are scrolled into
// view from what layout() found. Frames are found by point in the same lists.

const ROW = 19;
const PADDING = 4;

function parseColour(text) {
  const value = parseInt(text.trim().slice(1), 16);
  return [value >> 16 & 255, value >> 8 & 255, value & 255];
}
function mixColours(from, to, part) {
  return `rgb(${from.map((value, i) => Math.round(value + (to[i] - value) * part)).join(',')})`;
}

// Colours of the page's style sheet, for the light or dark scheme in use.
class Palette {
  constructor(model) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const kindColour = ({ kind, tier }) => {
      const key = kind.replace(/ /g, '-');
      return (tier && colour(`--${key}-${tier}`)) || colour(`--${key}`) || colour('--unknown');
    };
    this.classes = model.classes.map(kindColour);
    // Neighbours of one kind are told apart by shade.
    this.shades = this.classes.map((each) => {
      const base = parseColour(each);
      return [0, 0.05, 0.1, 0.15].map((part) => mixColours(base, [255, 255, 255], part));
    });
    this.background = colour('--page');
    this.text = colour('--frame-text');
    this.thin = colour('--thin');
    this.match = colour('--match');
    this.focus = colour('--focus');
    this.hover = colour('--ink');
    this.all = colour('--all');
    const same = parseColour(colour('--same'));
    const less = parseColour(colour('--less'));
    const more = parseColour(colour('--more'));
    this.changes = [];
    for (let i = -16; i <= 16; i++) {
      this.changes.push(mixColours(same, i < 0 ? less : more, Math.abs(i) / 16));
    }
  }
}

// What is written into a frame of so many characters.
class Labels {
  constructor() {
    this.forms = new Map();
  }
  fit(name, room) {
    if (name.length <= room) return name;
    let forms = this.forms.get(name);
    if (forms === undefined) {
      forms = Labels.shorter(name);
      this.forms.set(name, forms);
    }
    for (const form of forms) {
      if (form.length <= room) return form;
    }
    const last = forms.length > 0 ? forms[forms.length - 1] : name;
    return room < 3 ? '' : `${last.slice(0, room - 1)}…`;
  }
  // Without parameters, without the package: "java.util.HashMap.put(int)" -> "HashMap.put".
  static shorter(name) {
    const forms = [];
    const open = name.indexOf('(');
    const bare = open > 0 ? name.slice(0, open) : name;
    if (bare !== name) forms.push(bare);
    if (/^[\w$]+(\.[\w$<>]+){2,}$/.test(bare)) forms.push(bare.split('.').slice(-2).join('.'));
    return forms;
  }
}

class FlameCanvas {
  constructor(canvas, scroller, spacer, model) {
    this.canvas = canvas;
    this.scroller = scroller;
    this.spacer = spacer;
    this.model = model;
    this.context = canvas.getContext('2d', { alpha: false });
    this.labels = new Labels();
    this.icicle = false;
    this.zoom = 0;
    this.selected = -1;
    this.hovered = -1;
    this.matches = null;  // by frame
    this.change = null;   // node => -1..1, in comparisons
    this.stats = { draws: 0, lastDraw: 0, slowest: 0, visible: 0 };
    this.waiting = false;
    this.restyle();
  }

  restyle() {
    this.palette = new Palette(this.model);
    this.font = '12px ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace';
    this.context.font = this.font;
    this.letter = this.context.measureText('MMMMMMMMMM').width / 10;
  }

  setTree(tree) {
    this.tree = tree;
    this.stale = true;
    this.zoom = 0;
    this.selected = -1;
    this.hovered = -1;
  }

  // Soon, once however often it is asked for.
  redraw(relayout = true) {
    this.stale = this.stale || relayout;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const begin = performance.now();
    const stale = this.stale;
    if (stale) this.layout();
    this.stale = false;
    this.paint();
    const took = performance.now() - begin;
    this.stats.draws++;
    this.stats.lastDraw = took;
    if (stale) this.stats.lastFull = took;
    this.stats.slowest = Math.max(this.stats.slowest, took);
    if (this.drawn) this.drawn();
  }

  layout() {
    const { tree } = this;
    this.viewWidth = this.scroller.clientWidth;
    const from = tree.start[this.zoom];
    const scale = tree.width[this.zoom] > 0 ? this.viewWidth / tree.width[this.zoom] : 0;
    this.rows = [];  // by depth: { node, x, width } in parallel lists, left to right
    for (let node = this.zoom; ; node = tree.parent[node]) {
      this.put(tree.depth[node], node, 0, this.viewWidth);
      if (node === 0) break;
    }
    const open = [this.zoom];
    while (scale > 0 && open.length > 0) {
      const node = open.pop();
      const below = open.length;
      let child = tree.first(node);
      if (child < 0) continue;
      const depth = tree.depth[child];
      let thinFrom = (tree.start[child] - from) * scale;
      let thinTo = thinFrom;
      // Thin ones are drawn as one strip, so that their room does not look empty.
      const endStrip = () => {
        if (thinTo - thinFrom >= 1) this.put(depth, -1, thinFrom, thinTo - thinFrom);
      };
      for (; child >= 0; child = tree.next(child)) {
        const width = tree.width[child] * scale;
        if (width === 0) continue;
        const x = (tree.start[child] - from) * scale;
        if (width >= 1) {
          endStrip();
          this.put(depth, child, x, width);
          open.push(child);
          thinFrom = x + width;
        }
        thinTo = x + width;
      }
      endStrip();
      // The leftmost child is taken up first: rows fill from left to right.
      for (let i = below, k = open.length - 1; i < k; i++, k--) {
        [open[i], open[k]] = [open[k], open[i]];
      }
    }
    this.resize();
  }

  put(depth, node, x, width) {
    while (this.rows.length <= depth) this.rows.push({ node: [], x: [], width: [] });
    const row = this.rows[depth];
    row.node.push(node);
    row.x.push(x);
    row.width.push(width);
  }

  resize() {
    const viewHeight = this.scroller.clientHeight;
    const height = Math.max(this.rows.length * ROW + 1, viewHeight);
    if (height !== this.height) {
      // In a flame the root is at the bottom: what is in view keeps its distance from there.
      const fromBottom = (this.height || 0) - this.scroller.scrollTop - viewHeight;
      this.height = height;
      this.spacer.style.height = `${height}px`;
      if (!this.icicle) this.scroller.scrollTop = height - viewHeight - Math.max(fromBottom, 0);
    }
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.viewWidth * ratio);
    const pixels = Math.round(viewHeight * ratio);
    if (this.canvas.width !== width || this.canvas.height !== pixels) {
      this.canvas.width = width;
      this.canvas.height = pixels;
      this.canvas.style.width = `${this.viewWidth}px`;
      this.canvas.style.height = `${viewHeight}px`;
    }
  }

  // Top of a row in the canvas.
  rowTop(depth) {
    const top = this.icicle ? depth * ROW : this.height - (depth + 1) * ROW;
    return top - this.scroller.scrollTop;
  }

  colourOf(node) {
    const { tree, palette } = this;
    const frame = tree.frame[node];
    if (frame < 0) return palette.all;
    if (this.matches !== null && this.matches[frame]) return palette.match;
    if (this.change !== null) return palette.changes[Math.round(this.change(node) * 16) + 16];
    return palette.shades[tree.classOf[frame]][(frame * 7 + 3) % 4];
  }

  paint() {
    const { context, palette, tree } = this;
    const ratio = window.devicePixelRatio || 1;
    const viewHeight = this.scroller.clientHeight;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = palette.background;
    context.fillRect(0, 0, this.viewWidth, viewHeight);
    context.font = this.font;
    context.textBaseline = 'middle';
    const zoomDepth = tree.depth[this.zoom];
    let visible = 0;
    for (let depth = 0; depth < this.rows.length; depth++) {
      const top = this.rowTop(depth);
      if (top > viewHeight || top + ROW < 0) continue;
      const row = this.rows[depth];
      visible += row.node.length;
      for (let i = 0; i < row.node.length; i++) {
        const node = row.node[i];
        const width = row.width[i];
        const matched = this.matches !== null && node >= 0 && this.matches[tree.frame[node]];
        context.globalAlpha = depth < zoomDepth || (this.matches !== null && !matched) ? 0.5 : 1;
        context.fillStyle = node < 0 ? palette.thin : this.colourOf(node);
        context.fillRect(row.x[i], top, width > 3 ? width - 1 : width, ROW - 1);
        if (node < 0 || width < 28) continue;
        const name = node === 0 ? 'all' : tree.names[tree.frame[node]];
        const label = this.labels.fit(name, Math.floor((width - 2 * PADDING) / this.letter));
        if (label === '') continue;
        context.fillStyle = palette.text;
        // The last argument squeezes letters that are wider than others.
        context.fillText(label, row.x[i] + PADDING, top + ROW / 2, width - PADDING);
      }
    }
    context.globalAlpha = 1;
    this.outline(this.hovered, palette.hover, 1);
    this.outline(this.selected, palette.focus, 2);
    this.stats.visible = visible;
  }

  outline(node, colour, width) {
    const box = this.boxOf(node);
    if (box === null) return;
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.strokeRect(box.x + width / 2, box.y + width / 2 - 0.5,
                            Math.max(box.width - 1 - width, 1), box.height - width);
  }

  // Where a node is drawn in the canvas; null when it is too thin or not below the zoom.
  boxOf(node) {
    if (node < 0) return null;
    const depth = this.tree.depth[node];
    if (depth >= this.rows.length) return null;
    const row = this.rows[depth];
    const i = row.node.indexOf(node);
    if (i < 0) return null;
    return { x: row.x[i], y: this.rowTop(depth), width: row.width[i], height: ROW };
  }

  // The node at a point of the canvas, -1 when there is none.
  nodeAt(x, y) {
    const at = y + this.scroller.scrollTop;
    const depth = Math.floor((this.icicle ? at : this.height - at) / ROW);
    if (depth < 0 || depth >= this.rows.length) return -1;
    const row = this.rows[depth];
    let low = 0;
    let high = row.x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.x[middle] <= x) low = middle + 1;
      else high = middle;
    }
    if (low === 0 || x > row.x[low - 1] + row.width[low - 1]) return -1;
    return row.node[low - 1];
  }

  // Scrolls a node's row into view.
  reveal(node) {
    if (node < 0) return;
    const top = this.rowTop(this.tree.depth[node]);
    if (top < 0) this.scroller.scrollTop += top - ROW;
    const below = top + ROW - this.scroller.clientHeight;
    if (below > 0) this.scroller.scrollTop += below + ROW;
  }

  // To the root's end.
  home() {
    this.scroller.scrollTop = this.icicle ? 0 : this.height;
  }
}
