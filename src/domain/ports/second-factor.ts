/** Codes of one moment (RFC 6238) that an app on the person's telephone makes. */

export type SecondFactors = Readonly<{
  /** A fresh secret in base32. */
  newSecret: () => string;
  /** Text of the QR code for the authenticator app: `otpauth://…`. */
  uri: (secret: string, account: string) => string;
  /** The step whose code it is, of the present one and the one before and after; undefined where it is of none. */
  stepOf: (secret: string, code: string, nowMs: number) => number | undefined;
}>;
