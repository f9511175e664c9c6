/**
 * The limit that an email with every component is measured against: the same parcel written by hand in Eta, HTML and
 * text, with Eta's escaping, and its QR code.
 */
import { Eta } from 'eta';
import QRCode from 'qrcode';
import { writePng } from '../../src/adapters/render/code-picture.js';
import type { ParcelVariables } from '../support/every-component.js';

const html = `<!doctype html><html lang="en-US" dir="ltr" xmlns:o="urn:schemas-microsoft-com:office:office"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="x-apple-disable-message-reformatting"><meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title><%= it.subject %></title><!--[if mso]><noscript><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml></noscript><style>table{border-collapse:collapse}td,th,p,a,li,h1,h2,h3{font-family:"Segoe UI",Arial,sans-serif}</style>
<![endif]--><style>:root{color-scheme:light dark;supported-color-schemes:light dark}body{-webkit-text-size-adjust:100%;-ms-text-size-adjust:100%}td{overflow-wrap:break-word}a[x-apple-data-detectors]{color:inherit!important;text-decoration:none!important}@media (max-width:623px){.page{padding:0!important}.card{border-radius:0!important}}@media (max-width:599px){.w{word-break:break-word}.sec{padding-left:24px!important;padding-right:24px!important}.col{max-width:100%!important}.col+.col{padding-top:16px}.gut{padding-right:0!important}.m{font-size:12px!important}.m td,.m th{padding:8px 3px!important}}@media (prefers-color-scheme:dark){.p0{background-color:#111317!important}.s1{background-color:#1c1e21!important}.t2{color:#e0e4e9!important}.t3{color:#8faff5!important}.c4 td,.c4 th{border-color:#3b414c!important}.s5{background-color:#202533!important}.l6{border-color:#3c4051!important}.l7{border-color:#3b414c!important}.s8{background-color:#45402c!important}.l9{border-color:#5a6270!important}.l10{border-color:#434b56!important}}</style>
</head>
<body class="p0" style="margin:0;padding:0;background-color:#f3f4f6"><div role="article" aria-roledescription="email" lang="en-US" dir="ltr"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="p0" style="background-color:#f3f4f6"><tr>
<td class="page" align="center" style="padding:12px"><!--[if mso]><table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0" align="center"><tr>
<td><![endif]--><div style="max-width:600px;margin:0 auto"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr>
<td class="sec card s1" style="padding:32px;background-color:#ffffff;border-radius:8px 8px 8px 8px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="t2" style="padding:0 0 16px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><h1 style="margin:0 0 16px;font-size:28px;line-height:1.25;font-weight:700">Hello <%= it.name %></h1>
<p style="margin:0">Your parcel <strong><%= it.code %></strong> is on its way. <a class="t3" href="<%= it.link(it.url) %>" style="color:#2563eb;text-decoration:underline">Follow it</a>.</p>
</td>
</tr>
<tr>
<td align="center" style="padding:0 0 16px"><table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr>
<td align="center" style="border-radius:6px;background-color:#2563eb;mso-padding-alt:13px 26px"><a href="https://example.com/track?code=<%= encodeURIComponent(it.code) %>" style="display:inline-block;padding:13px 26px;mso-padding-alt:0;border-radius:6px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.25;font-weight:600;color:#ffffff;text-decoration:none;text-align:center">Follow <%= it.code %></a></td>
</tr>
</table>
</td>
</tr>
<tr>
<td style="padding:0 0 16px"><img class="t2" src="https://example.com/photos/<%= encodeURI(it.photo) %>" alt="Photo of <%= it.name %>" width="240" style="display:block;border:0;width:100%;max-width:240px;height:auto;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:14px;color:#1f2937"></td>
</tr>
<tr>
<td style="padding:0 0 16px"><table width="100%" cellpadding="0" cellspacing="0" border="0" class="t2 c4" style="width:100%;border-collapse:collapse;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5;color:#1f2937"><tr valign="top">
<th scope="col" align="left" style="padding:10px 12px;padding-left:0;border-bottom:1px solid #e5e7eb;font-weight:600;text-align:left">Item</th>
<th scope="col" align="right" style="padding:10px 12px;border-bottom:1px solid #e5e7eb;font-weight:600;text-align:right">Qty</th>
<th scope="col" align="right" style="padding:10px 12px;padding-right:0;border-bottom:1px solid #e5e7eb;font-weight:600;text-align:right">Total</th>
</tr>
<% for (const item of it.items) { %><tr valign="top">
<td style="padding:10px 12px;padding-left:0;border-bottom:1px solid #e5e7eb"><strong><%= item.name %></strong></td>
<td align="right" style="padding:10px 12px;border-bottom:1px solid #e5e7eb"><%= item.quantity %></td>
<td align="right" style="padding:10px 12px;padding-right:0;border-bottom:1px solid #e5e7eb"><%= it.money(item.total) %></td>
</tr>
<% } %></table>
</td>
</tr>
<tr>
<td style="padding:0 0 16px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:100%;border-collapse:separate"><tr>
<td class="s5 l6" style="padding:24px;background-color:#eef2ff;border:1px solid #c7d2fe;border-radius:8px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="t2" style="padding:0;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><%= it.note %></td>
</tr>
</table>
</td>
</tr>
</table>
</td>
</tr>
<tr>
<td style="padding:0 0 16px;font-size:0"><!--[if mso]><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<![endif]--><!--[if mso]><td width="328" valign="top"><![endif]--><div class="col" style="display:inline-block;width:100%;max-width:328px;vertical-align:top"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="gut" style="padding:0 16px 0 0"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="t2" style="padding:0;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937">To <%= it.name %></td>
</tr>
</table>
</td>
</tr>
</table>
</div><!--[if mso]></td>
<![endif]--><!--[if mso]><td width="208" valign="top"><![endif]--><div class="col" style="display:inline-block;width:100%;max-width:208px;vertical-align:top"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
<td class="t2" style="padding:0;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937">Total <%= it.money(it.total) %></td>
</tr>
</table>
</td>
</tr>
</table>
</div><!--[if mso]></td>
<![endif]--><!--[if mso]></tr>
</table>
<![endif]--></td>
</tr>
<tr>
<td style="padding:8px 0 24px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" align="center" style="width:100%"><tr>
<td class="l7" style="border-top:1px solid #e5e7eb;font-size:0;line-height:0">&nbsp;</td>
</tr>
</table>
</td>
</tr>
<tr>
<td height="16" style="height:16px;line-height:16px;font-size:0">&nbsp;</td>
</tr>
<tr>
<td class="t2" style="padding:0 0 16px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><% if (it.total > 100) { %>Insured up to <%= it.money(it.total) %>.<% } else { %>Not insured.<% } %></td>
</tr>
<% for (const tip of it.tips) { %><tr>
<td class="t2" style="padding:0 0 16px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><h4 style="margin:0 0 8px;font-size:16px;line-height:1.4;font-weight:600"><%= tip.title %></h4>
<p style="margin:0"><%= tip.text %></p>
</td>
</tr>
<% } %><tr>
<td class="t2" style="padding:0 0 16px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><ul style="margin:0;padding:0 0 0 24px"><% for (const point of it.points) { %><li style="margin:0 0 6px"><%= point %></li><% } %></ul></td>
</tr>
<tr>
<td align="center" style="padding:0 0 16px"><img class="t2" src="cid:code@sealpost" alt="<%= it.url %>" width="160" height="160" style="display:block;border:0;width:160px;max-width:100%;height:auto;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:14px;color:#1f2937"></td>
</tr>
<tr>
<td class="t2" style="padding:0 0 16px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><table width="100%" cellpadding="8" role="presentation"><tr><td class="s8" bgcolor="#fef3c7">From <%= it.name %></td>
<td align="right"><%= it.code %></td>
</tr>
</table>
</td>
</tr>
<tr>
<td style="padding:0"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><% it.steps.forEach((step, at) => { if (at < it.steps.length - 1) { %><% if (step.status === "completed") { %><tr style="height:24px">
<td colspan="2" width="28" align="center" valign="top" style="width:28px;padding:3px 0"><table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td width="18" height="18" align="center" role="img" aria-label="completed" style="width:18px;height:18px;border-radius:9px;background-color:#2563eb;font-family:Arial,sans-serif;font-size:11px;font-weight:700;line-height:18px;color:#ffffff">&#10003;</td></tr></table></td><td rowspan="2" class="t2" align="left" valign="top" style="padding:0 0 20px 12px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><strong style="font-weight:600"><%= step.title %></strong><div><% if (step.at !== "") { %><span style="font-size:13px;opacity:.75"><%= it.date(step.at) %></span><% if (step.text !== "") { %><br><% } } %><%= step.text %></div></td>
</tr>
<tr><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td><td width="13" style="width:13px;border-left:2px solid #2563eb;font-size:1px;line-height:1px">&nbsp;</td></tr><% } else if (step.status === "current") { %><tr style="height:24px">
<td colspan="2" width="28" align="center" valign="top" style="width:28px;padding:3px 0"><table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td width="8" height="8" role="img" aria-label="current" style="width:8px;height:8px;border:5px solid #2563eb;border-radius:9px;font-size:0;line-height:0">&nbsp;</td></tr></table></td><td rowspan="2" class="t2" align="left" valign="top" style="padding:0 0 20px 12px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><strong style="font-weight:600"><%= step.title %></strong><div><% if (step.at !== "") { %><span style="font-size:13px;opacity:.75"><%= it.date(step.at) %></span><% if (step.text !== "") { %><br><% } } %><%= step.text %></div></td>
</tr>
<tr><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td><td class="l10" width="13" style="width:13px;border-left:2px solid #d1d5db;font-size:1px;line-height:1px">&nbsp;</td></tr><% } else { %><tr style="height:24px">
<td colspan="2" width="28" align="center" valign="top" style="width:28px;padding:3px 0"><table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td class="l9" width="14" height="14" role="img" aria-label="pending" style="width:14px;height:14px;border:2px solid #9ca3af;border-radius:9px;font-size:0;line-height:0">&nbsp;</td></tr></table></td><td rowspan="2" class="t2" align="left" valign="top" style="padding:0 0 20px 12px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><strong style="font-weight:600"><%= step.title %></strong><div><% if (step.at !== "") { %><span style="font-size:13px;opacity:.75"><%= it.date(step.at) %></span><% if (step.text !== "") { %><br><% } } %><%= step.text %></div></td>
</tr>
<tr><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td><td class="l10" width="13" style="width:13px;border-left:2px solid #d1d5db;font-size:1px;line-height:1px">&nbsp;</td></tr><% } %><% } else { %><% if (step.status === "completed") { %><tr style="height:24px">
<td colspan="2" width="28" align="center" valign="top" style="width:28px;padding:3px 0"><table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td width="18" height="18" align="center" role="img" aria-label="completed" style="width:18px;height:18px;border-radius:9px;background-color:#2563eb;font-family:Arial,sans-serif;font-size:11px;font-weight:700;line-height:18px;color:#ffffff">&#10003;</td></tr></table></td><td rowspan="2" class="t2" align="left" valign="top" style="padding:0 0 0 12px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><strong style="font-weight:600"><%= step.title %></strong><div><% if (step.at !== "") { %><span style="font-size:13px;opacity:.75"><%= it.date(step.at) %></span><% if (step.text !== "") { %><br><% } } %><%= step.text %></div></td>
</tr>
<tr><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td></tr><% } else if (step.status === "current") { %><tr style="height:24px">
<td colspan="2" width="28" align="center" valign="top" style="width:28px;padding:3px 0"><table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td width="8" height="8" role="img" aria-label="current" style="width:8px;height:8px;border:5px solid #2563eb;border-radius:9px;font-size:0;line-height:0">&nbsp;</td></tr></table></td><td rowspan="2" class="t2" align="left" valign="top" style="padding:0 0 0 12px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><strong style="font-weight:600"><%= step.title %></strong><div><% if (step.at !== "") { %><span style="font-size:13px;opacity:.75"><%= it.date(step.at) %></span><% if (step.text !== "") { %><br><% } } %><%= step.text %></div></td>
</tr>
<tr><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td></tr><% } else { %><tr style="height:24px">
<td colspan="2" width="28" align="center" valign="top" style="width:28px;padding:3px 0"><table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td class="l9" width="14" height="14" role="img" aria-label="pending" style="width:14px;height:14px;border:2px solid #9ca3af;border-radius:9px;font-size:0;line-height:0">&nbsp;</td></tr></table></td><td rowspan="2" class="t2" align="left" valign="top" style="padding:0 0 0 12px;font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><strong style="font-weight:600"><%= step.title %></strong><div><% if (step.at !== "") { %><span style="font-size:13px;opacity:.75"><%= it.date(step.at) %></span><% if (step.text !== "") { %><br><% } } %><%= step.text %></div></td>
</tr>
<tr><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td><td width="13" style="width:13px;font-size:1px;line-height:1px">&nbsp;</td></tr><% } %><% } }) %></table>
</td>
</tr>
</table>
</td>
</tr>
</table>
</div><!--[if mso]></td>
</tr>
</table>
<![endif]--></td>
</tr>
</table>
</div></body></html>`;

const text = `Hello <%~ it.name %>
<%~ "=".repeat(it.name.length + 6) %>

Your parcel <%~ it.code %> is on its way. Follow it
(<%~ it.link(it.url) %>).

Follow <%~ it.code %> (https://example.com/track?code=<%~ encodeURIComponent(it.code) %>)

[Photo of <%~ it.name %>]

Item                                            Qty    Total
------------------------------------------------------------
<% for (const item of it.items) { %><%~ item.name.padEnd(46) %><%~ String(item.quantity).padStart(5) %><%~ it.money(item.total).padStart(9) %>
<% } %>
<%~ it.note %>

To <%~ it.name %>

Total <%~ it.money(it.total) %>

----------------------------------------

<% if (it.total > 100) { %>Insured up to <%~ it.money(it.total) %>.<% } else { %>Not insured.<% } %>

<% for (const tip of it.tips) { %><%~ tip.title %>
<%~ tip.text %>

<% } for (const point of it.points) { %>- <%~ point %>
<% } %>
<%~ it.url %>

From <%~ it.name %>  <%~ it.code %>

<% for (const step of it.steps) { %><%~ it.mark[step.status] %> <%~ step.title %><% if (step.at !== "") { %> - <%~ it.date(step.at) %><% } %>
<% if (step.text !== "") { %>    <%~ step.text %>
<% } } %>`;

const eta = new Eta({ autoTrim: false, cache: false });
const htmlTemplate = eta.compile(html);
const textTemplate = eta.compile(text);

const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const date = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' });

const tools = {
  money: (value: number) => money.format(value),
  date: (value: string) => date.format(new Date(value)),
  link: (value: string) => (/^https?:\/\//.test(value) ? value : '#'),
  mark: { completed: '[x]', current: '[>]', pending: '[ ]' },
};

/** The checks that the variables need for what the template does with them. */
const check = ({ total, items, steps }: ParcelVariables): void => {
  if (typeof total !== 'number' || !Array.isArray(items) || !Array.isArray(steps)) throw new Error('wrong');
  for (const item of items) if (typeof item.total !== 'number') throw new Error('wrong');
};

const SIDE_PX = 320;
const black = [0, 0, 0, 255] as const;
const white = [255, 255, 255, 255] as const;

/** The code of the parcel: 320 pixels with a quiet zone of four modules, nothing looked at or counted. */
const draw = (value: string): Buffer => {
  const { modules } = QRCode.create([{ data: Buffer.from(value), mode: 'byte' }], { errorCorrectionLevel: 'M' });
  const modulePx = Math.floor(SIDE_PX / (modules.size + 8));
  const from = Math.floor((SIDE_PX - modules.size * modulePx) / 2);
  const place = (px: number): number => Math.floor((px - from) / modulePx);
  const isSet = (x: number, y: number): boolean => {
    const [column, row] = [place(x), place(y)];
    return column >= 0 && row >= 0 && column < modules.size && row < modules.size && modules.get(row, column) === 1;
  };
  return writePng({
    widthPx: SIDE_PX,
    heightPx: SIDE_PX,
    isSet,
    repeats: (y) => y > 0 && place(y) === place(y - 1),
    foreground: black,
    background: white,
  });
};

/** In: the variables of the parcel. Out: subject, HTML, text and, where `draws`, the picture of the code. */
export const parcelByHand = (
  variables: ParcelVariables,
  draws: boolean,
): { subject: string; html: string; text: string; code: Buffer | undefined } => {
  check(variables);
  const subject = `Parcel ${variables.code} is on its way`;
  const data = { ...tools, ...variables, subject };
  return {
    subject,
    html: htmlTemplate.call(eta, data),
    text: textTemplate.call(eta, data),
    code: draws ? draw(variables.url) : undefined,
  };
};
