/** A table of figures: the first cell names the row, the others are numbers. On a phone it scrolls by itself. */
import type { ReactNode } from 'react';
import styles from './overview.module.css';

type Props = Readonly<{
  label: string;
  columns: readonly string[];
  rows: readonly Readonly<{ id: string; cells: readonly ReactNode[] }>[];
}>;

export const DataTable = ({ label, columns, rows }: Props) => (
  <div className={styles['scroll']} role="region" aria-label={label} tabIndex={0}>
    <table className={styles['table']} aria-label={label}>
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, cells: [first, ...others] }) => (
          <tr key={id}>
            <th scope="row">{first}</th>
            {others.map((cell, place) => (
              <td key={columns[place + 1]}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
