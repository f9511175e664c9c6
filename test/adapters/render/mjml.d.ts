/** The part of MJML that a test calls; the package brings no types. */
declare module 'mjml' {
  const mjml2html: (
    source: string,
    options: Readonly<{ validationLevel: 'strict'; minify: boolean; minifyOptions?: Readonly<{ minifyCss: false }> }>,
  ) =>
    | Promise<Readonly<{ html: string; errors: readonly unknown[] }>>
    | Readonly<{ html: string; errors: readonly unknown[] }>;
  export default mjml2html;
}
