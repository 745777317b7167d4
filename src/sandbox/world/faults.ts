import type { Endpoint, Envelope, SandboxCall } from '../requests/call.ts';

/** What a fault does to a request. The ones marked "ends" stand in for the answer; the others let it go on. */
export type FaultAction =
  /** Ends: an error envelope with this status, such as 503 with `{'Retry-After': '2'}`. */
  | { type: 'status'; status: number; headers?: Record<string, string>; message?: string }
  /** Ends: the socket is destroyed before a byte is sent. */
  | { type: 'reset' }
  /** Ends: a body that need not be JSON; status 200 and text/html unless told. */
  | { type: 'body'; body: string | Buffer; contentType?: string; status?: number; headers?: Record<string, string> }
  /** Announces the whole body, sends `keepBytes` of it (default: half; at least 1), then closes the connection. */
  | { type: 'truncate'; keepBytes?: number }
  /** Replaces the envelope; integers beyond 2^53 arrive as bigint and may be returned as bigint. */
  | { type: 'mutate'; mutate: (envelope: Envelope, call: SandboxCall) => unknown }
  | { type: 'delay'; delayMs: number }
  /** Runs before the answer is worked out: to change the data between two pages. */
  | { type: 'before'; run: (call: SandboxCall) => void | Promise<void> };

export interface FaultMatcher {
  endpoint?: Endpoint;
  workspaceId?: string;
  tenantId?: string;
  page?: number;
}

export interface InjectedFault {
  /** Which requests; all when absent. */
  when?: FaultMatcher | ((call: SandboxCall) => boolean);
  /** How many matching requests; 1 when absent, Infinity for ever. */
  times?: number;
  action: FaultAction;
}

/** The faults that wait for their requests. They strike before the signature is looked at. */
export interface FaultControl {
  push(fault: InjectedFault): void;
  clear(): void;
}

export interface FaultQueue extends FaultControl {
  /**
   * The actions that strike this request, in the order in which they were added, up to the first that ends it; each
   * costs its fault one of its times.
   */
  take(call: SandboxCall): readonly FaultAction[];
}

const NONE: readonly FaultAction[] = [];

export function createFaultQueue(): FaultQueue {
  let waiting: Array<{ fault: InjectedFault; left: number }> = [];
  return {
    push(fault) {
      waiting.push({ fault, left: fault.times ?? 1 });
    },
    clear() {
      waiting = [];
    },
    take(call) {
      if (waiting.length === 0) return NONE;
      const actions: FaultAction[] = [];
      for (const entry of waiting) {
        if (entry.left <= 0 || !matches(entry.fault.when, call)) continue;
        entry.left -= 1;
        actions.push(entry.fault.action);
        if (endsRequest(entry.fault.action)) break;
      }
      waiting = waiting.filter((entry) => entry.left > 0);
      return actions;
    },
  };
}

function endsRequest(action: FaultAction): boolean {
  return action.type === 'status' || action.type === 'reset' || action.type === 'body';
}

function matches(when: InjectedFault['when'], call: SandboxCall): boolean {
  if (when === undefined) return true;
  if (typeof when === 'function') return when(call);
  return (
    (when.endpoint === undefined || when.endpoint === call.endpoint) &&
    (when.workspaceId === undefined || when.workspaceId === call.workspaceId) &&
    (when.tenantId === undefined || when.tenantId === call.tenantId) &&
    (when.page === undefined || when.page === call.page)
  );
}
