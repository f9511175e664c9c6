/** How long what apps are given is good, in milliseconds. */
import { DAY_MS } from '../core/time.js';

export const CODE_MS = 10 * 60_000;
export const ACCESS_TOKEN_MS = 60 * 60_000;
export const REFRESH_TOKEN_MS = 30 * DAY_MS;
