/** `sealpost replay`: the events as auditors read them, sealed fields opened where the key still lives. */
import { eventSchemas, type Recorded } from '../domain/events.js';
import { parseEmailId } from '../domain/core/ids.js';
import type { StreamName } from '../domain/core/ids.js';
import { NOT_SHOWN, withoutSecrets } from './not-shown.js';
import { print, printFault, unreadableLine } from './core/output.js';
import { isReadable, type Unreadable } from '../event-log/decoding.js';
import { withEngine } from './core/engine.js';

export type ReplayOptions = Readonly<{ all?: boolean; from?: string; json?: boolean }>;

export const replay = (stream: string | undefined, options: ReplayOptions): Promise<void> =>
  withEngine(async (engine) => {
    if ((stream === undefined) === (options.all !== true)) throw new Error('name one stream (for example email-<id>), or --all');
    const from = options.from === undefined ? 1 : Number(options.from);
    if (!Number.isSafeInteger(from) || from < 1) throw new Error(`--from ${options.from} is not a position; positions count from 1`);
    const show = options.json === true ? showJson : showText;
    const showOne = (one: Recorded | Unreadable): void => (isReadable(one) ? show(one) : printFault(unreadableLine(one)));
    if (stream === undefined) {
      for await (const { events, unreadable } of engine.eventLog.readAll(from - 1, { unknown: 'listed' })) {
        const all = unreadable.length === 0 ? events : [...events, ...unreadable].sort((a, b) => a.position - b.position);
        all.forEach(showOne);
      }
      return;
    }
    const name = (parseEmailId(stream) === undefined ? stream : `email-${stream}`) as StreamName;
    const events = await engine.eventLog.inspect(name);
    if (events.length === 0)
      throw new Error(`there is no stream ${name}; streams are named email-<id>, template-<id>, apiKey-<id>, team-<id>, ledger`);
    events.filter(({ position }) => position >= from).forEach(showOne);
  });

const DESTROYED = 'destroyed';

const sealedPart = ({ event }: Recorded): unknown => {
  if (!('sealed' in eventSchemas[event.type])) return undefined;
  if (!('sealed' in event) || event.sealed === undefined) return DESTROYED;
  const sealed = withoutSecrets(event.sealed);
  // Of mails whose links let somebody in.
  const isConfidential = 'confidential' in event.data && event.data.confidential === true;
  return isConfidential ? { ...sealed, variables: NOT_SHOWN, attachments: NOT_SHOWN } : sealed;
};

const showJson = (recorded: Recorded): void => {
  const { position, stream, revision, hash, metadata, event } = recorded;
  const sealed = sealedPart(recorded);
  print(
    JSON.stringify({
      position,
      stream,
      revision,
      type: event.type,
      data: event.data,
      ...(sealed === undefined ? {} : { sealed }),
      metadata,
      hash,
    }),
  );
};

const showText = (recorded: Recorded): void => {
  const { position, stream, revision, metadata, event } = recorded;
  print(`${position}  ${metadata.occurredAt}  ${stream}@${revision}  ${event.type}  by ${metadata.actor}`);
  print(`    data   ${JSON.stringify(event.data)}`);
  const sealed = sealedPart(recorded);
  if (sealed !== undefined) print(`    sealed ${sealed === DESTROYED ? DESTROYED : JSON.stringify(sealed)}`);
};
