"use strict";
// What figures share: their width, their colours, their legends.

/** Functions that draw a figure anew, since its colours changed. */
const redrawOnTheme = [];

/** All figures of the page. */
const figures = [];

/**
 * A figure, drawn by `draw(box, width)` at the width that it has, and again when that changes. What
 * can be pressed in it is one tab stop.
 */
function chart(draw, height) {
  const style = height ? "min-height:" + height + "px" : undefined;
  const box = el("div", {class: "chart", style});
  const updateFocus = oneTabStop(box, "[role=button]");
  let width = 0;
  box.redraw = () => {
    if (width <= 0) return;
    const focused = box.contains(document.activeElement) && document.activeElement.dataset.key;
    draw(box, width);
    updateFocus();
    if (!focused) return;
    const items = [...box.querySelectorAll("[data-key]")];
    const again = items.find(item => item.dataset.key === focused);
    if (again) again.focus();
  };
  /** Draws it where its width is another one now. */
  box.fit = () => {
    const now = Math.floor(box.clientWidth);
    if (now <= 0 || now === width) return;
    width = now;
    box.redraw();
  };
  new ResizeObserver(box.fit).observe(box);
  figures.push(box);
  return box;
}

/** The colour of `var(--name)` in the present theme. */
function palette(name) {
  if (!name.startsWith("var")) return name;
  return getComputedStyle(document.documentElement).getPropertyValue(name.slice(4, -1)).trim();
}

/** What can be read on a colour of the page. */
const ink = name => inkOn(palette(name));

const pen = el("canvas").getContext("2d");

/** The font of figures, as their styles have it on a screen and on paper. */
function figureFont() {
  const size = document.documentElement.classList.contains("paper") ? 11 : 12;
  return size + "px " + getComputedStyle(document.body).fontFamily;
}

/** How wide a text of a figure is, in pixels. */
function textWidth(text) {
  pen.font = figureFont();
  return pen.measureText(text).width;
}

/** An entry of a legend: a colour and a name. */
const legendItem = (paint, name, act, attributes) => el("li", {},
  button([el("i", {style: "background:" + paint}), name], act, attributes));

/** A legend, which `fill(items)` fills; its entries are one tab stop. */
function legendList(label) {
  const list = el("ul", {class: "legend", "aria-label": label});
  const updateFocus = oneTabStop(list, "button");
  list.fill = items => {
    list.replaceChildren(...items);
    updateFocus();
  };
  return list;
}
