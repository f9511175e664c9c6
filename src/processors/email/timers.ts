/**
 * Processors started by an email's timer: release a scheduled email, archive an old or deleted one, remove the record
 * of an archived one.
 */
import type { EmailNeeds } from '../../commands/email/needs.js';
import { archiveEmail, removeEmailRecord } from '../../commands/email/emails.js';
import type { EraseDeps } from '../../commands/core/erase.js';
import { emailDecider, type EmailCommand } from '../../domain/email/decider.js';
import type { EmailState } from '../../domain/email/state.js';
import { assertDefined, parseEmailId, splitStream } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import type { ActingDeclaration, Processor, ProcessorDeps } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';

/** No event starts this work: only timers do. */
/** Only our own stores are called. */
const DEADLINE_MS = 60_000;

const timed = (
  declaration: Pick<ActingDeclaration<'email', EmailState, EmailCommand>, 'name' | 'timers' | 'act'>,
): Processor => makeProcessor({ kind: 'email', decider: emailDecider, deadlineMs: DEADLINE_MS, ...declaration });

export const releaseEmail = (deps: Pick<EmailNeeds, 'clock'>): Processor =>
  timed({
    name: 'release-email',
    timers: [{ kind: 'scheduled', read: 'due', inTurns: true }],
    act: async () => ({ command: { type: 'ReleaseEmail', at: isoTime(deps.clock.now()) } }),
  });

/** `archiveEmail` checks itself whether it is due. */
export const archiveEmailInTime = (
  deps: EraseDeps & Pick<EmailNeeds, 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>,
): Processor =>
  timed({
    name: 'archive-email',
    timers: [{ kind: 'archive', read: 'due', destroys: true }],
    act: async ({ stream, cause }) => {
      if (!deps.mayDestroy()) return {};
      await archiveEmail(deps, assertDefined(parseEmailId(splitStream(stream).id), 'email id'), cause);
      return {};
    },
  });

/** `removeEmailRecord` checks itself whether it is due. */
export const removeEmailInTime = (
  deps: Pick<EmailNeeds, 'eventLog' | 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>,
): Processor =>
  timed({
    name: 'remove-email',
    timers: [{ kind: 'removal', read: 'due', destroys: true, seldom: true }],
    act: async ({ stream, cause }) => {
      if (deps.mayDestroy())
        await removeEmailRecord(deps, assertDefined(parseEmailId(splitStream(stream).id), 'email id'), cause);
      return {};
    },
  });
