/** The bound of what a team's attachments take: exact in one process, and how far several may pass it. */
import fc from 'fast-check';
import t from 'tap';
import { openAttachmentClaims, type AttachmentClaims } from '../../src/commands/documents/storage.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';

const MAX = 1_000;
const open = (): AttachmentClaims => openAttachmentClaims({ ...defaultLimits, teamAttachmentBytesMax: MAX });

/** In: what the read models tell. Out: whether there was room. */
const takes = (claims: AttachmentClaims, shown: number, bytes: number, position: number): boolean => {
  try {
    claims.claim('team', { bytes: shown, position: 1 }, bytes).accepted(position);
    return true;
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'ATTACHMENT_STORAGE_EXCEEDED') return false;
    throw fault;
  }
};

void t.test(
  'while the read models stand still, processes together pass the bound by the room left, once for each further one',
  async () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.nat(MAX),
        fc.array(fc.record({ process: fc.nat(3), bytes: fc.integer({ min: 1, max: 300 }) }), { maxLength: 60 }),
        (processes, shown, calls) => {
          const each = Array.from({ length: processes }, open);
          let stored = shown;
          for (const [at, { process, bytes }] of calls.entries())
            if (takes(each[process % processes]!, shown, bytes, at + 2)) stored += bytes;
          return stored <= MAX + (processes - 1) * (MAX - shown);
        },
      ),
    ),
);

void t.test('the bound is no lower than that: each process fills the room that it knows of', async (t) => {
  const each = [open(), open(), open()];
  t.same(
    each.map((claims) => [takes(claims, 600, 400, 2), takes(claims, 600, 1, 3)]),
    each.map(() => [true, false]),
  );
});
