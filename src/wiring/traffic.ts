import { EventEmitter } from 'node:events';

interface TrafficEvents {
  /** One attempt of a request to the service has ended: `outcome` is a status or a word such as `timeout`. */
  attempt: [workspaceId: string, outcome: string, seconds: number];
  delivery: [channel: string, outcome: string];
  /** A request has waited for its turn of the rate. */
  wait: [workspaceId: string, seconds: number];
}

/** What the clients of all workspaces and the channels do, for the metrics. */
export class Traffic extends EventEmitter<TrafficEvents> {}
