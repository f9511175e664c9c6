/** Attachments that a call brings itself: their bytes, from an address, or from the gallery. */
import type { Caller } from '../core/caller.js';
import { loadAsset } from '../templates/assets.js';
import { suppliedName } from './names.js';
import type { ReadyAttachment } from './attachments.js';
import type { CommandDeps } from '../core/deps.js';
import type { Given } from './request.js';
import { DomainError } from '../../domain/core/errors.js';
import { OutboundFault } from '../../domain/ports/outbound-http.js';

/** What their names are filled from. */
type Naming = Omit<Parameters<typeof suppliedName>[2], 'limits'>;

type Supplied = Exclude<Given, { kind: 'generated' }>;

/** Rejects with ASSET_NOT_FOUND, ATTACHMENT_NOT_AVAILABLE, ERR_ATTACH_002, and what a name is refused with. */
export const supplied = async (
  deps: CommandDeps,
  caller: Pick<Caller, 'teamId'>,
  given: Supplied,
  call: Naming,
): Promise<ReadyAttachment> => {
  switch (given.kind) {
    case 'content':
      return {
        filename: suppliedName(given.filename, given.field, { ...call, limits: deps.limits }),
        contentType: given.contentType,
        contentId: given.contentId,
        bytes: given.bytes,
      };
    case 'url': {
      const filename = suppliedName(given.filename, given.field, { ...call, limits: deps.limits });
      const { bytes, contentType } = await fetchAttachment(deps, caller, given.url, given.field);
      return { filename, contentType: given.contentType ?? contentType ?? 'application/octet-stream', contentId: given.contentId, bytes };
    }
    case 'asset': {
      const asset = await loadAsset(deps, caller.teamId, given.assetId);
      if (asset === undefined)
        throw new DomainError(
          'ASSET_NOT_FOUND',
          `${given.field}.assetId: there is no asset ${given.assetId}. GET /api/assets lists yours.`,
        );
      return {
        filename: suppliedName(given.filename ?? asset.filename, given.field, { ...call, limits: deps.limits }),
        contentType: asset.contentType,
        contentId: given.contentId,
        bytes: asset.bytes,
      };
    }
  }
};

const fetchAttachment = async (
  deps: CommandDeps,
  caller: Pick<Caller, 'teamId'>,
  url: string,
  field: string,
): Promise<Readonly<{ bytes: Buffer; contentType: string | undefined }>> => {
  const { limits } = deps;
  try {
    const { bytes, contentType } = await deps.outbound.get(url, {
      teamId: caller.teamId,
      sizeBytesMax: Math.min(limits.outboundSizeBytesMax, limits.attachmentSizeBytesMax),
      timeoutMs: limits.outboundTimeoutMs,
      redirectsMax: limits.outboundRedirectsMax,
      signal: new AbortController().signal,
    });
    return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), contentType };
  } catch (fault) {
    if (!(fault instanceof OutboundFault)) throw fault;
    if (fault.fault === 'too-large')
      throw new DomainError('ERR_ATTACH_002', `${field}.url: ${fault.message}`, {
        relatedInfo: { maxSizeBytes: limits.attachmentSizeBytesMax },
      });
    throw new DomainError('ATTACHMENT_NOT_AVAILABLE', `${field}.url: ${fault.message}`, {
      errors: [{ field: `${field}.url`, message: fault.message }],
    });
  }
};
