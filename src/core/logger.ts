import { type DestinationStream, type Logger, pino } from 'pino';
import type { Redactor } from './text/redact.ts';

export type { Logger } from 'pino';

export interface LoggerOptions {
  level?: string;
  redact?: Redactor;
  /** Where lines go; standard error when absent, because standard output carries results. */
  destination?: DestinationStream;
}

/** JSON lines with UTC times. Each line passes the redactor as a whole, so no field can carry a secret out. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const redact = options.redact ?? ((line: string) => line);
  return pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    options.destination ?? pino.destination({ dest: 2, sync: true }),
  );
}
