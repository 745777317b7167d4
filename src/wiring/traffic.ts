/** What the clients of all workspaces and the channels have done since the start, for the metrics. Counts only grow. */
export class Traffic {
  readonly #attempts = new Map<string, Map<string, number>>();
  readonly #deliveries = new Map<string, Map<string, number>>();
  readonly #listeners: ((seconds: number) => void)[] = [];
  readonly #waits = new Map<string, { count: number; seconds: number }>();

  /** One attempt of a request has ended: `outcome` is a status or a word such as `timeout`. */
  attempt(workspaceId: string, outcome: string, seconds: number): void {
    for (const listener of this.#listeners) listener(seconds);
    count(this.#attempts, workspaceId, outcome);
  }

  delivery(channel: string, outcome: string): void {
    count(this.#deliveries, channel, outcome);
  }

  onAttempt(listener: (seconds: number) => void): void {
    this.#listeners.push(listener);
  }

  waited(workspaceId: string, seconds: number): void {
    const own = this.#waits.get(workspaceId) ?? { count: 0, seconds: 0 };
    own.count += 1;
    own.seconds += seconds;
    this.#waits.set(workspaceId, own);
  }

  attempts(): { workspaceId: string; outcome: string; count: number }[] {
    return [...this.#attempts].flatMap(([workspaceId, own]) =>
      [...own].map(([outcome, count]) => ({ workspaceId, outcome, count })),
    );
  }

  deliveries(): { channel: string; outcome: string; count: number }[] {
    return [...this.#deliveries].flatMap(([channel, own]) =>
      [...own].map(([outcome, count]) => ({ channel, outcome, count })),
    );
  }

  waits(): { workspaceId: string; count: number; seconds: number }[] {
    return [...this.#waits].map(([workspaceId, own]) => ({ workspaceId, ...own }));
  }
}

function count(counts: Map<string, Map<string, number>>, of: string, outcome: string): void {
  const own = counts.get(of) ?? new Map<string, number>();
  own.set(outcome, (own.get(outcome) ?? 0) + 1);
  counts.set(of, own);
}
