/** A mailbox as the program knows it. */

/** `email` is an addr-spec (RFC 5322, section 3.4.1), `name` the display name. */
export type Recipient = { email: string; name?: string };
