/** Recipients of a file: typed as the template declares, and answered by their lines. */
import t from 'tap';
import { faultWithLines, recipientsOfFile, withLines } from '../../src/commands/bulk/request.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { caller } from '../support/command-world.js';
import { openProcessorWorld } from '../support/processor-world.js';

const template = (slug: string) => ({
  slug,
  name: 'Typed',
  subject: 'S',
  variables: [
    { name: 'seats', type: 'number' as const },
    { name: 'isNew', type: 'boolean' as const },
    { name: 'code', type: 'string' as const },
  ],
  schema: {
    sections: [{ id: 'main', type: 'main' as const, components: [{ id: 'text', type: 'rich-text' as const, content: '<p>x</p>' }] }],
  },
  publish: true,
});

void t.test('cells are typed as the template declares its variables', async (t) => {
  const world = await openProcessorWorld(t);
  await world.commands.createTemplate(caller, template('typed'));
  const read = (text: string, templateId: string) =>
    recipientsOfFile(world.deps, caller, {
      bytes: Buffer.from(text),
      request: { templateId },
      parseLine: (line) => JSON.parse(line.toString()) as unknown,
    });
  const csv = 'email,seats,isNew,code,other\na@example.com, -1.5 ,TRUE,0012,7\nb@example.com,many,1,,\n';
  t.same(await read(csv, 'typed'), {
    recipients: [
      { email: 'a@example.com', variables: { seats: -1.5, isNew: true, code: '0012', other: '7' } },
      { email: 'b@example.com', variables: { seats: 'many', isNew: '1' } },
    ],
    lines: [2, 3],
  });
  t.match(
    (await read(csv, 'unknown')).recipients[0],
    { variables: { seats: ' -1.5 ', isNew: 'TRUE' } },
    'the call itself refuses the template',
  );
  const many = `email,code\n${Array.from({ length: 1_000 }, (_, at) => `r${at}@example.com,"${'x'.repeat(100)}\n"\n`).join('')}`;
  t.same(
    (await read(many, 'typed')).lines,
    Array.from({ length: 1_000 }, (_, at) => 2 + 2 * at),
  );
});

void t.test('sentences name lines', (t) => {
  t.equal(
    withLines('recipients[1]: recipients[1].variables.a is required; recipients[9]', [2, 5]),
    'recipients[1] (line 5): recipients[1].variables.a (line 5) is required; recipients[9]',
  );
  const fault = new DomainError('VALIDATION_ERROR', 'recipients[0].name is long', {
    errors: [
      { field: 'recipients[0].name', message: 'is long' },
      { field: 'tags', message: 'x' },
    ],
  });
  t.match(faultWithLines(fault, [2]), {
    message: 'recipients[0].name (line 2) is long',
    details: { errors: [{ field: 'recipients[0].name', message: 'is long (line 2)' }, { message: 'x' }] },
  });
  t.end();
});
