/** A reader of Server-Sent Events, as browsers read them. */

/** `data` is parsed as JSON. */
export type StreamEvent = Readonly<{ id: string | undefined; event: string; data: unknown }>;

export type EventReader = Readonly<{
  status: number;
  headers: Headers;
  /** The body of an answer that is no stream. */
  refused: unknown;
  events: readonly StreamEvent[];
  comments: () => number;
  /** The id of the last event that had one. */
  lastId: () => string | undefined;
  isOver: () => boolean;
  close: () => void;
}>;

/** Reads until the stream ends or is closed. */
export const readEvents = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<EventReader> => {
  const closing = new AbortController();
  const answer = await fetch(url, { headers, signal: closing.signal });
  const events: StreamEvent[] = [];
  const state = { comments: 0, isOver: false };
  const isStream = String(answer.headers.get('content-type')).startsWith('text/event-stream');
  const read = async (): Promise<void> => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = blocks.pop()!;
      for (const block of blocks) {
        const fields = new Map<string, string>();
        for (const line of block.split('\n')) {
          if (line.startsWith(':')) state.comments += 1;
          else fields.set(line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2));
        }
        const data = fields.get('data');
        if (data !== undefined)
          events.push({ id: fields.get('id'), event: fields.get('event') ?? 'message', data: JSON.parse(data) });
      }
    }
  };
  const refused = isStream ? undefined : await answer.json();
  if (isStream)
    void read()
      .catch(() => {})
      .finally(() => (state.isOver = true));
  return {
    ...{ status: answer.status, headers: answer.headers, refused, events },
    comments: () => state.comments,
    lastId: () => events.findLast(({ id }) => id !== undefined)?.id,
    isOver: () => state.isOver,
    close: () => closing.abort(),
  };
};
