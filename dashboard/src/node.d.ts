/** Files of the service are read for their types, and use Node's Buffer. Nothing of the dashboard has it. */
type Buffer = Uint8Array;
declare const Buffer: Readonly<{
  byteLength: (text: string) => number;
  from: (text: string, encoding?: string) => Buffer;
}>;
