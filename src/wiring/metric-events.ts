import { EventEmitter } from 'node:events';

interface MetricEventMap {
  /** An attempt of a request to the service has ended; `outcome` is its HTTP status or a word such as `timeout`. */
  attempt: [workspaceId: string, outcome: string, seconds: number];
  /** An attempt to send a notification has ended. */
  delivery: [channel: string, outcome: string];
  /** A request has waited because of a rate limit. */
  wait: [workspaceId: string, seconds: number];
}

/** Emits the events of service clients and channels that the Prometheus metrics count. */
export class MetricEvents extends EventEmitter<MetricEventMap> {}
