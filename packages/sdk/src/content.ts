/** Contents of a call that are more comfortable than those of the API: a React element, text alone. */
import { SealpostError } from './errors.js';
import type { InlineContent, SendEmailRequest } from './types.gen.js';

type Common = Omit<InlineContent, 'html' | 'text'>;

/** `react`: an element of React Email; `@react-email/render` makes its HTML and text. */
export type Content =
  InlineContent | (Common & Readonly<{ react: object; text?: string }>) | (Common & Readonly<{ text: string }>);

/** A `SendEmailRequest` whose content may also be a React element, or text alone. */
export type Email = Omit<SendEmailRequest, 'content'> & Readonly<{ content?: Content }>;

/** Out: the body of the call. Rejects with `NO_RENDERER` where an element is given and its renderer is not installed. */
export const bodyOf = async (email: Email): Promise<SendEmailRequest> => {
  const { content, ...others } = email;
  return content === undefined ? others : { ...others, content: await inline(content) };
};

const inline = async (content: Content): Promise<InlineContent> => {
  if ('react' in content) {
    const { react, text, ...common } = content;
    const render = await renderer();
    const [html, plain] = await Promise.all([render(react), text ?? render(react, { plainText: true })]);
    return { ...common, html, text: plain };
  }
  if ('html' in content) return content;
  return { ...content, html: `<div style="white-space:pre-wrap">${escaped(content.text)}</div>` };
};

type Render = (element: object, options?: Readonly<{ plainText?: boolean }>) => Promise<string>;

const renderer = async (): Promise<Render> => {
  // Bundlers do not look for a package that is not installed.
  const name = '@react-email/render';
  try {
    return ((await import(/* @vite-ignore */ name)) as { render: Render }).render;
  } catch (cause) {
    throw new SealpostError({
      code: 'NO_RENDERER',
      message: 'content.react needs the package @react-email/render: npm install @react-email/render',
      status: 0,
      cause,
    });
  }
};

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
