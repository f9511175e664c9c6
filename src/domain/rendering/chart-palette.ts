/** Colours of series and slices that have none of their own: told apart by people who see colours in different ways, on paper and in grey. */
export const chartPalette = [
  '#2563eb',
  '#f59e0b',
  '#0d9488',
  '#db2777',
  '#7c3aed',
  '#65a30d',
  '#0891b2',
  '#ea580c',
  '#4b5563',
  '#a16207',
  '#be123c',
  '#1e3a8a',
];
