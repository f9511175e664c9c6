/** The choice of days and of one template, tag or recipient domain. Each choice is an address. */
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useId } from 'react';
import { Link as AriaLink } from 'react-aria-components';
import { Button } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { pagePath } from '../../ui/links';
import type { Ranked, Ranking, Rankings } from './data';
import styles from './overview.module.css';
import { type Asked, lastDaysChoices, type OverviewSearch, withDays, withFilter } from './period';

type Props = Readonly<{
  search: OverviewSearch;
  /** Undefined: the address has a fault. */
  asked: Asked | undefined;
  /** Undefined: not read yet. */
  rankings: Rankings | undefined;
}>;

export const Controls = ({ search, asked, rankings }: Props) => (
  <div className={styles['controls']}>
    <nav className={styles['choices']} aria-label="Days of the figures">
      {lastDaysChoices.map((days) => (
        <Choice
          key={days}
          search={withDays(search, days === 30 ? {} : { days: String(days) })}
          isChosen={asked?.choice === days}
        >
          {days === 1 ? 'Today' : `${days} days`}
        </Choice>
      ))}
      {asked === undefined ? null : (
        <Choice
          search={withDays(search, { from: asked.range.startDate, to: asked.range.endDate })}
          isChosen={asked.choice === undefined}
        >
          Other days
        </Choice>
      )}
    </nav>
    {asked === undefined || asked.choice === undefined ? (
      <DaysForm key={`${search.from ?? ''} ${search.to ?? ''}`} search={search} asked={asked} />
    ) : null}
    <FilterChoice search={search} rankings={rankings} />
  </div>
);

type ChoiceProps = Readonly<{ search: OverviewSearch; isChosen: boolean; children: string }>;

const Choice = ({ search, isChosen, children }: ChoiceProps) => (
  <AriaLink
    href={pagePath('/', search)}
    className={cx(styles['choice'])}
    {...(isChosen ? { 'aria-current': 'true' } : {})}
  >
    {children}
  </AriaLink>
);

const DaysForm = ({ search, asked }: Readonly<{ search: OverviewSearch; asked: Asked | undefined }>) => {
  const navigate = useNavigate();
  const id = useId();
  const show = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const day = (name: 'from' | 'to') => {
      const value = form.get(name);
      return typeof value === 'string' && value !== '' ? { [name]: value } : {};
    };
    void navigate({ to: '/', search: withDays(search, { ...day('from'), ...day('to') }) });
  };
  return (
    <form className={styles['days']} onSubmit={show} aria-label="Other days">
      <label htmlFor={`${id}-from`}>From</label>
      <input
        id={`${id}-from`}
        className={styles['input']}
        type="date"
        name="from"
        required
        defaultValue={asked?.range.startDate ?? search.from}
      />
      <label htmlFor={`${id}-to`}>to</label>
      <input
        id={`${id}-to`}
        className={styles['input']}
        type="date"
        name="to"
        required
        defaultValue={asked?.range.endDate ?? search.to}
      />
      <Button type="submit">Show</Button>
    </form>
  );
};

const kinds = [
  { name: 'template', label: 'Templates', list: 'templates' },
  { name: 'tag', label: 'Tags', list: 'tags' },
  { name: 'domain', label: 'Recipient domains', list: 'domains' },
] as const;

const EVERYTHING = '';

/** One choice for all three, because figures are counted by each of them alone. */
const FilterChoice = ({ search, rankings }: Pick<Props, 'search' | 'rankings'>) => {
  const navigate = useNavigate();
  const id = useId();
  const chosen = kinds.find(({ name }) => search[name] !== undefined)?.name;
  const choose = (value: string): void => {
    const [, name, one] = /^(template|tag|domain):(.+)$/s.exec(value) ?? [];
    const filter = name === undefined || one === undefined ? {} : { [name]: one };
    void navigate({ to: '/', search: withFilter(search, filter) });
  };
  return (
    <div className={styles['filter']}>
      <label htmlFor={id}>Emails</label>
      <select
        id={id}
        className={styles['input']}
        value={chosen === undefined ? EVERYTHING : `${chosen}:${search[chosen] ?? ''}`}
        onChange={({ target }) => choose(target.value)}
      >
        <option value={EVERYTHING}>All emails</option>
        {kinds.map(({ name, label, list }) => {
          const rows = withChosen(rankings?.[list].rows, search[name]);
          return rows.length === 0 ? null : (
            <optgroup key={name} label={label}>
              {rows.map((row) => (
                <option key={row.id} value={`${name}:${row.id}`}>
                  {row.name}
                </option>
              ))}
            </optgroup>
          );
        })}
      </select>
    </div>
  );
};

/** The names of these days, with the one of the address, which may be none of them. */
const withChosen = (rows: Ranking['rows'] = [], chosen: string | undefined): readonly Pick<Ranked, 'id' | 'name'>[] =>
  chosen === undefined || rows.some(({ id }) => id === chosen) ? rows : [{ id: chosen, name: chosen }, ...rows];
