import { STATUS_CODES } from 'node:http';
import { Dispatcher } from 'undici';
import type { Clock } from '../../../src/core/clock.ts';
import type { Random } from '../../support/random.ts';
import type { ServiceRow, SimulatedService } from './service.ts';
import { owners } from './statements.ts';

/** What a service can do to a request other than answer it. */
export const SERVICE_FAULTS = [
  'refuse',
  'forbid',
  'throttle',
  'throttle_for_a_year',
  'break',
  'hang',
  'slow',
  'cut_off',
  'reset',
  'garbage',
  'html',
  'echo_secret',
  'flood',
  'say_nothing_is_there',
  'wrong_totals',
  'lose_rows',
  'repeat_rows',
  'contradict_itself',
  'fractions',
  'beyond_64_bits',
  'out_of_window',
  'shuffle_between_pages',
  'duplicate_key',
] as const;
export type ServiceFault = (typeof SERVICE_FAULTS)[number];

/** Faults after which an answer still says nothing but the truth, though perhaps not all of it. */
const HONEST: readonly ServiceFault[] = ['slow', 'shuffle_between_pages'];

/** Faults that show in every answer that has them: no run may be published of such answers alone. */
export const PLAIN_LIES: readonly ServiceFault[] = ['wrong_totals', 'contradict_itself', 'fractions', 'beyond_64_bits'];

/** One answer that carried rows, as the program saw it. */
export interface Given {
  atMs: number;
  workspaceId: string;
  /** Of whose history it is; absent: of the listing. */
  tenantId: string | undefined;
  rows: readonly ServiceRow[];
  honest: boolean;
  /** What was wrong with it. */
  fault: ServiceFault | null;
}

/** How much of what a service is asked goes wrong, and how. */
export interface Trouble {
  fault: ServiceFault;
  probability: number;
}

interface Asked {
  path: string;
  query: URLSearchParams;
  headers: Record<string, string>;
}

interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string;
  cutOff?: boolean;
}

/** The way between the program and the services: answers come by the world's clock, and every one is noted. */
export class Network {
  readonly services = new Map<string, SimulatedService>();
  readonly troubles = new Map<string, Trouble>();
  readonly given: Given[] = [];
  /** Requests that a fault met, by its name. */
  readonly met = new Map<ServiceFault, number>();
  /** Called with a line for each request, for the trace. */
  onRequest: (line: string) => void = () => undefined;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The network as one process has it: `deliver` says whether, and when, an answer still reaches it. */
  dispatcherFor(deliver: (call: () => void) => void): Dispatcher {
    return new SimulatedDispatcher((options, handler) => this.#ask(options, handler, deliver));
  }

  #ask(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    deliver: (call: () => void) => void,
  ): void {
    owners.getStore()?.beforeRequest();
    const controller = new Controller((error) => handler.onResponseError?.(controller, error));
    handler.onRequestStart?.(controller, {});
    const url = new URL(options.path, 'http://service');
    const headers = Object.fromEntries(
      Object.entries((options.headers ?? {}) as Record<string, string>).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]),
    );
    const asked = { path: url.pathname, query: url.searchParams, headers };
    const workspaceId = decodeURIComponent(asked.path.split('/')[5] ?? '');
    const trouble = this.troubles.get(workspaceId);
    const fault = trouble !== undefined && this.#random.chance(trouble.probability) ? trouble.fault : null;
    if (fault !== null) this.met.set(fault, (this.met.get(fault) ?? 0) + 1);
    const latencyMs = fault === 'slow' ? this.#random.between(5_000, 25_000) : this.#random.between(20, 400);
    if (fault === 'hang') return;
    this.#clock.after(latencyMs, () => {
      if (fault === 'reset') return deliver(() => controller.fail(connectionError('ECONNRESET')));
      // The service answers now, whenever that is heard.
      const reply = this.#reply(workspaceId, asked, fault);
      this.onRequest(`${workspaceId} ${url.search} ${fault ?? 'plain'} ${reply.status} ${reply.body.length}`);
      deliver(() => {
        if (!controller.ended) send(controller, handler, reply);
      });
    });
  }

  #reply(workspaceId: string, asked: Asked, fault: ServiceFault | null): Reply {
    const service = this.services.get(workspaceId);
    if (service === undefined) return failure(404, 'there is no such workspace');
    const nowMs = this.#clock.now() + service.clockSkewMs;
    const date = { date: new Date(nowMs).toUTCString() };
    if (!service.accepts(asked.headers, nowMs)) return failure(401, 'The signature has expired or is wrong', date);
    if (fault === 'refuse') return failure(401, 'Unauthorized', date);
    if (fault === 'forbid') return failure(403, 'Access denied', date);
    if (fault === 'throttle') return failure(429, 'Too many requests', { ...date, 'retry-after': '30' });
    if (fault === 'throttle_for_a_year')
      return failure(429, 'Too many requests', { ...date, 'retry-after': '31536000' });
    if (fault === 'break') return failure(this.#random.pick([500, 502, 503, 504]), 'Something broke', date);
    if (fault === 'echo_secret') return failure(500, `cannot serve ${service.secretKey}`, date);
    const headers = { ...date, 'content-type': 'application/json' };
    if (fault === 'garbage') return { status: 200, headers, body: '{"message": "ok", "success": tru' };
    if (fault === 'html') return { status: 200, headers, body: '<html><body>Maintenance</body></html>' };
    if (fault === 'flood')
      return { status: 200, headers, body: `{"success":true,"message":"${'x'.repeat(6_000_000)}"}` };
    return { status: 200, headers, body: this.#page(service, asked, fault), cutOff: fault === 'cut_off' };
  }

  #page(service: SimulatedService, { query, path }: Asked, fault: ServiceFault | null): string {
    const encoded = path.split('/')[7];
    const tenantId = encoded && decodeURIComponent(encoded);
    const from = query.get('from_period');
    const to = query.get('to_period');
    const page = Number(query.get('page') ?? 1);
    const perPage = Number(query.get('per_page') ?? 50);
    const all = service.rowsAt(this.#clock.now(), from, to);
    let rows = all.filter((row) =>
      tenantId === undefined ? !service.unlisted.has(row.tenantId) : row.tenantId === tenantId,
    );
    if (fault === 'say_nothing_is_there') rows = [];
    if (fault === 'shuffle_between_pages') rows = this.#random.shuffled(rows);
    if (fault === 'lose_rows') rows = rows.filter(() => !this.#random.chance(0.2));
    const totalRecords = rows.length + (fault === 'wrong_totals' ? 1 : 0);
    const totalPages = Math.ceil(totalRecords / perPage);
    let shown = rows.slice((page - 1) * perPage, page * perPage);
    const [first] = shown;
    if (fault === 'repeat_rows' && first !== undefined) shown = [...shown.slice(0, -1), first];
    if (fault === 'contradict_itself' && first !== undefined)
      shown = [...shown, { ...first, credits: first.credits + 1n }];
    if (fault === 'out_of_window' && first !== undefined)
      shown = [...shown.slice(0, -1), { ...first, period: '2001-01' }];
    const isWhole = tenantId !== undefined || rows.length === all.length;
    const honest = isWhole && (fault === null || HONEST.includes(fault));
    if (fault !== 'cut_off') {
      const { workspaceId } = service;
      this.given.push({ atMs: this.#clock.now(), workspaceId, tenantId, rows: shown, honest, fault });
    }
    const usage = shown.map((row, index) => itemText(row, index === 0 ? fault : null)).join(',');
    const tenant = tenantId === undefined ? '' : `"tenant_id":${JSON.stringify(tenantId)},`;
    const data = `{"workspace_id":${JSON.stringify(service.workspaceId)},${tenant}"usage":[${usage}],"total_records":${totalRecords},"total_pages":${totalPages}}`;
    return `{"message":"ok","success":true,"data":${data}}`;
  }
}

function itemText({ tenantId, period, credits, requests }: ServiceRow, fault: ServiceFault | null): string {
  const [year = 0, month = 0] = period.split('-').map(Number);
  const end = new Date(Date.UTC(year, month, 1) - 1000).toISOString().slice(0, 19);
  const value = fault === 'fractions' ? `${credits}.5` : fault === 'beyond_64_bits' ? '9223372036854775808' : credits;
  const twice = fault === 'duplicate_key' ? `"credits_used":${credits + 1n},` : '';
  return `{"tenant_id":${JSON.stringify(tenantId)},"period":"${period}","period_start":"${period}-01T00:00:00","period_end":"${end}",${twice}"credits_used":${value},"request_count":${requests}}`;
}

function failure(status: number, message: string, headers: Record<string, string> = {}): Reply {
  const body = JSON.stringify({ message, success: false, data: null });
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body };
}

function send(
  controller: Controller,
  handler: Dispatcher.DispatchHandler,
  { status, headers, body, cutOff }: Reply,
): void {
  const bytes = Buffer.from(body);
  handler.onResponseStart?.(controller, status, headers, STATUS_CODES[status] ?? '');
  if (controller.ended) return;
  handler.onResponseData?.(controller, cutOff ? bytes.subarray(0, bytes.length >> 1) : bytes);
  if (controller.ended) return;
  if (cutOff) {
    controller.fail(connectionError('UND_ERR_SOCKET'));
    return;
  }
  controller.ended = true;
  handler.onResponseEnd?.(controller, {});
}

export function connectionError(code: string): Error {
  return Object.assign(new Error('the connection was lost'), { code });
}

class Controller implements Dispatcher.DispatchController {
  ended = false;
  aborted = false;
  paused = false;
  reason: Error | null = null;
  readonly #onError: (error: Error) => void;

  constructor(onError: (error: Error) => void) {
    this.#onError = onError;
  }

  fail(error: Error): void {
    if (this.ended) return;
    this.ended = true;
    this.#onError(error);
  }

  abort(reason: Error): void {
    this.aborted = true;
    this.reason = reason;
    this.fail(reason);
  }

  /** A page comes in one piece, so there is nothing to hold back. */
  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }
}

type Ask = (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => void;

export class SimulatedDispatcher extends Dispatcher {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    super();
    this.#ask = ask;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#ask(options, handler);
    return true;
  }

  override close(): Promise<void>;
  override close(callback: () => void): void;
  override close(callback?: () => void): Promise<void> | void {
    if (callback === undefined) return Promise.resolve();
    callback();
  }
}
