import { COMMANDS as PROGRAM } from '../../../src/commands/command-list.ts';
import { main } from '../../../src/commands/main.ts';
import type { LedgerView } from '../oracle/ledger-view.ts';
import { NAMES_FILE } from '../world/configuration.ts';
import { ratesCommand } from '../world/rate-cards.ts';
import { newProcess, overridesFor } from '../world/seat.ts';
import { monthBefore, monthOf } from '../world/service.ts';
import type { World } from '../world/world.ts';
import { COMMANDS, type CommandKind, type Happening } from './happening.ts';

const HOUR_MS = 3_600_000;

type Typed = Extract<Happening, { kind: 'command' }>;

/** What somebody has typed, and what came of it. */
export interface Typing {
  argv: string[];
  atMs: number;
  code: number;
  stdout: string;
  stderr: string;
}

/** Operators and analysts: each command is a process of its own on the first host. */
export class People {
  readonly #world: World;
  readonly #ledger: () => LedgerView | null;
  readonly #onEnd: (typing: Typing) => void;
  #typed = 0;
  /** Processes, with when they ended; infinite while they have not. */
  readonly #processes = new Map<string, { command: string; endedMs: number }>();
  #under = 0;

  constructor(world: World, ledger: () => LedgerView | null, onEnd: (typing: Typing) => void) {
    this.#world = world;
    this.#ledger = ledger;
    this.#onEnd = onEnd;
  }

  /** How many commands have not ended. */
  get under(): number {
    return this.#under;
  }

  /** Whether such a command is under way, or ends now. */
  isAt(command: string): boolean {
    const nowMs = this.#world.clock.monotonic();
    return [...this.#processes.values()].some((one) => one.command === command && one.endedMs >= nowMs);
  }

  type(happening: Typed): void {
    const argv = this.#argv(happening);
    if (argv !== null) void this.run(argv);
  }

  /** Types a line, and resolves with its exit code, or -1 when its process has died, which it does after `dies` statements. */
  async run(argv: string[], dies: number | null = null): Promise<number> {
    const [host] = this.#world.hosts;
    if (host === undefined) return -1;
    this.#typed += 1;
    const process = newProcess(this.#world, `${argv[0]}-${this.#typed}.${host.name}`, host);
    if (dies !== null) process.dieAfter(dies);
    const ended = Promise.withResolvers<void>();
    const typing: Typing = { argv, atMs: this.#world.clock.now(), code: -1, stdout: '', stderr: '' };
    this.#under += 1;
    const one = { command: `${argv[0]}`, endedMs: Number.POSITIVE_INFINITY };
    this.#processes.set(process.name, one);
    process.onDeath = () => {
      this.#under -= 1;
      one.endedMs = this.#world.clock.monotonic();
      ended.resolve();
    };
    const io = {
      stdout: {
        write: (text: string) => {
          typing.stdout += text;
        },
      },
      stderr: {
        write: (text: string) => {
          typing.stderr += text;
        },
      },
      env: {},
      cwd: this.#world.folder,
    };
    void process.run(async () => {
      const overrides = await overridesFor(this.#world, process, host.configured);
      typing.code = await main(argv, { ...io, overrides });
      // Who died on the way says nothing.
      if (!process.alive) {
        typing.code = -1;
        return;
      }
      process.kill('ended');
      this.#world.note(`typed ${argv.join(' ')}: ${typing.code} ${typing.stderr.split('\n')[0]}`);
      this.#onEnd(typing);
    });
    await ended.promise;
    return typing.code;
  }

  #argv({ command, workspace, tenant, monthsAgo }: Typed): string[] | null {
    const { workspaceIds } = this.#world;
    const id = workspaceIds[workspace % workspaceIds.length] ?? '';
    let period = monthOf(this.#world.clock.now());
    for (let ago = 0; ago < monthsAgo; ago += 1) period = monthBefore(period);
    const why = [
      '--until',
      new Date(this.#world.clock.now() + muteMs(tenant)).toISOString(),
      '--reason',
      'a simulation',
      '--by',
      'ada',
    ];
    const lines: Record<CommandKind, () => string[] | null> = {
      close: () => ['close', period, '--workspace', id, '--by', 'ada', '--force'],
      reopen: () => ['reopen', period, '--workspace', id, '--by', 'ada', '--note', 'a simulation'],
      ack: () => {
        const alert = this.#ledger()?.value<string | undefined>(
          "SELECT alert_id FROM finance_alerts WHERE state = 'firing' ORDER BY severity, 1 LIMIT 1",
        );
        return alert === undefined ? null : ['alerts', 'ack', alert, '--by', 'ada'];
      },
      silence: () => ['alerts', 'silence', '--workspace', id, ...why],
      plan: () => ['alerts', 'plan', '--workspace', id, '--up-to', String(10 ** (tenant + 2)), ...why],
      sync: () => ['sync', '--workspace', id],
      usage: () => ['usage', '--period', period, '--workspace', id, '--json'],
      status: () => ['status', '--json'],
      rates: () => ratesCommand(tenant),
      names: () => ['tenants', 'import', NAMES_FILE, '--workspace', id],
      statement: () => ['statement', period, '--workspace', id, '--format', 'json'],
      begin: () => ['outlets', 'start', 'billing', '--yes', '--by', 'ada'],
      push: () => ['outlets', 'push'],
      replay: () => ['alerts', 'replay', '--all-dead'],
    };
    return lines[command]();
  }
}

/** For an hour, a day or days. */
function muteMs(choice: number): number {
  return ([1, 24, 120][choice % 3] ?? 1) * HOUR_MS;
}

/** Loads what is typed, and what that loads when it is first used, so that no world waits for files. */
export async function loadCommands(): Promise<void> {
  const typed = PROGRAM.filter(({ name }) =>
    [...COMMANDS, 'alerts', 'tenants', 'outlets', 'backup', 'restore', 'workspace'].some((command) => command === name),
  );
  await Promise.all([
    ...typed.map(({ load }) => load()),
    import('../../../src/usage-api/client.ts'),
    import('../../../src/net/pacer.ts'),
    import('../../../src/daemon/watches/outlet-watch.ts'),
    import('../../../src/outlets/types/webhook.ts'),
    import('../../../src/wiring/delivery.ts'),
    import('../../../src/net/dispatcher.ts'),
    import('../../../src/writer/threaded-writer.ts'),
  ]);
}
