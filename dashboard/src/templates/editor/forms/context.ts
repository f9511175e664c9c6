/** The template that a form changes, as its fields see it. */
import { createContext, useContext } from 'react';
import type { Surroundings } from './controls';
import type { ContentKind } from './fields.js';
import type { Json, Place, Steps } from './place.js';

/** The part of a draft that forms use. */
export type FormDraft = Readonly<{
  kind: ContentKind;
  content: Json;
  change: (next: Json, act: Readonly<{ label: string; group?: string }>) => void;
  undo: (() => void) | undefined;
  redo: (() => void) | undefined;
  selected: string | undefined;
  select: (id: string | undefined) => void;
  faults: readonly Readonly<{ path: string; message: string }>[];
  variables: Json;
  canWrite: boolean;
}>;

type FormState = Readonly<{
  draft: FormDraft;
  around: Surroundings;
  place: Place | undefined;
  /** A sentence on what mail programs do not show, for a property; undefined where all of size show it. */
  supportOf: (name: string, value: unknown) => string | undefined;
  /** The first fault at a path, or below it. */
  faultAt: (steps: Steps) => string | undefined;
}>;

const FormContext = createContext<FormState | undefined>(undefined);
export const FormProvider = FormContext.Provider;

export const useForm = (): FormState => {
  const state = useContext(FormContext);
  if (state === undefined) throw new Error('the field is not inside of a form');
  return state;
};
