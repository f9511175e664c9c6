/** Declares the commands about teams and about the log. The code of each is loaded when it is called. */
import type { Command } from 'commander';
import type { BillingOptions } from './billing.js';
import type {
  AddMemberOptions,
  ListOptions,
  OfTeamOptions,
  RemoveMemberOptions,
  TeamOptions,
  TrackingOptions,
} from './teams.js';
import type { EventsOptions, ReplayOptions, RetentionOptions, ShowOptions, TimelineOptions } from './log.js';

const TEAM = 'id of the team (default: the first team)';

export const addTeamCommands = (program: Command): void => {
  const team = program.command('team').description('teams: their settings and their members');
  team
    .command('show')
    .description('print the settings of the first team')
    .action(async () => (await import('./teams.js')).showTeam());
  team
    .command('set')
    .description('change settings of the first team')
    .option('--name <name>', 'name of the team')
    .option('--from <sender>', 'default sender, "Name <address>"')
    .option(
      '--company <field=value...>',
      'what a company constant says, for example --company name="Example Ltd" city=Berlin',
    )
    .action(async (options: TeamOptions) => (await import('./teams.js')).setTeam(options));

  team
    .command('tracking')
    .description('print or set what is recorded of readers, where neither call nor template says it')
    .option('--opens <on|off>', 'a picture at the end of the HTML tells when a mail is opened')
    .option('--clicks <on|off>', 'links of the HTML lead through this service')
    .action(async (options: TrackingOptions) => (await import('./teams.js')).teamTracking(options));

  addAccountCommands(team);
  addMemberCommands(team);
};

const addAccountCommands = (team: Command): void => {
  team
    .command('billing')
    .description('set how the team is billed')
    .option('--by <billing>', 'credits, plan or unmetered')
    .option('--plan <plan>', 'free, starter, pro, enterprise, or none')
    .option('--emails-per-month <number>', 'what was agreed in place of the quota of the plan; plan takes it away')
    .action(async (options: BillingOptions) => (await import('./billing.js')).setBilling(options));

  team
    .command('reactivate')
    .description('let the API keys of the team work again, which are disabled after 12 months without use')
    .action(async () => (await import('./teams.js')).reactivateTeam());
};

const addMemberCommands = (team: Command): void => {
  team
    .command('list')
    .description('list all teams, the oldest first')
    .option('--json', 'as JSON')
    .action(async (options: ListOptions) => (await import('./teams.js')).listTeams(options));

  team
    .command('members')
    .description('list who is in a team')
    .option('--team <id>', TEAM)
    .option('--json', 'as JSON')
    .action(async (options: OfTeamOptions) => (await import('./teams.js')).listMembersOf(options));

  team
    .command('add-member')
    .description('add somebody who is a user')
    .argument('<user>', 'their address, or their id')
    .requiredOption('--role <role>', 'owner, admin, member or viewer')
    .option('--team <id>', TEAM)
    .action(async (user: string, options: AddMemberOptions) => (await import('./teams.js')).addMemberTo(user, options));

  team
    .command('remove-member')
    .description('remove somebody from a team')
    .argument('<user>', 'their address, or their id')
    .option('--team <id>', TEAM)
    .option('--revoke-keys', 'revoke the API keys that they made, and those that these keys made')
    .action(async (user: string, options: RemoveMemberOptions) =>
      (await import('./teams.js')).removeMemberFrom(user, options),
    );
};

export const addLogCommands = (program: Command): void => {
  program
    .command('replay')
    .description('print events; sealed fields are opened where their key still lives')
    .argument('[stream]', 'a stream such as email-<id>, or the id of an email')
    .option('--all', 'every event of the log')
    .option('--from <position>', 'begin at that position of the log')
    .option('--json', 'one JSON object a line')
    .action(async (stream: string | undefined, options: ReplayOptions) =>
      (await import('./log.js')).replay(stream, options),
    );

  program
    .command('show')
    .description(
      'print what a stream adds up to, now or at a moment of the past; what was destroyed since stays destroyed',
    )
    .argument('<stream>', 'a stream such as email-<id>, batch-<id> or team-<id>, or the id of an email')
    .option('--as-of <moment>', 'an ISO 8601 time with a zone, a date (its end in UTC), or the id of one of its events')
    .action(async (stream: string, options: ShowOptions) => (await import('./log.js')).show(stream, options));

  program
    .command('timeline')
    .description('print what happened to an email, from the call to the answers of webhook endpoints')
    .argument('<id>', 'id of the email')
    .option('--json', 'one JSON object a line')
    .action(async (id: string, options: TimelineOptions) => (await import('./log.js')).timeline(id, options));

  program
    .command('events')
    .description('look at the events of the log')
    .command('unreadable')
    .description(
      'list every event that is damaged, without its file, or of a newer version of sealpost; exits with 2 where there is one',
    )
    .option('--json', 'one JSON object a line')
    .action(async (options: EventsOptions) => (await import('./log.js')).listUnreadable(options));

  program
    .command('retention')
    .description('print how long what is kept; changes nothing')
    .option('--dry-run', 'print what would go now, since when it is due, and when the next will be')
    .option('--json', 'as JSON')
    .action(async (options: RetentionOptions) => (await import('./log.js')).retention(options));

  program
    .command('verify')
    .description(
      'check the log for tampering, every event and file, the keys, and the read models against a rebuild; ' +
        'exits with 0 where all is sound, 1 where it could not finish, 2 where something is damaged, 3 where the log was tampered with',
    )
    .option('--root <position:root>', 'a seal that was noted elsewhere must be in the log')
    .option(
      '--export <file>',
      'check an exported audit log by itself instead; --root may then be the root of the export',
    )
    .action(async ({ export: file, ...options }: { root?: string; export?: string }) =>
      file === undefined
        ? (await import('./verify.js')).verify(options)
        : (await import('./audit.js')).verifyExport(file, options.root),
    );
};
