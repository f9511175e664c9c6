/** Icons in the weight of the text. */
import type { ReactNode } from 'react';

export const icon =
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

export const HomeIcon = icon(<path d="M2.5 7.5 8 3l5.5 4.5M4 6.5V13h8V6.5M6.7 13V9.500h2.600V13" />);
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
export const KeyIcon = icon(
  <>
    <circle cx="5.2" cy="10.8" r="2.7" />
    <path d="m7.2 8.8 6-6M11 5l1.8 1.8" />
  </>,
);
export const HookIcon = icon(
  <>
    <circle cx="8" cy="4" r="2" />
    <circle cx="3.8" cy="11.5" r="2" />
    <circle cx="12.2" cy="11.5" r="2" />
    <path d="M7 5.8 4.8 9.7M9 5.8l2.2 3.9M5.8 11.5h4.4" />
  </>,
);
export const GlobeIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M2 8h12M8 2c2 1.8 2.6 3.8 2.6 6S10 12.2 8 14c-2-1.8-2.6-3.8-2.6-6S6 3.8 8 2z" />
  </>,
);
export const StopIcon = icon(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="m3.8 3.8 8.4 8.4" />
  </>,
);
export const PeopleIcon = icon(
  <>
    <circle cx="6" cy="5.5" r="2.3" />
    <path d="M1.8 13c.5-2.2 2.1-3.4 4.2-3.400s3.7 1.2 4.2 3.400M10.3 3.500a2.2 2.2 0 0 1 0 4.200M12 9.800c1.2.5 2 1.6 2.3 3.2" />
  </>,
);
export const StackIcon = icon(<path d="m8 2.5 6 3-6 3-6-3zM2.5 8.2 8 11l5.5-2.800M2.5 11 8 13.800l5.5-2.8" />);
export const SheetIcon = icon(<path d="M3 2.500h10v11H3zM3 6h10M7 6v7.500" />);
export const LogIcon = icon(<path d="M4 2.500h8v11H4zM6 5.500h4M6 8h4M6 10.500h2.5" />);
export const ChartIcon = icon(<path d="M2.5 13.500h11M4.5 11V8M8 11V3.500M11.5 11V6" />);
export const PictureIcon = icon(
  <>
    <path d="M2.5 3.500h11v9h-11zM3 11.500l3.2-3.5 2.3 2.5 1.8-2 3 3.2" />
    <circle cx="10.7" cy="6" r=".9" />
  </>,
);
export const AppIcon = icon(
  <path d="M2.5 2.500h4.500V7H2.500zM9 2.500h4.500V7H9zM2.5 9h4.500v4.500H2.500zM11.25 9v4.500M9 11.25h4.5" />,
);
export const CallIcon = icon(<path d="M2 5.500h9.500M9 3l2.500 2.500L9 8M14 10.500H4.500M7 8l-2.500 2.500L7 13" />);
export const PulseIcon = icon(<path d="M1.500 8.500H5l2-5 2.500 9 2-4h3" />);
export const GearIcon = icon(
  <>
    <circle cx="8" cy="8" r="2.2" />
    <path d="M8 1.800v2M8 12.200v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.400M3.6 12.4 5 11M11 5l1.4-1.4" />
  </>,
);
export const BrushIcon = icon(
  <path d="M13.500 2.500 7.300 8.700l1.500 1.500 4.700-7.700zM6.500 9.500c-1.700 0-2.300 1.200-2.300 2.300 0 .8-.6 1.400-1.700 1.500 3.300 1 5.500-.3 5.500-2.300z" />,
);
export const CopyIcon = icon(<path d="M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3" />);
export const MoreIcon = icon(<path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2.2" />);
