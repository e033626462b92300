"use strict";
// Which text can be read on a colour.

/** The relative luminance of a colour #rrggbb, from 0 to 1, as WCAG 2 defines it. */
function luminance(hex) {
  const [red, green, blue] = [1, 3, 5].map(i => {
    const part = (parseInt(hex.slice(i, i + 2), 16) || 0) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, from 1 to 21. */
function contrast(first, second) {
  const [dark, light] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const darkInk = "#10151c";
const lightInk = "#ffffff";

/** Dark or light: what has more contrast on a colour. */
const inkOn = hex => contrast(hex, darkInk) > contrast(hex, lightInk) ? darkInk : lightInk;
