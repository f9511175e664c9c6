/** Everything that can be checked of an instance and of what it depends on, beside a running service or without one. */
import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkStores, isOfOriginsAlone, stoppingFindings, missingParts } from '../../commands/ops/stores.js';
import { givenUp } from '../../commands/ops/repair.js';
import { hasRelay, type Config } from '../settings/config.js';
import { isLoopback } from '../settings/groups.js';
import { openEngine, type Engine } from '../engine.js';
import { unreadableEvents } from '../../event-log/verification.js';
import { checkable } from '../startup.js';
import { lacksSender } from '../../commands/email/sender.js';
import { isSampleSender } from '../../domain/teams/state.js';
import { certificateFaults, certifiedHost, pairFault } from '../observe/certificates.js';
import { copyFault, isRunning } from '../stores/instances.js';
import { damageOfFile, databaseFiles, helpOfDamage, localStores, placesOf, rootBesideOwner } from '../stores/stores.js';
import { openSmtpMailer, trySession } from '../../adapters/mail/smtp.js';
import { relayOptions, smtpSession } from '../resources.js';
import type { SmtpSession } from '../../adapters/mail/smtp-pool.js';
import { relaysFor } from '../../domain/email/relays.js';
import type { RelaySettings } from '../settings/relays.js';
import { publicKeyOf } from '../../adapters/mail/dkim.js';
import { systemClock } from '../../adapters/clock/system.js';
import { openResolver } from '../../adapters/dns/resolver.js';
import { domainOfAddress, lookUpDomain } from '../../commands/domains/sender-domains.js';
import { firstTeam } from '../../commands/core/caller.js';
import { openDomainKeys } from '../../processors/domains/sender-domains.js';
import type { LookedUp } from '../../domain/domains/decider.js';
import { dkimFound, dkimName } from '../../domain/domains/dns.js';
import type { SenderDomain } from '../../domain/domains/state.js';
import {
  assertDefined,
  parseTeamId,
  senderDomainsStream,
  splitStream,
  teamStream,
  type TeamId,
} from '../../domain/core/ids.js';
import { CLOCKS_APART_MS, HOUR_MS, isoTime } from '../../domain/core/time.js';
import type { RecipientOutcome } from '../../domain/ports/mailer.js';
import type { Recipient } from '../../domain/mime/address.js';
import { composeMessage } from '../../domain/mime/compose.js';
import { accessFault } from '../../shared/files.js';
import { counted } from '../../shared/text.js';
import { newestEventMs, notedWaitMs } from './clock.js';

/** `help` says what to do; absent where all is well, or where the sentence itself says it. */
export type Check = Readonly<{ level: 'ok' | 'warning' | 'fault'; name: string; says: string; help?: string }>;

const MIB = 1024 * 1024;
/** Below it a busy day may fill the disk; below the second nothing is accepted soon. */
const DISK_FREE_WARNING_MIB = 1_024;
const DISK_FREE_FAULT_MIB = 100;

/** How long the relay may take for a session, and the service for an answer. */
const ANSWERS_WITHIN_MS = 20_000;
/** How long all look-ups of sender domains may take; what is left then is not known. */
const DNS_WITHIN_MS = 60_000;

/** `sendTo`: an address to which the relay is given one mail. */
export async function* examine(config: Config, { sendTo }: Readonly<{ sendTo?: string }> = {}): AsyncGenerator<Check> {
  yield ok('settings', 'can be read and do not contradict each other');
  if (!existsSync(config.dataDir)) {
    yield fault(
      'data',
      `${config.dataDir} does not exist`,
      'start the service once, or name the right directory in SEALPOST_DATA_DIR',
    );
    return;
  }
  const besideOwner = rootBesideOwner(config);
  if (besideOwner !== undefined) {
    yield fault('data', besideOwner);
    return;
  }
  const service = await serviceCheck(config);
  yield service.check;
  yield await publicUrlCheck(config, service.isRunning);
  yield* certificateChecks(config);
  yield* relayChecks(config);
  yield* directoryChecks(config);
  const { log, keys } = placesOf(config);
  const local = localStores(config);
  if (local.log && local.keys && !existsSync(log) && !existsSync(keys)) {
    yield fault(
      'log',
      `${log} does not exist, nor do keys`,
      'start the service once, or restore a backup (sealpost restore)',
    );
    return;
  }
  const damaged = yield* fileChecks(config);
  if (!damaged) yield* storeChecks(config, sendTo);
}

const ok = (name: string, says: string): Check => ({ level: 'ok', name, says });
const warning = (name: string, says: string, help?: string): Check => ({
  level: 'warning',
  name,
  says,
  ...(help === undefined ? {} : { help }),
});
const fault = (name: string, says: string, help?: string): Check => ({
  level: 'fault',
  name,
  says,
  ...(help === undefined ? {} : { help }),
});

const serviceCheck = async (config: Config): Promise<Readonly<{ check: Check; isRunning: boolean }>> => {
  const place = localStores(config).log ? config.dataDir : placesOf(config).log;
  try {
    const runs = await isRunning(config);
    return {
      check: ok('service', runs ? `one delivers from ${place}` : `none delivers from ${place} now`),
      isRunning: runs,
    };
  } catch (thrown) {
    const check = fault('service', thrown instanceof Error ? thrown.message : 'nobody can tell whether one runs');
    return { check, isRunning: false };
  }
};

/**
 * Asks the service by the address that others use. A machine may be unable to reach its own public address, so silence
 * is no fault.
 */
const publicUrlCheck = async ({ publicUrl }: Config, runs: boolean): Promise<Check> => {
  const name = 'public URL';
  const help =
    'set SEALPOST_PUBLIC_URL to the address at which others reach this service, and look at the proxy before it';
  try {
    const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
    const answer = await fetch(`${publicUrl}/health/ready`, { redirect: 'manual', signal });
    const { status, reasons } = healthOf(await answer.json().catch(() => undefined));
    if (status === undefined)
      return warning(name, `${publicUrl} answers (${answer.status}), but not as sealpost does`, help);
    if (reasons.length === 0) return ok(name, `${publicUrl} answers: ${status}`);
    return warning(
      name,
      `${publicUrl} answers: ${status} (${reasons.join(', ')})`,
      'docs/operating.md lists what each of them means',
    );
  } catch (thrown) {
    if (!runs) return ok(name, `nobody answers at ${publicUrl}, where the service would`);
    return warning(name, `nobody answers at ${publicUrl} (${networkFault(thrown)})`, help);
  }
};

const healthOf = (body: unknown): Readonly<{ status: string | undefined; reasons: readonly string[] }> => {
  const { status, reasons } = (typeof body === 'object' && body !== null ? body : {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof status !== 'string' || !Array.isArray(reasons)) return { status: undefined, reasons: [] };
  return { status, reasons: reasons.map(({ code }: Readonly<{ code?: unknown }>) => String(code)) };
};

const networkFault = (thrown: unknown): string => {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  if (!(cause instanceof Error)) return 'unknown fault';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
};

const certificateChecks = function* ({ tls, publicUrl, feedback }: Config): Generator<Check> {
  const name = 'certificate';
  const inbound = feedback?.smtp?.tls;
  const served = [
    ...(tls === undefined ? [] : [{ tls, host: certifiedHost(publicUrl) }]),
    ...(inbound === undefined || inbound === tls ? [] : [{ tls: inbound, host: undefined }]),
  ];
  for (const { tls: pair, host } of served) {
    const [path] = pair.paths;
    const help = 'replace the files; a running service takes them within seconds';
    const unusable = pairFault(pair);
    const faults = unusable === undefined ? certificateFaults({ tls: pair, host }, systemClock().now()) : [];
    if (unusable !== undefined) yield fault(name, `${pair.paths.join(' and ')} cannot be served: ${unusable}`, help);
    for (const { isFault, says } of faults) yield (isFault ? fault : warning)(name, `${path} ${says}`, help);
    if (unusable === undefined && faults.length === 0)
      yield ok(name, `${path} is valid${host === undefined ? '' : ` for ${host}`}`);
  }
};

async function* relayChecks(config: Config): AsyncGenerator<Check> {
  const { url } = config.smtp;
  for (const relay of config.relays?.list ?? []) {
    const { session } = relayOptions(config, relay);
    yield await relayCheck(`relay ${relay.name}`, `url of ${relay.name} in SEALPOST_RELAYS`, relay.url, session);
  }
  if (url !== undefined) yield await relayCheck('relay', 'SEALPOST_SMTP_URL', url, smtpSession(config));
  if (!hasRelay(config)) yield ok('relay', 'none is set: mails go to the built-in mailbox');
}

/** `setting`: where its URL is set. */
const relayCheck = async (check: string, setting: string, url: string, session: SmtpSession): Promise<Check> => {
  try {
    const tried = await trySession(url, session, ANSWERS_WITHIN_MS);
    if ('fault' in tried)
      return fault(
        check,
        `${tried.host} takes no session: ${wordsOf(tried.fault)}`,
        `we greet as ${tried.name} (SEALPOST_SMTP_NAME); mail is held until it does; see ${setting}`,
      );
    const { host, name, isEncrypted, isLoggedIn } = tried;
    const says = `${host} takes a session from ${name}, ${isEncrypted ? 'encrypted' : 'in clear'}, ${isLoggedIn ? 'with' : 'without'} a login`;
    const isOpen = !isEncrypted && !isLoopback(host.slice(0, host.lastIndexOf(':')));
    return isOpen ? warning(check, says, `add ?tls=required to ${setting}, or use smtps://`) : ok(check, says);
  } catch (thrown) {
    return fault(check, thrown instanceof Error ? thrown.message : 'cannot be used', `see ${setting}`);
  }
};

/** The reply in the relay's words, and the rule by which it is understood. */
const wordsOf = ({ rule, text }: RecipientOutcome): string => `${text.trim().replaceAll(/\s+/g, ' ')} (${rule})`;

function* directoryChecks(config: Config): Generator<Check> {
  const { dataDir } = config;
  const isPrivate = (statSync(dataDir).mode & 0o077) === 0;
  if (!isPrivate) yield warning('data', `${dataDir} can be read by others on this machine`, `chmod 700 ${dataDir}`);
  const copied = copyFault(config);
  if (copied !== undefined) yield warning('data', copied);
  const { bavail, bsize } = statfsSync(dataDir);
  const freeMib = Math.floor((bavail * bsize) / MIB);
  if (freeMib >= DISK_FREE_WARNING_MIB) yield ok('disk', `${freeMib} MiB are free`);
  else {
    const level = freeMib < DISK_FREE_FAULT_MIB ? fault : warning;
    yield level('disk', `${freeMib} MiB are free`, 'free space: where none is left, no send is accepted');
  }
  for (const name of readdirSync(dataDir)) {
    const file = join(dataDir, name);
    if (name.endsWith('.replaced'))
      yield warning('restore', `${file} is left of an interrupted restore`, 'repeat the restore with --accept-loss');
    if (name.endsWith('.damaged'))
      yield warning(
        'read models',
        `${file} was damaged and is made anew; it holds addresses in clear`,
        'delete that file',
      );
    if (name === 'first-key')
      yield warning(
        'first key',
        `${file} holds a key that nobody has been shown`,
        'start the service: it shows the key once',
      );
  }
}

const ACCESS = 'give it to the user of the service (chown, chmod u+rwX), or mount its disk for writing';

/** Out: whether the log or the keys are damaged, or any file cannot be used, so that no store should be opened. */
async function* fileChecks(config: Config): AsyncGenerator<Check, boolean> {
  let isDamaged = false;
  for (const database of databaseFiles(config)) {
    let damage: string | undefined;
    try {
      damage = damageOfFile(database);
    } catch (thrown) {
      isDamaged = true;
      const why = accessFault(database.file);
      if (why !== undefined) yield fault('file', why, ACCESS);
      else
        yield fault(
          'file',
          `${database.file} cannot be used (${thrown instanceof Error ? thrown.message : 'unknown fault'})`,
        );
      continue;
    }
    if (damage === undefined) yield ok('file', `${database.file} is whole`);
    else {
      if (database.store === 'log' || database.store === 'keys') isDamaged = true;
      const tell = database.store === 'readModels' || database.store === 'mailbox' ? warning : fault;
      yield tell('file', `${database.file} is damaged (${damage})`, helpOfDamage(database));
    }
  }
  return isDamaged;
}

async function* storeChecks(config: Config, sendTo: string | undefined): AsyncGenerator<Check> {
  let engine: Engine;
  try {
    engine = await openEngine({ ...config, logLevel: 'silent' });
  } catch (thrown) {
    yield fault('stores', thrown instanceof Error ? thrown.message : 'cannot be opened');
    return;
  }
  try {
    const findings = await checkStores(checkable(engine));
    for (const { message, isTold } of findings)
      yield isTold === true ? warning('stores', message) : fault('stores', message);
    if (stoppingFindings(findings).length > 0) return;
    if (findings.length === 0)
      yield ok('stores', 'log, keys, files and read models belong together, and none is older than the others');
    yield await clockCheck(config, engine);
    yield await senderCheck(config, engine);
    yield* domainChecks(config, engine);
    if (sendTo !== undefined) yield await testMail(config, engine, sendTo);
    yield await sealCheck(engine);
    yield* partChecks(engine);
    yield* readModelChecks(engine);
  } catch (thrown) {
    yield fault(
      'stores',
      `what follows could not be checked: ${thrown instanceof Error ? thrown.message : 'unknown fault'}`,
    );
  } finally {
    await engine.close();
  }
}

const senderCheck = async (config: Config, engine: Engine): Promise<Check> => {
  const { accountSender } = config;
  if (!hasRelay(config)) return ok('sender', 'mails go to the built-in mailbox, from any sender');
  if (accountSender === undefined || isSampleSender(accountSender.email))
    return fault(
      'sender',
      'mails about accounts have none of their own',
      'set SEALPOST_ACCOUNT_SENDER; the service does not start without it',
    );
  if (!(await lacksSender(engine)))
    return ok('sender', 'the first team and mails about accounts have senders of their own');
  return warning(
    'sender',
    'the first team has none of its own, so the relay gets no mail of it that names none (SENDER_NOT_SET)',
    "sealpost team set --from 'Example <hello@example.com>'",
  );
};

const clockCheck = async (config: Config, { eventLog, clock }: Engine): Promise<Check> => {
  const nowMs = clock.now();
  const lastMs = (await newestEventMs(eventLog)) ?? nowMs;
  if (lastMs - nowMs > CLOCKS_APART_MS)
    return fault(
      'clock',
      `it is ${isoTime(nowMs)} here, but the log ends at ${isoTime(lastMs)}`,
      'set the clock of this machine, by NTP',
    );
  const waitMs = notedWaitMs(config);
  if (waitMs === 0) return ok('clock', `it is ${isoTime(nowMs)} here, and no event is later`);
  return warning(
    'clock',
    `nobody can tell whether it was set: nothing is destroyed by its age for ${counted(Math.ceil(waitMs / HOUR_MS), 'hour')}`,
    `sealpost clock confirm, if it is ${isoTime(nowMs)} now`,
  );
};

/** The records of each sender domain as the DNS has them now, and that of the key of the settings. */
async function* domainChecks({ dkim, dnsServers }: Config, engine: Engine): AsyncGenerator<Check> {
  const signal = AbortSignal.timeout(DNS_WITHIN_MS);
  if (dkim !== undefined) {
    const key = { selector: dkim.selector, ...publicKeyOf(dkim.privateKey) };
    const name = dkimName(dkim.domain, dkim.selector);
    const found = dkimFound(key, await openResolver({ servers: dnsServers }).txt(name, signal));
    const help = 'receivers cannot check its signatures: set the record to the public key of SEALPOST_DKIM_PRIVATE_KEY';
    yield found === 'right'
      ? ok('domain', `${name} has the key of the settings`)
      : warning('domain', `${name} is ${found}`, help);
  }
  let right = 0;
  let count = 0;
  for await (const domain of allDomains(engine)) {
    count += 1;
    const check = domainCheck(domain, await lookUpDomain(engine, domain, signal));
    if (check === undefined) right += 1;
    else yield check;
  }
  if (count === 0) yield ok('domain', 'no team has a sender domain of its own (POST /api/domains)');
  else if (right > 0) yield ok('domain', `${counted(right, 'sender domain')} of ${count} verified, with every record`);
}

/** Only teams that are there. */
async function* allDomains({ eventLog, senderDomains, team }: Engine): AsyncGenerator<SenderDomain> {
  for await (const { events } of eventLog.readAll(0, { kinds: ['team'], types: ['TeamCreated'], decrypt: [] }))
    for (const { stream } of events) {
      const id = assertDefined(parseTeamId(splitStream(stream).id), 'team id');
      const { state } = await team(teamStream(id));
      if (state === undefined || state.deletedAt !== undefined) continue;
      yield* (await senderDomains(senderDomainsStream(id))).state?.domains ?? [];
    }
}

const faultsOf = ({ dkim, spf, dmarc, returnPath }: LookedUp): readonly string[] =>
  [
    ...dkim.map(({ selector, found }) => [`DKIM (${selector})`, found] as const),
    ['SPF', spf] as const,
    ['DMARC', dmarc] as const,
    ...(returnPath === undefined
      ? []
      : ([
          ['return path MX', returnPath.mx],
          ['return path SPF', returnPath.spf],
        ] as const)),
  ].flatMap(([name, found]) => (found === 'right' ? [] : [`${name} ${found === 'unknown' ? 'not answered' : found}`]));

/** Undefined: the domain is verified, and every record is right. */
const domainCheck = ({ id, domain, status, signing }: SenderDomain, found: LookedUp): Check | undefined => {
  const isVerified = status === 'verified';
  const notRight = faultsOf(found);
  if (notRight.length === 0)
    return isVerified
      ? undefined
      : warning('domain', `${domain} is ${status}, and its records are right`, `POST /api/domains/${id}/verify`);
  const isSeen = (selector: string): boolean =>
    ['right', 'unknown'].includes(found.dkim.find((one) => one.selector === selector)?.found ?? '');
  const isUnsigned = isVerified && signing.some(({ selector }) => !isSeen(selector));
  return (isUnsigned ? fault : warning)(
    'domain',
    `${domain} is ${status}, but not every record is right: ${notRight.join(', ')}`,
    `GET /api/domains/${id} lists its records`,
  );
};

/**
 * One mail by the relay, from the sender that mails of the first team have. It is no email of the log: nothing is
 * counted or recorded.
 */
const testMail = async (config: Config, engine: Engine, to: string): Promise<Check> => {
  const name = 'test mail';
  const { dkim } = config;
  if (!hasRelay(config)) return fault(name, 'nothing was sent: no relay is set', 'name it in SEALPOST_SMTP_URL');
  const teamId = await firstTeam(engine);
  const from = teamId === undefined ? undefined : await senderOf(config, engine, teamId);
  if (teamId === undefined || from === undefined)
    return fault(name, 'nothing was sent: no sender is set', "sealpost team set --from 'Example <hello@example.com>'");
  const signWith = await openDomainKeys(engine)(teamId, domainOfAddress(from.email));
  const relay = firstRelay(config, teamId, from);
  const mailer = openSmtpMailer({
    ...(relay === undefined
      ? {
          url: config.smtp.url!,
          final: config.smtp.final,
          session: smtpSession(config),
          ...(dkim === undefined ? {} : { dkim }),
        }
      : relayOptions(config, relay)),
    connectionsMax: 1,
    logger: engine.logger,
  });
  const sender =
    relay?.returnPath === undefined || relay.returnPath === 'sender' ? from.email : relay.returnPath.address;
  const message = {
    envelope: { from: sender, to: [to] },
    ...testMessage(engine, from, to),
    ...(signWith === undefined ? {} : { signWith }),
  };
  let outcome: RecipientOutcome | undefined;
  try {
    const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
    const lent = await mailer.lend({ priority: 'high', signal }, (send) => send(message, signal));
    if (lent.kind === 'used') [outcome] = lent.result.recipients;
    if (lent.kind === 'host-away') outcome = lent.fault;
  } finally {
    await mailer.close();
  }
  const signed =
    relay?.signs === false
      ? `, by the relay ${relay.name}, which signs`
      : signWith !== undefined
        ? ', signed by its domain'
        : dkim === undefined
          ? ', not signed here'
          : `, signed by ${dkim.domain}`;
  const words = outcome === undefined ? 'no answer in time' : wordsOf(outcome);
  if (outcome?.result === 'accepted') return ok(name, `from ${from.email}${signed}: ${words}`);
  return fault(
    name,
    `from ${from.email}${signed}, was not taken: ${words}`,
    'the relay says why; docs/bounces.md explains the rules',
  );
};

/** The relay of the file that a mail of normal priority from that sender tries first; undefined without a file. */
const firstRelay = ({ relays }: Config, team: TeamId, from: Recipient): RelaySettings | undefined => {
  if (relays === undefined) return undefined;
  const senderDomain = domainOfAddress(from.email).toLowerCase();
  const [first] = relaysFor(relays.rules, { team, senderDomain, tags: [], priority: 'normal', test: false });
  return relays.list.find(({ name }) => name === first);
};

const senderOf = async (
  { accountSender }: Config,
  { team }: Engine,
  teamId: TeamId,
): Promise<Recipient | undefined> => {
  const own = (await team(teamStream(teamId))).state?.settings.defaultFrom;
  return own === undefined || isSampleSender(own.email) ? accountSender : own;
};

const testMessage = ({ clock, ids }: Engine, from: Recipient, to: string) => {
  const messageId = `<${ids.uuid()}@${domainOfAddress(from.email)}>`;
  const raw = composeMessage({
    from: { address: from.email, name: from.name },
    to: [{ address: to }],
    subject: 'Test mail of sealpost',
    date: isoTime(clock.now()),
    messageId,
    text: 'This mail was sent by `sealpost doctor --send`. Its headers show how it came: SPF, DKIM and DMARC as your host has checked them.\n',
  });
  return { messageId, raw };
};

const sealCheck = async ({ sealing, sealKey }: Engine): Promise<Check> => {
  try {
    await sealKey();
  } catch (thrown) {
    return fault('seals', thrown instanceof Error ? thrown.message : 'nobody can tell under which key they are');
  }
  const derived =
    'the log is sealed under a key derived from the master key: SEALPOST_SEAL_KEY, kept elsewhere, finds also who has that';
  return ok('seals', sealing.isSet ? 'the log is sealed under a key of its own' : derived);
};

/** The whole log is read. */
async function* partChecks(engine: Engine): AsyncGenerator<Check> {
  const { keys, files } = await missingParts(
    { ...engine, files: engine.noted.files },
    { keysAfter: await givenUp(engine, 'keys'), filesAfter: await givenUp(engine, 'files'), isThorough: true },
  );
  const [firstKey] = [...keys.keys()].sort(
    (one, other) => Number(isOfOriginsAlone([one])) - Number(isOfOriginsAlone([other])),
  );
  if (firstKey === undefined) yield ok('keys', 'every key is there that the log names and does not say is destroyed');
  else if (isOfOriginsAlone([firstKey]))
    yield warning(
      'keys',
      `${countedMissing(keys.size, 'key')} by which the audit log tells from where was called, and no other`,
    );
  else
    yield fault(
      'keys',
      `${countedMissing(keys.size, 'key')}, that of ${firstKey} first`,
      `put back the newest ${engine.noted.keys.place}, or a backup (sealpost restore)`,
    );
  if (files[0] === undefined) yield ok('files', 'every file is there that the log names');
  else
    yield fault(
      'files',
      `${countedMissing(files.length, 'file')}, ${files[0]} first`,
      `put back what is missing in ${engine.noted.files.place}, or a backup (sealpost restore)`,
    );
  let unreadable = 0;
  for await (const _event of unreadableEvents(engine.eventLog, () => {})) unreadable += 1;
  if (unreadable === 0) yield ok('events', 'every event can be read');
  else
    yield fault(
      'events',
      `${counted(unreadable, 'event')} cannot be read; only their streams are affected`,
      'sealpost events unreadable lists them; sealpost verify tells more',
    );
}

const countedMissing = (count: number, what: string): string =>
  `${counted(count, what)} ${count === 1 ? 'is' : 'are'} missing`;

async function* readModelChecks(engine: Engine): AsyncGenerator<Check> {
  const checkpoints = await checkable(engine).checkpoints();
  const head = await engine.store.head();
  const most = Math.max(0, ...checkpoints.map(({ position }) => head - position));
  yield ok(
    'read models',
    most === 0 ? 'have every event' : `lack ${counted(most, 'event')} at most; a running service adds them`,
  );
}
