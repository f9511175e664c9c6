/** Email templates: their state, the decisions about them, and what lists show of them. */
import { DomainError } from '../core/errors.js';
import type { EmailDraft } from './events.js';
import type { TemplateId } from '../core/ids.js';
import type { Tracking } from '../recipients/tracking.js';
import {
  type TemplateOf,
  type TemplateStateOf,
  type TemplateCommandOf,
  type TemplateRules,
  makeTemplateDecider,
  findVersion,
  type Publication,
  publicationOf,
} from './decider.js';

type Shown = Pick<EmailDraft, 'name' | 'subject' | 'from' | 'unsubscribeList' | 'tracking'>;

export type Template = TemplateOf<EmailDraft, Shown>;

export type TemplateState = TemplateStateOf<EmailDraft, Shown>;

export type TemplateCommand = TemplateCommandOf<EmailDraft>;

const templateNotFound = (): DomainError =>
  new DomainError('TEMPLATE_NOT_FOUND', 'There is no template with this id or slug. GET /api/templates lists yours.');

export const templateRules: TemplateRules<EmailDraft, Shown> = {
  kind: 'email',
  isDraft: (draft): draft is EmailDraft => 'subject' in draft,
  shown: ({ name, subject, from, unsubscribeList, tracking }) => ({
    name,
    subject,
    from,
    ...(unsubscribeList === undefined ? {} : { unsubscribeList }),
    ...(tracking === undefined ? {} : { tracking }),
  }),
  notFound: templateNotFound,
};

export const templateDecider = makeTemplateDecider(templateRules);

/** The revision that a send call means by `version`, with its own name and sender. */
export type ResolvedVersion = Readonly<{
  revision: number;
  version: number | null;
  name: string;
  from: EmailDraft['from'];
  unsubscribeList: string | undefined;
  tracking: Tracking | undefined;
}>;

/** Throws TEMPLATE_NOT_PUBLISHED, TEMPLATE_VERSION_NOT_FOUND. */
export const resolveVersion = (template: Template, version: string | number): ResolvedVersion => {
  const {
    shown,
    revision,
    version: number,
  } = findVersion(template, version, 'This template has no published version yet: publish it, or send `version: "draft"`.');
  const { name, from, unsubscribeList, tracking } = shown;
  return { revision, version: number, name, from, unsubscribeList, tracking };
};

/** An email template as lists show it. */
export type TemplateListing = Publication & {
  id: string;
  slug: string;
  name: string;
  description: string;
  type: 'email';
  subject: string;
  from: EmailDraft['from'];
  /** The list that recipients can unsubscribe from; null for none. */
  unsubscribeList: string | null;
  locale: string;
  timeZone: string;
  createdAt: string;
  updatedAt: string;
};

export const templateListing = (id: TemplateId, template: Template): TemplateListing => {
  const { name, description, subject, from, unsubscribeList = null, locale, timeZone } = template.draft;
  return {
    id,
    slug: template.slug,
    name,
    description,
    type: 'email',
    subject,
    from,
    unsubscribeList,
    ...publicationOf(template),
    locale,
    timeZone,
    createdAt: template.createdAt,
    updatedAt: template.updatedAt,
  };
};
