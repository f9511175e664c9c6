/** Between the messages of the protocol and what the stand-in keeps. */
import grpc from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import status from '@eventstore/db-client/generated/status_pb.js';
import streams, {
  type BatchAppendReq,
  type BatchAppendResp,
  type ReadReq,
  type ReadResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import type { Message } from 'google-protobuf';
import type { AppendResult, Expected, Place, Proposed, Written } from './log.js';

export type Uuid = ReturnType<BatchAppendResp['getCorrelationId']>;
type Identifier = ReturnType<BatchAppendResp['getStreamIdentifier']>;

export const nameOf = (identifier: Identifier): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString();

const hexOf = (bits: string): string => BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, '0');

export const uuidText = (uuid: Uuid): string => {
  const structured = uuid?.getStructured();
  if (structured === undefined) return uuid?.getString() ?? '';
  const hex = hexOf(structured.getMostSignificantBits()) + hexOf(structured.getLeastSignificantBits());
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

/** As a server gives an id back, whatever form it was given. */
const structured = (text: string): NonNullable<Uuid> => {
  const hex = text.replaceAll('-', '');
  const bits = new shared.UUID.Structured();
  bits.setMostSignificantBits(String(BigInt.asIntN(64, BigInt(`0x${hex.slice(0, 16)}`))));
  bits.setLeastSignificantBits(String(BigInt.asIntN(64, BigInt(`0x${hex.slice(16)}`))));
  const uuid = new shared.UUID();
  uuid.setStructured(bits);
  return uuid;
};

const identifierOf = (stream: string): NonNullable<Identifier> => {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream));
  return identifier;
};

export const proposedIn = (message: BatchAppendReq.ProposedMessage): Proposed => ({
  id: uuidText(message.getId()),
  type: message.getMetadataMap().get('type') ?? '',
  contentType: message.getMetadataMap().get('content-type') ?? '',
  data: message.getData_asU8(),
  meta: message.getCustomMetadata_asU8(),
});

export const expectedIn = (options: BatchAppendReq.Options): Expected => {
  if (options.hasAny()) return 'any';
  if (options.hasNoStream()) return 'no_stream';
  return options.hasStreamExists() ? 'exists' : Number(options.getStreamPosition());
};

export const eventMessage = (event: Written, hasPosition: boolean): ReadResp => {
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent();
  const id = new shared.UUID();
  id.setString(event.id);
  recorded.setId(id);
  recorded.setStreamIdentifier(identifierOf(event.stream));
  recorded.setStreamRevision(String(event.revision));
  recorded.setCommitPosition(String(event.position));
  recorded.setPreparePosition(String(event.position));
  recorded.setData(event.data);
  recorded.setCustomMetadata(event.meta);
  const metadata = recorded.getMetadataMap();
  metadata.set('type', event.type);
  metadata.set('content-type', event.contentType);
  metadata.set('created', String(BigInt(event.createdMs) * 10_000n));
  const read = new streams.ReadResp.ReadEvent();
  read.setEvent(recorded);
  if (hasPosition) read.setCommitPosition(String(event.position));
  else read.setNoPosition(new shared.Empty());
  const response = new streams.ReadResp();
  response.setEvent(read);
  return response;
};

export const confirmation = (): ReadResp => {
  const confirmed = new streams.ReadResp.SubscriptionConfirmation();
  confirmed.setSubscriptionId('stand-in');
  const response = new streams.ReadResp();
  response.setConfirmation(confirmed);
  return response;
};

export const checkpoint = (position: number): ReadResp => {
  const reached = new streams.ReadResp.Checkpoint();
  reached.setCommitPosition(String(position));
  reached.setPreparePosition(String(position));
  const response = new streams.ReadResp();
  response.setCheckpoint(reached);
  return response;
};

export const streamNotFound = (options: ReadReq.Options): ReadResp => {
  const missing = new streams.ReadResp.StreamNotFound();
  missing.setStreamIdentifier(options.getStream()?.getStreamIdentifier());
  const response = new streams.ReadResp();
  response.setStreamNotFound(missing);
  return response;
};

export type AppendAnswer = AppendResult | Readonly<{ kind: 'too-large'; max: number }> | Readonly<{ kind: 'timeout' }>;

export const appendAnswer = (
  answer: AppendAnswer,
  correlationId: string,
  options: BatchAppendReq.Options,
): BatchAppendResp => {
  const response = new streams.BatchAppendResp();
  response.setCorrelationId(structured(correlationId));
  const identifier = options.getStreamIdentifier();
  response.setStreamIdentifier(identifier);
  const refuse = (details: Message, type: string): BatchAppendResp => {
    const packed = new any.Any();
    packed.pack(details.serializeBinary(), `event_store.client.${type}`);
    const error = new status.Status();
    error.setMessage(type);
    error.setDetails(packed);
    return response.setError(error);
  };
  switch (answer.kind) {
    case 'done':
      return response.setSuccess(success(answer));
    case 'wrong':
      return refuse(wrongVersion(answer.actual, expectedIn(options)), 'WrongExpectedVersion');
    case 'deleted': {
      const deleted = new shared.StreamDeleted();
      deleted.setStreamIdentifier(identifier);
      return refuse(deleted, 'StreamDeleted');
    }
    case 'too-large': {
      const size = new shared.MaximumAppendSizeExceeded();
      size.setMaxappendsize(answer.max);
      return refuse(size, 'MaximumAppendSizeExceeded');
    }
    case 'timeout':
      return refuse(new shared.Timeout(), 'Timeout');
  }
};

const success = ({ revision, position }: Place): BatchAppendResp.Success => {
  const written = new streams.BatchAppendResp.Success();
  written.setCurrentRevision(String(revision));
  const at = new shared.AllStreamPosition();
  at.setCommitPosition(String(position));
  at.setPreparePosition(String(position));
  written.setPosition(at);
  return written;
};

const wrongVersion = (actual: number | undefined, expected: Expected) => {
  const wrong = new shared.WrongExpectedVersion();
  if (actual === undefined) wrong.setCurrentNoStream(new shared.Empty() as never);
  else wrong.setCurrentStreamRevision(String(actual));
  if (expected === 'no_stream') wrong.setExpectedNoStream(new shared.Empty() as never);
  else if (expected === 'exists') wrong.setExpectedStreamExists(new shared.Empty() as never);
  else if (expected !== 'any') wrong.setExpectedStreamPosition(String(expected));
  return wrong;
};

/** An error of a call as the server tells of it: the kind stands in the trailers. */
export const callError = (
  code: number,
  exception: string,
  more: Readonly<Record<string, string>> = {},
): grpc.ServiceError => {
  const metadata = new grpc.Metadata();
  metadata.set('exception', exception);
  for (const [name, value] of Object.entries(more)) metadata.set(name, value);
  return Object.assign(new Error(exception), { code, details: exception, metadata });
};
