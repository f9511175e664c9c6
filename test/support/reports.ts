/** Delivery reports as hosts send them. */
const lines = (...text: readonly string[]): string => text.join('\r\n');

/** RFC 3464, about each of the recipients. */
export const deliveryReport = (
  to: string,
  {
    action,
    status,
    diagnostic,
    recipients,
  }: Readonly<{ action: string; status: string; diagnostic: string; recipients: readonly string[] }>,
): string =>
  lines(
    'From: MAILER-DAEMON@mx.example.net',
    `To: ${to}`,
    'Subject: Delivery Status Notification',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'See below.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example.net',
    '',
    ...recipients.flatMap((recipient) => [
      `Final-Recipient: rfc822; ${recipient}`,
      `Action: ${action}`,
      `Status: ${status}`,
      `Diagnostic-Code: smtp; ${diagnostic}`,
      '',
    ]),
    '--b--',
    '',
  );
