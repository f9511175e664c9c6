/** Makes the dependencies of all commands from the ports. */
import { openAttachmentClaims } from './documents/storage.js';
import { openBacklog } from './email/backlog.js';
import { keepingOrigins, openCallOrigins } from './access/origins.js';
import { openCreditsAccounts } from './billing/credits.js';
import type { KnownToken, CommandPorts, CommandDeps } from './core/deps.js';
import { joinedCalls } from './core/idempotency.js';
import { openHasSuppressions } from './recipients/suppression-check.js';
import { readingSessionsAhead } from './access/tokens.js';
import { openStateCache } from './core/state-cache.js';
import type { TokenParties } from '../domain/ports/access-tokens.js';
import { activityDecider } from '../domain/billing/inactivity.js';
import { attachmentTemplateDecider } from '../domain/templates/attachment-template.js';
import { apiKeyDecider } from '../domain/keys/decider.js';
import { splitStream } from '../domain/core/ids.js';
import type { EventStore } from '../domain/ports/event-store.js';
import { oauthAppDecider } from '../domain/apps/app.js';
import { grantDecider } from '../domain/apps/grant.js';
import { emptyTokenList, evolveTokenList } from '../domain/apps/tokens.js';
import { domainClaimsFold, openClaimPlaces } from './domains/claims.js';
import { senderDomainDecider } from '../domain/domains/decider.js';
import { sessionDecider } from '../domain/people/session.js';
import { evolveTokenKey, type TokenKeyState } from '../domain/people/token-keys.js';
import { evolveUser, type UserState } from '../domain/people/user.js';
import { boundedCache } from '../shared/cache.js';
import { evolveTeam, type TeamState } from '../domain/teams/state.js';
import { evolveSlug } from '../domain/templates/decider.js';
import { templateDecider } from '../domain/templates/email-template.js';

const STATES_MAX = 1_000;

/** The keys of the present period and of those before and after it. */
const TOKEN_KEYS_MAX = 8;

export type StatePorts = Readonly<{
  store: Pick<EventStore, 'head' | 'subscribeAll'>;
  /** True if it is known that no other process serves requests from these stores. */
  servesAlone: () => Promise<boolean>;
}>;

export const makeCommandDeps = ({ store, servesAlone, ...ports }: CommandPorts & StatePorts): CommandDeps => {
  const freshnessMs = ports.limits.stateFreshnessMs;
  const states = openStateCache({ eventLog: ports.eventLog, store, clock: ports.clock, freshnessMs });
  const origins = openCallOrigins(states.eventLog);
  const eventLog =
    ports.withoutOrigins === true ? states.eventLog : { ...states.eventLog, append: keepingOrigins(states.eventLog, origins) };
  const team = states.loader({ evolve: evolveTeam, initialState: undefined as TeamState }, STATES_MAX);
  const user = states.loader({ evolve: evolveUser, initialState: undefined as UserState }, STATES_MAX * 10, { decrypt: [] });
  const session = states.loader(sessionDecider, STATES_MAX * 10, { decrypt: [] });
  const tokens = {
    tokenKey: states.loader({ evolve: evolveTokenKey, initialState: undefined as TokenKeyState }, TOKEN_KEYS_MAX),
    knownTokens: boundedCache<string, KnownToken>({ entriesMax: ports.limits.accessTokensKept }),
    tokenParties: partiesOf(ports),
  };
  const ahead = readingSessionsAhead({ ...ports, ...tokens, session, user });
  return {
    ...ports,
    eventLog,
    origins,
    credits: openCreditsAccounts({ eventLog, team, clock: ports.clock }),
    hasSuppressions: openHasSuppressions({ team, clock: ports.clock, freshnessMs }),
    template: states.loader(templateDecider, STATES_MAX),
    attachmentTemplate: states.loader(attachmentTemplateDecider, STATES_MAX),
    slug: states.loader({ evolve: evolveSlug, initialState: undefined }, STATES_MAX),
    team,
    apiKey: states.loader(apiKeyDecider, STATES_MAX * 10),
    oauthApp: states.loader(oauthAppDecider, STATES_MAX),
    oauthGrant: states.loader(grantDecider, STATES_MAX),
    oauthTokens: states.loader({ evolve: evolveTokenList, initialState: emptyTokenList }, STATES_MAX),
    activity: states.loader(activityDecider, STATES_MAX, { absent: true }),
    user,
    session,
    ...tokens,
    senderDomains: states.loader(senderDomainDecider, STATES_MAX, { absent: true, decrypt: [] }),
    domainClaims: states.loader(domainClaimsFold, STATES_MAX, { absent: true }),
    claimPlaces: openClaimPlaces(ports),
    joinSends: joinedCalls(),
    joinBulkSends: joinedCalls(),
    backlog: openBacklog(ports.limits),
    attachmentClaims: openAttachmentClaims(ports.limits),
    followStates: (signal, serving) =>
      states.follow(signal, serving && ((stream) => void (splitStream(stream).kind === 'session' && ahead(stream)))),
    statesCaughtUp: states.caughtUp,
    whenHeldEverywhere: async () => {
      if (!(await servesAlone())) await ports.clock.sleep(freshnessMs, new AbortController().signal);
    },
  };
};

/** The audience is derived from the master key: tokens of another instance are for another audience, even under the same address. */
const partiesOf = ({ keys, people }: Pick<CommandPorts, 'keys' | 'people'>): TokenParties => ({
  issuer: people.publicUrl,
  audience: `sealpost:${keys.fingerprint('instance', '').slice(0, 16)}`,
});
