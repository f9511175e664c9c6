/**
 * Previews of mails in the page. The frame is a page of the service whose policy runs no script and allows the inline
 * styles of mails; the dashboard writes the mail into it, and may measure what stands there.
 */
import { useEffect, useRef } from 'react';
import { dashboardUrl } from '../api/values';

export type Scheme = 'light' | 'dark';

/** `pictures`: whether pictures of other hosts are loaded. */
type Look = Readonly<{ scheme: Scheme; pictures: boolean }>;

const REMOTE = /\b(src|background)="(?=(?:https?:)?\/\/)/gi;
const REMOTE_IN_STYLE = /url\((?:&quot;|&#39;|['"])?(?:https?:)?\/\/[^()]*\)/gi;

/** In: the HTML of a preview. Out: whether it shows pictures of other hosts. */
export const hasRemotePictures = (html: string): boolean =>
  html.search(REMOTE) >= 0 || html.search(REMOTE_IN_STYLE) >= 0;

/**
 * In: HTML of the renderer. Out: HTML for the frame. Media queries get the scheme, for a frame cannot be told which one
 * to prefer. Addresses that the policy of the frame would refuse are taken out, so that the browser has nothing to report.
 */
const shownHtml = (html: string, { scheme, pictures }: Look): string => {
  const isDark = scheme === 'dark';
  const schemed = html
    .replace(/\(\s*prefers-color-scheme\s*:\s*dark\s*\)/gi, isDark ? '(min-width:0)' : '(max-width:0)')
    .replace(/\(\s*prefers-color-scheme\s*:\s*light\s*\)/gi, isDark ? '(max-width:0)' : '(min-width:0)');
  return pictures ? schemed : schemed.replace(REMOTE, 'data-$1="').replace(REMOTE_IN_STYLE, 'none');
};

/** Undefined: the page of that address is not there yet. */
const showIn = (frame: HTMLIFrameElement, address: string, html: string, look: Look): Document | undefined => {
  const shown = frame.contentDocument;
  if (shown === null || shown.URL !== address) return undefined;
  // A page that has begun to load has its address before its elements.
  const root = shown.documentElement as HTMLElement | null;
  if (root === null) return undefined;
  root.innerHTML = shownHtml(html, look);
  const open = /<html\b[^>]*>/i.exec(html)?.[0] ?? '';
  for (const name of ['lang', 'dir']) {
    const value = new RegExp(`\\s${name}="([^"<>]*)"`, 'i').exec(open)?.[1];
    if (value === undefined) root.removeAttribute(name);
    else root.setAttribute(name, value);
  }
  root.style.colorScheme = look.scheme;
  // A link would lead the frame away.
  for (const link of shown.querySelectorAll('a[href], area[href]')) link.removeAttribute('href');
  return shown;
};

/** `onShown` gets the document of the frame each time that a mail was written into it. */
export const MailFrame = ({
  html,
  title,
  scheme,
  pictures,
  className,
  onShown,
}: Look & Readonly<{ html: string; title: string; className: string; onShown?: (shown: Document) => void }>) => {
  const frame = useRef<HTMLIFrameElement>(null);
  const address = new URL(pictures ? 'frame?pictures=true' : 'frame', dashboardUrl).href;
  const show = (): void => {
    const shown = frame.current === null ? undefined : showIn(frame.current, address, html, { scheme, pictures });
    if (shown !== undefined) onShown?.(shown);
  };
  const newest = useRef(show);
  useEffect(() => {
    newest.current = show;
  });
  useEffect(() => newest.current(), [html, scheme, pictures]);
  return (
    <iframe
      ref={frame}
      title={title}
      className={className}
      sandbox="allow-same-origin"
      referrerPolicy="no-referrer"
      src={address}
      onLoad={() => newest.current()}
    />
  );
};
