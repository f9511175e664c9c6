/**
 * Makes workbooks from templates and reads them without the library that wrote them: the parts of the package, checked
 * to be XML, and the cells in them.
 */
import { unzipSync, strFromU8 } from 'fflate';
import { parseDocument } from 'htmlparser2';
import { makeWorkbook } from '../../../../src/adapters/render/excel/make-workbook.js';
import type { AttachmentTemplateContent, DocumentComponent, Page } from '../../../../src/domain/rendering/content.js';
import { DomainError, type FieldError } from '../../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../../../src/domain/core/limits.js';
import type { LoadedImage } from '../../../../src/domain/ports/generator.js';
import { compileDocument } from '../../../../src/domain/rendering/expand/expand.js';
import { environment } from '../../../support/rendering.js';

export const metadata = { title: 'Invoice <1> & more', author: 'Seal & Post', createdAt: '2026-11-21T09:30:00.000Z' };

export type Given = Readonly<{
  components?: readonly DocumentComponent[];
  pages?: readonly Page[];
  variables?: JsonObject;
  definitions?: AttachmentTemplateContent['variables'];
  locale?: string;
  timeZone?: string;
  limits?: Partial<Limits>;
  images?: ReadonlyMap<string, LoadedImage>;
  tell?: (warning: FieldError) => void;
}>;

export const pageOf = (
  pageName: string,
  components: readonly DocumentComponent[],
  pageSettings?: Page['pageSettings'],
): Page => ({
  pageId: pageName,
  pageName,
  ...(pageSettings === undefined ? {} : { pageSettings }),
  sections: [{ id: 's', type: 'body', components }],
});

export const bytesOf = (given: Given): Promise<Uint8Array> => {
  const { components = [], variables = {}, locale = 'en-US', timeZone = 'UTC' } = given;
  const pages = given.pages ?? [pageOf('Page', components)];
  const limits = { ...defaultLimits, ...given.limits };
  const content = {
    variables: given.definitions ?? [],
    locale,
    timeZone,
    schema: { outputFormats: ['excel'], pages },
  } as const;
  const document = compileDocument(content, limits)(variables, environment, 'excel');
  return makeWorkbook(document, given.images ?? new Map(), metadata, limits, given.tell);
};

export const workbookOf = async (given: Given): Promise<Workbook> => readWorkbook(await bytesOf(given));

export const failureOf = async (given: Given): Promise<DomainError> => {
  try {
    await bytesOf(given);
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

export type ReadCell = Readonly<{
  /** Value of the attribute `t`; `n` if it is absent. */
  type: string;
  text: string;
  formula: string | undefined;
  /** The code of its format. */
  code: string;
  /** The whole `xf` and what it points to. */
  style: Readonly<{ xf: string; font: string; fill: string; border: string }>;
  xml: string;
}>;

export type ReadSheet = Readonly<{
  name: string;
  xml: string;
  relations: string;
  cells: ReadonlyMap<string, ReadCell>;
  rows: number;
}>;
export type Workbook = Readonly<{
  parts: ReadonlyMap<string, string>;
  files: Readonly<Record<string, Uint8Array>>;
  sheets: readonly ReadSheet[];
  part: (name: string) => string;
}>;

/** Throws where a part is not well-formed, is named twice, or where a relation leads nowhere. */
export const readWorkbook = (bytes: Uint8Array): Workbook => {
  const files = unzipSync(bytes);
  const parts = new Map(
    Object.entries(files)
      .filter(([name]) => /\.(?:xml|rels)$/.test(name))
      .map(([name, content]) => [name, strFromU8(content)] as const),
  );
  for (const [name, xml] of parts) checkXml(name, xml);
  const part = (name: string): string => {
    const xml = parts.get(name);
    if (xml === undefined) throw new Error(`the workbook has no part ${name}`);
    return xml;
  };
  checkRelations(parts, files);
  const targets = new Map(
    [...part('xl/_rels/workbook.xml.rels').matchAll(/<Relationship Id="(\w+)"[^>]*Target="([^"]+)"/g)].map(
      ([, id = '', target = '']) => [id, `xl/${target}`] as const,
    ),
  );
  const styles = stylesOf(part('xl/styles.xml'));
  const sheets = [...part('xl/workbook.xml').matchAll(/<sheet [^>]*?name="([^"]*)"[^>]*?r:id="(\w+)"/g)].map(
    ([, name = '', id = '']): ReadSheet => {
      const path = targets.get(id) ?? '';
      const xml = part(path);
      return {
        name: decoded(name),
        xml,
        relations: parts.get(path.replace('worksheets/', 'worksheets/_rels/') + '.rels') ?? '',
        cells: cellsOf(xml, styles),
        rows: (xml.match(/<row /g) ?? []).length,
      };
    },
  );
  return { parts, files, sheets, part };
};

const decoded = (xml: string): string =>
  xml.replace(/&(?:#(\d+)|(amp|lt|gt|quot|apos));/g, (_, code: string | undefined, name: string | undefined) =>
    code !== undefined
      ? String.fromCharCode(Number(code))
      : ({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }[name ?? 'amp'] ?? ''),
  );

/** Elements closed in order, attributes quoted, no character that XML cannot hold. */
const checkXml = (name: string, xml: string): void => {
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f]/.test(xml)) throw new Error(`${name} holds a control character`);
  const open: string[] = [];
  let rest = xml.replace(/^<\?xml [^?]*\?>\s*/, '');
  while (rest !== '') {
    const text = /^[^<]+/.exec(rest)?.[0] ?? '';
    if (/&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)/.test(text))
      throw new Error(`${name} has a bare ampersand: ${text}`);
    rest = rest.slice(text.length);
    if (rest === '') break;
    const tag = /^<(\/?)([\w:]+)((?:\s+[\w:]+="[^"<]*")*)\s*(\/?)>/.exec(rest);
    if (tag === null) throw new Error(`${name} is not well-formed at ${rest.slice(0, 80)}`);
    const attributes = [...(tag[3] ?? '').matchAll(/([\w:]+)="/g)].map(([, attribute]) => attribute);
    if (new Set(attributes).size !== attributes.length) throw new Error(`${name} has an attribute twice: ${tag[0]}`);
    if (tag[1] === '/') {
      if (open.pop() !== tag[2]) throw new Error(`${name} closes ${tag[2]} out of order`);
    } else if (tag[4] !== '/') open.push(tag[2] ?? '');
    rest = rest.slice(tag[0].length);
  }
  if (open.length > 0) throw new Error(`${name} leaves ${open.join(' ')} open`);
};

const checkRelations = (parts: ReadonlyMap<string, string>, files: Readonly<Record<string, Uint8Array>>): void => {
  const types = parts.get('[Content_Types].xml') ?? '';
  for (const [name, xml] of parts) {
    if (!name.endsWith('.rels')) continue;
    const folder = name.replace(/_rels\/[^/]*$/, '');
    for (const [relation, target = ''] of xml.matchAll(/<Relationship [^>]*?Target="([^"]*)"[^>]*>/g)) {
      if (relation.includes('TargetMode="External"')) continue;
      const path = new URL(target, `zip:/${folder}`).pathname.slice(1);
      if (files[path] === undefined) throw new Error(`${name} points to ${path}, which is not there`);
      const extension = path.slice(path.lastIndexOf('.') + 1);
      if (!types.includes(`PartName="/${path}"`) && !types.includes(`Extension="${extension}"`))
        throw new Error(`${path} has no content type`);
    }
  }
};

/** ECMA-376, 18.8.30. */
const builtIn: Readonly<Record<string, string>> = {
  20: 'h:mm',
  21: 'h:mm:ss',
  18: 'h:mm AM/PM',
  0: 'General',
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  9: '0%',
  10: '0.00%',
  49: '@',
};

type Styles = Readonly<{ of: (index: number) => Pick<ReadCell, 'code' | 'style'> }>;

const stylesOf = (xml: string): Styles => {
  const list = (tag: string, child: string): readonly string[] =>
    [
      ...(new RegExp(`<${tag}[ >].*?</${tag}>`, 's').exec(xml)?.[0] ?? '').matchAll(
        new RegExp(`<${child}(?: [^>]*?)?(?:/>|>.*?</${child}>)`, 'gs'),
      ),
    ].map(([whole]) => whole);
  const codes = new Map(
    list('numFmts', 'numFmt').map(
      (format) =>
        [/numFmtId="(\d+)"/.exec(format)?.[1], decoded(/formatCode="([^"]*)"/.exec(format)?.[1] ?? '')] as const,
    ),
  );
  const [fonts, fills, borders, xfs] = [
    list('fonts', 'font'),
    list('fills', 'fill'),
    list('borders', 'border'),
    list('cellXfs', 'xf'),
  ];
  return {
    of: (index) => {
      const xf = xfs[index] ?? '';
      const id = (attribute: string): number => Number(new RegExp(`${attribute}="(\\d+)"`).exec(xf)?.[1] ?? 0);
      const format = /numFmtId="(\d+)"/.exec(xf)?.[1];
      return {
        code: codes.get(format) ?? builtIn[format ?? ''] ?? `built-in ${format}`,
        style: {
          xf,
          font: fonts[id('fontId')] ?? '',
          fill: fills[id('fillId')] ?? '',
          border: borders[id('borderId')] ?? '',
        },
      };
    },
  };
};

const cellsOf = (xml: string, styles: Styles): ReadonlyMap<string, ReadCell> =>
  new Map(
    [...xml.matchAll(/<c r="([A-Z]+\d+)"([^>]*?)(?:\/>|>(.*?)<\/c>)/gs)].map(
      ([whole, address = '', attributes = '', content = '']) => {
        const type = / t="(\w+)"/.exec(attributes)?.[1] ?? 'n';
        const formula = /<f>(.*?)<\/f>/s.exec(content)?.[1];
        const text = [...content.matchAll(/<(?:v|t)(?: [^>]*)?>(.*?)<\/(?:v|t)>/gs)]
          .map(([, value = '']) => decoded(value))
          .join('');
        return [
          address,
          {
            type,
            text,
            formula: formula === undefined ? undefined : decoded(formula),
            xml: whole,
            ...styles.of(Number(/ s="(\d+)"/.exec(attributes)?.[1] ?? 0)),
          },
        ] as const;
      },
    ),
  );

/** The texts of all elements of that name, in order. */
export const textsOf = (xml: string, tag: string): readonly string[] => {
  const found: string[] = [];
  const walk = (nodes: ReturnType<typeof parseDocument>['children']): void => {
    for (const node of nodes) {
      if (!('children' in node)) continue;
      if ('name' in node && node.name === tag)
        found.push(node.children.map((child) => ('data' in child ? String(child.data) : '')).join(''));
      walk(node.children);
    }
  };
  walk(parseDocument(xml, { xmlMode: true }).children);
  return found;
};
