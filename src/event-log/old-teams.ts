/** Streams of teams that were removed so long ago that the audit log tells nothing of them, and whose events are still in the log. */
import { isRetired, type LookForOld, type OldStream, type OldStreams, type OldStreamsDeps } from './old-streams.js';
import { teamOverAt } from '../domain/access/months.js';
import type { EventType, StreamKind } from '../domain/events.js';
import { splitStream, type StreamName } from '../domain/core/ids.js';

/** Those, beside that of the team itself, in which something stands in clear that a team has called or written. */
export const teamKinds = [
  'template',
  'attachmentTemplate',
  'apiKey',
  'senderDomains',
  'oauthClient',
] as const satisfies readonly StreamKind[];

/** With one of these each of them begins. */
const begunBy: readonly EventType[] = ['TemplateCreated', 'ApiKeyCreated', 'SenderDomainAdded', 'OAuthAppRegistered'];

/** At most `limit`. The stream of a team itself is among them once all others are gone, for by it they are found. */
export const oldTeamStreams = async (deps: OldStreamsDeps, nowMs: number, look: LookForOld): Promise<OldStreams> => {
  const { teams, nextMs } = await oldTeams(deps, nowMs, look);
  if (teams.size === 0) return { over: [], nextMs };
  const over: OldStream[] = [];
  const seen = new Set<string>();
  const others = new Set<string>();
  const signal = look.signal && { signal: look.signal };
  for await (const { events } of deps.eventLog.readAll(0, { kinds: teamKinds, types: begunBy, decrypt: [], ...signal })) {
    for (const { stream, metadata } of events) {
      const overMs = teams.get(metadata.teamId);
      if (overMs === undefined || seen.has(stream)) continue;
      seen.add(stream);
      if (await isRetired(deps, stream as StreamName)) continue;
      others.add(metadata.teamId);
      over.push({ stream: stream as StreamName, overMs });
      if (over.length >= look.limit) return { over, nextMs };
    }
  }
  for (const [id, overMs] of teams) if (!others.has(id)) over.push({ stream: `team-${id}` as StreamName, overMs });
  return { over: over.slice(0, look.limit), nextMs };
};

/** Since when each is over, by its id. */
const oldTeams = async (
  deps: OldStreamsDeps,
  nowMs: number,
  { signal }: LookForOld,
): Promise<Readonly<{ teams: ReadonlyMap<string, number>; nextMs: number | undefined }>> => {
  const teams = new Map<string, number>();
  let nextMs: number | undefined;
  const options = { kinds: ['team'], types: ['TeamErased'], decrypt: [], ...(signal && { signal }) } as const;
  for await (const { events } of deps.eventLog.readAll(0, options)) {
    for (const { event, stream } of events) {
      if (event.type !== 'TeamErased') continue;
      const overMs = teamOverAt(event.data.at, deps.limits.auditDays);
      if (overMs > nowMs) nextMs = Math.min(overMs, nextMs ?? overMs);
      else if (!(await isRetired(deps, stream as StreamName))) teams.set(splitStream(stream).id, overMs);
    }
  }
  return { teams, nextMs };
};
