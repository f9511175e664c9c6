/** The reference of the API: a page for each tag of the description (build/guide-openapi.json) with its operations. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { base, root, slugOf } from './docs.js';

const description = JSON.parse(readFileSync(join(root, 'build/guide-openapi.json'), 'utf8'));

/** Headers and parameters that many operations share: the first page of the reference describes them once. */
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const resolve = (value) => {
  if (value?.$ref === undefined) return value;
  const { $ref, ...own } = value;
  return {
    ...resolve(
      $ref
        .slice(2)
        .split('/')
        .reduce((at, key) => at[key.replaceAll('~1', '/')], description),
    ),
    ...own,
  };
};

const nameOf = ({ $ref } = {}) => $ref?.split('/').at(-1);

const operations = Object.entries({ ...description.paths }).flatMap(([path, item]) =>
  METHODS.filter((method) => item[method] !== undefined).map((method) => ({ path, method, ...item[method] })),
);

const events = Object.entries(description.webhooks ?? {}).map(([name, item]) => ({ name, ...item.post }));

const used = description.tags.filter(({ name }) => operations.some(({ tags }) => tags?.[0] === name));

const idOf = (tag) => `reference/${slugOf(tag)}`;

export const referencePages = [
  { id: 'reference', label: 'Overview' },
  ...used.map(({ name }) => ({ id: idOf(name), label: name })),
];

const code = (text) => `<code>${html(text)}</code>`;

const html = (text) => String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** In: the Markdown of a description: code and links. Out: HTML of one line, for a cell. */
const inline = (text = '') =>
  html(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\[([^\]]+)\]\((https?:[^)]+)\)/g, '<a href="$2">$1</a>')
    .replace(/\s*\n\s*/g, ' ');

/** The type of a value in words: `string (date-time)`, `array of Recipient`, `one of …`. */
const typeOf = (schema = {}) => {
  const whole = resolve(schema);
  const parts = whole.anyOf ?? whole.oneOf;
  if (parts !== undefined) return [...new Set(parts.map(typeOf))].join(' or ');
  if (whole.const !== undefined) return code(JSON.stringify(whole.const));
  if (whole.enum !== undefined) return whole.enum.map((value) => code(JSON.stringify(value))).join(', ');
  if (whole.type === 'array') return `array of ${typeOf(whole.items)}`;
  const type = Array.isArray(whole.type) ? whole.type.join(' or ') : (whole.type ?? 'any value');
  return whole.format === undefined ? type : `${type} (${whole.format})`;
};

/** The bounds of a value: `1 to 100 characters`. */
const boundsOf = (schema) => {
  const whole = resolve(schema);
  const between = (least, most, unit) => {
    if (least !== undefined && most !== undefined) return `${number(least)} to ${number(most)}${unit}`;
    if (most !== undefined) return `at most ${number(most)}${unit}`;
    return least === undefined || least === 0 ? undefined : `at least ${number(least)}${unit}`;
  };
  return [
    between(whole.minLength, whole.maxLength, ' characters'),
    between(whole.minItems, whole.maxItems, ' items'),
    between(whole.minimum, whole.maximum, ''),
    whole.default === undefined ? undefined : `default ${code(JSON.stringify(whole.default))}`,
  ]
    .filter((part) => part !== undefined)
    .join('; ');
};

const number = (value) => value.toLocaleString('en-US');

const DEPTH_MAX = 4;

/** The members of a value with those below them, as rows: path, whether it is required, schema. */
const membersOf = (schema, prefix = '', within = []) => {
  const whole = resolve(schema);
  const name = nameOf(schema);
  if (within.length >= DEPTH_MAX || (name !== undefined && within.includes(name))) return [];
  const inside = [...within, name ?? ''];
  if (whole.type === 'array') return membersOf(whole.items, `${prefix}[]`, within);
  const parts = whole.anyOf ?? whole.oneOf ?? whole.allOf;
  if (whole.properties === undefined && parts !== undefined) {
    const rows = parts.flatMap((part) => membersOf(part, prefix, within));
    return rows.filter(({ path }, index) => rows.findIndex((row) => row.path === path) === index);
  }
  return Object.entries(whole.properties ?? {}).flatMap(([key, member]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    return [
      { path, isRequired: whole.required?.includes(key) ?? false, schema: member },
      ...membersOf(member, path, inside),
    ];
  });
};

const table = (headers, rows) =>
  `<div class="table"><table><thead><tr>${headers.map((cell) => `<th scope="col">${cell}</th>`).join('')}</tr></thead><tbody>\n${rows
    .map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('\n')}\n</tbody></table></div>`;

const membersTable = (schema) => {
  const rows = membersOf(schema);
  return rows.length === 0
    ? `<p>${typeOf(schema)}</p>`
    : table(
        ['Field', 'Type', 'Meaning'],
        rows.map(({ path, isRequired, schema: member }) => [
          `${code(path)}${isRequired ? ' <small>required</small>' : ''}`,
          typeOf(member),
          [inline(resolve(member).description), boundsOf(member)].filter(Boolean).join('<br>'),
        ]),
      );
};

const TIME = '2030-01-31T09:30:00.000Z';
const ID = '018c3c0e-5a4e-7b1c-9d3f-2a6b8c0d4e1f';

/** Values that say more than `"string"` in an example of an answer, by the name of the field. */
const SAMPLES = {
  email: 'ada@example.com',
  recipient: 'ada@example.com',
  address: 'ada@example.com',
  name: 'Ada Example',
  subject: 'Your order NW-10482',
  slug: 'order-confirmation',
  url: 'https://shop.example.com/hooks',
  domain: 'example.com',
  locale: 'en-US',
  filename: 'invoice.pdf',
};

/** A value that fits the schema: what the description gives as example, else the plainest. */
const exampleOf = (schema, field = '', within = []) => {
  const whole = resolve(schema) ?? {};
  const name = nameOf(schema);
  if (whole.examples?.[0] !== undefined) return whole.examples[0];
  if (whole.example !== undefined) return whole.example;
  if (whole.const !== undefined) return whole.const;
  if (whole.default !== undefined) return whole.default;
  if (whole.enum !== undefined) return whole.enum[0];
  if (name !== undefined && within.includes(name)) return {};
  const inside = name === undefined ? within : [...within, name];
  const parts = whole.anyOf ?? whole.oneOf;
  if (parts !== undefined && whole.properties === undefined)
    return exampleOf(parts.find((part) => resolve(part).type !== 'null') ?? parts[0], field, inside);
  if (whole.type === 'array') return [exampleOf(whole.items, field, inside)];
  if (whole.properties !== undefined)
    return Object.fromEntries(
      Object.entries(whole.properties).map(([key, member]) => [key, exampleOf(member, key, inside)]),
    );
  if (whole.type === 'object') return {};
  if (whole.type === 'integer' || whole.type === 'number') return whole.minimum ?? 1;
  if (whole.type === 'boolean') return true;
  if (whole.type === 'null') return null;
  if (whole.format === 'date-time' || /At$/.test(field)) return TIME;
  if (whole.format === 'date') return TIME.slice(0, 10);
  if (/^id$|Id$/.test(field)) return ID;
  return SAMPLES[field] ?? 'text';
};

const part = (title) => `<p class="part">${title}</p>`;

const parametersOf = ({ parameters = [] }) => {
  const rows = parameters.map(resolve);
  if (rows.length === 0) return [];
  return [
    part('Parameters'),
    table(
      ['Name', 'In', 'Type', 'Meaning'],
      rows.map(({ name, in: place, required, schema, description: meaning }) => [
        `${code(name)}${required ? ' <small>required</small>' : ''}`,
        place,
        typeOf(schema),
        [inline(meaning), boundsOf(schema)].filter(Boolean).join('<br>'),
      ]),
    ),
  ];
};

const jsonBlock = (value) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

/**
 * In: the Markdown of a page of the reference. Out: the same with its blocks of JSON as HTML, which is a fifth of what the
 * program for all languages writes, in no time. The search leaves them out: they repeat the fields of the tables.
 */
export const withPlainJson = (markdown) =>
  markdown.replace(/^```json\n([^]*?)\n```$/gm, (_, json) => {
    const marked = html(json).replace(/^( *)("(?:[^"\\]|\\.)*")(?=: )/gm, '$1<b>$2</b>');
    return `<pre class="json" data-pagefind-ignore><code>${marked}</code></pre>`;
  });

const folded = (summary, ...blocks) => `<details><summary>${summary}</summary>\n\n${blocks.join('\n\n')}\n\n</details>`;

const bodyOf = ({ requestBody }) => {
  const content = Object.entries(resolve(requestBody)?.content ?? {});
  return content.flatMap(([type, { schema, examples = {}, example }]) => {
    const shown = Object.values(examples).map(resolve);
    const [first, ...others] = shown.length > 0 ? shown : example === undefined ? [] : [{ value: example }];
    return [
      part(`Body <small>${html(type)}</small>`),
      membersTable(schema),
      ...(first === undefined || typeof first.value !== 'object' ? [] : [jsonBlock(first.value)]),
      ...(others.length === 0 || typeof others[0].value !== 'object'
        ? []
        : [
            folded(
              `${others.length} more ${others.length === 1 ? 'example' : 'examples'}`,
              ...others.flatMap(({ summary, value }) => [`${summary ?? 'Example'}:`, jsonBlock(value)]),
            ),
          ]),
    ];
  });
};

/** The codes that a description of a failure lists: "The request is wrong: `A`, `B`." */
const answersOf = ({ responses = {} }) => {
  const all = Object.entries(responses).map(([status, answer]) => ({ status, ...resolve(answer) }));
  const good = all.filter(({ status }) => /^[23]/.test(status));
  const bad = all.filter(({ status }) => !/^[23]/.test(status));
  return [
    part('Answers'),
    ...good.flatMap(({ status, description: meaning, content = {} }) => {
      const [type, body] = Object.entries(content)[0] ?? [];
      const head = `<p><strong>${status}</strong> ${inline(meaning)}${type === undefined || type === 'application/json' ? '' : ` <small>${html(type)}</small>`}</p>`;
      if (body?.schema === undefined || type !== 'application/json') return [head];
      const fields = membersOf(body.schema);
      return [
        head,
        jsonBlock(body.example ?? exampleOf(body.schema)),
        ...(fields.length === 0 ? [] : [folded(`${fields.length} fields`, membersTable(body.schema))]),
      ];
    }),
    ...(bad.length === 0
      ? []
      : [
          folded(
            `Errors: ${bad.map(({ status }) => status).join(', ')}`,
            table(
              ['Status', 'Meaning and codes'],
              bad.map(({ status, description: meaning }) => [status, inline(meaning)]),
            ),
          ),
        ]),
  ];
};

/** In: the text of an operation. Out: the same without the sentence on its permission, and that sentence. */
const permissionOf = (text = '') => {
  const found = /\n*(Needs (?:the permission|no API key)[^]*)$/.exec(text);
  return found === null ? [text, undefined] : [text.slice(0, found.index), found[1]];
};

const operationOf = (operation) => {
  const [text, permission] = permissionOf(operation.description);
  return [
    `## ${operation.summary}`,
    `<p class="operation"><span class="method method-${operation.method}">${operation.method.toUpperCase()}</span> <code>${html(operation.path).replace(/\{/g, '&#123;').replace(/\//g, '/<wbr>')}</code></p>`,
    ...(text === '' ? [] : [text]),
    ...(permission === undefined
      ? []
      : [`<p class="permission">${inline(permission)} <small>Operation ${code(operation.operationId)}</small></p>`]),
    ...parametersOf(operation),
    ...bodyOf(operation),
    ...answersOf(operation),
  ].join('\n\n');
};

const eventOf = (event) => [`## ${event.name}`, event.description ?? event.summary, ...bodyOf(event)].join('\n\n');

const overview = () =>
  [
    description.info.description,
    `The page [API](${base}/api/) explains how calls work: keys, errors, pages, idempotency. [API errors](${base}/api-errors/) lists every code with what to do.`,
    ...(base.endsWith('/docs/guide')
      ? [
          `Your service has the same description to try out at [\`/docs\`](${base.slice(0, -'/guide'.length)}), and as OpenAPI 3.1 at [\`/openapi.json\`](${base.slice(0, -'/docs/guide'.length)}/openapi.json).`,
        ]
      : ['Your service has the same description to try out at `/docs`, and as OpenAPI 3.1 at `/openapi.json`.']),
    '## All operations',
    ...used.map(({ name, description: text }) => {
      const own = operations.filter(({ tags }) => tags?.[0] === name);
      return `### [${name}](${base}/${idOf(name)}/)\n\n${text}\n\n${table(
        ['Call', 'Path', 'Meaning'],
        own.map(({ method, path, summary }) => [
          `<span class="method method-${method}">${method.toUpperCase()}</span>`,
          code(path),
          `<a href="${base}/${idOf(name)}/#${slugOf(summary)}">${html(summary)}</a>`,
        ]),
      )}`;
    }),
  ].join('\n\n');

/** The pages of the reference: id, title, description, Markdown. */
export const pagesOfReference = () => [
  {
    id: 'reference',
    title: 'API reference',
    description: `The ${operations.length} operations of the API, made from its OpenAPI description.`,
    body: overview(),
  },
  ...used.map(({ name, description: text }) => {
    const own = operations.filter(({ tags }) => tags?.[0] === name);
    return {
      id: idOf(name),
      title: `API: ${name}`,
      description: text,
      body: [text, ...own.map(operationOf), ...(name === 'Webhooks' ? events.map(eventOf) : [])].join('\n\n'),
    };
  }),
];
