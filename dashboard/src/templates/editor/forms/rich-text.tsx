/** The editor of rich text. A text that it could not give back unchanged is edited as source. */
import { Extension, InputRule, type JSONContent } from '@tiptap/core';
import { type Editor, EditorContent, useEditor, useEditorState } from '@tiptap/react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../../ui/controls';
import { cx } from '../../../ui/cx';
import { useForm } from './context';
import type { ControlProps } from './controls';
import styles from './forms.module.css';
import { type Attributes, attributeOf, type DocNode, documentOf, htmlOf, withAttribute } from './html.js';
import { richExtensions } from './rich-schema.js';
import { VariableInput } from './variable-input';

const RichText = (props: ControlProps) => {
  const { field, value, write, marks } = props;
  const html = typeof value === 'string' ? value : '';
  const doc = useMemo(() => documentOf(html), [html]);
  const [isSource, setIsSource] = useState(false);
  // A source that is being written may be held for a moment; the reader chooses when it is shown formatted again.
  if (doc === undefined && !isSource) setIsSource(true);
  if (doc === undefined || isSource)
    return (
      <>
        <textarea
          {...marks}
          className={cx(styles['input'], styles['mono'])}
          aria-label={`${field.label}, as HTML`}
          rows={8}
          spellCheck={false}
          value={html}
          onChange={({ target }) => write(target.value === '' && field.isRequired !== true ? undefined : target.value)}
        />
        {doc === undefined ? (
          <span className={styles['hint']}>It has parts that only its HTML can show unchanged, such as tables.</span>
        ) : (
          <span>
            <Button isSmall onPress={() => setIsSource(false)}>
              Show formatted
            </Button>
          </span>
        )}
      </>
    );
  return <Formatted {...props} html={html} doc={doc} onSource={() => setIsSource(true)} />;
};

export default RichText;

type Panel = 'variable' | 'link';

/** The editor changes nothing of what it is given. */
const jsonOf = (doc: DocNode): JSONContent => doc as unknown as JSONContent;

const Formatted = ({
  field,
  write,
  marks,
  around,
  html,
  doc,
  onSource,
}: ControlProps & Readonly<{ html: string; doc: DocNode; onSource: () => void }>) => {
  const { draft } = useForm();
  const [panel, setPanel] = useState<Panel>();
  /** The text that the editor shows. */
  const shown = useRef(html);
  const now = useRef({ write, draft, setPanel });
  now.current = { write, draft, setPanel };
  const extensions = useMemo(
    () => [
      ...richExtensions,
      Extension.create({
        name: 'keys',
        addKeyboardShortcuts: () => ({
          'Mod-z': () => act(now.current.draft.undo),
          'Mod-Shift-z': () => act(now.current.draft.redo),
          'Mod-y': () => act(now.current.draft.redo),
          'Mod-k': () => act(() => now.current.setPanel('link')),
        }),
        addInputRules: () => [
          new InputRule({
            find: /\{\{$/,
            handler: ({ range, chain }) => {
              chain().deleteRange(range).run();
              now.current.setPanel('variable');
            },
          }),
        ],
      }),
    ],
    [],
  );
  const editor = useEditor({
    extensions,
    content: jsonOf(doc),
    editable: marks.disabled !== true,
    injectCSS: false,
    enableContentCheck: true,
    editorProps: {
      attributes: {
        role: 'textbox',
        'aria-multiline': 'true',
        'aria-label': field.label,
        ...(marks['aria-describedby'] === undefined ? {} : { 'aria-describedby': marks['aria-describedby'] }),
        class: styles['prose'] ?? '',
      },
    },
    onUpdate: ({ editor: changed }) => {
      const next = htmlOf(changed.getJSON() as DocNode);
      if (next === shown.current) return;
      shown.current = next;
      now.current.write(next);
    },
  });
  useEffect(() => {
    if (html === shown.current) return;
    // An undo, or somebody who writes JSON.
    shown.current = html;
    editor.commands.setContent(jsonOf(doc), { emitUpdate: false });
  }, [editor, html, doc]);
  const isEditable = marks.disabled !== true;
  return (
    <div className={cx(styles['rich'], marks['aria-invalid'] === true && styles['invalid'])}>
      {isEditable ? (
        <Tools editor={editor} label={field.label} panel={panel} onPanel={setPanel} onSource={onSource} />
      ) : null}
      {panel === 'variable' ? (
        <VariablePanel
          names={around.names}
          onClose={() => {
            setPanel(undefined);
            editor.view.focus();
          }}
          onChoose={(source) => {
            setPanel(undefined);
            editor.commands.insertContent({ type: 'variable', attrs: { source } });
            // At once, for somebody may already write on.
            editor.view.focus();
          }}
        />
      ) : null}
      {panel === 'link' ? <LinkPanel editor={editor} names={around.names} onClose={() => setPanel(undefined)} /> : null}
      <EditorContent editor={editor} />
    </div>
  );
};

const act = (run: (() => void) | undefined): true => {
  run?.();
  return true;
};

const lineKinds = [
  ['p', 'Paragraph'],
  ['1', 'Heading 1'],
  ['2', 'Heading 2'],
  ['3', 'Heading 3'],
  ['4', 'Heading 4'],
] as const;

const Tools = ({
  editor,
  label,
  panel,
  onPanel,
  onSource,
}: Readonly<{
  editor: Editor;
  label: string;
  panel: Panel | undefined;
  onPanel: (panel: Panel | undefined) => void;
  onSource: () => void;
}>) => {
  const is = useEditorState({
    editor,
    selector: ({ editor: now }) => ({
      bold: now.isActive('bold'),
      italic: now.isActive('italic'),
      underline: now.isActive('underline'),
      strike: now.isActive('strike'),
      link: now.isActive('link'),
      bullets: now.isActive('bulletList'),
      numbers: now.isActive('orderedList'),
      quote: now.isActive('blockquote'),
      level: String((now.isActive('heading') ? now.getAttributes('heading')['level'] : undefined) ?? 'p'),
    }),
  });
  const run = () => editor.chain().focus();
  return (
    <div className={styles['tools']} role="group" aria-label={`Format: ${label}`}>
      <select
        className={styles['input']}
        aria-label="Kind of the line"
        value={is.level}
        onChange={({ target }) => {
          if (target.value === 'p') run().setNode('paragraph').run();
          else
            run()
              .setHeading({ level: Number(target.value) as 1 })
              .run();
        }}
      >
        {lineKinds.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
        {lineKinds.some(([value]) => value === is.level) ? null : <option value={is.level}>Heading {is.level}</option>}
      </select>
      <Tool label="Bold" sign="B" isOn={is.bold} onPress={() => run().toggleBold().run()} />
      <Tool label="Italic" sign="I" isOn={is.italic} onPress={() => run().toggleItalic().run()} />
      <Tool label="Underlined" sign="U" isOn={is.underline} onPress={() => run().toggleUnderline().run()} />
      <Tool label="Struck out" sign="S" isOn={is.strike} onPress={() => run().toggleStrike().run()} />
      <Tool label="List" sign="•" isOn={is.bullets} onPress={() => run().toggleBulletList().run()} />
      <Tool label="Numbered list" sign="1." isOn={is.numbers} onPress={() => run().toggleOrderedList().run()} />
      <Tool label="Quotation" sign="”" isOn={is.quote} onPress={() => run().toggleWrap('blockquote').run()} />
      <Tool
        label="Link"
        sign="Link"
        isOn={is.link || panel === 'link'}
        onPress={() => onPanel(panel === 'link' ? undefined : 'link')}
      />
      <Tool
        label="Insert a variable"
        sign="{ }"
        isOn={panel === 'variable'}
        onPress={() => onPanel(panel === 'variable' ? undefined : 'variable')}
      />
      <Tool label="Edit as HTML" sign="</>" isOn={false} onPress={onSource} />
    </div>
  );
};

/** `sign`: drawn by the style sheet, for the name is what it does. */
const Tool = ({
  label,
  sign,
  isOn,
  onPress,
}: Readonly<{ label: string; sign: string; isOn: boolean; onPress: () => void }>) => (
  <button
    type="button"
    className={styles['tool']}
    aria-label={label}
    aria-pressed={isOn}
    title={label}
    data-sign={sign}
    // The selection of the text stays.
    onMouseDown={(event) => event.preventDefault()}
    onClick={onPress}
  />
);

/** Takes the focus; Enter chooses, Escape leaves. */
const VariablePanel = ({
  names,
  onChoose,
  onClose,
}: Readonly<{ names: ControlProps['around']['names']; onChoose: (path: string) => void; onClose: () => void }>) => {
  const [path, setPath] = useState('');
  return (
    <form
      className={styles['panel']}
      onSubmit={(event) => {
        event.preventDefault();
        if (path.trim() !== '') onChoose(path.trim());
      }}
      onKeyDown={({ key }) => {
        if (key === 'Escape') onClose();
      }}
    >
      <VariableInput
        isPath
        hasFocus
        marks={{ id: 'variable-of-text', 'aria-label': 'Variable' }}
        label="Variable"
        value={path}
        names={names}
        placeholder="Name of a variable"
        onChange={setPath}
        onChoose={onChoose}
      />
      <Button isSmall type="submit">
        Insert
      </Button>
    </form>
  );
};

const LinkPanel = ({
  editor,
  names,
  onClose,
}: Readonly<{ editor: Editor; names: ControlProps['around']['names']; onClose: () => void }>) => {
  const mark = editor.getAttributes('link');
  const given = Array.isArray(mark['attributes']) ? (mark['attributes'] as Attributes) : [];
  const [href, setHref] = useState(attributeOf(given, 'href') ?? '');
  const isLink = editor.isActive('link');
  const done = (): void => {
    onClose();
    editor.view.focus();
  };
  return (
    <form
      className={styles['panel']}
      onSubmit={(event) => {
        event.preventDefault();
        const attributes = withAttribute(given, 'href', href.trim());
        // The whole link changes where the caret stands in it.
        const chain = isLink && editor.state.selection.empty ? editor.chain().extendMarkRange('link') : editor.chain();
        if (href.trim() === '') chain.unsetMark('link').run();
        else if (editor.state.selection.empty && !isLink)
          chain
            .insertContent({
              type: 'text',
              text: href.trim(),
              marks: [{ type: 'link', attrs: { tag: 'a', attributes } }],
            })
            .run();
        else chain.setMark('link', { tag: 'a', attributes }).run();
        done();
      }}
      onKeyDown={({ key }) => {
        if (key === 'Escape') done();
      }}
    >
      <VariableInput
        hasFocus
        marks={{ id: 'link-of-text', 'aria-label': 'Where the link leads' }}
        label="Where the link leads"
        value={href}
        names={names}
        placeholder="https://"
        onChange={setHref}
      />
      <Button isSmall type="submit">
        {isLink ? 'Change' : 'Link'}
      </Button>
      {isLink ? (
        <Button
          isSmall
          onPress={() => {
            const chain = editor.state.selection.empty ? editor.chain().extendMarkRange('link') : editor.chain();
            chain.unsetMark('link').run();
            done();
          }}
        >
          Remove
        </Button>
      ) : null}
    </form>
  );
};
