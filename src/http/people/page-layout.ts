/** The pages to which the links of mails about accounts lead. Each has a form; nothing happens before it is sent. */
import type { FastifyReply } from 'fastify';
import { personPage, sendPersonPage } from '../server/forms.js';

/** `type` and `autocomplete`: as of HTML's input. A field with a value that cannot be edited is `readonly`. */
export type Field = Readonly<{
  label: string;
  name: string;
  type: 'text' | 'email' | 'password';
  autocomplete: string;
  value?: string;
  isReadonly?: boolean;
  isOptional?: boolean;
  minLength?: number;
  maxLength?: number;
}>;

export type Form = Readonly<{
  /** Above it, where a page has several. */
  heading?: string;
  action: string;
  hidden: Readonly<Record<string, string>>;
  fields: readonly Field[];
  button: string;
}>;

export type AccountPage = Readonly<{
  title: string;
  texts?: readonly string[];
  /** What was wrong with the form that was sent. */
  fault?: string;
  forms?: readonly Form[];
  /** Below all. */
  note?: string;
  /** Whether the page shows the way to the one where other links are asked for. */
  leadsOn?: boolean;
}>;

const fill = personPage<Required<AccountPage>>(`<h1><%= it.title %></h1>
<% for (const text of it.texts) { %><p><%= text %></p>
<% } %>\
<% if (it.fault !== '') { %><p class="fault" role="alert"><%= it.fault %></p>
<% } %>\
<% for (const form of it.forms) { %>\
<% if (form.heading !== undefined) { %><h2><%= form.heading %></h2>
<% } %>\
<form method="post" action="<%= form.action %>">
<% for (const [name, value] of Object.entries(form.hidden)) { %><input type="hidden" name="<%= name %>" value="<%= value %>">
<% } %>\
<% for (const field of form.fields) { %>\
<label><%= field.label %><input type="<%= field.type %>" name="<%= field.name %>" autocomplete="<%= field.autocomplete %>"<%
if (field.value !== undefined) { %> value="<%= field.value %>"<% }
if (field.minLength !== undefined) { %> minlength="<%= field.minLength %>"<% }
if (field.maxLength !== undefined) { %> maxlength="<%= field.maxLength %>"<% }
if (field.isReadonly) { %> readonly<% }
if (!field.isOptional) { %> required<% } %>></label>
<% } %>\
<div class="buttons"><button type="submit" class="main"><%= form.button %></button></div>
</form>
<% } %>\
<% if (it.note !== '') { %><p class="soft"><%= it.note %></p>
<% } %>\
<% if (it.leadsOn) { %><p><a href="/account">Ask for another link</a></p>
<% } %>\
`);

/** Sends the page; what it does not say is not there. */
export const sendAccountPage = (reply: FastifyReply, status: number, page: AccountPage): FastifyReply =>
  sendPersonPage(reply, status, fill({ texts: [], fault: '', forms: [], note: '', leadsOn: false, ...page }));

/** A link that is not whole. */
export const notWhole: AccountPage = {
  title: 'This link is not whole',
  texts: ['It may have been cut short. Open it from the mail once more, or copy the whole address.'],
  leadsOn: true,
};
