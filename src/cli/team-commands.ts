/** The commands about teams. Each is loaded when it is called. */
import type { Command } from 'commander';
import type { BillingOptions } from './billing.js';
import type { AddMemberOptions, ListOptions, OfTeamOptions } from './team-members.js';
import type { TeamOptions, TrackingOptions } from './teams.js';

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
    .option('--company <field=value...>', 'what a company constant says, for example --company name="Example Ltd" city=Berlin')
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

const TEAM = 'id of the team (default: the first team)';

const addMemberCommands = (team: Command): void => {
  team
    .command('list')
    .description('list all teams, the oldest first')
    .option('--json', 'as JSON')
    .action(async (options: ListOptions) => (await import('./team-members.js')).listTeams(options));

  team
    .command('members')
    .description('list who is in a team')
    .option('--team <id>', TEAM)
    .option('--json', 'as JSON')
    .action(async (options: OfTeamOptions) => (await import('./team-members.js')).listMembersOf(options));

  team
    .command('add-member')
    .description('add somebody who is a user')
    .argument('<user>', 'their address, or their id')
    .requiredOption('--role <role>', 'owner, admin, member or viewer')
    .option('--team <id>', TEAM)
    .action(async (user: string, options: AddMemberOptions) => (await import('./team-members.js')).addMemberTo(user, options));

  team
    .command('remove-member')
    .description('remove somebody from a team')
    .argument('<user>', 'their address, or their id')
    .option('--team <id>', TEAM)
    .action(async (user: string, options: OfTeamOptions) => (await import('./team-members.js')).removeMemberFrom(user, options));
};
