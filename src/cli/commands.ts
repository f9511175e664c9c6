/** The commands that look into the log. Each is loaded when it is called. */
import type { Command } from 'commander';
import type { EventsOptions } from './events.js';
import type { ReplayOptions } from './log.js';
import type { RetentionOptions } from './retention.js';
import type { ShowOptions } from './show.js';
import type { TimelineOptions } from './timeline.js';

export const addLogCommands = (program: Command): void => {
  program
    .command('replay')
    .description('print events; sealed fields are opened where their key still lives')
    .argument('[stream]', 'a stream such as email-<id>, or the id of an email')
    .option('--all', 'every event of the log')
    .option('--from <position>', 'begin at that position of the log')
    .option('--json', 'one JSON object a line')
    .action(async (stream: string | undefined, options: ReplayOptions) => (await import('./log.js')).replay(stream, options));

  program
    .command('show')
    .description('print what a stream adds up to, now or at a moment of the past; what was destroyed since stays destroyed')
    .argument('<stream>', 'a stream such as email-<id>, batch-<id> or team-<id>, or the id of an email')
    .option('--as-of <moment>', 'an ISO 8601 time with a zone, a date (its end in UTC), or the id of one of its events')
    .action(async (stream: string, options: ShowOptions) => (await import('./show.js')).show(stream, options));

  program
    .command('timeline')
    .description('print what happened to an email, from the call to the answers of webhook endpoints')
    .argument('<id>', 'id of the email')
    .option('--json', 'one JSON object a line')
    .action(async (id: string, options: TimelineOptions) => (await import('./timeline.js')).timeline(id, options));

  program
    .command('events')
    .description('look at the events of the log')
    .command('unreadable')
    .description('list every event that is damaged, without its file, or of a newer version of sealpost; exits with 2 where there is one')
    .option('--json', 'one JSON object a line')
    .action(async (options: EventsOptions) => (await import('./events.js')).listUnreadable(options));

  program
    .command('retention')
    .description('print how long what is kept; changes nothing')
    .option('--dry-run', 'print what would go now, since when it is due, and when the next will be')
    .option('--json', 'as JSON')
    .action(async (options: RetentionOptions) => (await import('./retention.js')).retention(options));

  program
    .command('verify')
    .description(
      'check the log for tampering, every event and file, the keys, and the read models against a rebuild; ' +
        'exits with 0 where all is sound, 1 where it could not finish, 2 where something is damaged, 3 where the log was tampered with',
    )
    .option('--root <position:root>', 'a seal that was noted elsewhere must be in the log')
    .option('--export <file>', 'check an exported audit log by itself instead; --root may then be the root of the export')
    .action(async ({ export: file, ...options }: { root?: string; export?: string }) =>
      file === undefined ? (await import('./verify.js')).verify(options) : (await import('./audit.js')).verifyExport(file, options.root),
    );
};
