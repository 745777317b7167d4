import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { AppError } from '../../../core/errors.ts';
import { hasRole, type Role } from '../../../core/text/roles.ts';
import type { InputFile } from '../../../input-files/input-file.ts';
import { describeFieldFault } from '../../../operations/field-words.ts';
import { type ChangeResult, runRead, type Scope, type SlowRead } from '../../../operations/operation.ts';
import { ApiError } from '../../api/problem.ts';
import type { ConsolePages } from '../console-pages.ts';
import { fieldsOf, readForm, requireForm } from '../sign-in/form-guard.ts';
import { returnPath } from '../sign-in/return-path.ts';
import type { Session } from '../sign-in/sessions.ts';
import { faultText, fieldLabel } from './fault-text.ts';

/** A change that a form can make. */
export interface FormChange<Input extends z.ZodObject, Output> {
  name: string;
  role: Role;
  input: Input;
  run(scope: Scope, input: z.output<Input>): Promise<ChangeResult<Output>>;
}

/** A form that was sent: who sent it, and its fields. */
export interface SentForm {
  session: Session;
  fields: URLSearchParams;
  /** The uploaded file; null if the form has none. */
  file: InputFile | null;
  /** Runs a change with `input`. Throws `forbidden` if the person's role does not allow it. */
  run<Input extends z.ZodObject, Output>(
    operation: FormChange<Input, Output>,
    input: Readonly<Record<string, unknown>>,
  ): Promise<ChangeResult<Output>>;
  /** Reads a document with `input`. Throws `forbidden` if the person's role does not allow it. */
  read<Input extends z.ZodObject, Output extends object>(
    operation: SlowRead<Input, Output>,
    input: Readonly<Record<string, unknown>>,
  ): Promise<Output>;
  /** Throws `forbidden` if the person's role does not allow the work. Used for work that is not an operation. */
  requireRole(work: { name: string; role: Role }): void;
}

interface FormRoute {
  request: FastifyRequest;
  reply: FastifyReply;
  pages: ConsolePages;
  /** The name of the form on its page. A refused form is shown again with its fault. */
  form: string;
  /** The path of the page to show afterwards. */
  back: string;
}

/** The result of a form: a sentence that the next page shows, or the address of a page that shows the result. */
type FormResult = string | { next: string };

/** The field with the path of the page to show afterwards. It is used by forms that are on several pages. */
export const BACK_FIELD = 'back';

/** Returns the path in the field `back`; if the form has no such field, returns `otherwise`. */
export function backPath(request: Pick<FastifyRequest, 'body'>, otherwise: string): string {
  const wanted = fieldsOf(request).get(BACK_FIELD);
  return wanted === null ? otherwise : returnPath(wanted);
}

/**
 * Handles a form. Checks that a page of this server sent it, and makes the change. Then shows the page at `back` with
 * the resulting sentence, or another page with the result. A refused form is shown again with its fields and the fault.
 */
export async function answerForm(
  { request, reply, pages, form, back }: FormRoute,
  change: (sent: SentForm) => Promise<FormResult>,
): Promise<FastifyReply> {
  const file = await readForm(request, pages.publicUrl());
  const session = requireForm(request, pages.publicUrl());
  const fields = fieldsOf(request);
  const scope = pages.scopeOf(request);
  const requireRole: SentForm['requireRole'] = (operation) => {
    if (!hasRole(session.caller.role, operation.role)) throw forbidden(operation, session.caller.role);
  };
  const read: SentForm['read'] = (operation, input) => {
    requireRole(operation);
    return runRead(scope, operation, parsedInput(operation.input, input));
  };
  const run: SentForm['run'] = async (operation, input) => {
    requireRole(operation);
    if (session.person === null) throw new ApiError(400, 'name_missing', 'Enter your name.');
    return operation.run(scope, parsedInput(operation.input, input));
  };
  try {
    const result = await change({ session, fields, file, run, read, requireRole });
    if (typeof result !== 'string') return reply.redirect(result.next, 303);
    session.notice = { kind: 'good', text: result };
  } catch (error) {
    if (!(error instanceof AppError) || isForbidden(error)) throw error;
    session.draft = { form, fields, fault: pages.context.redact(faultText(error)) };
  }
  return reply.redirect(back, 303);
}

function forbidden({ name, role }: { name: string; role: Role }, has: Role): ApiError {
  return new ApiError(403, 'forbidden', `${name} needs the role ${role}; this token has ${has}`, {
    hint: `sign in with a token that has the role ${role}`,
  });
}

function isForbidden(error: AppError): boolean {
  return error instanceof ApiError && error.status === 403;
}

/** Parses the fields as the operation's input. An empty field counts as missing. */
function parsedInput<Input extends z.ZodObject>(
  schema: Input,
  fields: Readonly<Record<string, unknown>>,
): z.output<Input> {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '' && value !== undefined));
  const parsed = schema.safeParse(given, { error: describeFieldFault });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = fieldLabel(String(issue?.path[0] ?? 'The form'));
  throw new ApiError(400, 'bad_request', `${field}: ${issue?.message ?? 'cannot be read'}`);
}
