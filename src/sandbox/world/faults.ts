import type { Endpoint, Envelope, SandboxRequest } from '../requests/call.ts';

/**
 * The effect of a fault on a request. An action marked "final" replaces the normal response. After any other action the
 * request is processed further.
 */
export type FaultAction =
  /** Ends the request with an error envelope of this status, such as 503 with `{'Retry-After': '2'}`. */
  | { type: 'status'; status: number; headers?: Record<string, string>; message?: string }
  /** Ends the request by destroying the socket before a byte is sent. */
  | { type: 'reset' }
  /** Ends the request with a body that need not be JSON. Default: status 200 and text/html. */
  | { type: 'body'; body: string | Buffer; contentType?: string; status?: number; headers?: Record<string, string> }
  /**
   * Announces the length of the whole body, sends only its first `keepBytes` bytes (default: half; at least 1), then
   * closes the connection.
   */
  | { type: 'truncate'; keepBytes?: number }
  /**
   * Replaces the envelope by the result of `mutate`. Integers above 2^53 are passed as bigint and may be returned as
   * such.
   */
  | { type: 'mutate'; mutate: (envelope: Envelope, call: SandboxRequest) => unknown }
  | { type: 'delay'; delayMs: number }
  /** Calls `run` before the response is computed, for example to change the data between two pages. */
  | { type: 'before'; run: (call: SandboxRequest) => void | Promise<void> };

export interface FaultMatcher {
  endpoint?: Endpoint;
  workspaceId?: string;
  tenantId?: string;
  page?: number;
}

export interface InjectedFault {
  /** The requests that the fault affects. Absent: all requests. */
  when?: FaultMatcher | ((call: SandboxRequest) => boolean);
  /** The number of matching requests to affect. Default 1; Infinity for all. */
  times?: number;
  action: FaultAction;
}

/** Queues faults for later requests. Faults apply before the signature check. */
export interface FaultControl {
  push(fault: InjectedFault): void;
  clear(): void;
}

export interface FaultQueue extends FaultControl {
  /**
   * Returns the actions for this request in the order in which they were added, up to the first final one. Each of them
   * reduces the remaining `times` of its fault by one.
   */
  take(call: SandboxRequest): readonly FaultAction[];
}

const NO_ACTIONS: readonly FaultAction[] = [];

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
      if (waiting.length === 0) return NO_ACTIONS;
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

function matches(when: InjectedFault['when'], call: SandboxRequest): boolean {
  if (when === undefined) return true;
  if (typeof when === 'function') return when(call);
  return (
    (when.endpoint === undefined || when.endpoint === call.endpoint) &&
    (when.workspaceId === undefined || when.workspaceId === call.workspaceId) &&
    (when.tenantId === undefined || when.tenantId === call.tenantId) &&
    (when.page === undefined || when.page === call.page)
  );
}
