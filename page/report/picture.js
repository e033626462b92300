"use strict";
// A figure as a file.

/** What a figure has from the style of the page. */
const pictureStyles = [
  "fill",
  "stroke",
  "stroke-width",
  "opacity",
  "font-size",
  "font-family",
  "fill-opacity",
];

/** Draws an SVG with its present colours, and hands it to the browser as a PNG. */
function savePicture(source, name) {
  const copy = source.cloneNode(true);
  const styled = source.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((node, i) => {
    const style = getComputedStyle(styled[i]);
    for (const key of pictureStyles) node.style.setProperty(key, style.getPropertyValue(key));
  });
  const width = 2 * source.clientWidth;
  const height = 2 * source.clientHeight;
  copy.setAttribute("xmlns", svgSpace);
  const image = new Image();
  image.onload = () => {
    const canvas = el("canvas", {width, height});
    const paint = canvas.getContext("2d");
    paint.fillStyle = getComputedStyle(document.body).getPropertyValue("--card");
    paint.fillRect(0, 0, width, height);
    paint.drawImage(image, 0, 0, width, height);
    el("a", {download: name, href: canvas.toDataURL("image/png")}).click();
  };
  const text = new XMLSerializer().serializeToString(copy);
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}
