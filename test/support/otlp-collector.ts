/** A collector for tests: takes spans by OTLP over HTTP in protobuf, reads them, or behaves badly. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

export type ReceivedSpan = Readonly<{
  traceId: string;
  spanId: string;
  /** Empty where there is none. */
  parent: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Readonly<Record<string, string | number | boolean>>;
  links: readonly Readonly<{ traceId: string; spanId: string }>[];
  isError: boolean;
  resource: Readonly<Record<string, unknown>>;
}>;

export type Collector = Readonly<{
  /** To be set as OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  spans: readonly ReceivedSpan[];
  requests: () => number;
  headers: () => IncomingHttpHeaders | undefined;
  /** `takes`: reads and answers 200; `hangs`: never answers; a number: answers that status. */
  behave: (how: 'takes' | 'hangs' | number) => void;
  close: () => Promise<void>;
}>;

type Field = Readonly<{ no: number; value: Buffer | bigint }>;

/** The fields of one message, in order. */
const fieldsOf = (bytes: Buffer): readonly Field[] => {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = bytes[at]!;
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
      shift += 7n;
    }
  };
  const take = (size: number): Buffer => {
    at += size;
    if (at > bytes.length) throw new Error('a message ends too early');
    return bytes.subarray(at - size, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [no, wire] = [tag >> 3, tag & 7];
    if (wire === 0) fields.push({ no, value: varint() });
    else if (wire === 1) fields.push({ no, value: take(8) });
    else if (wire === 2) fields.push({ no, value: take(Number(varint())) });
    else if (wire === 5) fields.push({ no, value: take(4) });
    else throw new Error(`wire type ${wire}`);
  }
  return fields;
};

const all = (fields: readonly Field[], no: number): readonly Buffer[] =>
  fields.flatMap((field) => (field.no === no && Buffer.isBuffer(field.value) ? [field.value] : []));
const bytesOf = (fields: readonly Field[], no: number): Buffer => all(fields, no).at(-1) ?? Buffer.alloc(0);
const numberOf = (fields: readonly Field[], no: number): number => {
  const value = fields.findLast((field) => field.no === no)?.value;
  return typeof value === 'bigint' ? Number(BigInt.asIntN(64, value)) : 0;
};

const attributesOf = (fields: readonly Field[], no: number): Readonly<Record<string, string | number | boolean>> =>
  Object.fromEntries(
    all(fields, no).map((bytes) => {
      const pair = fieldsOf(bytes);
      const [given] = fieldsOf(bytesOf(pair, 2));
      return [bytesOf(pair, 1).toString(), given === undefined ? '' : plainOf(given)];
    }),
  );

const plainOf = ({ no, value }: Field): string | number | boolean => {
  if (no === 2) return value === 1n;
  if (typeof value === 'bigint') return Number(BigInt.asIntN(64, value));
  return no === 4 ? value.readDoubleLE() : value.toString();
};

const idsOf = (fields: readonly Field[]) => ({
  traceId: bytesOf(fields, 1).toString('hex'),
  spanId: bytesOf(fields, 2).toString('hex'),
});
const msOf = (bytes: Buffer): number => Number(bytes.readBigUInt64LE()) / 1e6;

const spanOf = (bytes: Buffer, resource: ReceivedSpan['resource']): ReceivedSpan => {
  const fields = fieldsOf(bytes);
  return {
    ...idsOf(fields),
    parent: bytesOf(fields, 4).toString('hex'),
    name: bytesOf(fields, 5).toString(),
    kind: numberOf(fields, 6),
    startMs: msOf(bytesOf(fields, 7)),
    endMs: msOf(bytesOf(fields, 8)),
    attributes: attributesOf(fields, 9),
    links: all(fields, 13).map((link) => idsOf(fieldsOf(link))),
    isError: numberOf(fieldsOf(bytesOf(fields, 15)), 3) === 2,
    resource,
  };
};

const spansOf = (request: Buffer): readonly ReceivedSpan[] =>
  all(fieldsOf(request), 1).flatMap((ofResource) => {
    const fields = fieldsOf(ofResource);
    const resource = attributesOf(fieldsOf(bytesOf(fields, 1)), 1);
    return all(fields, 2).flatMap((ofScope) => all(fieldsOf(ofScope), 2).map((span) => spanOf(span, resource)));
  });

export const openCollector = async (): Promise<Collector> => {
  const spans: ReceivedSpan[] = [];
  let how: 'takes' | 'hangs' | number = 'takes';
  let requests = 0;
  let headers: IncomingHttpHeaders | undefined;
  const server = createServer((request, response) => {
    requests += 1;
    headers = request.headers;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (how === 'hangs') return;
      if (typeof how === 'number') return void response.writeHead(how).end();
      if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/x-protobuf')
        return void response.writeHead(404).end();
      const body = Buffer.concat(chunks);
      spans.push(...spansOf(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests: () => requests,
    headers: () => headers,
    behave: (next) => (how = next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
