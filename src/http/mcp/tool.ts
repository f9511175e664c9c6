/** The form of a tool: the endpoints that it calls, its schemas, its hints, and its work. */
import { Type, type Static, type TObject, type TProperties } from '@sinclair/typebox';
import type { Caller } from '../../commands/core/caller.js';
import { closed } from '../../api/core/common.js';

/** Method and pattern of an endpoint of the API. */
export type Endpoint = `${'GET' | 'POST' | 'PATCH'} /api/${string}`;

export type Asked = Readonly<{
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}>;

export type ToolContext = Readonly<{
  caller: Caller;
  /**
   * Calls an endpoint with the credential of the caller. Rejects with `Refused` where the endpoint refuses, and if the
   * tool does not name the endpoint.
   */
  call: <Answer>(endpoint: Endpoint, asked?: Asked) => Promise<Answer>;
  /** Whether the permissions of the caller are those that the endpoint asks for. */
  mayCall: (endpoint: Endpoint) => boolean;
  publicUrl: string;
}>;

export type Hints = Readonly<{
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}>;

export type Tool = Readonly<{
  name: string;
  title: string;
  description: string;
  /** Callers without the permission of each of these are not shown the tool, and cannot call it. */
  needs: readonly Endpoint[];
  /** Endpoints that some calls use besides; each refuses for itself. */
  besides?: readonly Endpoint[];
  /** Absent: for every caller with the permissions. */
  isFor?: (caller: Caller) => boolean;
  input: TObject;
  output: TObject;
  hints: Hints;
  run: (input: never, context: ToolContext) => Promise<Readonly<Record<string, unknown>>>;
}>;

/** An endpoint refused the call. */
export class Refused extends Error {
  readonly status: number;
  readonly body: unknown;
  constructor(status: number, body: unknown) {
    super(`an endpoint answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

/** Hints of tools that only read what this service stores. */
export const reading: Hints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Gives the work of a tool the types of its schemas. */
export const tool = <Input extends TObject, Output extends TObject>(
  made: Omit<Tool, 'input' | 'output' | 'run'> &
    Readonly<{
      input: Input;
      output: Output;
      run: (input: Static<Input>, context: ToolContext) => Promise<Static<Output>>;
    }>,
): Tool => made;

/** An object of fields with any name. Not a record of TypeBox, which is a pattern that some clients refuse. */
export const freeObject = (description: string) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true, description });

/** The input of a tool; unknown fields are refused. */
export const inputOf = <Fields extends TProperties>(fields: Fields) => Type.Object(fields, closed);

export const EmailId = Type.String({ format: 'uuid', description: 'Id of the email, from find_emails or a send' });

export const TemplateReference = Type.String({
  pattern: '^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$',
  maxLength: 100,
  description: 'Id (UUID) or slug of the email template',
});

/** A name of ours, such as `mailbox-unknown`. What is none is no fact of ours. */
export const ownName = (text: string | null | undefined): string | null =>
  typeof text === 'string' && /^[A-Za-z][A-Za-z0-9-]{0,59}$/.test(text) ? text : null;
