/** A workbook as tables. */
import readWorkbook from 'read-excel-file/browser';
import { useEffect, useState } from 'react';
import { Fault, Loading } from '../ui/states';
import { Tabs } from '../ui/tabs';
import styles from './preview.module.css';

/** Browsers lay out larger tables for seconds. */
const ROWS_MAX = 500;
const COLUMNS_MAX = 60;

type Cell = string | number | boolean | Date | null;
type Read = readonly Readonly<{ sheet: string; data: readonly (readonly Cell[])[] }>[];

const textOf = (cell: Cell): string =>
  cell === null ? '' : cell instanceof Date ? cell.toISOString().replace('T00:00:00.000Z', '') : String(cell);

const letters = (column: number): string =>
  column < 26
    ? String.fromCharCode(65 + column)
    : `${letters(Math.floor(column / 26) - 1)}${String.fromCharCode(65 + (column % 26))}`;

const Table = ({ name, rows }: Readonly<{ name: string; rows: readonly (readonly Cell[])[] }>) => {
  const columns = Math.min(COLUMNS_MAX, Math.max(1, ...rows.slice(0, ROWS_MAX).map(({ length }) => length)));
  return (
    <div className={styles['sheet']} tabIndex={0} role="region" aria-label={name}>
      <table>
        <thead>
          <tr>
            <td />
            {Array.from({ length: columns }, (_, column) => (
              <th key={column} scope="col">
                {letters(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS_MAX).map((row, place) => (
            <tr key={place}>
              <th scope="row">{place + 1}</th>
              {Array.from({ length: columns }, (_, column) => {
                const cell = row[column] ?? null;
                return (
                  <td key={column} className={typeof cell === 'number' ? styles['number'] : ''}>
                    {textOf(cell)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS_MAX ? (
        <p className={styles['told']}>The file has {rows.length.toLocaleString()} rows.</p>
      ) : null}
    </div>
  );
};

const SheetView = ({ bytes }: Readonly<{ bytes: Blob }>) => {
  const [read, setRead] = useState<Read>();
  const [fault, setFault] = useState<Error>();
  useEffect(() => {
    let isOld = false;
    readWorkbook(bytes)
      .then((sheets) => {
        if (isOld) return;
        setFault(undefined);
        setRead(sheets as unknown as Read);
      })
      .catch((error: unknown) => {
        if (!isOld) setFault(error instanceof Error ? error : new Error(String(error)));
      });
    return () => {
      isOld = true;
    };
  }, [bytes]);
  if (fault !== undefined) return <Fault fault={fault} />;
  if (read === undefined) return <Loading label="Reading the workbook" />;
  return (
    <Tabs
      label="Sheets"
      tabs={read.map(({ sheet, data }) => ({ id: sheet, title: sheet, content: <Table name={sheet} rows={data} /> }))}
    />
  );
};

export default SheetView;
