/** The brand of the team: its form, and beside it a mail and a page of recipients as they would look. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type {
  GetTeamData,
  GetTeamResponse,
  ListAssetsData,
  ListAssetsResponse,
  PreviewBrandData,
  UpdateTeamData,
  UpdateTeamResponse,
} from '#api';
import { addressOf, ApiFault, operation } from '../api/client';
import { draftOf } from '../resources/draft';
import { ValuesForm } from '../resources/form';
import { NotAllowed, NothingHere, PageHead, useAgain } from '../resources/pages';
import { usePlace } from '../resources/place';
import { changedOf, changeOf, type Choice, type Field, initialOf, may, type Values } from '../resources/resource';
import { defaultColors, hexContrast, READABLE_CONTRAST } from '../templates/service';
import { Button, TextLink } from '../ui/controls';
import { Fault, Loading } from '../ui/states';
import styles from './brand.module.css';

const get = operation<GetTeamData, GetTeamResponse>('GET', '/api/teams/{teamId}');
const update = operation<UpdateTeamData, UpdateTeamResponse>('PATCH', '/api/teams/{teamId}');
const listAssets = operation<ListAssetsData, ListAssetsResponse>('GET', '/api/assets');

const PICTURES_SHOWN = 100;
const LOGO_BYTES_MAX = 262_144;
const PREVIEW_AFTER_MS = 300;

const languages = [
  ['en', 'English'],
  ['de', 'Deutsch'],
  ['fr', 'Français'],
  ['es', 'Español'],
  ['pt', 'Português'],
  ['ar', 'العربية'],
] as const;

const HEX = /^#[0-9a-f]{6}$/i;

type Colors = Record<keyof typeof defaultColors, string>;

/** The colours that are shown; one that is half typed has its default. */
const colorsOf = (values: Values): Colors => {
  const of = (part: keyof Colors): string => {
    const value = values[`brand.${part}`];
    return typeof value === 'string' && HEX.test(value.trim()) ? value.trim() : defaultColors[part];
  };
  return { accent: of('accent'), background: of('background'), text: of('text') };
};

/** It is cut off, so that 4.49 does not read as 4.5. */
const ratioOf = (one: string, other: string): string => `${Math.floor(hexContrast(one, other) * 10) / 10}:1`;

const contrastHint = ({ background, text }: Colors): string =>
  hexContrast(text, background) >= READABLE_CONTRAST
    ? `Its contrast to the background is ${ratioOf(text, background)}, which is readable`
    : `Its contrast to the background is ${ratioOf(text, background)}; readers need ${READABLE_CONTRAST}:1`;

const accentHint = ({ accent, background }: Colors): string =>
  hexContrast(accent, background) >= READABLE_CONTRAST
    ? `Buttons and links. Its contrast to the background is ${ratioOf(accent, background)}`
    : `Buttons. With a contrast of ${ratioOf(accent, background)}, links have the colour of the text`;

/** The company of the first start is a sample; a change drops it as a whole. */
const SAMPLE = /@sealpost\.example$/;

const companyOf = ({ company }: GetTeamResponse, name: keyof GetTeamResponse['company']): string =>
  SAMPLE.test(company.email) ? '' : company[name];

const fieldsOf = (team: GetTeamResponse, pictures: readonly Choice[], colors: Colors): readonly Field[] => [
  {
    name: 'company.name',
    label: 'Name',
    hint: 'As readers know you',
    empty: '',
    initial: companyOf(team, 'name'),
  },
  {
    name: 'brand.logo',
    label: 'Logo',
    kind: 'select',
    choices: [{ value: '', label: 'None: the name stands there' }, ...pictures],
    hint: (
      <>
        A picture of the gallery of at most 256 KiB. <TextLink href="/gallery/new">Upload one</TextLink>
      </>
    ),
    initial: team.brand.logo ?? '',
  },
  {
    name: 'brand.accent',
    label: 'Accent',
    kind: 'color',
    placeholder: defaultColors.accent,
    hint: accentHint(colors),
    initial: team.brand.accent ?? '',
  },
  {
    name: 'brand.background',
    label: 'Background',
    kind: 'color',
    placeholder: defaultColors.background,
    hint: 'The card on which texts stand',
    initial: team.brand.background ?? '',
  },
  {
    name: 'brand.text',
    label: 'Text',
    kind: 'color',
    placeholder: defaultColors.text,
    hint: contrastHint(colors),
    initial: team.brand.text ?? '',
  },
  {
    name: 'company.email',
    label: 'Contact address',
    kind: 'email',
    hint: 'Stands with the postal address below pages, and in the foot of mails',
    empty: '',
    initial: companyOf(team, 'email'),
  },
  ...(
    [
      ['addressLine1', 'Street'],
      ['postalCode', 'Postal code'],
      ['city', 'City'],
      ['country', 'Country'],
    ] as const
  ).map(([name, label]): Field => ({
    name: `company.${name}`,
    label,
    empty: '',
    initial: companyOf(team, name),
  })),
];

const textOf = (values: Values, name: string): string => {
  const value = values[name];
  return typeof value === 'string' ? value.trim() : '';
};

/** The query of a preview; a colour that is half typed is left out. */
const lookOf = (values: Values): NonNullable<PreviewBrandData['query']> => {
  const colors = (['accent', 'background', 'text'] as const).flatMap((part) => {
    const value = textOf(values, `brand.${part}`);
    return HEX.test(value) ? [[part, value] as const] : [];
  });
  const company = (['name', 'email', 'addressLine1', 'postalCode', 'city', 'country'] as const).map(
    (name) => [name, textOf(values, `company.${name}`)] as const,
  );
  return { ...Object.fromEntries([...colors, ...company]), logo: textOf(values, 'brand.logo') };
};

const Previews = ({ values, teamId }: Readonly<{ values: Values; teamId: string }>) => {
  const [scheme, setScheme] = useState<'light' | 'dark'>('light');
  const [language, setLanguage] = useState('en');
  const [shown, setShown] = useState(values);
  useEffect(() => {
    const timer = setTimeout(() => setShown(values), PREVIEW_AFTER_MS);
    return () => clearTimeout(timer);
  }, [values]);
  const addressFor = (show: 'mail' | 'unsubscribe'): string =>
    addressOf({
      url: '/api/teams/{teamId}/brand/preview',
      path: { teamId },
      query: { ...lookOf(shown), show, scheme, language },
    } satisfies PreviewBrandData);
  return (
    <div className={styles['previews']}>
      <div className={styles['tools']}>
        <Button isSmall onPress={() => setScheme(scheme === 'light' ? 'dark' : 'light')}>
          {scheme === 'light' ? 'Show in the dark' : 'Show in the light'}
        </Button>
        <label>
          Language of the page{' '}
          <select value={language} onChange={({ target }) => setLanguage(target.value)}>
            {languages.map(([tag, name]) => (
              <option key={tag} value={tag}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <figure>
        <figcaption>A mail</figcaption>
        <iframe
          title="A mail with this brand"
          className={styles['mail']}
          sandbox=""
          referrerPolicy="no-referrer"
          src={addressFor('mail')}
        />
      </figure>
      <figure>
        <figcaption>The page behind unsubscribe links</figcaption>
        <iframe
          title="The page behind unsubscribe links with this brand"
          className={styles['pageFrame']}
          sandbox=""
          referrerPolicy="no-referrer"
          src={addressFor('unsubscribe')}
        />
      </figure>
    </div>
  );
};

type BrandFormProps = Readonly<{
  team: GetTeamResponse;
  pictures: readonly Choice[];
  onSaved: () => void;
  onStale: () => Promise<unknown>;
}>;

const BrandForm = ({ team, pictures, onSaved, onStale }: BrandFormProps) => {
  const { scope, tell } = usePlace();
  // The team as it was when the form was opened: a later read of it does not undo what was typed.
  const [opened] = useState(team);
  const begun = useMemo(() => fieldsOf(opened, pictures, { ...defaultColors }), [opened, pictures]);
  const draft = useMemo(() => draftOf(scope.me.id, `/brand/${scope.teamId}`, begun), [scope, begun]);
  const [values, setValues] = useState<Values>(() => ({ ...initialOf(begun), ...draft.kept }));
  const fields = fieldsOf(opened, pictures, colorsOf(values));
  const save = async (sent: Values): Promise<void> => {
    const body = changeOf<UpdateTeamData['body']>(fields, changedOf(initialOf(fields), sent));
    if (Object.keys(body).length === 0) return void tell({ say: 'Nothing was changed.' });
    const { teamId } = scope;
    try {
      await update({ path: { teamId }, body }, { teamId, ifMatch: team.revision });
    } catch (fault) {
      // The next try is made with the team as somebody else has left it.
      if (fault instanceof ApiFault && fault.code === 'REVISION_MISMATCH') await onStale();
      throw fault;
    }
    draft.drop();
    tell({ say: 'The brand is changed. Emails that are accepted from now on have it.' });
    onSaved();
  };
  return (
    <div className={styles['both']}>
      <div className={styles['form']}>
        <ValuesForm
          fields={fields}
          kept={draft.kept}
          label="Save"
          onChange={(now) => {
            draft.keep(now);
            setValues(now);
          }}
          onSubmit={save}
        />
      </div>
      <Previews values={values} teamId={scope.teamId} />
    </div>
  );
};

const BrandPage = ({ steps }: Readonly<{ steps: readonly string[] }>) => {
  const { scope } = usePlace();
  const again = useAgain();
  const [saves, setSaves] = useState(0);
  const { teamId } = scope;
  const isAllowed = may(scope, 'team:manage');
  const team = useQuery({
    queryKey: ['/settings', teamId],
    enabled: isAllowed,
    queryFn: ({ signal }) => get({ path: { teamId } }, { teamId, signal }),
  });
  const assets = useQuery({
    queryKey: ['/gallery', teamId, 'pictures'],
    enabled: isAllowed,
    queryFn: ({ signal }) => listAssets({ query: { limit: PICTURES_SHOWN } }, { teamId, signal }),
  });
  if (steps.length > 0) return <NothingHere title="Brand" />;
  if (!isAllowed) return <NotAllowed needs="team:manage" title="Brand" />;
  const fault = team.error ?? assets.error;
  const { data } = team;
  if (data === undefined || assets.data === undefined)
    return (
      <>
        <PageHead title="Brand" />
        {fault === null ? (
          <Loading label="Loading the brand" />
        ) : (
          <Fault
            fault={fault}
            retry={() => {
              void team.refetch();
              void assets.refetch();
            }}
          />
        )}
      </>
    );
  const pictures = assets.data.data
    .filter(({ contentType, sizeBytes }) => contentType.startsWith('image/') && sizeBytes <= LOGO_BYTES_MAX)
    .map(({ id, filename }) => ({ value: id, label: filename }));
  const { logo } = data.brand;
  // A logo that is older than the newest pictures goes on being one.
  const known = logo === null || pictures.some(({ value }) => value === logo);
  return (
    <>
      <PageHead title="Brand" />
      <p className={styles['about']}>
        Templates show it by constants such as <code>{'{{__BRAND_LOGO__}}'}</code>, as the samples do, and so do the
        pages that recipients see.
      </p>
      <BrandForm
        key={saves}
        team={data}
        pictures={known ? pictures : [{ value: logo, label: 'The logo of now' }, ...pictures]}
        onStale={() => team.refetch()}
        onSaved={() => void again().then(() => setSaves(saves + 1))}
      />
    </>
  );
};

export default BrandPage;
