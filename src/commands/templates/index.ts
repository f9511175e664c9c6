/** The commands of templates, with the codes that each may reject with. */
import { type CommandTable, type Codes, writeCodes } from '../core/command.js';
import type { TemplateNeeds } from './needs.js';
import { uploadAsset, getAsset, assetContent, deleteAsset, restoreAsset } from './assets.js';
import { attachmentTemplates } from './attachment-templates.js';
import { blocks, blockImpact, blockUsage } from './block-usage.js';
import { emailTemplates } from './email-templates.js';
import { previewTemplate, makePreviewLink, openPreviewLink } from './preview.js';
import { convertTemplate, previewUnsavedBlock, previewUnsavedTemplate } from './unsaved.js';

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

/** Previews of what is not saved, whose faults are values. */
export const previewUnsavedCodes: Codes = ['VALIDATION_ERROR', 'PREVIEW_SUPERSEDED', ...makeApartCodes];

/** Finding a version of a template, and the blocks that it shows. */
export const findVersionCodes: Codes = [
  'TEMPLATE_VERSION_NOT_FOUND',
  'TEMPLATE_NOT_PUBLISHED',
  'BLOCK_NOT_FOUND',
  'TEMPLATE_INVALID',
  'ERR_LIMIT_008',
];

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

const findBlockCodes: Codes = ['BLOCK_NOT_FOUND'];

const changeBlockCodes: Codes = [...findBlockCodes, ...writeCodes, 'REVISION_MISMATCH'];

const publishBlockCodes: Codes = ['BLOCK_BREAKS_TEMPLATES', 'TEMPLATE_INVALID'];

const saveBlockCodes: Codes = [
  'BLOCK_LIMIT_REACHED',
  'TEMPLATE_INVALID',
  'ERR_LIMIT_008',
  'ERR_LIMIT_009',
  'WORK_LIMIT_EXCEEDED',
  ...takeSlugCodes,
];

/** Checking a draft with the blocks that it includes. */
const includeCodes: Codes = ['TEMPLATE_INVALID', 'ERR_LIMIT_008', 'ERR_LIMIT_009', 'WORK_LIMIT_EXCEEDED'];

const changeTemplateCodes: Codes = [...findTemplateCodes, ...writeCodes, 'REVISION_MISMATCH'];

export const templateCommands = {
  createTemplate: { run: emailTemplates.create, codes: saveTemplateCodes },
  importTemplate: { run: emailTemplates.import, codes: saveTemplateCodes },
  templateIdOf: { run: emailTemplates.idOf, codes: [] },
  getTemplate: { run: emailTemplates.get, codes: findTemplateCodes },
  updateTemplate: { run: emailTemplates.update, codes: [...changeTemplateCodes, ...saveTemplateCodes] },
  deleteTemplate: { run: emailTemplates.delete, codes: changeTemplateCodes },
  publishTemplate: { run: emailTemplates.publish, codes: [...changeTemplateCodes, ...includeCodes] },
  templateVersions: { run: emailTemplates.versions, codes: findTemplateCodes },
  templateVersion: { run: emailTemplates.version, codes: [...findTemplateCodes, 'TEMPLATE_VERSION_NOT_FOUND'] },
  restoreTemplateVersion: {
    run: emailTemplates.restoreVersion,
    codes: [...changeTemplateCodes, 'TEMPLATE_VERSION_NOT_FOUND'],
  },
  restoreTemplate: {
    run: emailTemplates.restore,
    codes: [...findTemplateCodes, ...takeSlugCodes, 'PLAN_LIMIT_EXCEEDED'],
  },
  previewTemplate: {
    run: previewTemplate,
    codes: [...findTemplateCodes, ...findVersionCodes, ...renderEmailCodes, ...makeApartCodes],
  },
  convertTemplate: { run: convertTemplate, codes: [...previewUnsavedCodes, 'TEMPLATE_INVALID', 'WORK_LIMIT_EXCEEDED'] },
  previewUnsavedTemplate: { run: previewUnsavedTemplate, codes: previewUnsavedCodes },
  previewUnsavedBlock: { run: previewUnsavedBlock, codes: previewUnsavedCodes },
  makePreviewLink: { run: makePreviewLink, codes: [...findTemplateCodes, 'VALIDATION_ERROR'] },
  openPreviewLink: { run: openPreviewLink, codes: [] },
  createAttachmentTemplate: { run: attachmentTemplates.create, codes: saveAttachmentTemplateCodes },
  importAttachmentTemplate: { run: attachmentTemplates.import, codes: saveAttachmentTemplateCodes },
  getAttachmentTemplate: { run: attachmentTemplates.get, codes: findTemplateCodes },
  updateAttachmentTemplate: {
    run: attachmentTemplates.update,
    codes: [...changeTemplateCodes, ...saveAttachmentTemplateCodes],
  },
  deleteAttachmentTemplate: { run: attachmentTemplates.delete, codes: changeTemplateCodes },
  publishAttachmentTemplate: { run: attachmentTemplates.publish, codes: [...changeTemplateCodes, ...includeCodes] },
  attachmentTemplateVersions: { run: attachmentTemplates.versions, codes: findTemplateCodes },
  attachmentTemplateVersion: {
    run: attachmentTemplates.version,
    codes: [...findTemplateCodes, 'TEMPLATE_VERSION_NOT_FOUND'],
  },
  restoreAttachmentTemplateVersion: {
    run: attachmentTemplates.restoreVersion,
    codes: [...changeTemplateCodes, 'TEMPLATE_VERSION_NOT_FOUND'],
  },
  restoreAttachmentTemplate: {
    run: attachmentTemplates.restore,
    codes: [...findTemplateCodes, ...takeSlugCodes, 'PLAN_LIMIT_EXCEEDED'],
  },
  createBlock: { run: blocks.create, codes: saveBlockCodes },
  importBlock: {
    run: blocks.import,
    codes: [...saveBlockCodes, 'BLOCK_NOT_FOUND', 'REVISION_MISMATCH', ...publishBlockCodes],
  },
  getBlock: { run: blocks.get, codes: findBlockCodes },
  updateBlock: { run: blocks.update, codes: [...changeBlockCodes, ...saveBlockCodes, 'BLOCK_IN_USE'] },
  deleteBlock: { run: blocks.delete, codes: [...changeBlockCodes, 'BLOCK_IN_USE'] },
  publishBlock: { run: blocks.publish, codes: [...changeBlockCodes, ...publishBlockCodes] },
  blockUsage: { run: blockUsage, codes: findBlockCodes },
  blockImpact: { run: blockImpact, codes: [...findBlockCodes, 'TEMPLATE_INVALID'] },
  blockVersions: { run: blocks.versions, codes: findBlockCodes },
  blockVersion: { run: blocks.version, codes: [...findBlockCodes, 'TEMPLATE_VERSION_NOT_FOUND'] },
  restoreBlockVersion: { run: blocks.restoreVersion, codes: [...changeBlockCodes, 'TEMPLATE_VERSION_NOT_FOUND'] },
  restoreBlock: { run: blocks.restore, codes: [...findBlockCodes, ...takeSlugCodes, 'BLOCK_LIMIT_REACHED'] },
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
  deleteAsset: { run: deleteAsset, codes: ['ASSET_NOT_FOUND', 'ASSET_IN_USE', ...writeCodes] },
  restoreAsset: { run: restoreAsset, codes: ['ASSET_NOT_FOUND', ...writeCodes] },
} as const satisfies CommandTable<TemplateNeeds>;
