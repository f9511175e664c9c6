/** How large tables of data become: at most 1.2 times what MJML writes for the same table. */
import mjml2html from 'mjml';
import t from 'tap';
import { renderTemplate, templateOf } from '../../support/rendering.js';

const rowsMax = 1.2;

type Item = Readonly<{ name: string; quantity: number; total: string }>;

const itemsOf = (count: number): readonly Item[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `Ceramic mug no. ${at + 1}`,
    quantity: (at % 9) + 1,
    total: `€${at + 12}.35`,
  }));

const ours = (items: readonly Item[]): string =>
  renderTemplate(
    templateOf([
      {
        id: 'table',
        type: 'table',
        props: {
          dataSource: 'items',
          columns: [
            { header: 'Item', content: '{{item.name}}' },
            { header: 'Qty', content: '{{item.quantity}}', type: 'number', width: 48 },
            { header: 'Total', content: '{{item.total}}', align: 'right', width: 96 },
          ],
        },
      },
    ]),
    { items: items.map((item) => ({ ...item })) },
  ).html;

/** The look of ours, as an author writes it: mj-table takes the rows as they are. */
const theirs = async (items: readonly Item[]): Promise<string> => {
  const cell = 'padding:10px 12px;border-bottom:1px solid #e5e7eb';
  const row = (tag: string, [name, quantity, total]: readonly (string | number)[]): string =>
    `<tr valign="top"><${tag} align="left" style="${cell}">${name}</${tag}><${tag} align="right" style="${cell}">${quantity}</${tag}><${tag} align="right" style="${cell}">${total}</${tag}></tr>`;
  const rows = items.map(({ name, quantity, total }) => row('td', [name, quantity, total]));
  const { html, errors } = await mjml2html(
    `<mjml><mj-body><mj-section><mj-column><mj-table font-size="15px">${row('th', ['Item', 'Qty', 'Total'])}${rows.join('')}</mj-table></mj-column></mj-section></mj-body></mjml>`,
    // The table has no style sheet; making one small would need a package that MJML only takes where it is there.
    { validationLevel: 'strict', minify: true, minifyOptions: { minifyCss: false } },
  );
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  return html;
};

/** The innermost table that has header cells. */
const tableOf = (html: string): string => {
  const header = html.indexOf('<th');
  return html.slice(html.lastIndexOf('<table', header), html.indexOf('</table>', header) + '</table>'.length);
};

for (const count of [10, 100, 300]) {
  void t.test(`${count} rows`, async (t) => {
    const items = itemsOf(count);
    const [mine, mjml] = [ours(items), await theirs(items)];
    for (const html of [mine, mjml]) t.equal(html.split('</tr>').length - 1 > count, true, 'all rows are there');
    const bytes = (html: string): number => Buffer.byteLength(html);
    const [table, whole] = [bytes(tableOf(mine)) / bytes(tableOf(mjml)), bytes(mine) / bytes(mjml)];
    t.comment(
      `table ${bytes(tableOf(mine))} and ${bytes(tableOf(mjml))} bytes, mail ${bytes(mine)} and ${bytes(mjml)}`,
    );
    t.ok(table <= rowsMax, `the table is ${table.toFixed(2)} times that of MJML`);
    if (count > 10) t.ok(whole <= rowsMax, `the mail is ${whole.toFixed(2)} times that of MJML`);
  });
}
