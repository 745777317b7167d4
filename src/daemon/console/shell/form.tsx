import type { ComponentChildren } from 'preact';
import { MAX_NAME_CHARACTERS } from '../../../core/text/person-name.ts';
import type { Session } from '../sign-in/sessions.ts';
import { Field } from './parts.tsx';
import type { Visit } from './visit.ts';

export const FORM_TOKEN_FIELD = 'form_token';
export const PERSON_FIELD = 'person';
/** The name of the field with the file, in forms that upload one. */
export const FILE_FIELD = 'file';
export const MAX_NOTE_CHARACTERS = 500;

/** The hidden field with the session's form token, which every form sends. */
export function FormToken({ session }: { session: Session }) {
  return <input type="hidden" name={FORM_TOKEN_FIELD} value={session.formToken} />;
}

/** Asks for the person's name if it is not known yet. Changes are recorded under this name. */
export function PersonField({ session }: { session: Session }) {
  if (session.person !== null) return null;
  return <Field name={PERSON_FIELD} label="Your name" required maxLength={MAX_NAME_CHARACTERS} autocomplete="name" />;
}

/** The field in which a person chooses the file to upload. */
export function FileField({ label, accept }: { label: string; accept: string }) {
  return (
    <label>
      {label}
      <input type="file" name={FILE_FIELD} accept={accept} required />
    </label>
  );
}

/** Shows why this form was refused. Shows nothing if another form of the page, or none, was refused. */
export function FormFault({ visit: { draft }, form }: { visit: Visit; form: string }) {
  if (draft?.form !== form) return null;
  return (
    <p class="fault" role="alert">
      {draft.fault}
    </p>
  );
}

/** Returns the value that a field had in the refused form; undefined if this form was not refused. */
export function draftValue({ draft }: Visit, form: string, field: string): string | undefined {
  return draft?.form === form ? (draft.fields.get(field) ?? undefined) : undefined;
}

interface ChangeFormProps {
  visit: Visit;
  /** The name of the form on its page. */
  form: string;
  action: string;
  submit: string;
  /** The accessible name of the button, if its text does not say what it acts on. */
  submitName?: string;
  /** True for the most important button of a page. */
  main?: boolean;
  /** True if the form uploads a file. */
  upload?: boolean;
  /** True if the fields are next to each other on wide screens. */
  wide?: boolean;
  /** True if the form changes nothing, so that the person's name is not needed. */
  anonymous?: boolean;
  children: ComponentChildren;
}

/** A form with its token, its fault, its fields and its button. Visitors without a session do not see it. */
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
