/** The company in whose name mails and documents are made under measurement. */
export const company = {
  name: 'Northwind Coffee',
  legalName: 'Northwind Coffee Lda.',
  email: 'hello@northwind.example',
  phone: '',
  website: 'https://northwind.example',
  addressLine1: 'Rua do Sol 3',
  city: 'Lisboa',
  state: '',
  postalCode: '1200-001',
  country: 'Portugal',
} as const;
