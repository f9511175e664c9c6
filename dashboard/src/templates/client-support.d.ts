/** A module that the build makes of the data of caniemail.com (bin/client-support.js). */
declare module '#client-support' {
  const support: Readonly<Record<string, readonly string[]>>;
  export default support;
}
