/** The part of the compiler of MJML that the page of the import uses. */
declare module 'mjml-browser' {
  type Options = Readonly<{
    validationLevel: 'skip' | 'soft';
    /** Stylesheets of fonts by name; without them the mail loads none. */
    fonts: Readonly<Record<string, string>>;
  }>;
  type Compiled = Readonly<{ html: string }>;
  const compile: (source: string, options: Options) => Compiled | Promise<Compiled>;
  export default compile;
}
