/** Checks what a qr-code component is to hold, as far as it is known when the template is saved. */
import { barCodeText, codeKinds, epcProps, isBarKind, type CodeKind } from '../codes.js';
import { epcPayment } from '../epc.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import type { CheckTools } from '../props.js';

type Props = Readonly<Record<string, unknown>>;

/** Props that only some kinds have. */
export const kindsOfProps: Readonly<Record<string, readonly CodeKind[]>> = {
  value: ['qr', 'ean13', 'code128', 'datamatrix'],
  errorCorrection: ['qr'],
  height: ['ean13', 'code128'],
  showText: ['ean13', 'code128'],
  gs1: ['code128', 'datamatrix'],
  ...Object.fromEntries(epcProps.map((name) => [name, ['epc']])),
};

const isCodeKind = (kind: unknown): kind is CodeKind => codeKinds.some((known) => known === kind);

/** `field` is the place of the props. A prop of another kind is a mistake: it would be ignored. */
export const checkCode = (props: Props, field: string, { faults }: CheckTools): void => {
  const { kind = 'qr' } = props;
  // A kind that is none has its own fault; which props it has nobody knows.
  if (!isCodeKind(kind)) return;
  for (const [name, kinds] of Object.entries(kindsOfProps)) {
    if (props[name] !== undefined && !kinds.includes(kind))
      faults.add(`${field}.${name}`, `is not a prop of a code of kind ${kind}, only of ${kinds.join(', ')}`);
  }
  if (kind === 'epc') return checkPayment(props, field, faults);
  const { value } = props;
  if (value === undefined) return faults.add(`${field}.value`, 'is required');
  if (!isBarKind(kind) || typeof value !== 'string' || value === '' || hasPlaceholder(value)) return;
  const text = barCodeText(value, { kind, gs1: props['gs1'] === true });
  if ('fault' in text) faults.add(`${field}.${text.prop}`, text.fault);
};

/** Stand for what a variable will bring, so that all else is checked. */
const EXAMPLE = { name: 'x', iban: 'DE89370400440532013000' } as const;

const checkPayment = (props: Props, field: string, faults: CheckTools['faults']): void => {
  for (const name of ['name', 'iban']) if (props[name] === undefined || props[name] === '') faults.add(`${field}.${name}`, 'is required');
  if (epcProps.some((name) => name !== 'amount' && props[name] !== undefined && typeof props[name] !== 'string')) return;
  const literal = (name: string, example = ''): string => {
    const value = props[name];
    return typeof value !== 'string' || value === '' || hasPlaceholder(value) ? example : value;
  };
  const { amount } = props;
  const made = epcPayment({
    name: literal('name', EXAMPLE.name),
    iban: literal('iban', EXAMPLE.iban),
    bic: literal('bic'),
    amount: typeof amount === 'number' ? amount : literal('amount'),
    purpose: literal('purpose'),
    reference: literal('reference'),
    text: literal('text'),
  });
  if (made !== undefined && 'fault' in made) faults.add(`${field}.${made.prop}`, made.fault);
};
