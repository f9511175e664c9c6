/** The mail of another service as its own language shows it, for a frame in which nothing acts. */
import type { ConvertTemplateResponse } from '#api';
import type { Compiled } from './mjml-worker';

/**
 * Elements that load, lead or act; the rest of a mail is text, pictures and styles. SVG and MathML, which few mail clients
 * show, have rules of parsing of their own: HTML with them may be another document when it is parsed a second time.
 */
const ACTING =
  'script, link, meta[http-equiv], iframe, frame, frameset, object, embed, applet, portal, template, noscript, svg, math';

/** Attributes with an address, apart from those of pictures. */
const LEADING = new Set([
  ...['href', 'xlink:href', 'action', 'formaction', 'ping', 'srcdoc'],
  ...['srcset', 'poster', 'target', 'manifest'],
]);

const PICTURE = /^(?:src|background)$/i;
/** An address without a host would be one of the dashboard. */
const ELSEWHERE = /^\s*(?:(?:https?:)?\/\/|data:image\/)/i;

/** Begins the names of attributes that stand for others while the parser of the page reads the mail. */
const RENAMED = 'data-sealpost-';
const SHEET = 'noframes data-sealpost-sheet';

/** Only these names are renamed back to what is no handler. */
const isStill = (name: string): boolean =>
  name === `${RENAMED}style` || name === `${RENAMED}sheet` || !name.includes(RENAMED);

/** Attributes of an element; the time in which a browser reads those of one element grows with their square. */
const ATTRIBUTES_MAX = 200;

/** Puts an element without attributes in the place of one. */
const strip = (element: Element): void => {
  const bare = element.ownerDocument.createElement(element.localName);
  while (element.firstChild !== null) bare.append(element.firstChild);
  element.replaceWith(bare);
};

/**
 * In: HTML that a stranger may have written. Out: HTML without what acts, leads elsewhere or loads styles. The frame
 * runs no script and sends no form in any case; this also keeps it from being led to another page.
 *
 * A parsed document has the policy of the dashboard, which refuses inline styles, handlers and `base`, and the browser
 * reports each of them. They have other names while the document is parsed: `noframes` is read as `style` is, as a text to
 * its end tag.
 */
export const inertHtml = (html: string): string => {
  const renamed = html
    .replace(/<base(?=[\s/>])/gi, '<link')
    .replace(/<style(?=[\s/>])/gi, `<${SHEET}`)
    .replace(/<\/style(?=[\s/>])/gi, '</noframes')
    .replace(/([\s"'/])(?=style[\s=/>]|on[a-z]+\s*=)/gi, `$1${RENAMED}`);
  // A document of the parser has no window: nothing of it is loaded or run.
  const page = new DOMParser().parseFromString(renamed, 'text/html');
  for (const element of page.querySelectorAll(`${ACTING}, noframes:not([data-sealpost-sheet])`)) element.remove();
  for (const element of page.querySelectorAll('*'))
    if (element.attributes.length > ATTRIBUTES_MAX) strip(element);
    else
      for (const { name, value } of [...element.attributes])
        if (LEADING.has(name) || !isStill(name) || (PICTURE.test(name) && !ELSEWHERE.test(value)))
          element.removeAttribute(name);
  // No step removes characters of a sheet: what is left could close it.
  for (const sheet of page.querySelectorAll('noframes'))
    sheet.textContent = sheet.textContent.replace(/@import/gi, '@not-import');
  return page.documentElement.outerHTML
    .replaceAll(`<${SHEET}=""`, '<style')
    .replaceAll('</noframes>', '</style>')
    .replaceAll(RENAMED, '');
};

/** The compiler loads, and then has this long for one mail. */
const COMPILE_MS = 30_000;

/** The compiler of MJML, which is large, is loaded by this alone. Rejects if it refuses the source or takes too long. */
const compiledMjml = (mjml: string, signal: AbortSignal): Promise<string> =>
  new Promise((done, refuse) => {
    const worker = new Worker(new URL('./mjml-worker.ts', import.meta.url), { type: 'module' });
    const end = (): void => {
      clearTimeout(deadline);
      worker.terminate();
    };
    const fail = (message: string): void => {
      end();
      refuse(new Error(message));
    };
    const deadline = setTimeout(() => fail('its compiler has taken longer than 30 seconds.'), COMPILE_MS);
    signal.addEventListener('abort', () => fail('nobody looks at it any more.'), { once: true });
    worker.onerror = () => fail('the compiler of MJML could not be loaded. Try again.');
    worker.onmessage = ({ data }: MessageEvent<Compiled>) => {
      if ('fault' in data) return fail(data.fault);
      end();
      done(data.html);
    };
    worker.postMessage(mjml);
  });

/** Out: the HTML of the mail. Rejects for MJML that its compiler refuses. */
export const originalHtml = async (
  { html, mjml }: ConvertTemplateResponse['original'],
  signal: AbortSignal,
): Promise<string> => (mjml === null ? (html ?? '') : compiledMjml(mjml, signal));
