/** What the server answers to an append. */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { Status } from '@eventstore/db-client/generated/status_pb.js';
import type { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { isCommit } from './records.js';

export type AppendAnswer =
  /** `commit`: where the last event stands, where the server says so. */
  | Readonly<{ kind: 'done'; revision: number; commit: number | undefined }>
  | Readonly<{ kind: 'conflict'; actualRevision: number }>
  | Readonly<{ kind: 'refused'; error: Error }>
  | Readonly<{ kind: 'unknown'; cause: Error }>;

/** The server refused the append: nothing was written, and the same append will be refused again. */
export class AppendRefused extends Error {
  override name = 'AppendRefused';
}

export const answerOf = (response: BatchAppendResp): AppendAnswer => {
  const success = response.getSuccess();
  if (success !== undefined) {
    const commit = Number(success.getPosition()?.getCommitPosition() ?? Number.NaN);
    return { kind: 'done', revision: Number(success.getCurrentRevision()), commit: isCommit(commit) ? commit : undefined };
  }
  const status = response.getError();
  return status === undefined ? unknown('an empty answer') : errorOf(status);
};

const errorOf = (status: Status): AppendAnswer => {
  const details = status.getDetails();
  const type = details?.getTypeName() ?? '';
  const bytes = details?.getValue_asU8() ?? new Uint8Array(0);
  switch (type) {
    case 'event_store.client.WrongExpectedVersion': {
      const wrong = shared.WrongExpectedVersion.deserializeBinary(bytes);
      return { kind: 'conflict', actualRevision: wrong.hasCurrentStreamRevision() ? Number(wrong.getCurrentStreamRevision()) : -1 };
    }
    case 'event_store.client.MaximumAppendSizeExceeded': {
      const max = shared.MaximumAppendSizeExceeded.deserializeBinary(bytes).getMaxappendsize();
      return refused(`the events of one append are larger than the ${max} bytes that the event store takes (its option MaxAppendSize)`);
    }
    case 'event_store.client.AccessDenied':
      return refused('the event store does not let the user of the URL append');
    case 'event_store.client.StreamDeleted':
      return refused('the stream was deleted for good at the event store, where nobody but an administrator can have done that');
    default:
      return unknown(`${type === '' ? 'an error' : type}${status.getMessage() === '' ? '' : `: ${status.getMessage()}`}`);
  }
};

const refused = (message: string): AppendAnswer => ({ kind: 'refused', error: new AppendRefused(message) });
const unknown = (message: string): AppendAnswer => ({ kind: 'unknown', cause: new Error(`the event store answered with ${message}`) });
