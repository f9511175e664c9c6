/** Colours as the outputs take them. */
import t from 'tap';
import { argb, hexOfHsl, hslOf, luminanceOf, pdfColor, rgbHex, rgbOf } from '../../../src/adapters/render/colors.js';

await t.test('every spelling of one colour is the same in a PDF and in a sheet', async (t) => {
  for (const css of [
    '#f80',
    '#ff8800',
    '#FF8800ff',
    'rgb(255, 136, 0)',
    'rgb(255 136 0 / 100%)',
    'hsl(32, 100%, 50%)',
    'hsl(-328deg 100% 50%)',
  ]) {
    t.equal(pdfColor(css), '#ff8800', css);
    t.equal(rgbHex(css), 'FF8800', css);
    t.equal(argb(css), 'FFFF8800', css);
  }
  t.equal(pdfColor('rebeccapurple'), '#663399');
});

await t.test('what shines through is drawn as it looks on white; what shows nothing is none', async (t) => {
  t.equal(pdfColor('rgba(0, 0, 0, 0.5)'), '#808080');
  t.equal(argb('#00000080'), 'FF7F7F7F');
  for (const css of ['transparent', '#12345600', 'rgba(1, 2, 3, 0)', 'no colour', '', undefined]) {
    t.equal(pdfColor(css), undefined, String(css));
    t.equal(argb(css), undefined, String(css));
  }
});

await t.test('a mail asks for opaque colours alone', async (t) => {
  t.same(rgbOf('white'), [1, 1, 1]);
  t.same(rgbOf('#f00'), [1, 0, 0]);
  t.same(rgbOf('rgb(300, 0, 0)'), [1, 0, 0], 'a channel ends at its most');
  for (const css of ['transparent', '#ff000080', 'rgba(255, 0, 0, 0.5)']) t.equal(rgbOf(css), undefined, String(css));
  t.equal(luminanceOf([1, 1, 1]), 1);
  t.equal(luminanceOf([0, 0, 0]), 0);
  t.equal(hexOfHsl(hslOf(rgbOf('#4080c0')!)), '#4080c0');
});
