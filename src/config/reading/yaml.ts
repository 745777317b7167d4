import { LineCounter, parseDocument, type YAMLError } from 'yaml';
import type { ConfigFault } from '../../core/errors.ts';

/** At most this many aliases are expanded, so that a few lines cannot grow to gigabytes. */
const MAX_ALIASES = 100;

export type ParsedYaml = { value: unknown; faults?: never } | { faults: ConfigFault[] };

/**
 * Parses YAML 1.2. Syntax errors, duplicate keys and unknown tags become faults at `name:line:column`. A key without a
 * value counts as unset. The library's messages are dropped, because they quote text that may contain secrets.
 */
export function parseYaml(text: string, name: string): ParsedYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    logLevel: 'error',
  });
  const problems = [...document.errors, ...document.warnings];
  // If a tab indents a line, report only that: other problems follow from it.
  const tab = problems.find(({ code }) => code === 'TAB_AS_INDENT');
  const reported = tab === undefined ? problems : [tab];
  if (reported.length > 0) return { faults: reported.map((problem) => syntaxFault(problem, lines, name)) };
  try {
    return { value: withoutNulls(document.toJS({ maxAliasCount: MAX_ALIASES })) };
  } catch {
    const hint = 'Put a value that begins with * in quotes, and use few aliases';
    return { faults: [{ path: name, message: 'has an undefined alias, or too many aliases', hint }] };
  }
}

function syntaxFault(problem: YAMLError, lines: LineCounter, name: string): ConfigFault {
  const { line, col } = lines.linePos(problem.pos[0]);
  const words = YAML_PROBLEMS[problem.code] ?? [
    'is not valid YAML',
    'Check quotes, colons and indentation on this line',
  ];
  return { path: `${name}:${line}:${col}`, message: words[0], hint: words[1] };
}

const INDENTATION = ['is not indented as its neighbours are', 'Align settings of one group, with spaces'] as const;
const QUOTES = 'Put values that begin with a special character or contain ": " in quotes';

const YAML_PROBLEMS: Readonly<Partial<Record<YAMLError['code'], readonly [message: string, hint: string]>>> = {
  DUPLICATE_KEY: ['repeats a setting', 'Keep one of the two'],
  BAD_INDENT: INDENTATION,
  TAB_AS_INDENT: ['is indented with a tab', 'Indent this line, and all others, with spaces'],
  BLOCK_AS_IMPLICIT_KEY: ['has a second colon where a value should be', QUOTES],
  MULTILINE_IMPLICIT_KEY: INDENTATION,
  BAD_SCALAR_START: ['begins with a character that has a meaning in YAML', QUOTES],
  TAG_RESOLVE_FAILED: ['begins with !, which names a type that is not known here', QUOTES],
  BAD_ALIAS: ['begins with * or & and is not a valid name', QUOTES],
  BAD_DQ_ESCAPE: ['has a backslash that does not begin an escape', 'Use single quotes, or write the backslash twice'],
  MISSING_CHAR: ['lacks a closing quote, bracket or colon', 'Close what this line or one before it opens'],
  MULTIPLE_DOCS: ['begins a second document', 'Remove the line of three hyphens'],
};

function withoutNulls(value: unknown): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutNulls(inner)]));
}
