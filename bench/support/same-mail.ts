/** Whether a mail and the one written by hand say the same, before the speed of either means anything. */

type Mail = Readonly<{ html: string; text: string }>;

const SIZE_SHARE = 0.05;

/** The visible text of a mail, with the addresses of its links and pictures. */
const said = (html: string): string =>
  html
    .replace(/<style>.*?<\/style>|<!--.*?-->/gs, ' ')
    .replace(/<[^>]*?(?:(?:href|src|alt)="([^"]*)"[^>]*)?>/g, ' $1 ')
    .replace(/&#(\d{2,7});/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replace(/cid:[^ ]*/g, 'cid:')
    .replaceAll('&nbsp;', ' ')
    .replace(/\s+/g, ' ');

/** Throws where they say something else, or one has much more to write than the other. */
export const assertSameMail = (ours: Mail, byHand: Mail): void => {
  const [a, b] = [said(ours.html), said(byHand.html)];
  if (a !== b) throw new Error(`the HTML says something else:\n${a}\n\n${b}`);
  // Columns of a text part are as wide as what stands in them.
  const squeezed = (text: string): string => text.replace(/ +/g, ' ');
  if (squeezed(ours.text) !== squeezed(byHand.text))
    throw new Error(`the text differs:\n${ours.text}\n\n${byHand.text}`);
  if (Math.abs(ours.html.length / byHand.html.length - 1) > SIZE_SHARE)
    throw new Error(`the two differ in size: ${ours.html.length} and ${byHand.html.length}`);
};
