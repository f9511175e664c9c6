/** Draws an SVG as PNG, in WebAssembly: whatever the drawing holds, it reads no file and reaches no network. The process apart bounds its time and memory. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { crc32 } from 'node:zlib';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { drawnNote, type Drawing } from '../../../domain/rendering/pictures.js';

const { resolve } = createRequire(import.meta.url);

let ready: Promise<void> | undefined;
let fonts: readonly Uint8Array[] | undefined;

/** Letters of drawings are those of Roboto, upright and bold. */
const fontsOf = (): readonly Uint8Array[] =>
  (fonts ??= ['Regular', 'Medium'].map((style) => readFileSync(resolve(`pdfmake/fonts/Roboto/Roboto-${style}.ttf`))));

/** In: an SVG, checked to stand alone. Out: a PNG of that size with a note of the drawing's own, or undefined where it is no drawing. */
export const drawSvg = async (svg: string, drawing: Drawing): Promise<Uint8Array | undefined> => {
  ready ??= initWasm(readFileSync(resolve('@resvg/resvg-wasm/index_bg.wasm')));
  await ready;
  const { width, height } = drawing;
  try {
    const resvg = new Resvg(svg, {
      fitTo: width >= height ? { mode: 'width', value: width } : { mode: 'height', value: height },
      font: {
        fontBuffers: [...fontsOf()],
        defaultFontFamily: 'Roboto',
        sansSerifFamily: 'Roboto',
        serifFamily: 'Roboto',
        monospaceFamily: 'Roboto',
      },
    });
    try {
      const image = resvg.render();
      try {
        return withNote(Buffer.from(image.asPng()), drawnNote(drawing));
      } finally {
        image.free();
      }
    } finally {
      resvg.free();
    }
  } catch (fault) {
    // What the drawing itself is at fault for comes as a text; a trap of the program is an error, and ends the process.
    if (typeof fault === 'string' || (fault instanceof Error && !(fault instanceof WebAssembly.RuntimeError))) return undefined;
    throw fault;
  }
};

/** Signature and header: the chunk of text stands behind them. */
const HEADER_END = 33;

const withNote = (png: Buffer, note: string): Buffer => {
  const chunk = Buffer.alloc(note.length + 12);
  chunk.writeUInt32BE(note.length, 0);
  chunk.write(`tEXt${note}`, 4, 'latin1');
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + note.length)), 8 + note.length);
  return Buffer.concat([png.subarray(0, HEADER_END), chunk, png.subarray(HEADER_END)]);
};
