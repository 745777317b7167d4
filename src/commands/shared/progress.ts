import { every } from '../../core/clock.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { firstOf } from '../../core/text/words.ts';
import type { CliContext } from './cli-context.ts';

interface Progress {
  update(done: number, total: number, unit?: string): void;
  stop(): void;
}

/** A bar on stderr where somebody looks; elsewhere its code is not even loaded. */
export async function startProgress(cli: CliContext, label: string, unit: string): Promise<Progress> {
  const { stderr } = cli.io;
  if (stderr.isTTY !== true) return { update: () => undefined, stop: () => undefined };
  const { ProgressBar } = await import('./progress-bar.ts');
  const bar = new ProgressBar(stderr, label, unit, cli.clock);
  const release = cli.giveWay(bar);
  return {
    update: (...progress) => bar.update(...progress),
    stop() {
      release();
      bar.stop();
    },
  };
}

const NOTE_INTERVAL_MS = 10_000;
const NAMED = 5;

interface FleetView {
  begin(workspaceId: string): Promise<Progress>;
  stop(): void;
}

/**
 * Shows how far several runs at once are: a bar for one at a time where a person looks; else what is waited for, every
 * ten seconds on stderr.
 */
export function createFleetView(cli: CliContext, oneAtATime: boolean): FleetView {
  if (oneAtATime && cli.io.stderr.isTTY === true) {
    return { begin: (workspaceId) => startProgress(cli, inertText(workspaceId), 'pages'), stop: () => undefined };
  }
  const running = new Map<string, string>();
  const stop = every(cli.clock, NOTE_INTERVAL_MS, () => {
    if (running.size > 0) cli.note(`waiting for ${describe([...running])}`);
  });
  return {
    async begin(workspaceId) {
      running.set(workspaceId, 'first page');
      return {
        update: (page, pages) => void running.set(workspaceId, `page ${page} of ${pages}`),
        stop: () => void running.delete(workspaceId),
      };
    },
    stop,
  };
}

function describe(running: readonly [id: string, where: string][]): string {
  const named = running.slice(0, NAMED).map(([id, where]) => `${inertText(id)} (${where})`);
  return firstOf(named, NAMED, running.length);
}
