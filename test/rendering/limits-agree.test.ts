/**
 * Limits agree with each other: invoices and workbooks as large as the limits of documents are accepted, and larger
 * ones are refused.
 */
import t from 'tap';
import { makePdf } from '../../src/adapters/render/pdf/make-pdf.js';
import { defaultLimits as limits } from '../../src/domain/core/limits.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import { compileCalculation } from '../../src/domain/rendering/expression/calculated.js';
import { openBudget } from '../../src/domain/rendering/budget.js';
import { parseJsonBody } from '../../src/http/server/json/body.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import type { VariableDefinition } from '../../src/domain/rendering/scope/definitions.js';
import { attachmentOf, componentsOf, expandTemplate } from '../support/documents.js';
import { environment } from '../support/rendering.js';
import { sampleAttachment } from '../support/samples.js';

const invoice = sampleAttachment('invoice');

void t.test('the shipped invoice has as many lines as a table may have', async (t) => {
  const document = compileDocument(invoice, limits);
  const items = Array.from({ length: limits.loopIterationsMax }, (_, at) => ({
    sku: `A-${at}`,
    name: 'Ceramic mug',
    variant: 'sage green',
    quantity: 2,
    price: 1.5,
  }));
  const defaults = Object.fromEntries(
    invoice.variables.flatMap(({ name, defaultValue }) => (defaultValue === undefined ? [] : [[name, defaultValue]])),
  );
  const order = { ...(defaults['order'] as JsonObject), items, shipping: 0, discount: 0 };
  const expanded = document({ ...defaults, logo: null, order } as JsonObject, environment, 'pdf');
  t.match(JSON.stringify(expanded), /3,000\.00/, 'the sum of all lines');
  const metadata = { title: 'Invoice', author: 'Ada', createdAt: environment.at };
  await t.resolves(makePdf(expanded, new Map(), metadata, limits), 'within the pages of a PDF');
});

void t.test(
  'a workbook of all its rows and columns can be sent as far as the body holds it, and is expanded',
  async (t) => {
    for (const width of [10, limits.excelColumnsMax]) {
      const names = Array.from({ length: width }, (_, at) => `c${at}`);
      const row = Object.fromEntries(names.map((name) => [name, 1234.5]));
      const rows = new Array<Record<string, number>>(limits.excelRowsMax).fill(row);
      const bytes = Buffer.from(
        JSON.stringify({ templateId: 't', to: [{ email: 'a@example.com' }], variables: { rows } }),
      );
      t.ok(bytes.length <= limits.bodySizeBytesMax, `${width} columns are ${bytes.length} bytes`);
      const { variables } = parseJsonBody(bytes, limits) as { variables: JsonObject };
      const columns = names.map((name) => ({ header: name, content: `{{item.${name}}}` }));
      const template = attachmentOf([{ id: 'table', type: 'table', props: { dataSource: 'rows', columns } }], {
        variables: [{ name: 'rows', type: 'array' }],
        schema: { outputFormats: ['excel'] },
      });
      const [table] = componentsOf(expandTemplate(template, variables, { format: 'excel' }));
      const made = table?.type === 'table' ? table.rows : [];
      t.same([made.length, made.at(-1)?.length], [limits.excelRowsMax, width]);
    }
  },
);

void t.test('names that differ are bounded for themselves', async (t) => {
  const bodyOf = (names: number, rest: number): Buffer =>
    Buffer.from(`[${'0,'.repeat(rest)}{${Array.from({ length: names }, (_, at) => `"k${at}":1`).join(',')}}]`);
  const few = { ...limits, jsonMembersMax: 2_000, jsonNamesMax: 100 };
  t.equal((parseJsonBody(bodyOf(100, 1_800), few) as readonly unknown[]).length, 1_801);
  t.throws(() => parseJsonBody(bodyOf(101, 1_800), few), {
    code: 'JSON_TOO_COMPLEX',
    message: /more than 100 different names/,
  });
  t.throws(() => parseJsonBody(bodyOf(101, 0), few), { code: 'JSON_TOO_COMPLEX' }, 'in a small body, too');
  t.throws(() => parseJsonBody(bodyOf(100, 1_950), few), {
    code: 'JSON_TOO_COMPLEX',
    message: /more than 2000 members/,
  });
});

void t.test('what goes over its data again and again is stopped', async (t) => {
  const list: VariableDefinition = { name: 'list', type: 'array' };
  const calculated = (name: string, expression: string): VariableDefinition => ({
    name,
    type: 'number',
    isCalculated: true,
    expression,
  });
  const values = { list: Array.from({ length: 1_000 }, (_, at) => at) };
  const run = (definitions: readonly VariableDefinition[]) =>
    compileCalculation([list, ...definitions], limits)(values, {
      at: environment.at,
      constants: {},
      budget: openBudget(limits),
    });
  t.throws(() => run([calculated('a', 'list.map(x => list.reduce((s, y) => s + x * y, 0)).length')]), {
    code: 'VALIDATION_ERROR',
    message: /more than 25,000 operations/,
  });
  const sums = Array.from({ length: 40 }, (_, at) => calculated(`s${at}`, 'list.reduce((sum, x) => sum + x * 2, 0)'));
  t.same(run(sums.slice(0, 10))['s9'], 999_000);
  t.throws(() => run(sums), { code: 'WORK_LIMIT_EXCEEDED' });
  t.throws(() => run([calculated('a', `[${'-1,'.repeat(1_001)}1].length`)]), {
    message: /holds more than 1000 operations/,
  });
});
