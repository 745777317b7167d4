import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { WallClock } from '../../core/clock.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { hasRole } from '../../core/text/roles.ts';
import type {
  Actor,
  AnyListOperation,
  ChangeOperation,
  DocumentOperation,
  EnqueueSync,
  Operation,
  Scope,
} from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import { renderJson } from '../../reports/formats/json.ts';
import type { Context } from '../../wiring/context.ts';
import { limitRequests } from '../http/request-limit.ts';
import { addMcp } from '../mcp/mcp-routes.ts';
import { type AnswerFormat, type FileFormat, mediaTypeOf, requestedFormat } from './answer-format.ts';
import type { Caller } from './callers.ts';
import { type Answer, applyChange, readDocument, runPage } from './documents.ts';
import { EntityTags, isListed } from './etags.ts';
import { JSON_TYPE } from './media-types.ts';
import { describeApi } from './openapi.ts';
import { ApiError } from './problem.ts';
import { inputReader, type PageInput } from './read-input.ts';
import { readUpload, UPLOAD_LIMITS } from './read-upload.ts';
import { REFERENCE_POLICY, referencePage } from './reference-page.tsx';
import { RowStreams } from './row-stream.ts';
import type { SlowReads } from './slow-reads.ts';

export const API_PATH = '/api/v1';
/** The most requests of each caller in a minute. A stream counts as one request, and so does a page of a listing. */
export const REQUESTS_PER_MINUTE = 1200;
/** Callers may keep an answer, but must ask before each use whether the answer is still current. */
const CACHING = 'private, no-cache';

export interface ApiOptions {
  context: Context;
  clock: WallClock;
  version: string;
  /** The most requests of one caller in a minute. */
  requestsPerMinute: number;
  enqueueSync: EnqueueSync;
}

interface ServedApi extends ApiOptions {
  slowReads: SlowReads;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the request's token; null on paths that need no token. */
    caller: Caller | null;
  }
}

/**
 * Serves the operations below `/api/v1`, their description at `/api/openapi.json`, a reference at `/api`, and the
 * tools of `/mcp`. The server has already checked the host and the token.
 */
export async function addApi(app: FastifyInstance, options: ServedApi): Promise<void> {
  await app.register(serveApi, options);
}

const serveApi: FastifyPluginAsync<ServedApi> = async (api, options) => {
  await limitRequests(api, {
    perMinute: options.requestsPerMinute,
    callerOf: ({ caller, ip }) => caller?.name ?? ip,
    message: `more than ${options.requestsPerMinute} requests in a minute`,
  });
  api.removeAllContentTypeParsers();
  api.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, body === '' ? undefined : parseExact(String(body), numbersToPlain));
    } catch {
      done(new ApiError(400, 'bad_request', 'the body is not JSON', { hint: 'send one JSON object' }));
    }
  });
  await api.register(multipart, { limits: UPLOAD_LIMITS });
  const description = describeApi(OPERATIONS, options.version);
  const text = renderJson(description);
  const page = referencePage(OPERATIONS, options.version);
  api.get('/api/openapi.json', (_request, reply) => reply.type(JSON_TYPE).send(text));
  api.get('/api', (_request, reply) =>
    reply.header('content-security-policy', REFERENCE_POLICY).type('text/html; charset=utf-8').send(page),
  );
  const answers = new Answers(options, options.slowReads);
  for (const operation of OPERATIONS) addRoute(api, operation, answers);
  addMcp(api, options);
};

/** Converts the integers of a body to plain numbers. An integer that a double cannot represent stays a bigint. */
function numbersToPlain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function addRoute(api: FastifyInstance, operation: Operation, answers: Answers): void {
  const readInput = inputReader(operation);
  const { method, path } = operation.http;
  api.route({
    method,
    url: `${API_PATH}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    exposeHeadRoute: false,
    async handler(request, reply) {
      const caller = requireRole(request.caller, operation);
      const { input, page } = readInput(request, await formOf(operation, request));
      const scope = answers.scopeOf(caller, request);
      if (operation.kind === 'change') return answers.applyChange(operation, scope, { reply, input });
      const { format: parameter } = request.query as { format?: unknown };
      const format = requestedFormat(operation, parameter, request.headers.accept ?? '');
      if (operation.kind === 'document') {
        return answers.sendDocument(operation, scope, { request, reply, input, format });
      }
      if (format !== 'json') return answers.sendStream(operation, scope, { reply, input, format });
      return answers.sendPage(operation, scope, { request, reply, input, page });
    },
  });
}

/** Returns the fields of a form; null if the operation takes JSON. Throws ApiError for another content type. */
async function formOf({ upload, name }: Operation, request: FastifyRequest): Promise<Record<string, unknown> | null> {
  const isForm = request.isMultipart();
  if (upload !== undefined && isForm) return readUpload(request, upload);
  if (upload === undefined && !isForm) return null;
  const type = upload === undefined ? 'application/json' : 'multipart/form-data';
  throw new ApiError(415, 'media_type', `${name} does not take this content type`, { hint: `send ${type}` });
}

function requireRole(caller: Caller | null, { name, role }: Operation): Caller {
  if (caller !== null && hasRole(caller.role, role)) return caller;
  throw new ApiError(403, 'forbidden', `${name} needs the role ${role}`, {
    hint: `use a token with the role ${role}; this one has ${caller?.role ?? 'none'}`,
  });
}

interface Asked {
  request: FastifyRequest;
  reply: FastifyReply;
  input: Record<string, unknown>;
}

/** Runs operations and sends their documents. */
class Answers {
  readonly #options: ApiOptions;
  readonly #tags: EntityTags;
  readonly #streams: RowStreams;
  readonly #slowReads: SlowReads;

  constructor(options: ApiOptions, slowReads: SlowReads) {
    const { context, clock } = options;
    this.#slowReads = slowReads;
    this.#options = options;
    this.#tags = new EntityTags(context.reader().connection, () => context.config, clock);
    this.#streams = new RowStreams(context.redact);
  }

  scopeOf(caller: Caller, request: FastifyRequest): Scope {
    const { context } = this.#options;
    const actor: Actor = { name: caller.name, kind: 'token' };
    const gone = new AbortController();
    request.raw.once('close', () => {
      if (!request.raw.complete || request.raw.destroyed)
        gone.abort(new ApiError(499, 'cancelled', 'the caller closed the connection'));
    });
    return {
      context,
      connection: context.reader().connection,
      actor,
      signal: gone.signal,
      enqueueSync: this.#options.enqueueSync,
      runInThread: this.#slowReads.of(context, actor, gone.signal),
    };
  }

  async sendDocument(
    operation: DocumentOperation<Operation['input'], object>,
    scope: Scope,
    { request, reply, input, format }: Asked & { format: AnswerFormat },
  ): Promise<FastifyReply> {
    if (format === 'html') {
      const { document } = await readDocument(operation, scope, input);
      const page = [...(operation.page?.(document) ?? [])].join('');
      return asFile(reply, operation.name, 'html').send(this.#options.context.redact(page));
    }
    // An entity tag identifies the answer of a URL. The answer to a POST also depends on its body, so it gets no tag.
    const hasTag = request.method === 'GET';
    if (!hasTag && operation.isSlow === true) {
      return this.#sendSlow(operation, scope, { reply, input });
    }
    if (hasTag && this.#isCurrent(request, reply)) return reply;
    const version = this.#tags.version();
    const answer = await readDocument(operation, scope, input);
    if (hasTag) return this.#send({ request, reply, input }, { ...answer, version });
    const body = renderJson({ ...answer.document, snapshot: answer.snapshot });
    return reply.type(JSON_TYPE).send(this.#options.context.redact(body));
  }

  async applyChange(
    operation: ChangeOperation<Operation['input'], object>,
    scope: Scope,
    { reply, input }: Omit<Asked, 'request'>,
  ): Promise<FastifyReply> {
    if (operation.isSlow === true && input.dry_run === true) return this.#sendSlow(operation, scope, { reply, input });
    const renderInThread = this.#slowReads.rendererOf(scope.context, scope.actor, scope.signal);
    const { document, rendered, snapshot } = await applyChange(operation, { ...scope, renderInThread }, input);
    const body = this.#options.context.redact(renderJson({ ...document, snapshot }));
    reply.code(operation.http.status ?? 200).type(JSON_TYPE);
    return reply.send(rendered === undefined ? body : joinObjects(body, rendered));
  }

  async #sendSlow({ name }: Operation, scope: Scope, { reply, input }: Omit<Asked, 'request'>): Promise<FastifyReply> {
    const body = await this.#slowReads.body(scope, name, input);
    return reply.type(JSON_TYPE).send(Buffer.from(body.buffer));
  }

  async sendPage(
    operation: AnyListOperation,
    scope: Scope,
    { request, reply, input, page }: Asked & { page: PageInput },
  ): Promise<FastifyReply> {
    if (this.#isCurrent(request, reply)) return reply;
    const version = this.#tags.version();
    const answer = await runPage(operation, scope, input, page);
    return this.#send({ request, reply, input }, { ...answer, version });
  }

  async sendStream(
    operation: AnyListOperation,
    scope: Scope,
    { reply, input, format }: Omit<Asked, 'request'> & { format: FileFormat },
  ): Promise<FastifyReply> {
    const stream = await this.#streams.start(operation, scope, input, format);
    return asFile(reply, operation.title, format).send(stream);
  }

  #isCurrent(request: FastifyRequest, reply: FastifyReply): boolean {
    const header = request.headers['if-none-match'];
    const etag = header === undefined ? null : this.#tags.current(requestUrl(request));
    if (etag === null || !isListed(header, etag)) return false;
    reply.code(304).header('etag', etag).header('cache-control', CACHING).send();
    return true;
  }

  #send({ request, reply }: Asked, { document, snapshot, version }: Answer & { version: number }): FastifyReply {
    const { context } = this.#options;
    const etag = this.#tags.remember(requestUrl(request), context.redact(renderJson(document)), version);
    reply.header('etag', etag).header('cache-control', CACHING);
    if (isListed(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type(JSON_TYPE).send(context.redact(renderJson({ ...document, snapshot })));
  }
}

/**
 * Joins the JSON of two objects into the JSON of one object. Both must come from `renderJson` and must not be empty.
 */
function joinObjects(first: string, second: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(first.replace(/\n\}\n$/, ',')), second.subarray(1)]);
}

/**
 * Sets the headers of a file. CSV and NDJSON are sent as they are, other files as downloads. A printable page is a
 * download, too, because it contains a script.
 */
function asFile(reply: FastifyReply, name: string, format: FileFormat): FastifyReply {
  reply.header('cache-control', 'no-store').type(mediaTypeOf(format));
  if (format === 'csv' || format === 'ndjson') return reply;
  return reply.header('content-disposition', `attachment; filename="${name.replaceAll('.', '-')}.${format}"`);
}

function requestUrl({ url }: FastifyRequest): string {
  return url;
}
