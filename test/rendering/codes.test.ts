/** The kinds of the qr-code component: saving a template reports wrong content as far as it is known then. */
import t from 'tap';
import type { JsonObject } from '../../src/domain/core/json.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { barCodeText, ean13Text, epcPayment, type EpcFields } from '../../src/domain/rendering/codes.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { templateOf } from '../support/rendering.js';

const faultsOf = (props: JsonObject): readonly string[] => {
  try {
    checkEmailTemplate(templateOf([{ id: 'c', type: 'qr-code', props }]), defaultLimits);
    return [];
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return (error.details.errors ?? []).map(
      ({ field, message }) => `${field.replace(/^.*\.props\.?/, '')}: ${message}`,
    );
  }
};

void t.test('EAN-13: the check digit is added or checked', (t) => {
  t.same(ean13Text('952012345678'), { text: '9520123456788' });
  t.same(ean13Text('952-0123 456788'), { text: '9520123456788' });
  t.same(ean13Text('4006381333931'), { text: '4006381333931' });
  // Every other last digit is refused, with the one that is right.
  for (const digit of '012345679')
    t.match(ean13Text(`952012345678${digit}`), {
      prop: 'value',
      fault: `check digit of 952012345678 is 8: 9520123456788`,
    });
  t.match(ean13Text('12345'), { fault: /has 5 digits; an EAN-13 has 13, or 12 and the check digit is added/ });
  t.match(ean13Text('95201234567X'), { fault: /must be the 12 or 13 digits/ });
  t.end();
});

void t.test('Code 128 and Data Matrix: letters and lengths', (t) => {
  const of = (value: string, kind: 'code128' | 'datamatrix', gs1 = false) => barCodeText(value, { kind, gs1 });
  t.same(of('AZaz09 ~', 'code128'), { text: 'AZaz09 ~' });
  t.match(of('Zoë', 'code128'), { fault: /^holds "ë"; a Code 128 holds/ });
  t.match(of('a\tb', 'code128'), { fault: /^holds the character U\+0009/ });
  t.match(of('x'.repeat(81), 'code128'), { fault: 'has 81 characters, a Code 128 holds 80' });
  t.same(of('Zoë', 'datamatrix'), { text: 'Zoë' });
  t.match(of('é'.repeat(401), 'datamatrix'), { fault: 'has 802 bytes, a Data Matrix holds 800 here' });
  t.match(of('0195201', 'datamatrix', true), { fault: /parts of GS1/ });
  t.same(of('(01)09521234543213(10)A', 'code128', true), { text: '(01)09521234543213(10)A' });
  t.end();
});

const fields: EpcFields = {
  name: 'Red Cross',
  iban: 'BE72000000001616',
  bic: 'BPOTBEB1',
  amount: 1,
  purpose: 'CHAR',
  reference: '',
  text: 'Urgency fund',
};

void t.test('a payment is the text of EPC069-12, version 002', (t) => {
  t.match(epcPayment(fields), {
    text: 'BCD\n002\n1\nSCT\nBPOTBEB1\nRed Cross\nBE72000000001616\nEUR1.00\nCHAR\n\nUrgency fund',
    alt: 'Red Cross, BE72 0000 0000 1616, EUR 1.00, Urgency fund',
  });
  t.match(epcPayment({ ...fields, bic: '', purpose: '', text: '', amount: undefined }), {
    text: 'BCD\n002\n1\nSCT\n\nRed Cross\nBE72000000001616',
  });
  t.match(epcPayment({ ...fields, text: '', reference: 'RF18 5390 0754 7034' }), { text: /\nCHAR\nRF18539007547034$/ });
  t.match(epcPayment({ ...fields, amount: 0.1 + 0.2 }), { text: /\nEUR0\.30\n/ });
  t.match(epcPayment({ ...fields, amount: '1234.5' }), { text: /\nEUR1234\.50\n/ });
  t.match(
    epcPayment({ ...fields, name: 'A\nEUR9999.00', text: 'x\r\ny' }),
    { text: /\nA EUR9999\.00\n.*\nx y$/s },
    'no value begins a line',
  );
  t.equal(epcPayment({ ...fields, name: ' ', iban: '' }), undefined);
  t.end();
});

void t.test('a payment that a bank would refuse is refused', (t) => {
  const cases: readonly (readonly [Partial<EpcFields>, string, RegExp])[] = [
    [{ iban: 'BE72000000001617' }, 'iban', /check digits/],
    [{ iban: 'BE7200' }, 'iban', /must be an IBAN/],
    [{ iban: '' }, 'iban', /is empty/],
    [{ name: '' }, 'name', /is empty/],
    [{ name: 'x'.repeat(71) }, 'name', /71 characters, a payment holds 70/],
    [{ bic: 'ABC' }, 'bic', /BIC/],
    [{ amount: 0 }, 'amount', /is 0\.00/],
    [{ amount: 0.004 }, 'amount', /is 0\.00/],
    [{ amount: 1e9 }, 'amount', /1000000000\.00/],
    [{ amount: -5 }, 'amount', /-5\.00/],
    [{ amount: '12,50 €' }, 'amount', /number of euros/],
    [{ purpose: 'DONATE' }, 'purpose', /four letters/],
    [{ reference: 'RF19539007547034', text: '' }, 'reference', /check digits/],
    [{ reference: 'INV-7', text: '' }, 'reference', /give any other as text/],
    [{ reference: 'RF18539007547034' }, 'text', /beside reference/],
    [{ text: 'x'.repeat(141) }, 'text', /141 characters/],
    [{ text: '€'.repeat(140) }, 'text', /bytes, its code holds 331/],
  ];
  for (const [more, prop, fault] of cases)
    t.match(epcPayment({ ...fields, ...more }), { prop, fault }, JSON.stringify(more));
  t.end();
});

void t.test('on save', (t) => {
  t.same(faultsOf({ value: 'x' }), []);
  t.same(faultsOf({}), ['value: is required']);
  t.match(faultsOf({ kind: 'ean8', value: '1' }), [/^kind: must be one of qr, ean13, code128, datamatrix, epc/]);
  t.match(faultsOf({ kind: 'ean13', value: '9520123456785' }), [/^value: ends in 5, .*9520123456788$/]);
  t.same(faultsOf({ kind: 'ean13', value: '{{gtin}}' }), []);
  t.match(faultsOf({ kind: 'qr', value: 'x', iban: 'DE1' }), [
    /^iban: is not a prop of a code of kind qr, only of epc/,
  ]);
  t.match(faultsOf({ kind: 'code128', value: 'x', errorCorrection: 'H' }), [
    /^errorCorrection: is not a prop of a code of kind code128/,
  ]);
  t.same(faultsOf({ kind: 'epc' }), ['name: is required', 'iban: is required']);
  t.match(faultsOf({ kind: 'epc', value: 'x', name: 'N', iban: '{{iban}}' }), [
    /^value: is not a prop of a code of kind epc/,
  ]);
  t.match(faultsOf({ kind: 'epc', name: '{{n}}', iban: 'DE88370400440532013000', amount: '{{total}}' }), [
    /^iban: is no IBAN/,
  ]);
  t.same(faultsOf({ kind: 'epc', name: '{{n}}', iban: '{{iban}}', amount: 12.5, text: 'Invoice {{n}}' }), []);
  t.end();
});
