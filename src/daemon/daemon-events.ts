import { EventEmitter } from 'node:events';

/** What one part of a daemon has to say, whoever listens. */
export interface DaemonEventMap {
  /** There is something to tell. */
  notified: [];
}

export type DaemonEvents = EventEmitter<DaemonEventMap>;

export function createDaemonEvents(): DaemonEvents {
  return new EventEmitter<DaemonEventMap>();
}
