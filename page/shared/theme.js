"use strict";
// Light and dark, and the two buttons of the header.

const darkQuery = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : darkQuery.matches;
}

function headerButtons() {
  const theme = byId("theme");
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
  byId("print").addEventListener("click", () => print());
  update();
}
