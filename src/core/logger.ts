import { type DestinationStream, type Logger, pino } from 'pino';
import { inertText } from './text/inert-text.ts';
import type { Redactor } from './text/redact.ts';

export type { Logger } from 'pino';

/** Receives complete lines, each with its line feed. `level` is the name of the log level of the line. */
export interface LogDestination {
  write(line: string, level: string): void;
}

export interface LoggerOptions {
  level?: string;
  redact?: Redactor;
  /** The receiver of the lines. Default: standard error, because standard output carries results. */
  destination?: LogDestination | undefined;
}

/**
 * Creates a logger that writes JSON lines with UTC times. The redactor is applied to each complete line, so no field
 * can leak a secret.
 */
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

/** If the stream has this symbol, pino sets `lastLevel` to the level of each line before it writes the line. */
function streamOf(destination: LogDestination): DestinationStream {
  return {
    [pino.symbols.needsMetadataGsym]: true,
    lastLevel: 30,
    write(this: { lastLevel: number }, line: string) {
      destination.write(line, pino.levels.labels[this.lastLevel] ?? 'info');
    },
  } as DestinationStream;
}

const LEVEL_STYLES: Readonly<Record<string, { word: string; colour: number }>> = {
  trace: { word: 'TRACE', colour: 90 },
  debug: { word: 'DEBUG', colour: 90 },
  info: { word: 'INFO ', colour: 32 },
  warn: { word: 'WARN ', colour: 33 },
  error: { word: 'ERROR', colour: 31 },
  fatal: { word: 'FATAL', colour: 31 },
};

/** Fields with long texts. Each is shown on its own line below the other fields. */
const LONG_FIELDS: readonly string[] = ['reason', 'hint', 'stack'];

/**
 * Formats one JSON log line for people: UTC time, level, message and fields, with long fields on lines below. Control
 * characters are escaped, so that text from outside cannot change the terminal. A line that is not a JSON log line is
 * returned unchanged. The result ends with a line feed.
 */
export function humanLogLine(line: string, { colours }: { colours: boolean }): string {
  const fields = parseLine(line);
  if (fields === null) return line.endsWith('\n') ? line : `${line}\n`;
  const { level, time, msg, ...rest } = fields;
  const paint = (colour: number, text: string) => (colours ? `\x1b[${colour}m${text}\x1b[39m` : text);
  const { word, colour } = LEVEL_STYLES[String(level)] ?? { word: String(level).toUpperCase(), colour: 39 };
  const short = Object.entries(rest).filter(([name]) => !LONG_FIELDS.includes(name));
  const words = short.map(([name, value]) => paint(90, `${inertText(name)}=${valueText(value)}`));
  const head = [paint(90, clockTime(time)), paint(colour, word), inertText(String(msg ?? '')), ...words];
  const below = LONG_FIELDS.flatMap((name) => String(rest[name] ?? '').split('\n')).filter((text) => text !== '');
  return `${[head.join(' '), ...below.map((text) => `      ${inertText(text)}`)].join('\n')}\n`;
}

function parseLine(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'level' in value ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function clockTime(time: unknown): string {
  return typeof time === 'string' ? `${time.slice(0, 19).replace('T', ' ')}Z` : '';
}

function valueText(value: unknown): string {
  if (typeof value !== 'string') return inertText(JSON.stringify(value));
  return /^[^\s"=]+$/.test(value) ? inertText(value) : inertText(JSON.stringify(value));
}
