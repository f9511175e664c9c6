/** The entries of the palette: pages and acts that are always there, and the order in which entries are found. */
/** `words`: further words by which it is found. `href`: a path of the dashboard, or a whole address. */
export type Entry = Readonly<{
  id: string;
  title: string;
  hint?: string;
  words?: string;
  href?: string;
  act?: () => void;
}>;

/** Entries that are shown at once, of the recent ones and of each other group. */
export const RECENT_MAX = 5;
export const SHOWN_MAX = 8;

type Needs =
  | 'api-keys:manage'
  | 'templates:read'
  | 'templates:write'
  | 'emails:send'
  | 'domains:manage'
  | 'webhooks:manage'
  | 'suppressions:manage'
  | 'members:manage';

/** Acts that lead to a form. `needs`: whoever lacks the permission does not find the act. */
export const acts: readonly Readonly<Entry & { href: string; needs: Needs }>[] = [
  { id: 'new-api-key', title: 'New API key', words: 'create token', href: '/api-keys/new', needs: 'api-keys:manage' },
  {
    id: 'send-test',
    title: 'Send a test',
    hint: 'Choose a template',
    words: 'try preview mail',
    href: '/templates/emails',
    needs: 'templates:read',
  },
  {
    id: 'new-template',
    title: 'New email template',
    words: 'create mail',
    href: '/templates/emails/new',
    needs: 'templates:write',
  },
  {
    id: 'send-bulk',
    title: 'Send to a CSV file',
    words: 'bulk batch newsletter import',
    href: '/batches/new',
    needs: 'emails:send',
  },
  {
    id: 'new-domain',
    title: 'Add a sender domain',
    words: 'create dkim dns',
    href: '/domains/new',
    needs: 'domains:manage',
  },
  {
    id: 'new-webhook',
    title: 'Add a webhook',
    words: 'create endpoint events',
    href: '/webhooks/new',
    needs: 'webhooks:manage',
  },
  { id: 'upload', title: 'Upload a file', words: 'picture logo asset', href: '/gallery/new', needs: 'templates:write' },
  {
    id: 'suppress',
    title: 'Suppress an address',
    words: 'block unsubscribe',
    href: '/suppressions/new',
    needs: 'suppressions:manage',
  },
  { id: 'invite', title: 'Invite somebody', words: 'member colleague team', href: '/members', needs: 'members:manage' },
];

/** Letters without accents and case, so that "cafe" finds "Café". */
const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLocaleLowerCase();

const wordsOf = (text: string): readonly string[] =>
  plain(text)
    .split(/\s+/)
    .filter((word) => word !== '');

/** How well an entry fits: each word of the question is in it; 0: it does not fit. */
const fitOf = (entry: Entry, question: readonly string[]): number => {
  const title = plain(entry.title);
  const all = plain(`${entry.title} ${entry.hint ?? ''} ${entry.words ?? ''}`);
  if (!question.every((word) => all.includes(word))) return 0;
  const [first = ''] = question;
  if (title.startsWith(first)) return 3;
  return title.split(/[\s-]/).some((word) => word.startsWith(first)) ? 2 : 1;
};

/** The entries that fit, the best first; entries that fit equally keep their order. */
export const fitting = <Found extends Entry>(entries: readonly Found[], text: string): readonly Found[] => {
  const question = wordsOf(text);
  if (question.length === 0) return entries;
  return entries
    .map((entry) => ({ entry, fit: fitOf(entry, question) }))
    .filter(({ fit }) => fit > 0)
    .toSorted((one, other) => other.fit - one.fit)
    .map(({ entry }) => entry);
};

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ADDRESS = /^[^\s@<>"]+@[^\s@<>"]+\.[^\s@<>"]+$/;

/** Entries that the text itself names: the id of an email, an address. */
export const namedBy = (text: string, permissions: readonly string[]): readonly Entry[] => {
  const given = text.trim();
  if (!permissions.includes('emails:read')) return [];
  if (UUID.test(given))
    return [
      { id: 'email-by-id', title: 'The email with this id', hint: given, href: `/emails/${given.toLowerCase()}` },
    ];
  if (ADDRESS.test(given))
    return [
      {
        id: 'address',
        title: `What happened with ${given}`,
        href: `/recipients/${encodeURIComponent(given)}`,
      },
    ];
  return [];
};

/** The chosen entry before the others, each once. */
export const withRecent = (recent: readonly Entry[], chosen: Entry): readonly Entry[] => {
  const { act: _act, words: _words, ...kept } = chosen;
  return [kept, ...recent.filter(({ href }) => href !== chosen.href)].slice(0, RECENT_MAX);
};

export const recentOf = (text: string | null): readonly Entry[] => {
  try {
    const known: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(known)
      ? known.filter(
          (one): one is Entry =>
            typeof one === 'object' &&
            one !== null &&
            typeof (one as Entry).id === 'string' &&
            typeof (one as Entry).title === 'string' &&
            typeof (one as Entry).href === 'string' &&
            /^\/[^/]/.test((one as Entry).href ?? ''),
        )
      : [];
  } catch {
    return [];
  }
};

/** Keys of all pages, and those of the page at that path. */
export const keysAt = (path: string): readonly (readonly [keys: string, act: string])[] => [
  ['Ctrl K, ⌘ K', 'go to a page, find a thing, do something'],
  ['?', 'show these keys'],
  ['Esc', 'close what is open'],
  ...(path === '/emails' ? ([['/', 'search emails']] as const) : []),
  ...(/^\/templates\/[^/]+\/[^/]+/.test(path)
    ? ([
        ['Ctrl S', 'save'],
        ['Ctrl Z', 'undo'],
        ['Ctrl Y', 'redo'],
        ['↑ ↓', 'in the structure: the component before or after'],
        ['Alt ↑, Alt ↓', 'move it'],
        ['Alt →, Alt ←', 'move it into the one before, or out'],
        ['Insert', 'add a component'],
        ['Ctrl D', 'duplicate it'],
        ['Delete', 'delete it'],
      ] as const)
    : []),
];
