/** Whom of an email's recipients the team does not write to by now: asked when a connection is there, before the attempt begins. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { suppressedPlaces } from '../../commands/recipients/suppression-check.js';
import { pendingRecipients } from '../../domain/email/copies.js';
import type { EmailCommand } from '../../domain/email/decider.js';
import type { Email } from '../../domain/email/state.js';
import { assertDefined, parseTeamId } from '../../domain/core/ids.js';
import type { MaybePromise } from '../../domain/core/maybe-promise.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Mailer } from '../../domain/ports/mailer.js';

type Deps = Pick<CommandDeps, 'eventLog' | 'keys' | 'hasSuppressions' | 'clock'> & Readonly<{ mailer: Pick<Mailer, 'final'> }>;
type Suppress = Extract<EmailCommand, { type: 'SuppressRecipients' }>;

/** In place of an attempt; undefined where every recipient that is left may be written to. It is no promise where the team has none. */
export const suppressionOf = (deps: Deps, teamId: string, email: Email): MaybePromise<Suppress | undefined> => {
  const team = assertDefined(parseTeamId(teamId), 'team id');
  const has = deps.hasSuppressions(team);
  if (has === false) return undefined;
  return has === true ? ask(deps, team, email) : has.then((does) => (does ? ask(deps, team, email) : undefined));
};

const ask = async (deps: Deps, teamId: Parameters<Deps['hasSuppressions']>[0], email: Email): Promise<Suppress | undefined> => {
  const { content } = email;
  if (content === undefined) return undefined;
  const pending = pendingRecipients(email);
  const places = await suppressedPlaces(
    deps,
    teamId,
    pending.map((index) => content.recipients[index]!),
    email.accepted.unsubscribeList,
  );
  if (places.length === 0) return undefined;
  return {
    type: 'SuppressRecipients',
    at: isoTime(deps.clock.now()),
    recipients: places.map((place) => pending[place]!),
    final: deps.mailer.final,
  };
};
