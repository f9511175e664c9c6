/** The client of sealpost: `createClient({ url, key })`. */
export { createClient, type Client, type WebhookEvent } from './operations.js';
export { SealpostError, type Code, type FieldFault } from './errors.js';
export type { CallOptions, ClientOptions } from './http.js';
export type { Content, Email } from './content.js';
export type { List } from './lists.js';
export { verify, WebhookError, type VerifiedWebhook, type WebhookRequest } from './webhooks.js';
export type * from './types.gen.js';
