/** Needs of attachments and generated documents. */
import type { OutboundHttp } from '../../domain/ports/outbound-http.js';
import type { TemplateNeeds } from '../templates/needs.js';
import type { AttachmentClaims } from './storage.js';

export type DocumentNeeds = TemplateNeeds &
  Readonly<{
    outbound: OutboundHttp;
    /** The storage that the attachments of each team take. */
    attachmentClaims: AttachmentClaims;
  }>;
