/** `sealpost templates preview` and `send-test`: what a template gives, also from a file that was never pushed. */
import { existsSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SealpostError, type Client } from '../../../packages/sdk/src/index.js';
import { contentOf, type Content } from '../../domain/templates/authored.js';
import { print, printFault } from '../core/output.js';
import { connect } from './connection.js';
import { folders, readJsonFile, readTemplateFile, type TemplateFile } from './files.js';
import { chosenOf, CliFault, printJson, safe, type RemoteOptions } from './output.js';
import { callsOf } from './templates.js';

export type RenderOptions = RemoteOptions &
  Readonly<{
    variables?: string;
    locale?: string;
    format?: string;
    out?: string;
    open?: boolean;
    attachment?: boolean;
    to?: readonly string[];
  }>;

/** In: a slug, or a path. Out: the template, of the file or as its draft stands on the service. */
const templateOf = async (client: Client, reference: string, isAttachment = false): Promise<TemplateFile> => {
  if (/[/\\]|\.json$/.test(reference)) {
    if (!existsSync(reference)) throw new CliFault('NOT_FOUND', `there is no file ${reference}`);
    return readTemplateFile(reference);
  }
  for (const kind of isAttachment ? (['attachment'] as const) : (['email', 'attachment'] as const))
    try {
      const stored = await callsOf(client, kind).get(reference);
      const { slug } = stored;
      return { kind, slug, name: `${folders[kind]}/${slug}.json`, content: contentOf(kind, stored) };
    } catch (fault) {
      if (!(fault instanceof SealpostError) || fault.status !== 404) throw fault;
    }
  throw new CliFault('NOT_FOUND', `there is no template ${reference}; \`sealpost templates list\` lists them`);
};

/** A large document takes its time. */
const RENDERING = { timeoutMs: 120_000 };

const variablesOf = ({ variables, locale }: RenderOptions): Content => ({
  ...(variables === undefined ? {} : { variables: readJsonFile(variables) }),
  ...(locale === undefined ? {} : { locale }),
});

/** Throws TEMPLATE_INVALID where the service would not save the template. */
const assertValid = (name: string, errors: readonly Readonly<{ field: string; message: string }>[]): void => {
  if (errors.length === 0) return;
  const faults = errors.slice(0, 20).map(({ field, message }) => safe(`${field} ${message}`));
  throw new CliFault('TEMPLATE_INVALID', `${name} has faults: ${faults.join('; ')}`);
};

type Rendered = Readonly<{ subject?: string; extension: string; bytes: Buffer; told: readonly string[] }>;

const renderedEmail = async (client: Client, template: TemplateFile, options: RenderOptions) => {
  const { subject, html, text, errors, warnings, emptyPaths } = await client.templates.check(
    { template: template.content, ...variablesOf(options) },
    RENDERING,
  );
  assertValid(template.name, errors);
  return { subject: subject ?? '', html: html ?? '', text: text ?? '', told: toldOf(warnings, emptyPaths) };
};

const toldOf = (warnings: readonly Readonly<{ field: string; message: string }>[], emptyPaths: readonly string[]) => [
  ...warnings.map(({ field, message }) => safe(`${field} ${message}`)),
  ...emptyPaths.map((path) => safe(`${path} has no value`)),
];

const rendered = async (client: Client, template: TemplateFile, options: RenderOptions): Promise<Rendered> => {
  const { format } = options;
  switch (template.kind) {
    case 'email': {
      const chosen = chosenOf('--format', format ?? 'html', ['html', 'text']);
      const { subject, told, ...parts } = await renderedEmail(client, template, options);
      return { subject, extension: chosen === 'html' ? 'html' : 'txt', bytes: Buffer.from(parts[chosen]), told };
    }
    case 'attachment': {
      const wanted =
        format === undefined
          ? {}
          : { format: chosenOf('--format', format, ['pdf', 'xlsx']) === 'pdf' ? ('pdf' as const) : ('excel' as const) };
      const made = await client.attachmentTemplates.check(
        { template: template.content, ...variablesOf(options), ...wanted },
        RENDERING,
      );
      assertValid(template.name, made.errors);
      return {
        extension: made.format === 'pdf' ? 'pdf' : 'xlsx',
        bytes: Buffer.from(made.content ?? '', 'base64'),
        told: toldOf(made.warnings, made.emptyPaths),
      };
    }
    case 'block':
      throw new CliFault('OPTION_INVALID', `${template.name} is a block: preview a template that includes it`);
  }
};

/** Shows what a template gives, from a file too that was never pushed. */
export const preview = async (reference: string, options: RenderOptions): Promise<void> => {
  const { client } = connect(options);
  const template = await templateOf(client, reference, options.attachment);
  const { subject, extension, bytes, told } = await rendered(client, template, options);
  const { out, open = false, json = false } = options;
  if (!json) for (const line of told) printFault(line);
  if (out === undefined && !open) {
    if (json)
      return printJson({
        subject,
        format: extension,
        content: bytes.toString(template.kind === 'email' ? 'utf8' : 'base64'),
        warnings: told,
      });
    if (template.kind !== 'email' && process.stdout.isTTY)
      throw new CliFault('OPTION_INVALID', 'a document is no text for a terminal: give --out FILE or --open');
    return void process.stdout.write(bytes);
  }
  const file = out ?? join(await mkdtemp(join(tmpdir(), 'sealpost-')), `${template.slug}.${extension}`);
  writeFileSync(file, bytes);
  if (open) {
    const { openInBrowser } = await import('./oauth-login.js');
    if (!(await openInBrowser(pathToFileURL(resolve(file)).href)) && !json)
      printFault('no browser opens on this machine');
  }
  if (json) return printJson({ subject, format: extension, file, warnings: told });
  print(`${subject === undefined ? '' : `${safe(subject)}: `}${file}`);
};

/** Sends a test: of the service's draft to members of the team, of a file as a mail with its content. */
export const sendTest = async (reference: string, options: RenderOptions): Promise<void> => {
  const { client } = connect(options);
  const to = (options.to ?? []).map((email) => ({ email }));
  if (!/[/\\]|\.json$/.test(reference)) {
    const sent = await client.templates.sendTest(reference, {
      ...(to.length === 0 ? {} : { to }),
      ...variablesOf(options),
    });
    if (options.json === true) return printJson(sent);
    return print(`A test of ${safe(reference)} is on its way: ${idOfSent(sent)}`);
  }
  if (to.length === 0) throw new CliFault('OPTION_INVALID', '--to is missing: a file is sent to an address');
  const template = await templateOf(client, reference);
  if (template.kind !== 'email') throw new CliFault('OPTION_INVALID', `${reference} is no template of emails`);
  const { subject, html, text, told } = await renderedEmail(client, template, options);
  if (options.json !== true) for (const line of told) printFault(line);
  const sent = await client.send({
    to,
    content: { subject: `[Test] ${subject}`, html, text },
    tags: ['template-test'],
  });
  if (options.json === true) return printJson({ ...sent, warnings: told });
  print(`A test of ${safe(reference)} is on its way: ${idOfSent(sent)}`);
};

const idOfSent = (sent: object): string => ('id' in sent && typeof sent.id === 'string' ? sent.id : 'accepted');
