/** `sealpost templates convert`: a mail of another service as a file of this one, with what became of its parts. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { ConvertedTemplate, ConvertTemplateRequest } from '../../api/templates/convert.js';
import { sourceLanguages } from '../../domain/rendering/import/language.js';
import { print, printFault } from '../core/output.js';
import { connect } from './connection.js';
import { readJsonFile } from './files.js';
import { chosenOf, CliFault, paintOf, printJson, safe, type Paint, type RemoteOptions } from './output.js';

export type ConvertOptions = RemoteOptions &
  Readonly<{
    language?: string;
    subject?: string;
    name?: string;
    sample?: string;
    out?: string;
    compare?: string;
    original?: string;
  }>;

/** The largest source that the service takes, in bytes of UTF-8. */
const SOURCE_BYTES_MAX = 2_000_000;

/** Converts a file, prints the notes by line, and writes the template, and a page with both mails if asked for. */
export const convert = async (file: string, options: ConvertOptions): Promise<void> => {
  const { client, hasColor } = connect(options);
  const source = readText(file);
  const compiled = options.original === undefined ? undefined : readText(options.original);
  const { language, subject, name, sample, out, compare, json = false } = options;
  const request = {
    source,
    ...(language === undefined ? {} : { language: chosenOf('--language', language, ['auto', ...sourceLanguages]) }),
    ...(subject === undefined ? {} : { subject }),
    ...(name === undefined ? {} : { name }),
    ...(sample === undefined ? {} : { variables: readJsonFile(sample) }),
  } satisfies ConvertTemplateRequest;
  const made = (await client.templates.convert(request as never)) as ConvertedTemplate;
  const template = `${JSON.stringify(made.template, undefined, 2)}\n`;
  if (out !== undefined) writeText(out, template);
  if (compare !== undefined) writeText(compare, comparisonOf(file, made, compiled));
  if (json) {
    const { language: told, template: whole, samples, notes, notesLeftOut } = made;
    return printJson({ language: told, template: whole, samples, notes, notesLeftOut });
  }
  // A template on standard output is read by a program: the notes stand beside it.
  const tell = out === undefined ? printFault : print;
  for (const line of linesOf(file, made, paintOf(hasColor))) tell(line);
  if (out === undefined) process.stdout.write(template);
  else print(`${out} written; \`sealpost templates push\` saves it as a draft where it lies in emails/`);
  if (compare !== undefined) tell(`${compare} shows both mails in a browser`);
};

const readText = (file: string): string => {
  if (!existsSync(file)) throw new CliFault('FILE_INVALID', `there is no file ${file}`);
  try {
    if (statSync(file).size > SOURCE_BYTES_MAX) throw new CliFault('FILE_INVALID', `${file} is too large`);
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (fault) {
    if (fault instanceof CliFault) throw fault;
    throw new CliFault('FILE_INVALID', `${file}: ${fault instanceof Error ? fault.message : 'cannot be read'}`);
  }
};

const writeText = (file: string, text: string): void => {
  try {
    writeFileSync(file, text);
  } catch (fault) {
    throw new CliFault('FILE_INVALID', `${file}: ${fault instanceof Error ? fault.message : 'cannot be written'}`);
  }
};

const COLORS = { dropped: 'red', approximated: 'yellow', kept: 'green' } as const;
const LANGUAGES: Readonly<Record<ConvertedTemplate['language']['name'], string>> = {
  handlebars: 'Handlebars',
  mustachio: 'Mustachio',
  mjml: 'MJML',
  html: 'HTML without placeholders',
};

/** The notes in the order of the source, as an editor opens them: file, line, column. */
const linesOf = (
  file: string,
  { language, notes, notesLeftOut }: ConvertedTemplate,
  paint: Paint,
): readonly string[] => {
  const ordered = [...notes].sort(
    (one, other) => one.in.localeCompare(other.in) || one.line - other.line || one.column - other.column,
  );
  const counted = Object.keys(COLORS)
    .map((done) => [notes.filter((one) => one.done === done).length, done] as const)
    .filter(([count]) => count > 0)
    .map(([count, done]) => `${count} ${done}`);
  return [
    `${LANGUAGES[language.name]}: ${safe(language.reason)}`,
    ...ordered.flatMap(({ in: where, line, column, done, what, advice }) => [
      `${where === 'subject' ? 'subject' : safe(file)}:${line}:${column} ${paint(COLORS[done], done)} ${safe(what)}`,
      `  ${safe(advice)}`,
    ]),
    ...(notesLeftOut === 0 ? [] : [`and ${notesLeftOut} more`]),
    counted.length === 0 ? 'Everything is carried over.' : counted.join(', '),
  ];
};

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Nothing of either mail runs or is loaded: the frames are sandboxed, and inherit the policy of the page. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const STYLE =
  'body{margin:0;font:14px system-ui,sans-serif;display:grid;grid-template-columns:1fr 1fr;gap:8px;padding:8px;background:#e5e7eb}' +
  'h1,p{margin:0 0 6px;font-size:14px}iframe,pre{box-sizing:border-box;width:100%;height:calc(100vh - 80px);margin:0;border:1px solid #9ca3af;background:#fff}' +
  'pre{overflow:auto;padding:8px;white-space:pre-wrap}';

/** One page with the mail of the source and that of the template beside each other. */
const comparisonOf = (file: string, { original, preview }: ConvertedTemplate, compiled: string | undefined): string => {
  const frame = (html: string): string => `<iframe sandbox="" srcdoc="${escaped(html)}"></iframe>`;
  const side = (title: string, subject: string, content: string): string =>
    `<section><h1>${escaped(title)}</h1><p>${escaped(subject)}</p>${content}</section>`;
  const html = compiled ?? original.html;
  const left = html === null ? `<pre>${escaped(original.mjml ?? '')}</pre>` : frame(html);
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">` +
    `<title>${escaped(file)}</title><style>${STYLE}</style></head><body>` +
    `${side(file, original.subject, left)}${side('The template', preview.subject ?? '', frame(preview.html ?? ''))}</body></html>\n`
  );
};
