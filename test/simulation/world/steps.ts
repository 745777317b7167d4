import type { Host, SimulatedProcess } from './process.ts';

/**
 * What a process comes to again and again: a request that it sends, a commit that is about to be, a message that is written down,
 * one in a receiver's hands, events on their way to where they are billed.
 */
export const STEPS = ['request', 'commit', 'message', 'delivery', 'push'] as const;
export type Step = (typeof STEPS)[number];

interface Awaited {
  step: Step;
  /** Null: whoever comes to it. */
  host: Host | null;
  left: number;
  call: (who: SimulatedProcess) => void;
}

/** Lets something happen just when a process comes to a step, for most of a day is idle and hurts nobody. */
export class Steps {
  #awaited: Awaited[] = [];

  /** Calls back once, when a process of the host comes to the step for the `nth` time from now on. */
  await({ step, nth, host }: { step: Step; nth: number; host: Host | null }, call: Awaited['call']): void {
    this.#awaited.push({ step, host, left: nth, call });
  }

  reached(step: Step, who: SimulatedProcess): void {
    for (const awaited of this.#awaited) {
      if (awaited.step !== step || (awaited.host !== null && awaited.host !== who.host)) continue;
      awaited.left -= 1;
      if (awaited.left === 0) awaited.call(who);
    }
    this.#awaited = this.#awaited.filter(({ left }) => left > 0);
  }

  /** Nothing is waited for any more. */
  forget(): void {
    this.#awaited = [];
  }
}
