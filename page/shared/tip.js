"use strict";
// The text beside the mouse or the focus, and what a mouse and a keyboard do alike.

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
