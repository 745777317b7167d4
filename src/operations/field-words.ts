import type { z } from 'zod';

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/**
 * Describes what is wrong with a field. It is an error map for Zod's `safeParse`. Returns undefined if the field's
 * schema has its own message.
 */
export function describeFieldFault(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `expected ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value': {
      const expected = `expected one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
      return issue.input === undefined ? `is missing: ${expected}` : expected;
    }
    case 'too_big':
      return boundWords(issue.origin, 'at most', Number(issue.maximum));
    case 'too_small':
      return boundWords(issue.origin, 'at least', Number(issue.minimum));
    default:
      return undefined;
  }
}

function boundWords(origin: string, bound: 'at least' | 'at most', limit: number): string {
  if (origin !== 'string' && origin !== 'array') return `expected ${bound} ${limit}`;
  if (bound === 'at least' && limit === 1) return 'is empty';
  return `expected ${bound} ${limit} ${origin === 'string' ? 'characters' : 'items'}`;
}
