/**
 * Declares the commands that call a service elsewhere by its API. The code of each is loaded when it is called. Options
 * that name the service stand before the command or after it.
 */
import { Option, type Command } from 'commander';
import { withoutKeys } from '../core/output.js';
import type { ListenOptions } from '../webhooks.js';
import type { EmailsOptions } from './emails.js';
import type { ConvertOptions } from './convert.js';
import type { ListenFromAfarOptions } from './listen.js';
import type { LoginOptions } from './connection.js';
import type { RemoteOptions } from './output.js';
import type { RenderOptions } from './preview.js';
import type { FolderOptions, PushOptions } from './templates.js';

const FOLDER = 'folder with emails, attachments and blocks (default: this one)';
const TEMPLATE = 'slug or id on the service, or the path of a file';

const serviceOptions = (): readonly Option[] => [
  new Option('--url <address>', 'the service (default: SEALPOST_API_URL, or that of the profile)'),
  new Option('--key <key>', 'its API key (default: SEALPOST_API_KEY, or that of the profile)'),
  new Option('--profile <name>', 'a profile of `sealpost login` (default: the last one)'),
];

/** In: a list of an option. Out: its parts; an option that stands twice adds to the first. */
const listOf = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
];

type Call = (command: Command) => Promise<void>;

/** Faults of these commands are told with their code, as JSON where JSON is asked for. */
const telling =
  (call: Call) =>
  async (...given: readonly unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    try {
      await call(command);
    } catch (fault) {
      const { json = false } = command.optsWithGlobals<RemoteOptions>();
      (await import('./output.js')).tellFault(fault, json);
    }
  };

/** Tells why commander refuses a call. Its options are not read then, but its words are there. */
const tellMisuse = (command: Command, text: string): string => {
  let root: Command & Readonly<{ rawArgs?: readonly string[] }> = command;
  while (root.parent !== null) root = root.parent;
  if (root.rawArgs?.includes('--json') !== true) return `${text}(--help says more)\n`;
  const message = withoutKeys(text.trim().replace(/^error: /, ''));
  return `${JSON.stringify({ error: { code: 'OPTION_INVALID', message } })}\n`;
};

const remote = (parent: Command, name: string, description: string): Command => {
  const command = parent.command(name).description(description);
  for (const option of serviceOptions()) command.addOption(option);
  command.showHelpAfterError(false);
  command.configureOutput({ outputError: (text, write) => write(tellMisuse(command, text)) });
  return command.option('--json', 'as JSON').option('--no-color', 'without colours, as with NO_COLOR');
};

const addTemplates = (program: Command): readonly Command[] => {
  const templates = program.command('templates').description('templates of a service elsewhere, as files in git');
  const folder = (command: Command): Command =>
    command.argument('[folder]', FOLDER).option('--only <list>', 'slugs, separated by commas', listOf);
  const rendering = (command: Command): Command =>
    command
      .option('--variables <file>', 'JSON file with the variables (default: the sample data of the template)')
      .option('--locale <tag>', 'language (BCP 47)');
  return [
    remote(templates, 'list', 'print the templates of emails and of attachments, and the blocks').action(
      telling(async (command) => (await import('./templates.js')).listTemplates(command.optsWithGlobals())),
    ),
    folder(remote(templates, 'pull', 'write the templates of the service into files'))
      .option('--force', 'replace files that were edited here')
      .action(
        telling(async (command) =>
          (await import('./templates.js')).pull(command.args[0] ?? '.', command.optsWithGlobals<FolderOptions>()),
        ),
      ),
    folder(remote(templates, 'push', 'save the files as drafts on the service; what differs alone'))
      .option('--dry-run', 'print what would be changed, in words, and change nothing')
      .option('--publish', 'publish them too')
      .option('--force', 'overwrite what was changed on the service since the last pull')
      .action(
        telling(async (command) =>
          (await import('./templates.js')).push(command.args[0] ?? '.', command.optsWithGlobals<PushOptions>()),
        ),
      ),
    folder(
      remote(templates, 'diff', 'print in words how the files differ from the service; ends with 2 where they do'),
    ).action(
      telling(async (command) =>
        (await import('./templates.js')).diff(command.args[0] ?? '.', command.optsWithGlobals<FolderOptions>()),
      ),
    ),
    rendering(remote(templates, 'preview', 'render a template: HTML or text, a PDF or a workbook'))
      .argument('<template>', TEMPLATE)
      .option('--format <format>', 'html or text; pdf or xlsx (default: the first that the template has)')
      .option('--attachment', 'the template of attachments, where one of emails has the same slug')
      .option('--out <file>', 'write it there (default: standard output)')
      .option('--open', 'show it in the browser of this machine')
      .action(
        telling(async (command) =>
          (await import('./preview.js')).preview(command.args[0] ?? '', command.optsWithGlobals<RenderOptions>()),
        ),
      ),
    remote(templates, 'convert', 'make a template of a mail of another service, and tell what became of its parts')
      .argument('<file>', 'HTML with Handlebars (SendGrid) or Mustachio (Postmark), MJML, or HTML of React Email')
      .option('--out <file>', 'write the template there (default: standard output)')
      .option('--sample <file>', 'JSON file with the variables as the other service gets them')
      .option('--subject <text>', 'the subject in the language of the source (default: its title)')
      .option('--name <text>', 'the name of the template (default: its subject)')
      .option('--language <name>', 'auto, handlebars, mustachio, mjml or html (default: auto)')
      .option('--compare <file>', 'write a page that shows the source and the template beside each other')
      .option('--original <file>', 'the HTML that --compare shows for the source, such as MJML that is compiled')
      .action(
        telling(async (command) =>
          (await import('./convert.js')).convert(command.args[0] ?? '', command.optsWithGlobals<ConvertOptions>()),
        ),
      ),
    rendering(remote(templates, 'send-test', 'send a template as a test'))
      .argument('<template>', TEMPLATE)
      .option(
        '--to <list>',
        'addresses, separated by commas (default: whoever the key or the profile belongs to)',
        listOf,
      )
      .action(
        telling(async (command) =>
          (await import('./preview.js')).sendTest(command.args[0] ?? '', command.optsWithGlobals<RenderOptions>()),
        ),
      ),
  ];
};

const addEmails = (program: Command): readonly Command[] => {
  const emails = program.command('emails').description('emails of a service elsewhere');
  const filtered = (command: Command): Command =>
    command
      .option('--status <list>', 'queued, scheduled, processing, sent, delivered, bounced, failed, …')
      .option('--recipient <address>', 'to this address')
      .option('--template <id>', 'made of this template')
      .option('--tag <tag>', 'with this tag')
      .option('--since <moment>', 'created at or after: an ISO 8601 time or a date');
  return [
    filtered(remote(emails, 'list', 'print emails, the newest first'))
      .option('--limit <number>', 'how many at most (default: 50)')
      .action(
        telling(async (command) => (await import('./emails.js')).listEmails(command.optsWithGlobals<EmailsOptions>())),
      ),
    remote(emails, 'show', 'print how an email stands, why it did not arrive, and what happened to it')
      .argument('<email>', 'its id, or an address: the newest email to it')
      .action(
        telling(async (command) =>
          (await import('./emails.js')).showEmail(command.args[0] ?? '', command.optsWithGlobals<RemoteOptions>()),
        ),
      ),
    filtered(remote(emails, 'tail', 'print the last emails, then new ones and new states as they come, until Ctrl-C'))
      .option('--limit <number>', 'how many of those that are there (default: 10)')
      .option('--no-follow', 'end after those that are there')
      .action(
        telling(async (command) => (await import('./emails.js')).tailEmails(command.optsWithGlobals<EmailsOptions>())),
      ),
  ];
};

/** The options that only a listener from afar has. */
const FROM_AFAR = ['url', 'key', 'profile', 'forwardTo', 'subscription', 'secret'] as const;

const addWebhooks = (program: Command): readonly Command[] => {
  const webhooks = program.command('webhooks').description('what becomes of emails, as it is posted to endpoints');
  return [
    remote(
      webhooks,
      'listen',
      'print what becomes of emails until Ctrl-C; beside a service of this machine it receives webhooks and checks their signatures',
    )
      .option('--events <list>', 'kinds of event, separated by commas (default: all)')
      .option('--forward-to <address>', 'post each to this program, signed as the service signs')
      .option('--secret <secret>', 'whsec_…: sign with it (default: a new one, which is printed)')
      .option('--subscription <id>', 'events of this subscription (default: one that lives as long as the command)')
      .option('--port <number>', 'beside a service of this machine: port on loopback (default: a free one)')
      .action(
        telling(async (command) => {
          const options = command.optsWithGlobals<ListenFromAfarOptions & ListenOptions>();
          const { isConnected } = await import('./connection.js');
          const isNamed = FROM_AFAR.some((name) => options[name] !== undefined);
          if (isNamed || (options.port === undefined && isConnected()))
            return (await import('./listen.js')).listenFromAfar(options);
          return (await import('../webhooks.js')).listen(options);
        }),
      ),
  ];
};

const addProfiles = (program: Command): readonly Command[] => [
  remote(program, 'login', 'sign in to a service, or keep its API key, for the commands from afar')
    .option('--no-browser', 'sign in with a code on any device, instead of the browser of this machine')
    .action(
      telling(async (command) => (await import('./connection.js')).login(command.optsWithGlobals<LoginOptions>())),
    ),
  remote(program, 'logout', 'forget a profile, and end what was granted to it').action(
    telling(async (command) => (await import('./connection.js')).logout(command.optsWithGlobals<RemoteOptions>())),
  ),
  remote(program, 'profiles', 'list the profiles, or make one of them the current one')
    .argument('[name]', 'the profile that commands use from now on')
    .action(
      telling(async (command) =>
        (await import('./connection.js')).profiles(command.args[0], command.optsWithGlobals<RemoteOptions>()),
      ),
    ),
];

export const addRemoteCommands = (program: Command): void => {
  for (const option of serviceOptions()) program.addOption(option);
  const commands = new Set([
    ...addTemplates(program),
    ...addEmails(program),
    ...addWebhooks(program),
    ...addProfiles(program),
  ]);
  program
    .command('completion')
    .description('print a script by which a shell completes commands and options')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell: string) => (await import('./completion.js')).printCompletion(program, shell));
  program.hook('preAction', (_, command) => {
    const { url, key, profile } = program.opts<RemoteOptions>();
    if (!commands.has(command) && (url ?? key ?? profile) !== undefined)
      throw new Error(
        `${command.name()} works on the data directory of this machine: --url, --key and --profile are not for it`,
      );
  });
};
