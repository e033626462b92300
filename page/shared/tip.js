"use strict";
// The text next to the mouse or the focus, and what mouse and keyboard have in common.

/** Shows a text at a place of the window; hides it where it is empty. */
function tip(text, x, y) {
  const box = byId("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const width = box.offsetWidth;
  const height = box.offsetHeight;
  const above = y + 18 + height > innerHeight;
  box.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 8)) + "px";
  box.style.top = (above ? Math.max(4, y - height - 12) : y + 18) + "px";
}

/** What there is to say of a number: its own text, or that of the heading of its column. */
function aboutNumber(target) {
  const own = target.closest("[data-about]");
  if (own) return own.dataset.about;
  const cell = target.closest("td:not(.text)");
  const made = cell && cell.textContent && cell.closest("table");
  const head = made && made.tHead && made.tHead.rows[0].cells[cell.cellIndex];
  const said = head && (head.dataset.about ? head : head.querySelector("[data-about]"));
  return said ? said.dataset.about : "";
}

/** Shows what there is to say of numbers, at the mouse and at the focus. */
function followNumbers() {
  let shown = "";
  const say = (text, x, y) => {
    if (text || shown) tip(text, x, y);
    shown = text;
  };
  document.addEventListener("pointermove", event =>
    say(aboutNumber(event.target), event.clientX, event.clientY));
  document.addEventListener("focusin", event => {
    const place = event.target.getBoundingClientRect();
    say(aboutNumber(event.target), place.left, place.bottom - 14);
  });
}

/** Attributes that show a text at the mouse. What listens to the focus would be a tab stop. */
const hovered = text => ({
  onmousemove: event => tip(text, event.clientX, event.clientY),
  onmouseleave: () => tip(""),
});

/** Attributes that show a text at the mouse and at the keyboard's focus. */
const hinted = text => ({
  ...hovered(text),
  onblur: () => tip(""),
  onfocus: event => {
    const place = event.target.getBoundingClientRect();
    tip(text, place.left + place.width / 2, place.bottom - 14);
  },
});

/** Attributes of what a click, Enter and the space bar do. */
const pressed = act => ({
  onclick: act,
  onkeydown: event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act(event);
  },
});
