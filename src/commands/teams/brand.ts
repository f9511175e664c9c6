/** The brand of a team on the pages of the service, and previews of a brand that is not saved. */
import type { BrandPreviewQuery } from '../../api/teams.js';
import { invalid, StoreAway } from '../../domain/core/errors.js';
import { teamStream, type TeamId } from '../../domain/core/ids.js';
import type { EmailTemplateContent } from '../../domain/rendering/content.js';
import { defaultColors, type Brand } from '../../domain/rendering/scope/constants.js';
import { footOf, mergedBrand, type BrandChanges, type PageBrand } from '../../domain/teams/brand.js';
import { emptyCompany, isSampleCompany, type Team } from '../../domain/teams/state.js';
import { firstTeam, type Caller } from '../core/caller.js';
import { findAsset, loadAsset } from '../templates/assets.js';
import { previewOf, renderedUnsaved } from '../templates/preview.js';
import type { TeamNeeds } from './needs.js';

const NO_LOGO = 'must be the id of a picture in the gallery of the team';

/** Throws VALIDATION_ERROR for a logo that is no picture of the team, or too large for a page. */
export const assertLogo = async (deps: TeamNeeds, teamId: TeamId, logo: string | null | undefined): Promise<void> => {
  if (logo === undefined || logo === null) return;
  const asset = await findAsset(deps, teamId, logo);
  const { brandLogoSizeBytesMax: max } = deps.limits;
  if (asset?.contentType.startsWith('image/') !== true) throw invalid('request body', 'brand.logo', NO_LOGO);
  if (asset.sizeBytes > max)
    throw invalid('request body', 'brand.logo', `has ${asset.sizeBytes} bytes, and at most ${max} are allowed`);
};

/** Undefined: the team is unknown, deleted, or has said nothing about itself. */
export const brandOfPages = async (deps: TeamNeeds, teamId: TeamId): Promise<PageBrand | undefined> => {
  const { state: team } = await deps.team(teamStream(teamId));
  return team === undefined || team.deletedAt !== undefined ? undefined : pageBrandOf(deps, teamId, team);
};

/** The brand of the first team, which sends the mails about accounts. */
export const brandOfAccountPages = async (deps: TeamNeeds): Promise<PageBrand | undefined> => {
  const teamId = await firstTeam(deps);
  return teamId === undefined ? undefined : brandOfPages(deps, teamId);
};

const pageBrandOf = async (
  deps: TeamNeeds,
  teamId: TeamId,
  { settings, brand }: Pick<Team, 'settings' | 'brand'>,
): Promise<PageBrand | undefined> => {
  const { company } = settings;
  const foot = isSampleCompany(company) ? [] : footOf(company);
  if (brand === undefined && foot.length === 0) return undefined;
  const { logo: logoId, ...colors } = brand ?? {};
  const logo = logoId === undefined ? undefined : await logoOf(deps, teamId, logoId);
  return {
    name: company.name === '' ? settings.name : company.name,
    ...(logo === undefined ? {} : { logo }),
    ...(Object.keys(colors).length === 0 ? {} : { colors: { ...defaultColors, ...colors } }),
    foot,
  };
};

/** A picture that is gone, or whose store is away, leaves the name in its place. */
const logoOf = async (deps: TeamNeeds, teamId: TeamId, logo: string): Promise<string | undefined> => {
  const asset = await loadAsset(deps, teamId, logo).catch((fault: unknown) => {
    if (fault instanceof StoreAway) return undefined;
    throw fault;
  });
  return asset === undefined ? undefined : `data:${asset.contentType};base64,${asset.bytes.toString('base64')}`;
};

/** The team as it would be with these values. Rejects with VALIDATION_ERROR for a logo that is none. */
const teamWith = async (
  deps: TeamNeeds,
  { teamId }: Caller,
  { name, email, addressLine1, postalCode, city, country, ...colors }: BrandPreviewQuery,
): Promise<Pick<Team, 'settings' | 'brand'>> => {
  const { logo } = colors;
  const changes: BrandChanges = Object.fromEntries(
    (['logo', 'accent', 'background', 'text'] as const).map((part) => [part, colors[part] || null]),
  );
  if (logo !== undefined && logo !== '') await assertLogo(deps, teamId, logo);
  const { state } = await deps.team(teamStream(teamId));
  const given = { name, email, addressLine1, postalCode, city, country };
  const { company: before } = state?.settings ?? { company: emptyCompany };
  const company = {
    // A change drops the sample as a whole.
    ...(isSampleCompany(before) ? emptyCompany : before),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  };
  const settings = state?.settings ?? { name: '', defaultFrom: { email: '' }, company };
  return { settings: { ...settings, company }, brand: mergedBrand(undefined, changes) };
};

/** The brand of a page of the service with these values. */
export const previewBrandPage = async (
  deps: TeamNeeds,
  caller: Caller,
  query: BrandPreviewQuery,
): Promise<PageBrand | undefined> => pageBrandOf(deps, caller.teamId, await teamWith(deps, caller, query));

/** The HTML of a mail that is built as the samples are, for the team with these values. */
export const previewBrandMail = async (
  deps: TeamNeeds,
  caller: Caller,
  query: BrandPreviewQuery,
  signal: AbortSignal,
): Promise<string> => {
  const { settings, brand } = await teamWith(deps, caller, query);
  const company = { ...settings.company, ...(brand as Brand) };
  const rendered = renderedUnsaved(deps, { teamId: caller.teamId, content: sampleMail, marks: false }, signal);
  const given = { content: sampleMail, variables: {}, unsubscribes: false, rendered, company };
  return (await previewOf(deps, caller, given)).html;
};

const sampleMail: EmailTemplateContent = {
  subject: 'Your order has left',
  variables: [],
  schema: {
    props: {
      linkColor: '{{__BRAND_ACCENT__}}',
      contentBackgroundColor: '{{__BRAND_BACKGROUND__}}',
      color: '{{__BRAND_TEXT__}}',
    },
    sections: [
      {
        id: 'header',
        type: 'header',
        components: [
          {
            id: 'has-logo',
            type: 'conditional',
            props: { condition: '__BRAND_LOGO__', operator: 'isEmpty' },
            children: [
              {
                id: 'name',
                type: 'rich-text',
                content: '<p style="font-size:18px;font-weight:700">{{__COMPANY_NAME__}}</p>',
              },
            ],
            elseChildren: [
              {
                id: 'logo',
                type: 'image',
                props: { src: '{{__BRAND_LOGO__}}', alt: '{{__COMPANY_NAME__}}', height: 40 },
              },
            ],
          },
        ],
      },
      {
        id: 'main',
        type: 'main',
        components: [
          {
            id: 'title',
            type: 'rich-text',
            content:
              '<h1>Your order has left</h1><p>Hello Kim, the parcel with order 10482 is on its way and arrives on Wednesday. <a href="https://example.com/orders/10482">See what is in it</a>.</p>',
          },
          {
            id: 'go',
            type: 'button',
            content: 'Follow the parcel',
            props: { href: 'https://example.com/orders/10482/parcel' },
          },
        ],
      },
      {
        id: 'footer',
        type: 'footer',
        components: [
          {
            id: 'imprint',
            type: 'rich-text',
            content:
              '<p>{{__COMPANY_NAME__}}<br>{{__COMPANY_ADDRESS_LINE1__}} {{__COMPANY_POSTAL_CODE__}} {{__COMPANY_CITY__}} {{__COMPANY_COUNTRY__}}<br>{{__COMPANY_EMAIL__}}</p>',
          },
        ],
      },
    ],
  },
};
