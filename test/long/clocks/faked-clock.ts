import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The wall clock of other processes, moved by libfaketime; their timers go on as they are. */
export interface FakedClock {
  /** What a process needs in its environment. */
  readonly env: NodeJS.ProcessEnv;
  now(): number;
  /** Moves the clock, also of processes that run, within a second. */
  set(nowMs: number): void;
}

export function createFakedClock(folder: string, nowMs: number): FakedClock {
  const file = join(folder, 'clock');
  let offsetMs = 0;
  const set = (wantedMs: number): void => {
    // Whole seconds, because that is what the library reads without doubt.
    const seconds = Math.round((wantedMs - Date.now()) / 1000);
    offsetMs = seconds * 1000;
    writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  };
  set(nowMs);
  return {
    env: {
      LD_PRELOAD: libraryPath(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_RESET: '1',
    },
    now: () => Date.now() + offsetMs,
    set,
  };
}

/** Where the tool keeps its library: it names it to what it starts. */
function libraryPath(): string {
  const path = execFileSync('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' }).trim();
  // The multi-threaded one: Node has threads.
  return path.replace(/libfaketime(MT)?\.so\.1$/, 'libfaketimeMT.so.1');
}
