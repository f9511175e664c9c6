/** The JSON editor: CodeMirror with the words of a template. Its styles come with the nonce of the page. */
import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { json } from '@codemirror/lang-json';
import { foldAll, unfoldAll } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, Transaction } from '@codemirror/state';
import { EditorView, hoverTooltip } from '@codemirror/view';
import { openSearchPanel } from '@codemirror/search';
import { basicSetup } from 'codemirror';
import { type Kind, stepsOf } from './content';
import type { ContentFault } from './draft';
import { componentAt, type JsonText, plainOf, rangeAt, readJson, typedAt } from './json-text';
import { codeLook, pageNonce } from './look';
import { explanationAt, namesAt, type Schema, valuesAt } from './suggest';

export type CodeEditor = Readonly<{
  text: () => string;
  /** Puts another text in the place of all, as what was not typed here. */
  replace: (text: string) => void;
  showFaults: (faults: readonly ContentFault[]) => void;
  goTo: (path: string) => void;
  showComponent: (id: string) => void;
  format: () => void;
  find: () => void;
  fold: (isFolded: boolean) => void;
  close: () => void;
}>;

type Options = Readonly<{ text: string; isReadOnly: boolean; kind: Kind; onText: (text: string) => void }>;

/** Each is a file of its own, read when the first word is completed or explained. */
const schemas: Readonly<Record<Kind, () => Promise<Readonly<{ default: string }>>>> = {
  email: () => import('../../../schemas/email-template.json?raw'),
  attachment: () => import('../../../schemas/attachment-template.json?raw'),
  block: () => import('../../../schemas/block-template.json?raw'),
};

const known = new Map<Kind, Promise<Schema>>();

const schemaOf = (kind: Kind): Promise<Schema> => {
  const schema =
    known.get(kind) ??
    schemas[kind]().then(
      ({ default: text }) => JSON.parse(text) as Schema,
      (fault: unknown) => {
        known.delete(kind);
        throw fault;
      },
    );
  known.set(kind, schema);
  return schema;
};

/** Opens the editor in an element. Completion and explanations come once the schema was read. */
export const openCodeEditor = (parent: Element, { text, isReadOnly, kind, onText }: Options): CodeEditor => {
  let read: Readonly<{ text: string; json: JsonText }> | undefined;
  const jsonOf = (state: EditorState): JsonText => {
    const now = state.doc.toString();
    if (read?.text !== now) read = { text: now, json: readJson(now) };
    return read.json;
  };
  let faults: readonly ContentFault[] = [];
  let isReplacing = false;

  const complete = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const before = context.matchBefore(/[\w"$-]+/);
    if (!context.explicit && before === null) return null;
    const { root } = jsonOf(context.state);
    const typed = typedAt(context.state.doc.toString(), root, context.pos);
    if (typed === undefined) return null;
    const schema = await schemaOf(kind).catch(() => undefined);
    if (schema === undefined) return null;
    const whole = plainOf(root);
    const { from, to } = typed;
    if (typed.what === 'value') {
      const options = valuesAt(schema, typed.steps, whole).map(({ label, info, insert }) => ({
        ...{ label, apply: insert, type: 'enum' },
        ...(info === '' ? {} : { info }),
      }));
      return options.length === 0 ? null : { from, to, options, filter: true };
    }
    const parentNode = typed.around.at(-1);
    const taken = new Set(
      parentNode?.kind === 'object'
        ? parentNode.members.filter(({ keyFrom }) => keyFrom !== from).map(({ key }) => key)
        : [],
    );
    const options = namesAt(schema, typed.steps, whole)
      .filter(({ label }) => !taken.has(label))
      .map(({ label, detail, info, insert, isRequired }) => ({
        ...{ label: `"${label}"`, displayLabel: label, detail, type: 'property', boost: isRequired ? 10 : 0 },
        ...(info === '' ? {} : { info }),
        apply: (view: EditorView, _: unknown, start: number, end: number): void => {
          const added = typed.hasValue ? `"${label}"` : `"${label}": ${insert}`;
          const isInside = !typed.hasValue && ['""', '{}', '[]'].includes(insert);
          view.dispatch({
            changes: { from: start, to: end, insert: added },
            selection: { anchor: start + added.length - (isInside ? 1 : 0) },
            userEvent: 'input.complete',
          });
        },
      }));
    return options.length === 0 ? null : { from, to, options, filter: true };
  };

  const explain = hoverTooltip(async (view, pos) => {
    const { root } = jsonOf(view.state);
    const typed = typedAt(view.state.doc.toString(), root, pos);
    if (typed === undefined || typed.from === typed.to) return null;
    const schema = await schemaOf(kind).catch(() => undefined);
    if (schema === undefined) return null;
    const name = view.state.sliceDoc(typed.from, typed.to).replace(/^"|"$/g, '');
    const steps = typed.what === 'name' ? [...typed.steps, name] : typed.steps;
    const said = explanationAt(schema, steps, plainOf(root));
    if (said === undefined) return null;
    return {
      pos: typed.from,
      end: typed.to,
      above: true,
      create: () => {
        const dom = document.createElement('div');
        dom.className = 'cm-hover';
        dom.append(said.text);
        if (said.type !== '') {
          const type = document.createElement('code');
          type.textContent = `${said.text === '' ? '' : ' '}${said.type}`;
          dom.append(type);
        }
        return { dom };
      },
    };
  });

  const diagnosticsOf = (state: EditorState): readonly Diagnostic[] => {
    const { root, faults: ofText } = jsonOf(state);
    const { length } = state.doc;
    const placed = (from: number, to: number, message: string): Diagnostic => ({
      from: Math.min(from, length),
      to: Math.min(Math.max(to, from), length),
      severity: 'error',
      message,
    });
    // Faults of the service are about the last text that was JSON.
    if (ofText.length > 0) return ofText.map(({ from, to, message }) => placed(from, to, message));
    return faults.map(({ path, message }) => {
      const { from, to } = rangeAt(root, stepsOf(path));
      return placed(from, to, message);
    });
  };
  const mark = (): void => view.dispatch(setDiagnostics(view.state, [...diagnosticsOf(view.state)]));

  const writable = new Compartment();
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(pageNonce()),
        basicSetup,
        json(),
        lintGutter(),
        ...codeLook,
        autocompletion({ override: [complete], activateOnTyping: true }),
        explain,
        writable.of([EditorState.readOnly.of(isReadOnly), EditorView.editable.of(!isReadOnly)]),
        EditorView.contentAttributes.of({
          'aria-label': 'The template as JSON',
          // A text that cannot be edited takes the keyboard only so.
          tabindex: '0',
        }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged && !isReplacing) onText(state.doc.toString());
          if (docChanged) queueMicrotask(mark);
        }),
      ],
    }),
  });
  mark();

  const select = ({ from, to }: Readonly<{ from: number; to: number }>): void => {
    view.dispatch({
      selection: { anchor: from, head: to },
      effects: EditorView.scrollIntoView(from, { y: 'center' }),
    });
  };
  return {
    text: () => view.state.doc.toString(),
    replace: (next) => {
      isReplacing = true;
      view.dispatch({
        changes: changeOf(view.state.doc.toString(), next),
        annotations: Transaction.addToHistory.of(false),
      });
      isReplacing = false;
    },
    showFaults: (next) => {
      faults = next;
      mark();
    },
    goTo: (path) => {
      select(rangeAt(jsonOf(view.state).root, stepsOf(path)));
      view.focus();
    },
    showComponent: (id) => {
      const place = componentAt(jsonOf(view.state).root, id);
      const { from, to } = view.state.selection.main;
      if (place !== undefined && !(from >= place.from && to <= place.to)) select({ from: place.from, to: place.from });
    },
    format: () => {
      const now = view.state.doc.toString();
      try {
        const formatted = `${JSON.stringify(JSON.parse(now), null, 2)}\n`;
        if (formatted !== now) view.dispatch({ changes: changeOf(now, formatted), userEvent: 'input' });
      } catch {
        const [first] = jsonOf(view.state).faults;
        if (first !== undefined) select(first);
      }
      view.focus();
    },
    find: () => openSearchPanel(view),
    fold: (isFolded) => {
      (isFolded ? foldAll : unfoldAll)(view);
    },
    close: () => view.destroy(),
  };
};

/** The part that is other, so that the place of the reader stays. */
const changeOf = (now: string, next: string): Readonly<{ from: number; to: number; insert: string }> => {
  const shorter = Math.min(now.length, next.length);
  let from = 0;
  while (from < shorter && now[from] === next[from]) from += 1;
  let back = 0;
  while (back < shorter - from && now[now.length - 1 - back] === next[next.length - 1 - back]) back += 1;
  return { from, to: now.length - back, insert: next.slice(from, next.length - back) };
};
