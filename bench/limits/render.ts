/**
 * The limit that rendering is measured against: the same order confirmation written by hand in Eta, HTML and text, with
 * Eta's escaping and nothing else.
 */
import { Eta } from 'eta';

export type Order = {
  number: string;
  placedAt: string;
  currency: string;
  items: { name: string; variant: string; quantity: number; total: number }[];
  subtotal: number;
  shipping: number;
  discount: number;
  total: number;
  shippingAddress: { name: string; street: string; city: string; country: string };
  delivery: { method: string; from: string; to: string };
  trackingUrl: string;
};
export type OrderVariables = { customer: { firstName: string; email: string }; order: Order };

const html =
  '<!doctype html><html lang="en-US" dir="ltr" xmlns:o="urn:schemas-microsoft-com:office:office"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="x-apple-disable-message-reformatting"><meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title><%= it.subject %></title><!--[if mso]><noscript><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml></noscript><style>table{border-collapse:collapse}td,th,p,a,li,h1,h2,h3{font-family:"Segoe UI",Arial,sans-serif}</style>' +
  '<![endif]--><style>:root{color-scheme:light dark;supported-color-schemes:light dark}body{-webkit-text-size-adjust:100%;-ms-text-size-adjust:100%}td{overflow-wrap:break-word}a[x-apple-data-detectors]{color:inherit!important;text-decoration:none!important}@media (max-width:623px){.page{padding:0!important}.card{border-radius:0!important}}@media (max-width:599px){.w{word-break:break-word}.sec{padding-left:24px!important;padding-right:24px!important}.col{max-width:100%!important}.col+.col{padding-top:16px}.gut{padding-right:0!important}.m{font-size:12px!important}.m td,.m th{padding:8px 3px!important}}@media (prefers-color-scheme:dark){.p0{background-color:#111317!important}.t1{color:#e0e4e9!important}.s2{background-color:#1c1e21!important}.c3 td,.c3 th{border-color:#3b414c!important}.t4{color:#bfc1c5!important}.t5{color:#bbf6f2!important}.l6{border-color:#3b414c!important}.t7{color:#c0c2c6!important}.t8{color:#caced2!important}}</style>' +
  '</head><body class="p0" style="margin:0;padding:0;background-color:#f3f4f6">' +
  '<div style="display:none;max-height:0;overflow:hidden;mso-hide:all"><%= it.order.items.length %> items, <%= it.money(it.order.total) %>. We will write again when it ships.&#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; &#8199;&#65279;&#847; </div>' +
  '<div role="article" aria-roledescription="email" lang="en-US" dir="ltr"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="p0" style="background-color:#f3f4f6"><tr><td class="page" align="center" style="padding:12px"><!--[if mso]><table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0" align="center"><tr><td><![endif]--><div style="max-width:600px;margin:0 auto"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td class="sec" style="padding:20px 32px 24px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td class="t1" style="padding:0;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><p style="margin:0;font-size:18px;font-weight:700;letter-spacing:-0.2px"><%= it.company.name %></p></td></tr>' +
  '</table></td></tr>' +
  '<tr><td class="sec card s2" style="padding:32px;background-color:#ffffff;border-radius:8px 8px 8px 8px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td class="t1" style="padding:0 0 16px;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937"><h1 style="margin:0 0 16px;font-size:28px;line-height:1.25;font-weight:700">Thank you, <%= it.customer.firstName %>!</h1><p style="margin:0">Your order <strong><%= it.order.number %></strong> of <%= it.long(it.order.placedAt) %> is confirmed. We will write again as soon as it ships.</p></td></tr>' +
  '<tr><td style="padding:0 0 16px"><table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td align="center" style="border-radius:6px;background-color:#0f766e;mso-padding-alt:13px 26px"><a href="<%= it.url(it.order.trackingUrl) %>" style="display:inline-block;padding:13px 26px;mso-padding-alt:0;border-radius:6px;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.25;font-weight:600;color:#ffffff;text-decoration:none;text-align:center">View your order</a></td></tr>' +
  '</table></td></tr>' +
  '<tr><td height="8" style="height:8px;line-height:8px;font-size:0">&nbsp;</td></tr>' +
  '<tr><td style="padding:0 0 16px"><table width="100%" cellpadding="0" cellspacing="0" border="0" class="t1 c3" style="width:100%;border-collapse:collapse;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5;color:#1f2937"><tr valign="top"><th scope="col" class="t4" align="left" style="padding:10px 12px;padding-left:0;border-bottom:1px solid #e5e7eb;color:#6b7280;font-weight:600;text-align:left">Item</th><th scope="col" class="t4" align="right" width="48" style="padding:10px 12px;border-bottom:1px solid #e5e7eb;color:#6b7280;font-weight:600;text-align:right">Qty</th><th scope="col" class="t4" align="right" width="96" style="padding:10px 12px;padding-right:0;border-bottom:1px solid #e5e7eb;color:#6b7280;font-weight:600;text-align:right">Total</th></tr>' +
  '<% for (const item of it.order.items) { %>' +
  '<tr valign="top"><td style="padding:10px 12px;padding-left:0;border-bottom:1px solid #e5e7eb"><strong><%= item.name %></strong><br><span class="t4" style="font-size:13px;color:#6b7280"><%= item.variant %></span></td><td align="right" style="padding:10px 12px;border-bottom:1px solid #e5e7eb"><%= item.quantity %></td><td align="right" style="padding:10px 12px;padding-right:0;border-bottom:1px solid #e5e7eb"><%= it.money(item.total) %></td></tr>' +
  '<% } %></table></td></tr>' +
  '<tr><td style="padding:0"><table width="100%" cellpadding="0" cellspacing="0" border="0" class="t1" style="width:100%;border-collapse:collapse;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5;color:#1f2937"><tr valign="top"><td align="right" style="padding:3px 0;padding-left:0">Subtotal</td><td align="right" width="96" style="padding:3px 0;padding-right:0"><%= it.money(it.order.subtotal) %></td></tr>' +
  '<tr valign="top"><td align="right" style="padding:3px 0;padding-left:0">Shipping</td><td align="right" width="96" style="padding:3px 0;padding-right:0"><%= it.money(it.order.shipping) %></td></tr>' +
  '</table></td></tr>' +
  '<% if (it.order.discount > 0) { %>' +
  '<tr><td style="padding:0"><table width="100%" cellpadding="0" cellspacing="0" border="0" class="t5" style="width:100%;border-collapse:collapse;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5;color:#0f766e"><tr valign="top"><td align="right" style="padding:3px 0;padding-left:0">Discount</td><td align="right" width="96" style="padding:3px 0;padding-right:0">−<%= it.money(it.order.discount) %></td></tr>' +
  '</table></td></tr>' +
  '<% } %>' +
  '<tr><td style="padding:8px 0 16px"><table width="100%" cellpadding="0" cellspacing="0" border="0" class="t1" style="width:100%;border-collapse:collapse;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:18px;line-height:1.5;color:#1f2937"><tr valign="top"><td align="right" style="padding:3px 0;padding-left:0"><strong>Total</strong></td><td align="right" width="96" style="padding:3px 0;padding-right:0"><strong><%= it.money(it.order.total) %></strong></td></tr>' +
  '</table></td></tr>' +
  '<tr><td style="padding:8px 0 24px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" align="center" style="width:100%"><tr><td class="l6" style="border-top:1px solid #e5e7eb;font-size:0;line-height:0">&nbsp;</td></tr>' +
  '</table></td></tr>' +
  '<tr><td style="padding:0;font-size:0"><!--[if mso]><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><![endif]--><!--[if mso]><td width="280" valign="top"><![endif]--><div class="col" style="display:inline-block;width:100%;max-width:280px;vertical-align:top"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td class="gut" style="padding:0 24px 0 0"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td class="t1" style="padding:0;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5;color:#1f2937"><h4 style="margin:0 0 8px;font-size:16px;line-height:1.4;font-weight:600">Ships to</h4><p style="margin:0"><%= it.order.shippingAddress.name %><br><%= it.order.shippingAddress.street %><br><%= it.order.shippingAddress.city %><br><%= it.order.shippingAddress.country %></p></td></tr>' +
  '</table></td></tr>' +
  '</table></div>' +
  '<!--[if mso]></td><![endif]--><!--[if mso]><td width="256" valign="top"><![endif]--><div class="col" style="display:inline-block;width:100%;max-width:256px;vertical-align:top"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td class="t1" style="padding:0;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5;color:#1f2937"><h4 style="margin:0 0 8px;font-size:16px;line-height:1.4;font-weight:600">Arrives</h4><p style="margin:0"><%= it.short(it.order.delivery.from) %> to <%= it.short(it.order.delivery.to) %><br><%= it.order.delivery.method %></p></td></tr>' +
  '</table></td></tr>' +
  '</table></div>' +
  '<!--[if mso]></td><![endif]--><!--[if mso]></tr>' +
  '</table><![endif]--></td></tr>' +
  '</table></td></tr>' +
  '<tr><td class="sec" style="padding:24px 32px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td class="t7" align="center" style="padding:0 0 16px;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:13px;line-height:1.5;color:#656b78"><p style="margin:0">Questions? Reply to this email or write to <a class="t8" href="mailto:<%= it.company.email %>" style="color:#4b5563;text-decoration:underline"><span class="w"><%= it.company.email %></span></a>.</p></td></tr>' +
  '<tr><td class="t7" align="center" style="padding:0;font-family:-apple-system,BlinkMacSystemFont,\'Segoe UI\',Roboto,Helvetica,Arial,sans-serif;font-size:13px;line-height:1.5;color:#656b78"><p style="margin:0">© <%= it.year %> <%= it.company.legalName %><br><%= it.company.addressLine1 %>, <%= it.company.postalCode %> <%= it.company.city %>, <%= it.company.country %></p></td></tr>' +
  '</table></td></tr>' +
  '</table></div>' +
  '<!--[if mso]></td></tr>' +
  '</table><![endif]--></td></tr>' +
  '</table></div>' +
  '</body></html>';

const text =
  '<%~ it.company.name %>\n\n' +
  'Thank you, <%~ it.customer.firstName %>!\n===============\n\n' +
  'Your order <%~ it.order.number %> of <%~ it.long(it.order.placedAt) %> is confirmed. We will write again as\nsoon as it ships.\n\n' +
  'View your order (<%~ it.url(it.order.trackingUrl) %>)\n\n' +
  'Item                                             Qty   Total\n------------------------------------------------------------\n' +
  '<% for (const item of it.order.items) { %><%~ item.name.padEnd(46) %><%~ String(item.quantity).padStart(6) %><%~ it.money(item.total).padStart(8) %>\n<%~ item.variant %>\n<% } %>\n' +
  '<%~ ("Subtotal  " + it.money(it.order.subtotal).padStart(7)).padStart(60) %>\n<%~ ("Shipping  " + it.money(it.order.shipping).padStart(7)).padStart(60) %>\n\n' +
  '<% if (it.order.discount > 0) { %><%~ ("Discount  " + ("−" + it.money(it.order.discount)).padStart(7)).padStart(60) %>\n\n<% } %>' +
  '<%~ ("Total  " + it.money(it.order.total)).padStart(60) %>\n\n----------------------------------------\n\n' +
  'Ships to\n<%~ it.order.shippingAddress.name %>\n<%~ it.order.shippingAddress.street %>\n<%~ it.order.shippingAddress.city %>\n<%~ it.order.shippingAddress.country %>\n\n' +
  'Arrives\n<%~ it.short(it.order.delivery.from) %> to <%~ it.short(it.order.delivery.to) %>\n<%~ it.order.delivery.method %>\n\n' +
  'Questions? Reply to this email or write to <%~ it.company.email %>.\n\n' +
  '© <%~ it.year %> <%~ it.company.legalName %>\n<%~ it.company.addressLine1 %>, <%~ it.company.postalCode %> <%~ it.company.city %>, <%~ it.company.country %>\n';

const eta = new Eta({ autoTrim: false, cache: false });
const htmlTemplate = eta.compile(html);
const textTemplate = eta.compile(text);

const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'EUR' });
const long = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' });
const short = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' });

const tools = {
  money: (value: number) => money.format(value),
  long: (value: string) => long.format(new Date(value)),
  short: (value: string) => short.format(new Date(value)).replace(',', ''),
  url: (value: string) => (/^https?:\/\//.test(value) ? value : '#'),
};

/** The checks that the variables need for what the template does with them. */
const check = ({ customer, order }: OrderVariables): void => {
  if (typeof customer.firstName !== 'string' || typeof order.number !== 'string' || typeof order.currency !== 'string')
    throw new Error('wrong');
  if (typeof order.total !== 'number' || typeof order.subtotal !== 'number' || typeof order.shipping !== 'number')
    throw new Error('wrong');
  if (typeof order.trackingUrl !== 'string' || !Array.isArray(order.items)) throw new Error('wrong');
  for (const item of order.items) {
    if (
      typeof item.name !== 'string' ||
      typeof item.variant !== 'string' ||
      typeof item.quantity !== 'number' ||
      typeof item.total !== 'number'
    )
      throw new Error('wrong');
  }
};

/**
 * In: the variables of the sample order confirmation, and what the constants stand for. Out: subject, HTML and text.
 */
export const renderByHand = (
  variables: OrderVariables,
  company: Readonly<Record<string, string>>,
  at: string,
): { subject: string; html: string; text: string } => {
  check(variables);
  const subject = `Your order ${variables.order.number} is confirmed`;
  const data = { ...tools, ...variables, company, subject, year: at.slice(0, 4) };
  return { subject, html: htmlTemplate.call(eta, data), text: textTemplate.call(eta, data) };
};
