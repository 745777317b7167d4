import type { MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { InputFile } from '../../input-files/input-file.ts';
import { ApiError } from './problem.ts';

/** Limits of a `multipart/form-data` request. Files are read into memory. */
export const UPLOAD_LIMITS = {
  fileSize: 16 * 1024 * 1024,
  files: 1,
  fields: 40,
  fieldSize: 16_384,
  fieldNameSize: 100,
} as const;

/**
 * Reads the fields of a form, with its file as the field `fileField`. Throws ApiError if the file has another field
 * name, or if the body is not a valid form.
 */
export async function readUpload(request: FastifyRequest, fileField: string): Promise<Record<string, unknown>> {
  try {
    return await readParts(request, fileField);
  } catch (error) {
    // Errors of the parser have no status, for example if the body ends early or a part has no header.
    if (error instanceof ApiError || hasStatus(error)) throw error;
    throw refusedUpload(`the body is not a form: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function hasStatus(error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error;
}

async function readParts(request: FastifyRequest, fileField: string): Promise<Record<string, unknown>> {
  const fields: Record<string, unknown> = {};
  for await (const part of request.parts()) {
    const { fieldname: name } = part;
    if (Object.hasOwn(fields, name)) throw refusedUpload(`${name} is given twice`);
    if (part.type === 'file') {
      if (name !== fileField) throw refusedUpload(`${name} is a file; the file is expected as ${fileField}`);
      fields[name] = await fileOf(part);
    } else {
      fields[name] = part.value;
    }
  }
  return fields;
}

async function fileOf(part: MultipartFile): Promise<InputFile> {
  return { name: part.filename, bytes: await part.toBuffer() };
}

function refusedUpload(message: string): ApiError {
  return new ApiError(400, 'bad_request', message, { hint: 'see /api for the fields of this path' });
}
