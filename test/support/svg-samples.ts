/** Drawings 120 by 60 pixels large, each with one thing that SVG can say, to be compared with what a browser shows. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gif, jpeg } from './pictures.js';

const roboto = readFileSync(createRequire(import.meta.url).resolve('pdfmake/fonts/Roboto/Roboto-Regular.ttf')).toString(
  'base64',
);
/** A browser has other fonts; a PDF leaves this rule out and takes its own Roboto. */
const font = `<style>@font-face{font-family:Roboto;src:url(data:font/ttf;base64,${roboto})} text{font-family:Roboto}</style>`;

const svg = (content: string, attributes = ''): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="120" height="60" ${attributes}>${content}</svg>`;
const box = 'x="10" y="10" width="100" height="40"';
const stops =
  '<stop offset="0" stop-color="#f00"/><stop offset=".5" stop-color="#ff0" stop-opacity=".5"/><stop offset="1" stop-color="#00f"/>';

export const svgSamples: Readonly<Record<string, string>> = {
  line: svg('<line x1="10" y1="50" x2="110" y2="10" stroke="red" stroke-width="8" stroke-linecap="round"/>'),
  'gradient downwards': svg(
    `<linearGradient id="a" x1="0" y1="0" x2="0" y2="1">${stops}</linearGradient><rect ${box} fill="url(#a)"/>`,
  ),
  'gradient in the space of the drawing': svg(
    `<linearGradient id="a" gradientUnits="userSpaceOnUse" x1="30" y1="10" x2="90" y2="50">${stops}</linearGradient><rect ${box} fill="url(#a)"/>`,
  ),
  'gradient that inherits and turns': svg(
    `<linearGradient id="b">${stops}</linearGradient><linearGradient id="a" xlink:href="#b" gradientTransform="rotate(30 .5 .5)"/><rect ${box} fill="url(#a)"/>`,
  ),
  'gradient that is reflected': svg(
    `<linearGradient id="a" x2=".25" spreadMethod="reflect"><stop stop-color="#080"/><stop offset="1" stop-color="#fff"/></linearGradient><rect ${box} fill="url(#a)"/>`,
  ),
  'radial gradient with a focus': svg(
    `<radialGradient id="a" cx=".4" cy=".5" r=".5" fx=".2" fy=".4">${stops}</radialGradient><rect ${box} fill="url(#a)"/>`,
  ),
  'gradient of a stroke': svg(
    `<linearGradient id="a">${stops}</linearGradient><circle cx="60" cy="30" r="20" fill="none" stroke="url(#a)" stroke-width="12"/>`,
  ),
  pattern: svg(
    '<pattern id="p" width="20" height="20" patternUnits="userSpaceOnUse"><rect width="10" height="20" fill="#f97316"/></pattern><rect width="120" height="60" fill="url(#p)"/>',
  ),
  mask: svg(
    '<mask id="m"><rect width="120" height="60" fill="#fff"/><circle cx="60" cy="30" r="20" fill="#000"/></mask><rect width="120" height="60" fill="#7c3aed" mask="url(#m)"/>',
  ),
  clip: svg(
    '<clipPath id="c"><circle cx="40" cy="30" r="25"/><rect x="70" y="10" width="40" height="40"/></clipPath><g clip-path="url(#c)"><rect width="120" height="60" fill="#0a7"/></g>',
  ),
  'clip by the box of the element': svg(
    `<clipPath id="c" clipPathUnits="objectBoundingBox"><circle cx=".5" cy=".5" r=".3"/></clipPath><rect ${box} fill="#0a7" clip-path="url(#c)"/>`,
  ),
  'clip of a clip': svg(
    '<clipPath id="d"><rect width="50" height="60"/></clipPath><clipPath id="c" clip-path="url(#d)"><circle cx="50" cy="30" r="25"/></clipPath><rect width="120" height="60" fill="#0a7" clip-path="url(#c)"/>',
  ),
  picture: svg(
    `<image x="20" y="10" width="70" height="50" preserveAspectRatio="none" href="data:image/jpeg;base64,${jpeg.toString('base64')}"/>`,
  ),
  'picture of another kind': svg(
    `<image x="20" y="10" width="70" height="50" xlink:href="data:image/gif;base64,${gif.toString('base64')}"/>`,
  ),
  filter: svg(`<filter id="f"><feGaussianBlur stdDeviation="6"/></filter><rect ${box} fill="#111" filter="url(#f)"/>`),
  marker: svg(
    '<marker id="m" markerWidth="8" markerHeight="8" refX="0" refY="4" orient="auto" markerUnits="userSpaceOnUse" viewBox="0 0 8 8" overflow="visible"><path d="M-8-8L16 4L-8 16z" fill="#00f"/></marker><path d="M10 50L60 20L90 20" fill="none" stroke="#000" stroke-width="4" marker-end="url(#m)"/>',
  ),
  'text on a path': svg(
    `${font}<path id="t" d="M5 50Q60-10 115 50" fill="none"/><text font-size="16"><textPath xlink:href="#t">Round the curve</textPath></text>`,
  ),
  text: svg(
    `${font}<text x="115" y="40" font-size="30" text-anchor="end" fill="#c00">Age <tspan fill="#00c" dy="-5">5</tspan></text>`,
  ),
  'prefix of its own':
    '<n:svg xmlns:n="http://www.w3.org/2000/svg" width="120" height="60"><n:g fill="#16a34a"><n:rect width="80" height="60"/></n:g></n:svg>',
  entities: `<!DOCTYPE svg [<!ENTITY brand "#1d4ed8">]>${svg('<rect style="fill:&brand;" width="80" height="60"/>')}`,
  'rules for the dark': svg(
    '<style>.a{fill:#e5e7eb} @media (prefers-color-scheme: dark){.a{fill:#000} .b{fill:#fff}} @media screen{.b{fill:#c00}} @media print{.b{fill:#0c0}}</style><rect class="a" width="120" height="60"/><rect class="b" x="10" y="10" width="50" height="40"/>',
  ),
  selectors: svg(
    '<style>g > rect{fill:#c00} rect + rect{fill:#00c} #x.y{stroke:#0c0;stroke-width:6} [data-a="1"]{opacity:.4}</style><g><rect width="30" height="60"/><rect x="40" width="30" height="60"/></g><rect id="x" class="y" data-a="1" x="80" y="5" width="30" height="50"/>',
  ),
  colours: svg(
    '<rect width="30" height="60" fill="rgb(255 0 0 / 50%)"/><rect x="30" width="30" height="60" fill="hsl(120deg 100% 25%)"/><rect x="60" width="30" height="60" style="fill:hsla(240 100% 50% / .25)"/><rect x="90" width="30" height="60" fill="#f80c"/>',
  ),
  'sizes as style': svg(
    '<rect style="x:10px;y:5px;width:60px;height:50px;fill:#08c"/><circle style="cx:95px;cy:30px;r:20px"/>',
  ),
  'transformation as style': svg(
    '<rect x="40" y="10" width="40" height="40" fill="#08c" style="transform:rotate(45deg);transform-origin:60px 30px"/>',
  ),
  'groups that are seen through': svg(
    '<rect width="120" height="60" fill="#fd0"/><g opacity=".5"><rect x="10" y="10" width="60" height="40" fill="#00f"/><rect x="50" y="10" width="60" height="40" fill="#f00"/></g>',
  ),
  blending: svg(
    '<rect width="80" height="60" fill="#fd0"/><rect x="40" width="80" height="60" fill="#0cf" style="mix-blend-mode:multiply"/>',
  ),
  dashes: svg(
    '<path d="M10 15H110M10 45H110" stroke="#000" stroke-width="10" stroke-dasharray="20 10" stroke-dashoffset="5" fill="none"/>',
  ),
  'even and odd': svg('<path fill-rule="evenodd" d="M10 5H110V55H10zM40 15H80V45H40z"/>'),
  'symbols and uses': svg(
    '<defs><g id="g"><rect width="20" height="20" fill="inherit"/></g></defs><symbol id="s" viewBox="0 0 10 10"><circle cx="5" cy="5" r="5"/></symbol><use href="#g" x="10" y="20" fill="#c00"/><use xlink:href="#s" x="50" y="10" width="40" height="40" fill="#0a0"/>',
  ),
  'a view of a part': svg(
    '<rect x="-100" y="-100" width="400" height="400" fill="#eee"/><rect x="20" y="20" width="30" height="30" fill="#c0c"/>',
    'viewBox="10 10 60 60" preserveAspectRatio="xMinYMin meet"',
  ),
  'a drawing within': svg(
    '<svg x="30" y="10" width="60" height="40" viewBox="0 0 10 10"><rect width="20" height="20" fill="#ccc"/><circle cx="5" cy="5" r="5"/></svg>',
  ),
  'what is hidden': svg(
    '<rect width="40" height="60" visibility="hidden"/><rect x="40" width="40" height="60" display="none"/><rect x="80" width="40" height="60" fill="#0a7"/>',
  ),
  'stroke below': svg(
    '<circle cx="60" cy="30" r="18" fill="#fd0" stroke="#00c" stroke-width="14" paint-order="stroke"/>',
  ),
  arcs: svg(
    '<path d="M60 30m-25 0a25 25 0 1 1 50 0l-25 0z" fill="#e11"/><path d="M10 50c10-40 20-40 30 0s20 10 20 0" stroke="#090" fill="none" stroke-width="5"/>',
  ),
  'what only its program reads': svg(
    '<switch><foreignObject requiredExtensions="http://ns.example/" width="1" height="1"/><g><rect width="60" height="60" fill="#c00"/></g></switch>',
  ),
  'choices and axes': svg(
    `<linearGradient id="a">${stops}</linearGradient><rect width="50" height="60" style="fill:light-dark(rgb(0 0 200 / 50%), #000)"/><rect width="20" height="30" fill="var(--none, #c00)" style="transform:translateX(60px) scaleY(2)"/><rect x="90" width="30" height="60" fill="url('#a')"/>`,
  ),
};
