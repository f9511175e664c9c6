/** The mail of another service as its own language shows it, for a frame in which nothing acts. */
import type { ConvertTemplateResponse } from '#api';

/** Elements that load, lead or act; the rest of a mail is text, pictures and styles. */
const ACTING =
  'script, base, link, meta[http-equiv], iframe, frame, frameset, object, embed, applet, portal, template, noscript';

/** Attributes with an address, apart from those of pictures. */
const LEADING = [
  'href',
  'xlink:href',
  'action',
  'formaction',
  'ping',
  'srcdoc',
  'srcset',
  'poster',
  'target',
  'manifest',
];

const ACTS = /^(?:on|data-sealpost-on)/i;
const PICTURE = /^(?:src|background)$/i;
/** An address without a host would be one of the dashboard. */
const ELSEWHERE = /^\s*(?:(?:https?:)?\/\/|data:image\/)/i;

/** An attribute that stands for `style` while the parser of the page, which has the page's policy, reads the mail. */
const STYLE = 'data-sealpost-style';

/**
 * In: HTML that a stranger may have written. Out: HTML without what acts, leads elsewhere or loads styles. The frame
 * runs no script and sends no form in any case; this also keeps it from being led to another page.
 */
export const inertHtml = (html: string): string => {
  const sheets: string[] = [];
  // The policy of the dashboard refuses inline styles and handlers, and the browser would report each of the mail.
  const quiet = html
    .replace(/<style\b[^>]*>([^]*?)<\/style\s*>/gi, (_, sheet: string) => {
      sheets.push(sheet.replace(/@import\b[^;]*(?:;|$)/gi, ''));
      return '';
    })
    .replace(/([\s"'/])style(?=\s*=)/gi, `$1${STYLE}`)
    .replace(/([\s"'/])on(?=[a-z]+\s*=)/gi, '$1data-sealpost-on');
  // A document of the parser has no window: nothing of it is loaded or run.
  const page = new DOMParser().parseFromString(quiet, 'text/html');
  for (const element of page.querySelectorAll(`${ACTING}, style`)) element.remove();
  for (const element of page.querySelectorAll('*'))
    for (const { name, value } of [...element.attributes])
      if (LEADING.includes(name.toLowerCase()) || ACTS.test(name) || (PICTURE.test(name) && !ELSEWHERE.test(value)))
        element.removeAttribute(name);
  const shown = page.documentElement.outerHTML.replaceAll(STYLE, 'style');
  return shown.replace('<head>', () => `<head><style>${sheets.join('\n')}</style>`);
};

/** Out: the HTML of the mail. MJML is compiled here; its compiler is loaded only then. Rejects if it refuses the source. */
export const originalHtml = async ({ html, mjml }: ConvertTemplateResponse['original']): Promise<string> => {
  if (mjml === null) return html ?? '';
  const { default: compile } = await import('mjml-browser');
  return (await compile(mjml, { validationLevel: 'skip', fonts: {} })).html;
};
