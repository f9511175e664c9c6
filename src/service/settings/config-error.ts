/** A setting that stops the start. The message names it and says what would be right. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
