/** Templates that were deleted so long ago that nobody can take them back are removed: a fact, by which the read models forget them. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { attachmentTemplateDecider } from '../../domain/templates/attachment-template.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { RemoveTemplate } from '../../domain/templates/decider.js';
import { templateDecider } from '../../domain/templates/email-template.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { Outcome, Processor, StartedBy, TimerUse } from '../core/declaration.js';
import type { ProcessorDeps } from '../core/deps.js';
import { makeProcessor } from '../core/processor.js';

type RemovalDeps = Pick<CommandDeps, 'clock' | 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>;

const byTimeOnly: StartedBy<'template'> & StartedBy<'attachmentTemplate'> = {
  TemplateCreated: null,
  TemplateDraftSaved: null,
  TemplatePublished: null,
  TemplateSlugChanged: null,
  TemplateDeleted: null,
  TemplateRestored: null,
  TemplateRemoved: null,
  StreamRetired: null,
};

const timers: readonly TimerUse[] = [{ kind: 'removal', read: 'due', destroys: true, seldom: true }];

/** Of a command: nothing outside our own stores is called. */
const DEADLINE_MS = 60_000;

/** The command itself looks whether it is time. */
const removal =
  ({ clock, limits, mayDestroy }: RemovalDeps) =>
  async (): Promise<Outcome<RemoveTemplate>> => {
    if (!mayDestroy()) return {};
    const nowMs = clock.now();
    const deletedSince = isoTime(nowMs - limits.restoreDays * DAY_MS);
    return { command: { type: 'RemoveTemplate', at: isoTime(nowMs), deletedSince } };
  };

export const removeTemplate = (deps: RemovalDeps): Processor =>
  makeProcessor({
    name: 'remove-template',
    kind: 'template',
    decider: templateDecider,
    startedBy: byTimeOnly,
    timers,
    deadlineMs: DEADLINE_MS,
    act: removal(deps),
  });

export const removeAttachmentTemplate = (deps: RemovalDeps): Processor =>
  makeProcessor({
    name: 'remove-attachment-template',
    kind: 'attachmentTemplate',
    decider: attachmentTemplateDecider,
    startedBy: byTimeOnly,
    timers,
    deadlineMs: DEADLINE_MS,
    act: removal(deps),
  });
