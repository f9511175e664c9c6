/** From where people sign in: a place that they never signed in from is told to them by mail. */
import { handle } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import type { CalledFrom } from './sessions.js';
import { tellPerson } from './tell-person.js';
import { userFold } from './addresses.js';
import { monthOf } from '../../domain/access/months.js';
import { callOrigin } from '../../domain/access/origins.js';
import { userStream, type UserId } from '../../domain/core/ids.js';
import type { UserEvent } from '../../domain/people/events.js';
import { deviceOf, networkOf } from '../../domain/people/sign-in-place.js';
import { knowsPlace, newPlacesOn, type User, type UserState } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';

/** Of one day: whoever knows a password and signs in by ever other devices does not fill the mailbox, nor the person's stream. */
const TOLD_MAX = 10;
const KEPT_MAX = 50;

/**
 * To be called before the session begins, of somebody who has shown who they are. They get one mail for each place, however often this is
 * broken off, and no more than some a day; the first place is told to nobody.
 */
export const noteSignInPlace = async (deps: CommandDeps, userId: UserId, user: User, from: CalledFrom, cause: Cause): Promise<void> => {
  const { ipAddress, userAgent } = callOrigin(from.ipAddress, from.userAgent);
  const fingerprint = (what: string, text: string) => deps.keys.fingerprint('sign-in place', JSON.stringify([userId, what, text]));
  const place = { network: fingerprint('network', networkOf(ipAddress)), device: fingerprint('device', deviceOf(userAgent)) };
  const newToday = newPlacesOn(user, cause.at);
  if (knowsPlace(user, place) || newToday >= KEPT_MAX) return;
  if (user.places.size > 0 && newToday < TOLD_MAX) {
    const variables = { network: ipAddress, device: userAgent };
    await tellPerson(deps, userId, user, { kind: 'new-sign-in', about: [place, monthOf(cause.at)], variables }, cause);
  }
  const seen: UserEvent = { type: 'UserSignInPlaceSeen', data: { at: cause.at }, sealed: place };
  const decide = (_: null, now: UserState) => (now === undefined || now.isErased || knowsPlace(now, place) ? [] : [seen]);
  await handle(deps.eventLog, userStream(userId), { decide, ...userFold }, null, cause);
};
