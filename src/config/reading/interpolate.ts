import type { ConfigFault } from '../../core/errors.ts';
import { formatPath, type Path } from '../../core/text/path.ts';

/**
 * Stands where a variable could not be put in. It is no text, so the schema refuses it, at the path that already has a
 * fault; and it is not absent, so the setting is not called missing as well.
 */
const UNRESOLVED = Symbol('unresolved');

export interface Interpolated {
  value: unknown;
  faults: ConfigFault[];
  /** Settings that are empty, because the variables that they consist of are. */
  emptied: EmptiedSetting[];
}

export interface EmptiedSetting {
  path: string;
  /** The variables; at least one. */
  names: readonly string[];
}

/**
 * Puts environment variables into every string of a parsed document. It works on values, never on the text of the
 * file, so a variable cannot add settings. `${NAME}` must be set; `${NAME:-default}` falls back when it is unset or
 * empty; `$${` is a literal `${`. What a variable holds is not read for variables again.
 */
export function interpolate(document: unknown, env: NodeJS.ProcessEnv): Interpolated {
  const faults: ConfigFault[] = [];
  const emptied: EmptiedSetting[] = [];
  const visit = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      const { text, mistakes, emptyNames } = expand(value, env);
      if (text.trim() === '' && emptyNames.length > 0) emptied.push({ path: formatPath(path), names: emptyNames });
      if (mistakes.length === 0) return text;
      faults.push({ path: formatPath(path), ...combine(mistakes) });
      return UNRESOLVED;
    }
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (value !== null && typeof value === 'object') {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, visit(inner, [...path, key])]));
    }
    return value;
  };
  return { value: visit(document, []), faults, emptied };
}

interface Mistake {
  message: string;
  hint: string;
}

const REFERENCE = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
const BODY = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;

function expand(template: string, env: NodeJS.ProcessEnv): { text: string; mistakes: Mistake[]; emptyNames: string[] } {
  const mistakes: Mistake[] = [];
  const emptyNames: string[] = [];
  const text = template.replace(REFERENCE, (reference: string, body: string | undefined) => {
    if (reference === '$${') return '${';
    const [, name, fallback] = BODY.exec(body ?? '') ?? [];
    // The text is not repeated: it may be part of a secret that merely looks like a reference.
    if (name === undefined || fallback?.includes('${')) {
      const hint = `Write \${NAME} or \${NAME:-default}, never one inside another; $\${ stands for a literal \${`;
      mistakes.push({ message: 'has a ${ that is no reference to a variable', hint });
      return '';
    }
    const value = env[name];
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value?.trim() === '') emptyNames.push(name);
    if (value !== undefined) return value;
    const hint = `Set ${name} in the environment or in the .env beside the file, or write \${${name}:-default}`;
    mistakes.push({ message: `needs the variable ${name}, which is not set`, hint });
    return '';
  });
  return { text, mistakes, emptyNames };
}

function combine(mistakes: readonly Mistake[]): Mistake {
  const distinct = (words: string[]) => [...new Set(words)].join('; ');
  return { message: distinct(mistakes.map((it) => it.message)), hint: distinct(mistakes.map((it) => it.hint)) };
}
