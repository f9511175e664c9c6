/** The call that the pages show to somebody who has not sent a mail yet. */

/** A `curl` line for the pages that sends a first mail; the key is for the reader to put in. */
export const firstMailCurl = (publicUrl: string): string =>
  [
    `curl ${publicUrl}/api/emails/send \\`,
    `  -H 'Authorization: Bearer <API_KEY>' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{`,
    `    "templateId": "sign-in-code",`,
    `    "to": [{ "email": "ada@example.com", "name": "Ada Example" }],`,
    `    "variables": { "code": "482 913", "firstName": "Ada" }`,
    `  }'`,
  ].join('\n');
