/** The command line. Each command is loaded when it is called, so that a small one does not pay for the server. */
import { setFlagsFromString } from 'node:v8';
import { isMainThread } from 'node:worker_threads';
import { Command } from 'commander';
import { loadEnvFile } from './service/settings/config.js';
import { endProcess } from './cli/core/exit.js';
import { endWhenNobodyReads, explain, printFault, withoutKeys } from './cli/core/output.js';
import { addLogCommands, addTeamCommands } from './cli/commands.js';
import type { ChangeKeyOptions, CreateKeyOptions } from './cli/keys.js';
import type { BackupOptions, RestoreOptions } from './cli/ops/backup.js';
import type { RepairOptions } from './cli/ops/repair.js';
import type { DoctorOptions, ListParkedOptions, MigrateCliOptions, ReleaseParkedOptions } from './cli/ops/instance.js';
import type { BulkSendOptions } from './cli/bulk.js';
import type { RetryOptions } from './cli/email.js';
import type { AddOptions } from './cli/billing.js';
import type { PreviewOptions, PullOptions } from './cli/templates.js';
import { addRemoteCommands } from './cli/remote/commands.js';
import { version } from './service/version.js';

// V8 lets garbage pile up to several times what is alive before it collects. Here it collects sooner: a service that
// shares a small machine with others gives memory back for little CPU. The heap is still small at this point.
setFlagsFromString('--heap-growing-percent=80');

/** The read models, which `rebuild` takes; named here so that a small command does not load them. */
const readModelNames = [
  'emails',
  'templates',
  'attachmentTemplates',
  'blocks',
  'assets',
  'apiKeys',
  'credits',
  'activity',
  'senderDomains',
  'suppressions',
  'webhooks',
  'erasures',
  'approvals',
  'teams',
  'teamActivity',
  'oauthApps',
  'oauthGrants',
  'sessions',
  'audit',
];

const program = new Command('sealpost')
  .description(
    'Transactional email whose log is its ledger. Settings are environment variables; .env.example lists them.',
  )
  .version(version)
  .configureOutput({ writeErr: (text) => void process.stderr.write(withoutKeys(text)) })
  .showHelpAfterError('(--help says more)');

program
  .command('serve')
  .description('serve the API, deliver, and keep the read models')
  .action(async () => (await import('./cli/serve.js')).serve());

const key = program.command('key').description('make, change and revoke API keys; a running server knows at once');
key
  .command('create')
  .description('make a key and show it once')
  .requiredOption('--name <name>', 'what the key is for')
  .option(
    '--permissions <list>',
    'permissions, separated by commas (default: all but emails:delete, emails:content and privacy:manage)',
  )
  .option('--rate-limit <number>', 'requests per minute, instead of the default limits')
  .option('--expires <time>', 'ISO 8601 time after which it stops working')
  .option('--networks <list>', 'networks that it may be used from, separated by commas: 192.0.2.0/24,2001:db8::/32')
  .option('--test', 'a test key: nothing leaves of what it sends')
  .option('--json', 'print the key record as JSON')
  .action(async (options: CreateKeyOptions) => (await import('./cli/keys.js')).createKey(options));
key
  .command('change')
  .description('change what a key is called, where it may be used from and how often; what is left out stays')
  .argument('<id>', 'id of the key, key_…')
  .option('--name <name>', 'what the key is for')
  .option('--description <text>', 'more about it')
  .option('--rate-limit <number>', 'requests per minute; none: the default limits')
  .option('--networks <list>', 'networks that it may be used from, separated by commas; none: from anywhere')
  .option('--json', 'print the key record as JSON')
  .action(async (id: string, options: ChangeKeyOptions) => (await import('./cli/keys.js')).changeKey(id, options));
key
  .command('revoke')
  .description('revoke a key for good')
  .argument('<id>', 'id of the key, key_…')
  .option('--with-made', 'and with it every key that it made')
  .action(async (id: string, options: { withMade?: boolean }) =>
    (await import('./cli/keys.js')).revokeKey(id, options),
  );

const user = program.command('user').description('people who sign in');
user
  .command('first-token')
  .description('print the token by which the first user registers, who owns the first team')
  .action(async () => (await import('./cli/people.js')).showFirstToken());
user
  .command('link')
  .description('print a link that signs a user in once, within the hour, who then chooses a password')
  .argument('<who>', 'address or id of the user')
  .action(async (who: string) => (await import('./cli/people.js')).link(who));
user
  .command('operator')
  .description('make a user an operator of this instance, who sees how it is doing')
  .argument('<who>', 'address or id of the user')
  .option('--revoke', 'take it from the user')
  .action(async (who: string, options: { revoke?: boolean }) =>
    (await import('./cli/people.js')).operator(who, options),
  );
user
  .command('erase')
  .description('erase a user: out of all teams, sessions and grants ended, address, name and password destroyed')
  .argument('<who>', 'address or id of the user')
  .action(async (who: string) => (await import('./cli/people.js')).erase(who));

addTeamCommands(program);

const credits = program.command('credits').description('credits of the team');
credits
  .command('balance')
  .description('print how the team is billed, and what it has left and used')
  .option('--json', 'one JSON object')
  .action(async (options: AddOptions) => (await import('./cli/billing.js')).showBalance(options));
credits
  .command('grant')
  .description('give credits')
  .argument('<credits>', 'how many')
  .option('--note <text>', 'for the log')
  .option('--json', 'one JSON object')
  .action(async (number: string, options: AddOptions) =>
    (await import('./cli/billing.js')).grantCredits(number, options),
  );
credits
  .command('buy')
  .description('record blocks of 10,000 credits that were paid elsewhere, at the price of their tiers')
  .argument('<blocks>', 'how many')
  .option('--note <text>', 'for the log, such as the number of an invoice')
  .option('--json', 'one JSON object')
  .action(async (number: string, options: AddOptions) =>
    (await import('./cli/billing.js')).buyCredits(number, options),
  );

credits
  .command('reset')
  .description('take all credits away, as of an account that was not used for a year')
  .action(async () => (await import('./cli/billing.js')).resetCredits());

const template = program.command('template').description('templates, from files and into files');
template
  .command('list')
  .description('print the templates of emails and of attachments, and the blocks')
  .option('--json', 'one JSON object a line')
  .action(async (options: { json?: boolean }) => (await import('./cli/templates.js')).listTemplates(options));
template
  .command('pull')
  .description('print a template as JSON, as `template import` takes it, or write it into a file')
  .argument('<template>', 'slug or id')
  .argument('[file]', 'a new file (default: standard output)')
  .option('--attachment', 'the template of attachments, where one of emails has the same slug')
  .option('--block', 'the block of that name')
  .option('--force', 'replace the file where it is there')
  .action(async (reference: string, file: string | undefined, options: PullOptions) =>
    (await import('./cli/templates.js')).pullTemplate(reference, file, options),
  );
template
  .command('preview')
  .description(
    'make what a template gives with its sample data or with variables: HTML or text of an email, a PDF or a workbook of an attachment',
  )
  .argument('<template>', 'slug or id')
  .argument('[file]', 'a new file (default: standard output)')
  .option('--variables <file>', 'JSON file with the variables')
  .option('--format <format>', 'html or text; pdf or excel (default: the first that the template has)')
  .option('--locale <tag>', 'language (BCP 47)')
  .option('--attachment', 'the template of attachments, where one of emails has the same slug')
  .option('--force', 'replace the file where it is there')
  .action(async (reference: string, file: string | undefined, options: PreviewOptions) =>
    (await import('./cli/templates.js')).previewFile(reference, file, options),
  );
template
  .command('import')
  .description('save a template or a block from a JSON file (a POST takes the same) and publish it')
  .argument('<file>', 'JSON file')
  .action(async (file: string) => (await import('./cli/templates.js')).importTemplate(file));

program
  .command('mailbox')
  .description('print again the link that opens the built-in mailbox')
  .action(async () => (await import('./cli/ops/instance.js')).mailbox());

program
  .command('retry')
  .description('push on by hand what waits for its next attempt or for the relay, or what has failed')
  .option('--failed', 'what has failed, instead of what waits')
  .option('--template <id>', 'of this template')
  .option('--domain <domain>', 'with a recipient of this domain who has not got it')
  .option('--since <time>', 'created at or after, ISO 8601')
  .option('--until <time>', 'created at or before, ISO 8601')
  .action(async (options: RetryOptions) => (await import('./cli/email.js')).retry(options));

const bulk = program.command('bulk').description('bulk sends; a running server delivers them');
bulk
  .command('send')
  .description(
    'send to the recipients of a CSV or JSON-lines file; the same command once more goes on where it was, and sends nothing twice',
  )
  .argument('<file>', 'CSV with a head, or JSON lines')
  .requiredOption('--template <id>', 'id or slug of the template')
  .option(
    '--map <field=column...>',
    'columns of a CSV: email=…, name=…, locale=…, timeZone=…, and variable=… for each variable',
  )
  .option('--schedule <time>', 'ISO 8601 time with a zone')
  .option('--priority <priority>', 'high, normal or low (default: low)')
  .option('--name <name>', 'name of the bulk send')
  .option('--locale <tag>', 'language of the emails (BCP 47)')
  .option('--time-zone <name>', 'time zone of the emails (IANA)')
  .option('--dry-run', 'check everything and send nothing; ends with 1 where something is wrong, or a row is left out')
  .option('--follow', 'wait until every email has come to an end')
  .action(async (file: string, options: BulkSendOptions) => (await import('./cli/bulk.js')).sendFile(file, options));
bulk
  .command('status')
  .description('print where the emails of a bulk send stand')
  .argument('<id>', 'id of the bulk send')
  .option('--json', 'as JSON')
  .option('--follow', 'wait until every email has come to an end')
  .action(async (id: string, options: { json?: boolean; follow?: boolean }) =>
    (await import('./cli/bulk.js')).showStatus(id, options),
  );
bulk
  .command('cancel')
  .description('cancel what has not left')
  .argument('<id>', 'id of the bulk send')
  .action(async (id: string) => (await import('./cli/bulk.js')).cancel(id));
bulk
  .command('results')
  .description('print one line for each recipient')
  .argument('<id>', 'id of the bulk send')
  .option('--format <format>', 'csv or jsonl (default: csv)')
  .action(async (id: string, options: { format?: string }) =>
    (await import('./cli/bulk.js')).printResults(id, options),
  );
bulk
  .command('list')
  .description('print the bulk sends, the newest first')
  .option('--json', 'one JSON object a line')
  .action(async (options: { json?: boolean }) => (await import('./cli/bulk.js')).list(options));

const email = program.command('email').description('emails that have not left; a running server knows at once');
email
  .command('cancel')
  .description('cancel an email that is scheduled or queued')
  .argument('<id>', 'id of the email')
  .action(async (id: string) => (await import('./cli/email.js')).cancel(id));
email
  .command('reschedule')
  .description('give a scheduled email another time')
  .argument('<id>', 'id of the email')
  .argument('<time>', 'ISO 8601 time with a zone, in the future')
  .action(async (id: string, time: string) => (await import('./cli/email.js')).reschedule(id, time));

const parked = program
  .command('parked')
  .description('work that was set aside, where the bus is a server of its own (SEALPOST_BUS_URL)');
parked
  .command('list')
  .description('print what is parked, the oldest first')
  .option('--json', 'one JSON object a line')
  .action(async (options: ListParkedOptions) => (await import('./cli/ops/instance.js')).listParked(options));
parked
  .command('release')
  .description('give parked work to its processor again')
  .argument('[ids...]', 'ids that `parked list` shows')
  .option('--all', 'everything that is parked')
  .action(async (ids: readonly string[], options: ReleaseParkedOptions) =>
    (await import('./cli/ops/instance.js')).releaseParked(ids, options),
  );

program
  .command('migrate')
  .description('copy log, keys and files to stores of another engine, while the service is stopped')
  .requiredOption('--from <place>', 'data directory of the embedded engine, or a file of settings')
  .requiredOption('--to <file>', 'file of settings like .env, which name the new stores')
  .option('--one-at-a-time', 'wait for each event before the next, where a server does not keep the order')
  .action(async (options: MigrateCliOptions) => (await import('./cli/ops/instance.js')).migrate(options));

program
  .command('rebuild')
  .description('make read models again from the log')
  .argument('[projection]', `${readModelNames.join(', ')} (default: all)`)
  .action(async (name?: string) => (await import('./cli/ops/repair.js')).rebuild(name));

addLogCommands(program);

program
  .command('doctor')
  .description(
    'check settings, relay, DNS, public URL, clock, disk, stores, keys and files, beside a running service too; ends with 2 where something is wrong',
  )
  .option('--send <address>', 'also send one real test mail there, and print what the relay says')
  .action(async (options: DoctorOptions) => (await import('./cli/ops/instance.js')).doctor(options));

program
  .command('backup')
  .description('copy the log and its files, or the keys, while the service runs')
  .argument('<directory>', 'a new or empty directory')
  .option('--keys', 'the keys, which are kept apart and expire')
  .option('--days <number>', 'with --keys: after how many days the copy must be destroyed (default: 7)')
  .action(async (directory: string, options: BackupOptions) =>
    (await import('./cli/ops/backup.js')).backup(directory, options),
  );

program
  .command('restore')
  .description('put backups in place of what is missing, and destroy again what is destroyed; the service is stopped')
  .argument('[directory]', 'backup of the log and its files')
  .option('--keys <directory>', 'backup of the keys')
  .option('--accept-loss', 'replace a log or keys that are there')
  .option('--expired', 'take a backup of keys whose time is over')
  .action(async (directory: string | undefined, options: RestoreOptions) =>
    (await import('./cli/ops/backup.js')).restore(directory, options),
  );

program
  .command('repair')
  .description(
    'go on where a start was refused: with what is lost given up, or with read models made anew; the service is stopped',
  )
  .argument('<store>', 'log, keys, files or read-models')
  .option('--accept-loss', 'what is missing is given up for good, and the log says so')
  .action(async (store: string, options: RepairOptions) =>
    (await import('./cli/ops/repair.js')).repair(store, options),
  );

program
  .command('clock')
  .description('the time of day that the service goes by')
  .command('confirm')
  .description('confirm that the clock of this machine is right, after it was set; a running server goes by it at once')
  .action(async () => (await import('./cli/ops/instance.js')).confirmClock());

program
  .command('forget')
  .description(
    'destroy again the keys of every deleted or archived email, after an older backup of the keys was put back',
  )
  .action(async () => (await import('./cli/ops/repair.js')).forget());

program
  .command('openapi')
  .description('print the OpenAPI 3.1 description')
  .action(async () => (await import('./cli/ops/descriptions.js')).openapi());

program
  .command('schema')
  .description('print the JSON schema of templates, for editors')
  .argument('<kind>', 'email, attachment or block')
  .action(async (kind: string) => (await import('./cli/ops/descriptions.js')).schema(kind));

addRemoteCommands(program);

/** After a fault, the output has this long to drain. */
const ENDS_WITHIN_MS = 2_000;

/**
 * Runs one command. In: the words after the name of the program. Out: false where it threw; `process.exitCode` is set
 * then.
 */
export const run = async (words: readonly string[]): Promise<boolean> => {
  try {
    loadEnvFile();
    await program.parseAsync(words, { from: 'user' });
    return true;
  } catch (fault) {
    printFault(`sealpost: ${explain(fault)}`);
    process.exitCode ??= 1;
    return false;
  }
};

/** Runs the command of this process. */
const runAlone = async (words: readonly string[]): Promise<void> => {
  if (words[0] !== 'serve') endWhenNobodyReads();
  // A connection that was left open must not keep a process that has failed: whatever supervises it waits for its end.
  if (!(await run(words))) setTimeout(() => void endProcess(Number(process.exitCode)), ENDS_WITHIN_MS).unref();
};

// A program that runs several commands in a thread calls `run` itself.
if (isMainThread) await runAlone(process.argv.slice(2));
