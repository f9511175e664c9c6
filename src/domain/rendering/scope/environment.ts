export type Company = Readonly<{
  name: string;
  legalName: string;
  email: string;
  phone: string;
  website: string;
  addressLine1: string;
  city: string;
  state: string;
  postalCode: string;
  country: string;
}>;

/** What the global constants of a template stand for; pinned with the email, so that it renders the same for ever. */
export type RenderEnvironment = Readonly<{
  /** The moment of release (ISO time): what the date constants say. */
  at: string;
  company: Company;
  /** Of the recipient of this copy; absent where there is none, and the constant is empty then. */
  unsubscribeUrl?: string;
}>;
