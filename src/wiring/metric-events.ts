import { EventEmitter } from 'node:events';

interface MetricEventMap {
  /** One attempt of a request to the service has ended: `outcome` is a status or a word such as `timeout`. */
  attempt: [workspaceId: string, outcome: string, seconds: number];
  delivery: [channel: string, outcome: string];
  /** A request has waited for its turn under the rate limit. */
  wait: [workspaceId: string, seconds: number];
}

/** Events of service clients and channels, for the metrics. */
export class MetricEvents extends EventEmitter<MetricEventMap> {}
