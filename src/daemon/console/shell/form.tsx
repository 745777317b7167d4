import type { ComponentChildren } from 'preact';
import { MAX_NAME_CHARACTERS } from '../../../core/text/person-name.ts';
import type { Session } from '../sign-in/sessions.ts';
import { Field } from './parts.tsx';
import type { Visit } from './visit.ts';

export const FORM_TOKEN_FIELD = 'form_token';
export const PERSON_FIELD = 'person';
/** The field of the file in forms that upload one. */
export const FILE_FIELD = 'file';
export const MAX_NOTE_CHARACTERS = 500;

/** The token of the session, which every form carries. */
export function FormToken({ session }: { session: Session }) {
  return <input type="hidden" name={FORM_TOKEN_FIELD} value={session.formToken} />;
}

/** Asks for the person's name until it is known: changes are recorded under it. */
export function PersonField({ session }: { session: Session }) {
  if (session.person !== null) return null;
  return <Field name={PERSON_FIELD} label="Your name" required maxLength={MAX_NAME_CHARACTERS} autocomplete="name" />;
}

/** Asks for a file, which the form uploads. */
export function FileField({ label, accept }: { label: string; accept: string }) {
  return (
    <label>
      {label}
      <input type="file" name={FILE_FIELD} accept={accept} required />
    </label>
  );
}

/** The fault of a form that was refused; nothing for the other forms of the page. */
export function FormFault({ visit: { draft }, form }: { visit: Visit; form: string }) {
  if (draft?.form !== form) return null;
  return (
    <p class="fault" role="alert">
      {draft.fault}
    </p>
  );
}

/** Returns the value that a refused form had in a field. */
export function draftValue({ draft }: Visit, form: string, field: string): string | undefined {
  return draft?.form === form ? (draft.fields.get(field) ?? undefined) : undefined;
}

interface ChangeFormProps {
  visit: Visit;
  /** The name of the form on its page. */
  form: string;
  action: string;
  submit: string;
  /** The accessible name of the button, if its text alone does not say what it is about. */
  submitName?: string;
  /** True for the most important button of a page. */
  main?: boolean;
  /** The form uploads a file. */
  upload?: boolean;
  /** The fields stand beside each other where there is room. */
  wide?: boolean;
  /** The form changes nothing, so it needs no name. */
  anonymous?: boolean;
  children: ComponentChildren;
}

/** A form with its token, its fault, its fields and its button. Visitors without a session see none. */
export function ChangeForm({
  visit,
  form,
  action,
  submit,
  submitName,
  main,
  upload,
  wide,
  anonymous,
  children,
}: ChangeFormProps) {
  if (visit.session === null) return null;
  return (
    <form
      method="post"
      action={action}
      class={wide ? 'fields wide' : 'fields'}
      {...(upload ? { enctype: 'multipart/form-data' as const } : {})}
    >
      <FormToken session={visit.session} />
      <FormFault visit={visit} form={form} />
      {children}
      {anonymous ? null : <PersonField session={visit.session} />}
      <button class={main ? 'main' : ''} type="submit" aria-label={submitName}>
        {submit}
      </button>
    </form>
  );
}
