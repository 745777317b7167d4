import { type DestinationStream, type Logger, pino } from 'pino';
import type { Redactor } from './text/redact.ts';

export type { Logger } from 'pino';

/** Takes finished lines, each with its line feed; `level` is the name of the line's level. */
export interface LogDestination {
  write(line: string, level: string): void;
}

export interface LoggerOptions {
  level?: string;
  redact?: Redactor;
  /** Where lines go; standard error when absent, because standard output carries results. */
  destination?: LogDestination | undefined;
}

/** JSON lines with UTC times. Each line passes the redactor as a whole, so no field can carry a secret out. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const redact = options.redact ?? ((line: string) => line);
  const { destination } = options;
  return pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    destination === undefined ? pino.destination({ dest: 2, sync: true }) : streamOf(destination),
  );
}

/** pino tells a stream that asks for it the level of the line that it is about to write. */
function streamOf(destination: LogDestination): DestinationStream {
  return {
    [pino.symbols.needsMetadataGsym]: true,
    lastLevel: 30,
    write(this: { lastLevel: number }, line: string) {
      destination.write(line, pino.levels.labels[this.lastLevel] ?? 'info');
    },
  } as DestinationStream;
}
