/** The buttons of a template: save, publish, undo, and a menu with the rest. */
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { Button as AriaButton } from 'react-aria-components';
import type { MakeDocumentPreviewLinkData, MakeDocumentPreviewLinkResponse } from '#api';
import type { MakePreviewLinkData, MakePreviewLinkResponse } from '#api';
import { ApiFault, operation } from '../api/client';
import { ActDialog } from '../resources/dialogs';
import { useAgain } from '../resources/pages';
import { usePlace } from '../resources/place';
import type { Act, Done } from '../resources/resource';
import { Button } from '../ui/controls';
import { cx } from '../ui/cx';
import { download } from '../ui/download';
import { MoreIcon } from '../ui/icons';
import { Menu, MenuItem } from '../ui/menu';
import { contentOf, type Stored } from './content';
import type { ContentFault, Draft } from './draft';
import { apiOf, templatePath, wordsOf } from './kinds';
import { deletionText, removeTemplate } from './lists';
import { contentOfFile } from './new';
import styles from './page.module.css';
import { PublishDialog } from './publish';

const mailLink = operation<MakePreviewLinkData, MakePreviewLinkResponse>('POST', '/api/templates/{id}/preview/link');
const documentLink = operation<MakeDocumentPreviewLinkData, MakeDocumentPreviewLinkResponse>(
  'POST',
  '/api/templates/attachment/{id}/preview/link',
);

type ActsProps = Readonly<{ draft: Draft; faults: readonly ContentFault[] }>;

export const Acts = ({ draft, faults }: ActsProps): ReactNode => {
  const { tell, scope, go } = usePlace();
  const again = useAgain();
  const client = useQueryClient();
  const [isPublishing, setIsPublishing] = useState(false);
  const [asked, setAsked] = useState<Act<Stored>>();
  const file = useRef<HTMLInputElement>(null);
  const { kind, stored, content, newest, canWrite, isChanged, isSaving, undo, redo } = draft;
  const { teamId } = scope;

  const save = async (): Promise<void> => {
    try {
      await draft.save();
      tell({ say: 'The draft is saved.' });
    } catch (fault) {
      // The head of the page shows a refusal.
      if (!(fault instanceof ApiFault)) throw fault;
    }
  };
  const exportFile = (): void => {
    const text = `${JSON.stringify(newest(), null, 2)}\n`;
    download(new Blob([text], { type: 'application/json' }), `${String(content['slug'] ?? 'template')}.json`);
  };
  const importFile = async (chosen: File): Promise<void> => {
    try {
      const given = contentOf(kind, contentOfFile(await chosen.text()));
      draft.change({ ...given, slug: newest()['slug'] }, { label: 'Import of a file' });
      tell({ say: `${chosen.name} is in the place of the content. Undo brings back what was there.` });
    } catch (fault) {
      tell({
        say:
          fault instanceof ApiFault
            ? `${chosen.name} ${fault.errors[0]?.message ?? fault.message}`
            : `${chosen.name} cannot be read.`,
      });
    }
  };
  const rename: Act<Stored> = {
    label: 'Rename',
    fields: () => [
      { name: 'name', label: 'Name', initial: String(content['name'] ?? ''), isRequired: true },
      {
        name: 'slug',
        label: 'Slug',
        initial: String(content['slug'] ?? ''),
        isRequired: true,
        hint: 'Calls of your programs name it. Another one works as soon as it is saved, and the former does not.',
      },
    ],
    run: (_row, { name, slug }) => {
      const next = { ...newest(), name: String(name).trim(), slug: String(slug).trim() };
      draft.change(next, { label: 'Rename' });
      return Promise.resolve({ say: 'It has the name once it is saved.' });
    },
  };
  const copy: Act<Stored> = {
    label: 'Copy',
    fields: () => [
      { name: 'name', label: 'Name of the copy', initial: `${String(content['name'] ?? '')} (copy)`, isRequired: true },
      { name: 'slug', label: 'Slug of the copy', hint: 'Default: made of the name' },
    ],
    run: async (_row, { name, slug }) => {
      const { slug: _, ...others } = newest();
      const wanted = String(slug).trim();
      const body = { ...others, name: String(name).trim(), ...(wanted === '' ? {} : { slug: wanted }) };
      const made = await apiOf[kind].create(body, { teamId });
      return { say: `${made.name} is a draft.`, open: templatePath(kind, made.id) };
    },
  };
  const link: Act<Stored> = {
    label: 'Make a preview link',
    ask: () => ({
      title: 'Make a preview link?',
      text: (
        <p>
          For 15 minutes everybody with the link sees the draft as it is saved, with your sample data, without an
          account.
        </p>
      ),
    }),
    run: async () => {
      const make = kind === 'attachment' ? documentLink : mailLink;
      const { url } = await make({ path: { id: stored.id }, body: { variables: draft.variables } }, { teamId });
      return {
        say: 'The link works for 15 minutes.',
        secret: { title: 'A link to the preview', text: 'It works for 15 minutes and is shown once.', value: url },
      };
    },
  };
  const remove: Act<Stored> = {
    label: 'Delete',
    look: 'danger',
    ask: () => ({ title: `Delete ${stored.name}?`, text: deletionText(kind, stored) }),
    run: async () => ({ say: await removeTemplate(kind, stored, scope), isGone: true }),
  };
  const acts = [
    ...(canWrite ? [rename, copy] : []),
    ...(kind === 'block' ? [] : [link]),
    ...(canWrite ? [remove] : []),
  ];
  const done = (result: Done): void => {
    setAsked(undefined);
    if (result.isGone !== true) {
      tell(result);
      void again();
      return;
    }
    // The page of a template that is gone must not read it again; the list reads itself.
    void client.invalidateQueries({ queryKey: [wordsOf[kind].path], refetchType: 'none' });
    tell({ ...result, open: wordsOf[kind].path });
  };
  return (
    <>
      {canWrite ? (
        <>
          <Button isDisabled={undo === undefined} onPress={() => undo?.()}>
            Undo
          </Button>
          <Button isDisabled={redo === undefined} onPress={() => redo?.()}>
            Redo
          </Button>
          <Button isDisabled={!isChanged} isPending={isSaving} onPress={() => void save()}>
            Save
          </Button>
          <Button
            look="main"
            isDisabled={!isChanged && stored.status === 'published'}
            onPress={() => setIsPublishing(true)}
          >
            Publish…
          </Button>
        </>
      ) : null}
      <Menu
        aria-label="More"
        placement="bottom end"
        onAction={(key) => {
          if (key === 'export') exportFile();
          else if (key === 'import') file.current?.click();
          else setAsked(acts.find(({ label }) => label === key));
        }}
        trigger={
          <AriaButton className={cx(styles['more'])} aria-label="More">
            <MoreIcon />
          </AriaButton>
        }
      >
        <MenuItem id="export">Export as a file</MenuItem>
        {canWrite ? <MenuItem id="import">Import a file…</MenuItem> : null}
        {acts.map(({ label }) => (
          <MenuItem key={label} id={label}>
            {label}…
          </MenuItem>
        ))}
      </Menu>
      <input
        ref={file}
        type="file"
        accept=".json,application/json"
        hidden
        aria-label="File to import"
        onChange={({ target }) => {
          const [chosen] = target.files ?? [];
          target.value = '';
          if (chosen !== undefined) void importFile(chosen);
        }}
      />
      {asked === undefined ? null : (
        <ActDialog act={asked} row={stored} onClose={() => setAsked(undefined)} onDone={done} />
      )}
      {isPublishing ? (
        <PublishDialog
          draft={draft}
          faults={faults}
          onClose={() => setIsPublishing(false)}
          onDone={(version) => {
            setIsPublishing(false);
            tell({ say: `Version ${version} is published. Calls from now on send it.` });
            go(templatePath(kind, stored.id), {}, true);
          }}
        />
      ) : null}
    </>
  );
};
