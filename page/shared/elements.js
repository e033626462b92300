"use strict";
// Elements of the page. Texts become text nodes and never markup.

const data = JSON.parse(document.getElementById("data").textContent);

/** Sets attributes, listeners (`onclick`) and children; null, undefined and false are left out. */
function put(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) {
      element.addEventListener(key.slice(2), value);
    } else {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  for (const child of children.flat(Infinity)) {
    if (!none(child)) element.append(child);
  }
  return element;
}

const el = (tag, attributes, ...children) =>
  put(document.createElement(tag), attributes, children);

const svgSpace = "http://www.w3.org/2000/svg";
const sv = (tag, attributes, ...children) =>
  put(document.createElementNS(svgSpace, tag), attributes, children);

const byId = id => document.getElementById(id);

/** A section at the end of the page, and its link in the navigation. */
function section(id, title, about, ...children) {
  const heading = el("h2", {id: id + "-title"}, title);
  const first = [heading, about ? el("p", {class: "about"}, about) : null];
  const made = el("section", {id, "aria-labelledby": id + "-title"}, first, children);
  byId("main").append(made);
  byId("sections").append(el("li", {}, el("a", {href: "#" + id}, title)));
  return made;
}

const button = (text, act, attributes) =>
  el("button", {type: "button", onclick: act, ...attributes}, text);

/** A choice of [value, text]; `act` gets the value. */
function picker(label, choices, act, attributes) {
  const options = choices.map(([value, text]) => el("option", {value}, text));
  return el("label", {}, label,
    el("select", {onchange: event => act(event.target.value), ...attributes}, options));
}

/** A box of words: what has none of them stands back or is left out. `act` gets them. */
const filterBox = (id, act) => el("label", {}, "Filter", el("input", {
  type: "search",
  id,
  oninput: event => act(event.target.value.trim().toLowerCase()),
}));

/** A line of tiles, each a term with its value and what there is to say of it. */
const tile = ({name, value, note, more, small, about}) => el("div", {
  class: "tile",
  "data-about": about,
},
  el("dt", {}, name),
  el("dd", {class: small && "small"}, value),
  note ? el("dd", {class: "note"}, note) : null,
  more);
