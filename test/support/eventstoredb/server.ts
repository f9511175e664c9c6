/**
 * A stand-in for EventStoreDB that speaks its protocol to the client library. Its answers were compared with a real
 * server of version 22.10.5 (oracle.test.ts). It has no users, no persistent subscriptions, and tells no subscription
 * that it has caught up.
 */
import grpc, { type ServerDuplexStream, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import features, { type SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js';
import featuresGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import gossip, { type ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import streams, {
  type BatchAppendReq,
  type BatchAppendResp,
  type DeleteReq,
  type DeleteResp,
  type TombstoneReq,
  type TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { Proposed, ServerLog } from './log.js';
import { appendAnswer, callError, expectedIn, nameOf, proposedIn, uuidText, type AppendAnswer } from './messages.js';
import { answerRead, type ReadCall } from './reads.js';

/** Fate of an append: by default it is written and answered. */
export type AppendFate =
  /** It is written and the answer is lost, or it is not written and nobody is told. */
  | 'answer-lost'
  | 'request-lost'
  /** The call ends with an error, after the events were written or before. */
  | 'broken-after'
  | 'broken-before'
  /** It waits until the promise resolves. */
  | Promise<void>
  | undefined;

export type StandInOptions = Readonly<{
  log: ServerLog;
  port?: number;
  /** Asked for each append. */
  fate?: (append: Readonly<{ stream: string; client: string }>) => AppendFate;
  /** The address of the leader, where this node is not it. */
  leader?: () => Readonly<{ host: string; port: number }> | undefined;
  /** A filtered reading ends after so many events were looked at, as a server's may. */
  readsEndAfter?: number;
  /** Speaks TLS with this certificate, and takes these credentials alone. */
  tls?: Readonly<{ key: Buffer; certificate: Buffer; user: string; password: string }>;
  /** The nodes of the cluster, as gossip tells of them. */
  members?: () => readonly Readonly<{ port: number; isLeader: boolean }>[];
}>;

export type StandIn = Readonly<{ port: number; url: string; close: () => Promise<void> }>;

const APPEND_BYTES_MAX = 1_048_576;
const HOST = '127.0.0.1';

export const openStandIn = async (options: StandInOptions): Promise<StandIn> => {
  const server = new grpc.Server({ 'grpc.max_receive_message_length': 32 * 1024 * 1024 });
  server.addService(streamsGrpc.StreamsService as never, {
    read: (call: ReadCall) => {
      if (isForeign(options, call.metadata)) return void call.emit('error', callError(16, 'unauthenticated'));
      if (isRefused(options, call.metadata)) return void call.emit('error', notLeader(options));
      answerRead(options.log, call, options.readsEndAfter).catch((error: Error) => call.emit('error', error));
    },
    batchAppend: (call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>) => {
      if (isForeign(options, call.metadata)) return void call.emit('error', callError(16, 'unauthenticated'));
      answerAppends(options, call);
    },
    append: (_call: unknown, done: sendUnaryData<never>) => done(callError(12, 'unimplemented')),
    batchWrite: (_call: unknown, done: sendUnaryData<never>) => done(callError(12, 'unimplemented')),
    delete: remover<DeleteReq, DeleteResp>(
      options.log,
      false,
      () => new streams.DeleteResp(),
      () => new streams.DeleteResp.Position(),
    ),
    tombstone: remover<TombstoneReq, TombstoneResp>(
      options.log,
      true,
      () => new streams.TombstoneResp(),
      () => new streams.TombstoneResp.Position(),
    ),
  });
  server.addService(featuresGrpc.ServerFeaturesService as never, {
    getSupportedMethods: (_call: unknown, done: sendUnaryData<SupportedMethods>) => done(null, supported()),
  });
  server.addService(gossipGrpc.GossipService as never, {
    read: (_call: unknown, done: sendUnaryData<ClusterInfo>) =>
      done(null, clusterInfo(options.members?.() ?? [{ port, isLeader: true }])),
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${HOST}:${options.port ?? 0}`, credentialsOf(options), (fault, bound) =>
      fault === null ? resolve(bound) : reject(fault),
    );
  });
  return {
    port,
    url: options.tls === undefined ? `esdb://${HOST}:${port}?tls=false` : `esdb://${HOST}:${port}`,
    close: async () => {
      server.forceShutdown();
      options.log.news.emit('more');
    },
  };
};

const credentialsOf = ({ tls }: StandInOptions): grpc.ServerCredentials =>
  tls === undefined
    ? grpc.ServerCredentials.createInsecure()
    : grpc.ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.certificate }]);

const isForeign = ({ tls }: StandInOptions, metadata: grpc.Metadata): boolean =>
  tls !== undefined &&
  metadata.get('authorization')[0] !== `Basic ${Buffer.from(`${tls.user}:${tls.password}`).toString('base64')}`;

const isRefused = ({ leader }: StandInOptions, metadata: grpc.Metadata): boolean =>
  leader?.() !== undefined && metadata.get('requires-leader')[0] === 'true';

const notLeader = ({ leader }: StandInOptions): grpc.ServiceError => {
  const { host, port } = leader!()!;
  return callError(5, 'not-leader', { 'leader-endpoint-host': host, 'leader-endpoint-port': String(port) });
};

type Gathered = { options: BatchAppendReq.Options; events: Proposed[]; bytes: number };

const answerAppends = (given: StandInOptions, call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void => {
  const gathered = new Map<string, Gathered>();
  const client = String(call.metadata.get('connection-name')[0] ?? '');
  const answer = async (id: string, { options, events, bytes }: Gathered): Promise<void> => {
    const stream = nameOf(options.getStreamIdentifier());
    const fate = given.fate?.({ stream, client });
    if (fate instanceof Promise) await fate;
    if (fate === 'request-lost') return;
    if (fate === 'broken-before') return void call.emit('error', callError(14, 'unavailable'));
    const deadline = options.getDeadline()?.toDate().getTime() ?? Number.POSITIVE_INFINITY;
    const result: AppendAnswer =
      bytes > APPEND_BYTES_MAX
        ? { kind: 'too-large', max: APPEND_BYTES_MAX }
        : deadline <= Date.now()
          ? { kind: 'timeout' }
          : given.log.append(stream, expectedIn(options), events);
    if (fate === 'answer-lost') return;
    if (fate === 'broken-after') return void call.emit('error', callError(14, 'unavailable'));
    call.write(appendAnswer(result, id, options));
  };
  call.on('data', (request: BatchAppendReq) => {
    const id = uuidText(request.getCorrelationId());
    const one = gathered.get(id) ?? { options: request.getOptions()!, events: [], bytes: 0 };
    gathered.set(id, one);
    for (const message of request.getProposedMessagesList()) {
      const event = proposedIn(message);
      one.events.push(event);
      one.bytes += event.data.byteLength + event.meta.byteLength;
    }
    if (!request.getIsFinal()) return;
    gathered.delete(id);
    void answer(id, one);
  });
  call.on('end', () => call.end());
  call.on('error', () => {});
};

type Removal = DeleteReq | TombstoneReq;
type Removed = DeleteResp | TombstoneResp;
type At = Readonly<{ setCommitPosition: (text: string) => unknown; setPreparePosition: (text: string) => unknown }>;

const remover =
  <Request extends Removal, Response extends Removed>(
    log: ServerLog,
    isHard: boolean,
    respond: () => Response,
    position: () => At,
  ) =>
  (call: ServerUnaryCall<Request, Response>, done: sendUnaryData<Response>): void => {
    const options = call.request.getOptions()!;
    const name = nameOf(options.getStreamIdentifier());
    const { events = [], isGone = false } = log.stream(name) ?? {};
    if (isGone) return done(callError(9, 'stream-deleted', { 'stream-name': name }));
    const last = events.length - 1;
    const expected = options.hasRevision() ? Number(options.getRevision()) : undefined;
    if ((expected !== undefined && expected !== last) || (options.hasStreamExists() && last < 0))
      return done(
        callError(9, 'wrong-expected-version', {
          'stream-name': name,
          'expected-version': String(expected ?? -4),
          'actual-version': String(last),
        }),
      );
    const removed = log.remove(name, isHard);
    const at = position();
    at.setCommitPosition(String(removed.position));
    at.setPreparePosition(String(removed.position));
    const response = respond();
    response.setPosition(at as never);
    done(null, response);
  };

const supported = (): SupportedMethods => {
  const methods = new features.SupportedMethods();
  methods.setEventStoreServerVersion('1.0.0');
  for (const [name, options] of [
    ['append', []],
    ['batchappend', ['deadline_duration']],
    ['read', ['position', 'events']],
    ['delete', []],
    ['tombstone', []],
  ] as const) {
    const method = new features.SupportedMethod();
    method.setServiceName('event_store.client.streams.Streams');
    method.setMethodName(name);
    method.setFeaturesList([...options]);
    methods.addMethods(method);
  }
  return methods;
};

const LEADER = 8;
const FOLLOWER = 5;

const clusterInfo = (members: readonly Readonly<{ port: number; isLeader: boolean }>[]): ClusterInfo => {
  const info = new gossip.ClusterInfo();
  for (const { port, isLeader } of members) {
    const end = new gossip.EndPoint();
    end.setAddress(HOST);
    end.setPort(port);
    const member = new gossip.MemberInfo();
    member.setState((isLeader ? LEADER : FOLLOWER) as never);
    member.setIsAlive(true);
    member.setHttpEndPoint(end);
    info.addMembers(member);
  }
  return info;
};
