/** Email templates: the rules of their kind, and the decisions about them. */
import { DomainError } from '../core/errors.js';
import { parseTemplateId, templateSlugStream, templateStream } from '../core/ids.js';
import { blocksPart, makeTemplateDecider, sentAlone, type TemplateRules } from './decider.js';
import type { EmailDraft } from './events.js';

export const templateRules: TemplateRules<'email'> = {
  kind: 'email',
  streamKind: 'template',
  resource: 'emailTemplates',
  parseId: parseTemplateId,
  stream: templateStream,
  slugStream: templateSlugStream,
  isDraft: (draft): draft is EmailDraft => 'subject' in draft,
  shown: ({ name, subject, from, unsubscribeList, tracking, schema }) => ({
    name,
    subject,
    from,
    ...(unsubscribeList === undefined ? {} : { unsubscribeList }),
    ...(tracking === undefined ? {} : { tracking }),
    ...blocksPart({ schema }),
  }),
  named: ({ name, subject }) => ({ name, subject }),
  listed: ({ subject, from, unsubscribeList = null }) => ({ subject, from, unsubscribeList }),
  recorded: ({ tracking = null, ...draft }) => ({ tracking, ...sentAlone(draft) }),
  notFound: () =>
    new DomainError('TEMPLATE_NOT_FOUND', 'There is no template with this id or slug. GET /api/templates lists yours.'),
  unpublished: 'This template has no published version yet: publish it, or send `version: "draft"`.',
};

export const templateDecider = makeTemplateDecider(templateRules);
