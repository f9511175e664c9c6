/** Which lines of a file `.env` say nothing: those that are no setting, no comment and not part of a value in quotes. */

const SETTING = /^\s*(?:export\s+)?[^\s=#][^=]*=/;
const QUOTED = /^[^=]*=[ \t]*(["'`])/;

/** In: the text of the file. Out: the numbers of such lines, from 1. */
export const linesWithoutSetting = (text: string): readonly number[] => {
  const lines = text.split(/\r\n|\n|\r/);
  const found: number[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    if (/^\s*(?:#|$)/.test(line)) continue;
    if (!SETTING.test(line)) {
      found.push(at + 1);
      continue;
    }
    const [opening, quote] = QUOTED.exec(line) ?? [];
    if (opening === undefined || quote === undefined || line.includes(quote, opening.length)) continue;
    const end = lines.findIndex((later, index) => index > at && later.includes(quote));
    // Quotes that are never closed are part of the value, which ends with its line.
    if (end >= 0) at = end;
  }
  return found;
};
