/** Icons in the weight of the text. */
import type { ReactNode } from 'react';

const icon =
  (shape: ReactNode) =>
  ({ size = 16 }: Readonly<{ size?: number }>): ReactNode => (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {shape}
    </svg>
  );

export const EmailIcon = icon(<path d="M2 4h12v8.5H2zM2 4.5l6 4.5 6-4.5" />);
export const MailboxIcon = icon(<path d="M2 9.5 4 3h8l2 6.5V13H2zM2 9.5h3.5a2.5 2.5 0 0 0 5 0H14" />);
export const BookIcon = icon(
  <path d="M3 2.5h8.5A1.5 1.5 0 0 1 13 4v9.5H4.5A1.5 1.5 0 0 1 3 12zM3 12a1.5 1.5 0 0 1 1.5-1.5H13" />,
);
export const SearchIcon = icon(<path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.6 10.6 14 14" />);
export const ChevronIcon = icon(<path d="m5 6.5 3 3 3-3" />);
export const MenuIcon = icon(<path d="M2.5 4h11M2.5 8h11M2.5 12h11" />);
export const CloseIcon = icon(<path d="m4 4 8 8M12 4l-8 8" />);
export const HelpIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M6.3 6.2a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.8.6-.8 1.1M8 11.3v.1" />
  </>,
);
export const PersonIcon = icon(
  <>
    <circle cx="8" cy="5.3" r="2.6" />
    <path d="M2.8 13.5c.7-2.4 2.7-3.7 5.2-3.7s4.5 1.3 5.2 3.7" />
  </>,
);
export const ClipIcon = icon(
  <path d="M12.5 7.5 8 12a2.9 2.9 0 0 1-4.1-4.1l5-5a1.9 1.9 0 0 1 2.7 2.7l-5 5a1 1 0 0 1-1.3-1.4l4.2-4.2" />,
);
export const CheckIcon = icon(<path d="m3.5 8.5 3 3 6-7" />);
