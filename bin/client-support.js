// Which mail programs lack a feature of HTML and CSS, from the data of caniemail.com. The build of the dashboard makes a module of it for the hints of the template editor.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const data = fileURLToPath(new URL('data/caniemail.json', import.meta.resolve('caniemail')));

/** Programs that many people read their mails with, in the order in which they are named. */
const programs = {
  'outlook.windows': 'Outlook on Windows',
  'gmail.desktop-webmail': 'Gmail',
  'gmail.android': 'Gmail on Android',
  'gmail.ios': 'Gmail on iPhone',
  'apple-mail.macos': 'Apple Mail',
  'apple-mail.ios': 'Apple Mail on iPhone',
  'outlook.outlook-com': 'Outlook.com',
  'outlook.macos': 'Outlook on macOS',
  'outlook.android': 'Outlook on Android',
  'outlook.ios': 'Outlook on iPhone',
  'yahoo.desktop-webmail': 'Yahoo',
  'aol.desktop-webmail': 'AOL',
  'samsung-email.android': 'Samsung Email',
  'thunderbird.macos': 'Thunderbird',
  'gmx.desktop-webmail': 'GMX',
  'web-de.desktop-webmail': 'WEB.DE',
};

/** Features that hints are about (dashboard/src/templates/editor/forms/support.ts). */
const features = [
  'css-border-radius',
  'css-unit-rem',
  'image-webp',
  'image-avif',
  'image-svg',
  'html-anchor-links',
  'css-background-image',
];

/** Out: by feature, the names of the programs whose newest version that was tested does not support it. */
export const clientSupport = () => {
  const known = new Map(JSON.parse(readFileSync(data, 'utf8')).data.map((feature) => [feature.slug, feature]));
  return Object.fromEntries(
    features.map((slug) => {
      const feature = known.get(slug);
      if (feature === undefined) throw new Error(`the data of caniemail.com has no ${slug}`);
      const lacking = Object.entries(programs).filter(([program]) => {
        const [family, platform] = program.split('.');
        const versions = Object.values(feature.stats[family]?.[platform] ?? {});
        return versions.at(-1)?.startsWith('n') === true;
      });
      return [slug, lacking.map(([, name]) => name)];
    }),
  );
};
