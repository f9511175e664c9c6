/** The commands of templates, with the codes that each may reject with. */
import { type CommandTable, type Codes, writeCodes } from '../core/command.js';
import type { TemplateNeeds } from './needs.js';
import { uploadAsset, getAsset, assetContent, deleteAsset, restoreAsset } from './assets.js';
import {
  createAttachmentTemplate,
  importAttachmentTemplate,
  getAttachmentTemplate,
  updateAttachmentTemplate,
  deleteAttachmentTemplate,
  publishAttachmentTemplate,
  attachmentTemplateVersions,
  attachmentTemplateVersion,
  restoreAttachmentTemplateVersion,
  restoreAttachmentTemplate,
} from './attachment-templates.js';
import { previewTemplate, makePreviewLink, openPreviewLink } from './preview.js';
import {
  createTemplate,
  importTemplate,
  getTemplate,
  updateTemplate,
  deleteTemplate,
  publishTemplate,
  templateVersions,
  templateVersion,
  restoreTemplateVersion,
  restoreTemplate,
} from './templates.js';

/** Rendering of a mail. */
export const renderEmailCodes: Codes = [
  'VALIDATION_ERROR',
  'ERR_LIMIT_002',
  'ERR_LIMIT_007',
  'ERR_LIMIT_009',
  'RENDERED_BODY_TOO_LARGE',
  'WORK_LIMIT_EXCEEDED',
  'SUBJECT_TOO_LONG',
];

/** Work in a document process. */
export const makeApartCodes: Codes = ['GENERATOR_BUSY', 'GENERATION_TIMEOUT', 'GENERATION_FAILED'];

export const findVersionCodes: Codes = ['TEMPLATE_VERSION_NOT_FOUND', 'TEMPLATE_NOT_PUBLISHED'];

const takeSlugCodes: Codes = ['VALIDATION_ERROR', 'TEMPLATE_SLUG_TAKEN', ...writeCodes];

/** Checking and saving a template of an email, or of an attachment. */
const saveTemplateCodes: Codes = [
  'PLAN_LIMIT_EXCEEDED',
  'TEMPLATE_INVALID',
  'ERR_EMAIL_001',
  'ERR_LIMIT_008',
  'ERR_LIMIT_009',
  'WORK_LIMIT_EXCEEDED',
  'PUBLIC_URL_REQUIRED',
  ...[...makeApartCodes, ...takeSlugCodes],
];

const saveAttachmentTemplateCodes: Codes = [
  'PLAN_LIMIT_EXCEEDED',
  'TEMPLATE_INVALID',
  'ERR_LIMIT_001',
  'ERR_LIMIT_004',
  'ERR_LIMIT_005',
  'ERR_LIMIT_008',
  'ERR_LIMIT_009',
  'WORK_LIMIT_EXCEEDED',
  ...takeSlugCodes,
];

/** Finding a template, and changing the revision that the caller names. */
export const findTemplateCodes: Codes = ['TEMPLATE_NOT_FOUND'];

const changeTemplateCodes: Codes = [...findTemplateCodes, ...writeCodes, 'REVISION_MISMATCH'];

export const templateCommands = {
  createTemplate: { run: createTemplate, codes: saveTemplateCodes },
  importTemplate: { run: importTemplate, codes: saveTemplateCodes },
  getTemplate: { run: getTemplate, codes: findTemplateCodes },
  updateTemplate: { run: updateTemplate, codes: [...changeTemplateCodes, ...saveTemplateCodes] },
  deleteTemplate: { run: deleteTemplate, codes: changeTemplateCodes },
  publishTemplate: { run: publishTemplate, codes: changeTemplateCodes },
  templateVersions: { run: templateVersions, codes: findTemplateCodes },
  templateVersion: { run: templateVersion, codes: [...findTemplateCodes, 'TEMPLATE_VERSION_NOT_FOUND'] },
  restoreTemplateVersion: { run: restoreTemplateVersion, codes: [...changeTemplateCodes, 'TEMPLATE_VERSION_NOT_FOUND'] },
  restoreTemplate: { run: restoreTemplate, codes: [...findTemplateCodes, ...takeSlugCodes, 'PLAN_LIMIT_EXCEEDED'] },
  previewTemplate: { run: previewTemplate, codes: [...findTemplateCodes, ...findVersionCodes, ...renderEmailCodes, ...makeApartCodes] },
  makePreviewLink: { run: makePreviewLink, codes: [...findTemplateCodes, 'VALIDATION_ERROR'] },
  openPreviewLink: { run: openPreviewLink, codes: [] },
  createAttachmentTemplate: { run: createAttachmentTemplate, codes: saveAttachmentTemplateCodes },
  importAttachmentTemplate: { run: importAttachmentTemplate, codes: saveAttachmentTemplateCodes },
  getAttachmentTemplate: { run: getAttachmentTemplate, codes: findTemplateCodes },
  updateAttachmentTemplate: { run: updateAttachmentTemplate, codes: [...changeTemplateCodes, ...saveAttachmentTemplateCodes] },
  deleteAttachmentTemplate: { run: deleteAttachmentTemplate, codes: changeTemplateCodes },
  publishAttachmentTemplate: { run: publishAttachmentTemplate, codes: changeTemplateCodes },
  attachmentTemplateVersions: { run: attachmentTemplateVersions, codes: findTemplateCodes },
  attachmentTemplateVersion: { run: attachmentTemplateVersion, codes: [...findTemplateCodes, 'TEMPLATE_VERSION_NOT_FOUND'] },
  restoreAttachmentTemplateVersion: {
    run: restoreAttachmentTemplateVersion,
    codes: [...changeTemplateCodes, 'TEMPLATE_VERSION_NOT_FOUND'],
  },
  restoreAttachmentTemplate: { run: restoreAttachmentTemplate, codes: [...findTemplateCodes, ...takeSlugCodes, 'PLAN_LIMIT_EXCEEDED'] },
  uploadAsset: {
    run: uploadAsset,
    codes: [
      'VALIDATION_ERROR',
      'PLAN_LIMIT_EXCEEDED',
      'ASSET_TYPE_NOT_ALLOWED',
      'ASSET_TOO_LARGE',
      'STORAGE_LIMIT_EXCEEDED',
      ...writeCodes,
    ],
  },
  getAsset: { run: getAsset, codes: ['ASSET_NOT_FOUND'] },
  assetContent: { run: assetContent, codes: ['ASSET_NOT_FOUND'] },
  deleteAsset: { run: deleteAsset, codes: ['ASSET_NOT_FOUND', ...writeCodes] },
  restoreAsset: { run: restoreAsset, codes: ['ASSET_NOT_FOUND', ...writeCodes] },
} as const satisfies CommandTable<TemplateNeeds>;
