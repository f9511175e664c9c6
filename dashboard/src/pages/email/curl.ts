/** The call that sends an email like this one, for a terminal. */
import type { Content, Email } from './data';

/** For a POSIX shell: everything stands as it is between single quotes but the single quote. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** In: the mail where the page has it, which a call with its own content needs; the address of the service. */
export const curlOf = (email: Email, content: Content | undefined, service: string): string => {
  const { templateId, templateVersion, from, subject, locale, timeZone, tags, metadata } = email;
  const { to, cc, bcc } = metadata.recipients;
  const what =
    templateId === 'inline'
      ? { content: { subject: subject ?? '', html: content?.html ?? '', text: content?.text ?? '' } }
      : { templateId, version: templateVersion ?? 'draft', variables: metadata.variables };
  const body = {
    ...what,
    ...(from === null ? {} : { from }),
    to,
    ...(cc.length === 0 ? {} : { cc }),
    ...(bcc.length === 0 ? {} : { bcc }),
    ...(locale === null ? {} : { locale }),
    ...(timeZone === null ? {} : { timeZone }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(Object.keys(metadata.custom).length === 0 ? {} : { metadata: metadata.custom }),
  };
  const address = new URL('api/emails/send', service).href;
  return [
    `curl ${quoted(address)} \\`,
    `  -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join('\n');
};
