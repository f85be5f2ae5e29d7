// Drawings of RNA on a page: hovering or focusing a base tells its partners; structures are switched; zoom.
for (const widget of document.querySelectorAll(".rna")) {
  const all = (what, within = widget) => [...within.querySelectorAll(what)];
  const letters = widget.dataset.letters, likely = JSON.parse(widget.dataset.likely || "null");
  const told = widget.querySelector(".told"), choices = all("[data-choice]");
  const drawings = all(".drawing").map(box => ({
    box, pane: box.querySelector(".scroll"), svg: box.querySelector("svg"), bases: all("circle", box),
    partners: JSON.parse(box.dataset.partners),
  }));
  let shown = drawings[0], chosen = -1, zoom = 1, pointer = "";
  const named = k => k < 0 ? "none" : `${letters[k]} ${k + 1}`;

  const choose = k => {
    chosen = k;
    for (const each of all(".on")) each.classList.remove("on");
    const partner = shown.partners[k];
    for (const base of [k, partner]) if (base >= 0) shown.bases[base].classList.add("on");
    let text = `${named(k)} ${partner < 0 ? "is unpaired" : `pairs with ${named(partner)}`}.`;
    if (likely) {
      const listed = likely[k].map(([base, p]) => `${named(base)} (${p.toFixed(3)})`);
      text += ` Most probable partners: ${listed.join(", ")}.`;
    }
    told.textContent = text;
  };

  const show = number => {
    shown = drawings[number];
    drawings.forEach((each, k) => { each.box.hidden = k !== number; });
    choices.forEach((button, k) => button.setAttribute("aria-pressed", k === number));
    if (chosen >= 0) choose(chosen);
  };

  const scale = factor => {
    const { pane } = shown;
    const x = (pane.scrollLeft + pane.clientWidth / 2) / pane.scrollWidth;
    const y = (pane.scrollTop + pane.clientHeight / 2) / pane.scrollHeight;
    zoom = Math.min(16, Math.max(1, zoom * factor));
    widget.style.setProperty("--zoom", zoom);
    pane.scrollLeft = x * pane.scrollWidth - pane.clientWidth / 2;
    pane.scrollTop = y * pane.scrollHeight - pane.clientHeight / 2;
  };

  for (const { svg, pane, bases, partners } of drawings) {
    const point = event => {
      const k = bases.indexOf(event.target);
      if (k >= 0 && k !== chosen) choose(k);
    };
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointermove", event => {  // not where only the page was scrolled
      const at = `${event.clientX},${event.clientY}`;
      if (at !== pointer) point(event);
      pointer = at;
    });
    svg.addEventListener("focus", () => choose(Math.max(chosen, 0)));
    svg.addEventListener("keydown", event => {
      const last = bases.length - 1, at = Math.max(chosen, 0);
      const goal = { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - 10, ArrowDown: at + 10, Home: 0,
        End: last, Enter: partners[at] < 0 ? at : partners[at] }[event.key];
      if (goal === undefined) return;
      event.preventDefault();
      choose(Math.min(last, Math.max(0, goal)));
      bases[chosen].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    pane.addEventListener("pointermove", event => {  // a finger scrolls by itself
      if (event.buttons !== 1 || event.pointerType !== "mouse") return;
      pane.scrollLeft -= event.movementX;
      pane.scrollTop -= event.movementY;
    });
  }
  choices.forEach((button, k) => button.addEventListener("click", () => show(k)));
  for (const button of all("[data-zoom]")) {
    button.addEventListener("click", () => scale(Number(button.dataset.zoom)));
  }
  for (const tools of all(".tools")) tools.hidden = false;
}
