/** What is recorded of the readers of a mail: the call says it, else the template, else the team; by default nothing. */

export type Tracking = Readonly<{ opens: boolean; clicks: boolean }>;

/** With the address of the service that pixel and links lead to, as it was when the mail was accepted. */
export type PinnedTracking = Tracking & Readonly<{ url: string }>;

export const NO_TRACKING: Tracking = { opens: false, clicks: false };

/** The first that is given. */
export const firstTracking = (...given: readonly (Tracking | null | undefined)[]): Tracking =>
  given.find((tracking): tracking is Tracking => tracking !== undefined && tracking !== null) ?? NO_TRACKING;
