"use strict";
(() => {
  const all = selector => [...document.querySelectorAll(selector)];
  const tools = document.querySelector(".tools");
  const { find, seed, sort } = tools.elements;
  const status = tools.querySelector("output");
  const chosen = new Set();

  // Rows of forests and cards have their verdicts, their name and their effect as data.
  const filter = () => {
    const words = find.value.trim().toLowerCase();
    for (const item of all("[data-keys]")) {
      const fits = !chosen.size || item.dataset.keys.split(" ").some(key => chosen.has(key));
      item.hidden = !fits || !item.dataset.name.toLowerCase().includes(words);
    }
    for (const chip of all("button.chip")) chip.setAttribute("aria-pressed", chosen.has(chip.dataset.key));
    const cards = all(".card"), shown = cards.filter(card => !card.hidden).length;
    status.value = chosen.size || words ? `${shown} of ${cards.length} benchmarks shown` : "";
  };
  const orders = {
    effect: (a, b) => b.order - a.order,
    name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
    verdict: (a, b) => a.keys.localeCompare(b.keys) || b.order - a.order,
  };
  const reorder = () => {
    for (const list of all(".sorted")) {
      const items = [...list.children].filter(item => item.dataset.keys);
      list.prepend(...items.sort((a, b) => orders[sort.value](a.dataset, b.dataset)));
    }
  };
  for (const chip of all("button.chip")) {
    chip.disabled = false;
    chip.addEventListener("click", () => {
      const key = chip.dataset.key;
      if (!chosen.delete(key)) chosen.add(key);
      filter();
    });
  }
  find.addEventListener("input", filter);
  sort.addEventListener("change", reorder);
  tools.addEventListener("submit", event => event.preventDefault());

  // Marks of figures: their places are in the path, seeds, values and times in its data.
  const known = new Map();
  const marksOf = svg => {
    if (!known.has(svg)) known.set(svg, [...svg.querySelectorAll("[data-s]")].flatMap(read));
    return known.get(svg);
  };
  const read = path => {
    const { of, s, v, u, t } = path.dataset;
    const corners = path.getAttribute("points");
    const places = corners
      ? corners.split(" ").filter((_, k) => k && k % 2 === 0).map(corner => corner.split(",").map(Number))
      : [...path.getAttribute("d").matchAll(/M(-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [+x, +y]);
    const values = v?.split("|"), times = t?.split("|").map(Number);
    return s.split("|").map((name, k) => ({
      name, of, x: places[k][0], y: places[k][1],
      value: values && `${values[k]} ${u}`.trim(),
      time: times && new Date(1000 * (times[0] + (k && times[k]))).toISOString().slice(0, 19).replace("T", " "),
    }));
  };
  let brushed = "";
  const brush = name => {
    if (name === brushed) return;
    brushed = name;
    for (const old of all(".brush")) old.remove();
    for (const svg of name ? all("svg.figure") : []) {
      const rings = marksOf(svg).filter(mark => mark.name === name);
      if (!rings.length) continue;
      const path = document.createElementNS(svg.namespaceURI, "path");
      path.setAttribute("class", "brush");
      path.setAttribute("d", rings.map(({ x, y }) => `M${x - 5} ${y}a5 5 0 1 0 10 0a5 5 0 1 0-10 0`).join(""));
      svg.append(path);
    }
  };
  const nearest = event => {
    const svg = event.target.closest?.("svg.figure");
    if (!svg) return null;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const far = mark => Math.hypot(mark.x - at.x, mark.y - at.y);
    const found = marksOf(svg).reduce((best, mark) => (!best || far(mark) < far(best) ? mark : best), null);
    return found && far(found) < 8 ? found : null;
  };
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const tell = event => {
    const mark = nearest(event);
    tip.hidden = !mark;
    brush(mark ? mark.name : seed.value.trim());
    if (!mark) return;
    const name = /^\d+$/.test(mark.name) ? `seed ${mark.name}` : mark.name;
    tip.textContent = [mark.of, name, mark.value, mark.time && `${mark.time} UTC`].filter(Boolean).join(" · ");
    const { clientWidth } = document.documentElement;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${event.clientY + 16}px`;
  };
  document.addEventListener("pointermove", tell);
  document.addEventListener("pointerdown", event => {
    const mark = nearest(event);
    if (mark) seed.value = seed.value === mark.name ? "" : mark.name;
    tell(event);
  });
  seed.addEventListener("input", () => brush(seed.value.trim()));

  // A link leads to what it names, wherever that is folded away or filtered out.
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.closest("[hidden]")) {
      chosen.clear();
      find.value = "";
      filter();
    }
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => all("details.part").forEach(part => { part.open = true; }));
  tools.hidden = false;
  reveal();
})();
