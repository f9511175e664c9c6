/** In: a number of bytes. Out: a short form such as `1.4 MB`. */
export const shownBytes = (bytes: number): string => {
  if (bytes < 1_000) return `${bytes} B`;
  const isMega = bytes >= 1_000_000;
  const value = bytes / (isMega ? 1_000_000 : 1_000);
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${isMega ? 'MB' : 'KB'}`;
};
