/** Compiles MJML beside the page: a mail of thousands of elements takes its compiler seconds, and may be ended. */
import compile from 'mjml-browser';

export type Compiled = Readonly<{ html: string }> | Readonly<{ fault: string }>;

const compiled = async (source: string): Promise<Compiled> => {
  try {
    return { html: (await compile(source, { validationLevel: 'skip', fonts: {} })).html };
  } catch (fault) {
    return { fault: fault instanceof Error ? fault.message : String(fault) };
  }
};

self.onmessage = ({ data }: MessageEvent<string>): void =>
  void compiled(data).then((answer) => self.postMessage(answer));
