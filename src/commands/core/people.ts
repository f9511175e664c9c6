/** What the commands on people are made of. */
import type { AccessTokens } from '../../domain/ports/access-tokens.js';
import type { Passwords } from '../../domain/ports/passwords.js';
import type { SecondFactors } from '../../domain/ports/second-factor.js';
import type { Registration } from '../../domain/people/registration.js';

export type PeoplePorts = Readonly<{
  passwords: Passwords;
  accessTokens: AccessTokens;
  secondFactors: SecondFactors;
  /** A text as a QR code (PNG), which the camera of a telephone reads. */
  drawCode: (text: string) => Buffer;
  /** Who gives the tokens, as they say it. */
  publicUrl: string;
  registration: Registration;
  /** Nobody but this machine reaches the service: the first user needs no token. */
  isOnLoopback: boolean;
}>;
