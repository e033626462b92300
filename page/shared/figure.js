"use strict";
// What figures share: their width, their colours, their legends.

/** Functions that draw a figure anew, since its colours changed. */
const redrawOnTheme = [];

/** A figure, drawn by `draw(box, width)` at the width that it has, and again when that changes. */
function chart(draw, height) {
  const style = height ? "min-height:" + height + "px" : undefined;
  const box = el("div", {class: "chart", style});
  let width = 0;
  box.redraw = () => {
    if (width > 0) draw(box, width);
  };
  const observer = new ResizeObserver(() => {
    const now = Math.floor(box.clientWidth);
    if (now <= 0 || now === width) return;
    width = now;
    box.redraw();
  });
  observer.observe(box);
  return box;
}

/** The colour of `var(--name)` in the present theme. */
function palette(name) {
  if (!name.startsWith("var")) return name;
  return getComputedStyle(document.documentElement).getPropertyValue(name.slice(4, -1)).trim();
}

/** Black or white: what can be read on a colour. */
function ink(name) {
  const hex = palette(name);
  const [red, green, blue] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) || 0);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "#10151c" : "#ffffff";
}

const pen = el("canvas").getContext("2d");

/** How wide a text of a figure is, in pixels. */
function textWidth(text) {
  pen.font = "12px " + getComputedStyle(document.body).fontFamily;
  return pen.measureText(text).width;
}

/** An entry of a legend: a colour and a name. */
const legendItem = (paint, name, act, attributes) => el("li", {},
  button([el("i", {style: "background:" + paint}), name], act, attributes));

const legendList = label => el("ul", {class: "legend", "aria-label": label});
