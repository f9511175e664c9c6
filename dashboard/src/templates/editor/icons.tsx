/** Icons of the editor, in the weight of the text. */
import type { ReactNode } from 'react';
import { icon } from '../../ui/icons';
import type { TreeNode } from './model';

export const HandleIcon = icon(<path d="M6 4h.01M6 8h.01M6 12h.01M10 4h.01M10 8h.01M10 12h.01" strokeWidth="2" />);
export const PlusIcon = icon(<path d="M8 3v10M3 8h10" />);
export const UpIcon = icon(<path d="M8 13V3.500M4 7l4-4 4 4" />);
export const DownIcon = icon(<path d="M8 3v9.500M4 9l4 4 4-4" />);
export const InIcon = icon(<path d="M3 3v10M6 8h7M10 5l3 3-3 3" />);
export const OutIcon = icon(<path d="M13 3v10M10 8H3M6 5 3 8l3 3" />);
export const TwiceIcon = icon(<path d="M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3" />);
export const BinIcon = icon(<path d="M3 4.500h10M6.500 4.500v-2h3v2M4.500 4.500l.7 9h5.6l.7-9M6.800 7v4M9.200 7v4" />);

const shapes: Readonly<Record<string, ReactNode>> = {
  'rich-text': <path d="M3 4h10M3 7h10M3 10h10M3 13h6" />,
  button: <path d="M2.5 5.500h11v5h-11zM6 8h4" />,
  image: <path d="M2.5 3.500h11v9h-11zM3 11.500l3.200-3.500 2.300 2.500 1.800-2 3 3.200" />,
  table: <path d="M2.500 3.500h11v9h-11zM2.500 6.500h11M2.500 9.500h11M7 3.500v9" />,
  container: <path d="M2.500 3.500h11v9h-11z" />,
  columns: <path d="M2.500 3.500h4.500v9H2.500zM9 3.500h4.500v9H9z" />,
  divider: <path d="M2.500 8h11" />,
  spacer: <path d="M3 3.500h10M3 12.500h10M8 5.500v5M6.500 7 8 5.500 9.500 7M6.500 9 8 10.500 9.500 9" />,
  conditional: (
    <path d="m8 2.500 5.500 5.500L8 13.500 2.500 8zM6.800 6.600c.2-1.500 2.600-1.400 2.500 0-.1.900-1.300.9-1.300 1.900M8 10.400v.1" />
  ),
  loop: <path d="M3 7.500a4 4 0 0 1 4-4h5M10 1.500l2 2-2 2M13 8.500a4 4 0 0 1-4 4H4M6 14.500l-2-2 2-2" />,
  list: <path d="M6 4.500h7.500M6 8h7.500M6 11.500h7.500M3 4.500h.01M3 8h.01M3 11.500h.01" />,
  'qr-code': (
    <path d="M2.500 2.500H7V7H2.500zM9 2.500h4.500V7H9zM2.500 9H7v4.500H2.500zM9 9h2v2H9zM13.500 11v2.500H11" />
  ),
  'html-fragment': <path d="M5.500 4.500 2.500 8l3 3.500M10.500 4.500l3 3.500-3 3.500" />,
  chart: <path d="M2.500 13.500h11M4.500 11V8M8 11V3.500M11.500 11V6" />,
  timeline: <path d="M4 4h.01M4 8h.01M4 12h.01M7 4h6.500M7 8h6.500M7 12h6.500M4 5.500v1M4 9.500v1" />,
  include: <path d="m8 2.500 5 2.800v5.400L8 13.500l-5-2.800V5.300zM3 5.300l5 2.800 5-2.800M8 8.100v5.400" />,
};

const kindShapes: Readonly<Partial<Record<TreeNode['kind'], ReactNode>>> = {
  page: <path d="M4 2.500h5.500L12 5v8.500H4zM9.500 2.500V5H12" />,
  section: <path d="M2.500 3.500h11M2.500 6h11v4.500h-11zM2.500 13h11" />,
  slot: <path d="M2.500 6h11v4.500h-11z" strokeDasharray="2 1.600" />,
  branch: <path d="M4 3v4a2 2 0 0 0 2 2h6M10 6.500 12.500 9 10 11.500" />,
};

const icons = new Map<string, (props: Readonly<{ size?: number }>) => ReactNode>(
  [...Object.entries(shapes), ...Object.entries(kindShapes)].map(([name, shape]) => [name, icon(shape)]),
);
const unknown = icon(<path d="M2.500 3.500h11v9h-11zM6 6l4 4M10 6l-4 4" />);

export const ComponentIcon = ({ kind, type }: Readonly<{ kind: TreeNode['kind']; type: string }>): ReactNode =>
  (icons.get(kind === 'component' ? type : kind) ?? unknown)({ size: 14 });
