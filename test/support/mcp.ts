/** The official MCP client, over a server that does not listen, or at its address. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Test } from 'tap';

type Injects = Readonly<{
  inject: (options: {
    method: 'GET' | 'POST' | 'DELETE';
    url: string;
    headers: Record<string, string>;
    payload?: string;
    remoteAddress: string;
  }) => Promise<Readonly<{ statusCode: number; headers: Readonly<Record<string, unknown>>; body: string }>>;
}>;

/** Takes the calls of the client to the server. */
const fetchFrom =
  (server: Injects) =>
  async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const request = new Request(input, init);
    const payload = await request.text();
    const given: Record<string, string> = {};
    request.headers.forEach((value, name) => (given[name] = value));
    const { statusCode, headers, body } = await server.inject({
      method: request.method as 'GET' | 'POST' | 'DELETE',
      url: new URL(request.url).pathname,
      headers: given,
      ...(payload === '' ? {} : { payload }),
      remoteAddress: '127.0.0.1',
    });
    const isEmpty = statusCode === 202 || statusCode === 204;
    return new Response(isEmpty ? null : body, {
      status: statusCode,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    });
  };

type Era = 'legacy' | 'auto';

export type Called = Readonly<{
  isError: boolean;
  text: string;
  /** The structured part; `{}` of an error. */
  answer: Readonly<Record<string, unknown>>;
}>;

export type Connected = Readonly<{
  client: Client;
  names: () => Promise<readonly string[]>;
  call: (name: string, args?: Record<string, unknown>) => Promise<Called>;
}>;

/** `server`: a URL where it listens. `era`: `auto` speaks the protocol of 2026-07-28, `legacy` begins with `initialize`. */
export const connectMcp = async (
  t: Pick<Test, 'teardown'>,
  server: Injects | URL,
  token: string,
  era: Era = 'auto',
): Promise<Connected> => {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: era } });
  const transport = new StreamableHTTPClientTransport(
    server instanceof URL ? server : new URL('http://127.0.0.1:3000/mcp'),
    {
      ...(server instanceof URL ? {} : { fetch: fetchFrom(server) }),
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    },
  );
  await client.connect(transport);
  t.teardown(() => client.close());
  return {
    client,
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => {
      const { content, structuredContent, isError = false } = await client.callTool({ name, arguments: args });
      const [first] = content;
      return {
        isError,
        text: first?.type === 'text' ? first.text : '',
        answer: (structuredContent ?? {}) as Readonly<Record<string, unknown>>,
      };
    },
  };
};
