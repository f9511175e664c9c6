/** The line to paste that sends the first mail. */
import { sampleTemplates } from '../samples/index.js';

/** In: the address of the service and a key. Out: a shell command that sends the order confirmation to an example address. */
export const orderConfirmationCurl = (base: string, key: string): string => {
  const sample = sampleTemplates.find(({ slug }) => slug === 'order-confirmation');
  const body = {
    templateId: 'order-confirmation',
    to: [{ email: 'ada@example.com', name: 'Ada Example' }],
    variables: sample?.exampleVariables ?? {},
  };
  // Single quotes cannot stand inside a single-quoted word of the shell.
  const json = JSON.stringify(body).replaceAll("'", '\\u0027');
  return `curl -s ${base}/api/emails/send -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${json}'`;
};
