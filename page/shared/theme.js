"use strict";
// Light and dark, printing, and the two buttons of the header.

const darkQuery = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : darkQuery.matches;
}

function headerButtons() {
  const theme = byId("theme");
  const printer = byId("print");
  theme.hidden = printer.hidden = false;  // without a script they would do nothing
  const update = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", "Use " + (isDark() ? "light" : "dark") + " colours");
    for (const redraw of redrawOnTheme) redraw();
  };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    update();
  });
  darkQuery.addEventListener("change", update);
  printer.addEventListener("click", () => print());
  followPrinting(update);
  followNumbers();
  update();
}

/** Before it is printed the page is as wide as paper, and light: tables and figures fit that. */
function followPrinting(update) {
  const root = document.documentElement;
  let theme;
  const fitAll = () => {
    for (const box of document.querySelectorAll(".scroll")) fitColumns(box);
    for (const figure of figures) figure.fit();
    update();
  };
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.add("paper");
    fitAll();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("paper");
    if (theme) {
      root.dataset.theme = theme;
    } else {
      delete root.dataset.theme;
    }
    fitAll();
  });
}
