/** Providers by which people sign in (OpenID Connect): who they are comes from the provider, not from a password. */

/** A provider as the operator sets it up. */
export type SignInProvider = Readonly<{
  /** Stands in the paths of its routes. */
  id: string;
  /** Name that people see. */
  label: string;
  /** Its issuer identifier, at which it is discovered (OpenID Connect Discovery 1.0, section 4). */
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: readonly string[];
  /** The domains of addresses that may sign in by it, in lower case; undefined: all. */
  domains: readonly string[] | undefined;
  /**
   * An address of these domains at the provider belongs to the person who has it there: a user with the same verified address is signed in
   * without being asked for the password first.
   */
  isAuthoritative: boolean;
  /** The provider asks for a second factor, so that the user's own is not asked for. */
  asksSecondFactor: boolean;
  /** It may be reached over http and at private addresses. */
  isInternal: boolean;
}>;

/** The secrets of one sign-in. Only the browser that began it knows them. */
export type SignInSecrets = Readonly<{ state: string; nonce: string; verifier: string }>;

/** Checked statements of the provider about a person. `subject`: their id at the provider, which never changes. */
export type ProvidedIdentity = Readonly<{
  issuer: string;
  subject: string;
  email: string | undefined;
  isEmailVerified: boolean;
  name: string | undefined;
}>;

/** `away`: the provider does not answer as it should. `refused`: this sign-in is not good. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly fault: 'away' | 'refused';
  /** `detail` shows no secret and no personal data. */
  constructor(fault: 'away' | 'refused', detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.fault = fault;
  }
}

export type SignInProviders = Readonly<{
  all: readonly SignInProvider[];
  /** Out: the address at the provider to which the browser goes. Rejects with ProviderFault. */
  begin: (provider: SignInProvider, redirectUri: string, secrets: SignInSecrets) => Promise<string>;
  /**
   * In: the query with which the provider sent the browser back. Exchanges the code and checks what comes: issuer,
   * signature, audience, times, nonce and state. Rejects with ProviderFault.
   */
  finish: (
    provider: SignInProvider,
    redirectUri: string,
    answer: Readonly<{ query: string; secrets: SignInSecrets }>,
  ) => Promise<ProvidedIdentity>;
  close: () => Promise<void>;
}>;
