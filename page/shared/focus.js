"use strict";
// One tab stop for many things: the arrow keys, Home and End go from one to the next.

const focusKeys = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};

/** The position that a key leads to; undefined for another key. */
function positionAfter(key, position, amount) {
  if (key === "Home") return 0;
  if (key === "End") return amount - 1;
  if (!focusKeys[key]) return undefined;
  return Math.max(0, Math.min(amount - 1, position + focusKeys[key]));
}

/**
 * Makes what `selector` finds in a box one tab stop; `act(key, item)` may take a key before it
 * moves the focus. Returns a function for when the box was filled anew.
 */
function oneTabStop(box, selector, act = () => false) {
  let current = 0;
  const items = () => [...box.querySelectorAll(selector)];
  const update = () => {
    const all = items();
    current = Math.min(current, Math.max(0, all.length - 1));
    all.forEach((item, i) => item.setAttribute("tabindex", i === current ? "0" : "-1"));
  };
  box.addEventListener("focusin", event => {
    const position = items().indexOf(event.target);
    if (position < 0) return;
    current = position;
    update();
  });
  box.addEventListener("keydown", event => {
    const all = items();
    const position = all.indexOf(event.target);
    if (position < 0 || act(event.key, event.target)) return;
    const next = positionAfter(event.key, position, all.length);
    if (next === undefined) return;
    event.preventDefault();
    all[next].focus();
  });
  return update;
}
