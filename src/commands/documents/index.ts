/** The commands of documents, with the codes that each may reject with. */
import { type CommandTable, type Codes } from '../core/command.js';
import { makeApartCodes, findVersionCodes, findTemplateCodes, previewUnsavedCodes } from '../templates/index.js';
import type { DocumentNeeds } from './needs.js';
import { previewAttachmentTemplate, previewUnsavedAttachment } from './preview.js';

export const makeDocumentCodes: Codes = [
  'VALIDATION_ERROR',
  'ERR_LIMIT_001',
  'ERR_LIMIT_002',
  'ERR_LIMIT_003',
  'ERR_LIMIT_004',
  'ERR_LIMIT_005',
  'ERR_LIMIT_006',
  'ERR_LIMIT_007',
  'ERR_LIMIT_009',
  'RENDERED_BODY_TOO_LARGE',
  'WORK_LIMIT_EXCEEDED',
  'FONT_MISSING',
  'IMAGE_NOT_AVAILABLE',
  'IMAGES_TOO_LARGE',
  ...makeApartCodes,
];

export const documentCommands = {
  previewAttachmentTemplate: {
    run: previewAttachmentTemplate,
    codes: [...findTemplateCodes, ...findVersionCodes, ...makeDocumentCodes],
  },
  previewUnsavedAttachment: { run: previewUnsavedAttachment, codes: previewUnsavedCodes },
} as const satisfies CommandTable<DocumentNeeds>;
