import { Dispatcher } from 'undici';

export interface MemoryReply {
  status?: number;
  headers?: Record<string, string>;
  /** As they come, one after the other. */
  chunks: readonly Buffer[];
}

/** Answers in memory, without sockets and timers. What `reply` gives null for is never answered. */
export class MemoryDispatcher extends Dispatcher {
  /** The addresses asked for. */
  readonly asked: string[] = [];
  readonly #reply: (count: number) => MemoryReply | null;

  constructor(reply: (count: number) => MemoryReply | null) {
    super();
    this.#reply = reply;
  }

  override dispatch({ origin, path }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const reply = this.#reply(this.asked.push(`${origin}${path}`));
    const controller = {
      ...{ aborted: false, paused: false, reason: null },
      abort: (reason: Error) => handler.onResponseError?.(controller, reason),
      pause: () => undefined,
      resume: () => undefined,
    };
    handler.onRequestStart?.(controller, null);
    if (reply === null) return true;
    const { status = 200, headers = { 'content-type': 'application/json' }, chunks } = reply;
    handler.onResponseStart?.(controller, status, headers);
    for (const chunk of chunks) handler.onResponseData?.(controller, chunk);
    handler.onResponseEnd?.(controller, {});
    return true;
  }
}
