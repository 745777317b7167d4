import type { FastifyRequest } from 'fastify';
import { personName } from '../../../core/text/person-name.ts';
import type { InputFile } from '../../../input-files/input-file.ts';
import { ApiError } from '../../api/problem.ts';
import { readUpload, UPLOAD_LIMITS } from '../../api/read-upload.ts';
import { FILE_FIELD, FORM_TOKEN_FIELD, PERSON_FIELD } from '../shell/form.tsx';
import { isFormToken, type Session } from './sessions.ts';

/** Returns the fields of a form as the browser sent them; empty if the request has no form. */
export function fieldsOf({ body }: Pick<FastifyRequest, 'body'>): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

/**
 * Throws unless a page of this server sent the form. Browsers send the origin of the page, or at least whether it is
 * the same as that of the address. `publicUrl` is the console's address behind a proxy that changes the host.
 */
export function requireSameOrigin({ headers }: Pick<FastifyRequest, 'headers'>, publicUrl: string | null): void {
  const { origin, host } = headers;
  const isOwn =
    origin === undefined
      ? headers['sec-fetch-site'] === 'same-origin'
      : hostOf(origin) === host || (publicUrl !== null && origin === new URL(publicUrl).origin);
  if (isOwn) return;
  throw new ApiError(403, 'foreign_form', 'the form was sent from another site', {
    hint: 'open the page here and send the form again',
  });
}

const MIB = 1024 * 1024;

/**
 * Reads a form with a file and returns the file; null if the request has no such form, or no file was chosen. A form
 * that another site or a visitor without a session sent is refused before its file is read.
 */
export async function readForm(request: FastifyRequest, publicUrl: string | null): Promise<InputFile | null> {
  if (!request.isMultipart()) return null;
  requireSameOrigin(request, publicUrl);
  if (request.session === null) throw expiredForm();
  const { [FILE_FIELD]: file, ...texts } = await readUpload(request, FILE_FIELD).catch((error: unknown) => {
    throw isTooLarge(error) ? tooLarge() : error;
  });
  request.body = new URLSearchParams(Object.entries(texts).map(([name, text]) => [name, String(text)]));
  const given = file as InputFile | undefined;
  return given === undefined || (!given.name && given.bytes.length === 0) ? null : given;
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error && error.statusCode === 413;
}

function tooLarge(): ApiError {
  return new ApiError(413, 'too_large', `the file has more than ${UPLOAD_LIMITS.fileSize / MIB} MiB`, {
    hint: 'split the file, or use the command, which reads larger ones',
  });
}

/**
 * Checks that a page of this server sent the form, and returns its session. If the form has the person's name, the
 * session keeps it.
 */
export function requireForm(
  request: Pick<FastifyRequest, 'headers' | 'body' | 'session'>,
  publicUrl: string | null,
): Session {
  requireSameOrigin(request, publicUrl);
  const { session } = request;
  const fields = fieldsOf(request);
  if (session === null || !isFormToken(session, fields.get(FORM_TOKEN_FIELD) ?? '')) {
    throw expiredForm();
  }
  session.person ??= personOf(fields);
  return session;
}

function expiredForm(): ApiError {
  return new ApiError(403, 'expired_form', 'the form belongs to an earlier sign-in', {
    hint: 'open the page again and send the form from there',
  });
}

/** Returns the name that the person entered, cut to the maximum length; null if none was entered. */
export function personOf(fields: URLSearchParams): string | null {
  return personName(fields.get(PERSON_FIELD) ?? '');
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
