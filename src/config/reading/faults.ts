import { z } from 'zod';
import type { ConfigFault } from '../../core/errors.ts';
import { closest } from '../../core/text/closest.ts';
import { formatPath, valueAt } from '../../core/text/path.ts';
import { fileSchema } from '../schema/file-schema.ts';

type Issue = z.core.$ZodIssue;

const QUOTE_IT = 'Put the value in quotes, so that it is read as text';

/**
 * Converts issues of the schema to faults. Each names the setting and the remedy but never the value, which may be a
 * secret.
 */
export function schemaFaults(issues: readonly Issue[], document: unknown): ConfigFault[] {
  // A number may break both the setting's bounds and those of a safe integer. The setting's bounds come first and are
  // reported.
  const ordered = issues.toSorted((a, b) => Number(isIntegerRange(a)) - Number(isIntegerRange(b)));
  return ordered.flatMap((issue) => {
    const path = formatPath(issue.path);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownKey(key, issue.path, path));
    }
    const value = valueAt(document, issue.path);
    const scalar = typeof value === 'number' || typeof value === 'boolean';
    const unquoted = issue.code === 'invalid_type' && issue.expected === 'string' && scalar;
    const suggestion = isChoice(issue) ? meantBy(value, possibleValues(issue)) : undefined;
    const customHint = issue.code === 'custom' ? issue.params?.hint : undefined;
    const hint = unquoted
      ? QUOTE_IT
      : suggestion === undefined
        ? (customHint ?? settingRemedy(path))
        : `Did you mean ${suggestion}?`;
    return [{ path, message: describeIssue(issue, value), hint }];
  });
}

function isIntegerRange(issue: Issue): boolean {
  return (issue.code === 'too_big' || issue.code === 'too_small') && issue.origin === 'int';
}

/**
 * Returns the fault of an unknown key. A key without a space after its colon also contains the value, which may be a
 * secret.
 */
function unknownKey(key: string, at: readonly PropertyKey[], groupPath: string): ConfigFault {
  const [name = '', value] = key.split(/:(.*)/s, 2);
  if (value !== undefined) {
    const hint = 'Put a space after the colon';
    return { path: formatPath([...at, name]), message: 'has no space between its colon and its value', hint };
  }
  return { path: formatPath([...at, key]), message: 'is not a setting', hint: suggestKey(key, groupPath) };
}

function describeIssue(issue: Issue, value: unknown): string {
  if (issue.code === 'custom') return issue.message;
  if (value === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KIND_NAMES[issue.expected] ?? issue.expected}, not ${valueKind(value)}`;
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty';
      return issue.origin === 'array' ? 'must have at least one entry' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'invalid_value':
    case 'invalid_union':
      return `must be one of ${possibleValues(issue).map(String).join(', ')}`;
    default:
      return 'is not valid';
  }
}

type ChoiceIssue = Extract<Issue, { code: 'invalid_value' | 'invalid_union' }>;

function isChoice(issue: Issue): issue is ChoiceIssue {
  return issue.code === 'invalid_value' || issue.code === 'invalid_union';
}

function possibleValues(issue: ChoiceIssue): readonly unknown[] {
  if (issue.code === 'invalid_value') return issue.values;
  return 'options' in issue ? (issue.options ?? []) : [];
}

function meantBy(value: unknown, possible: readonly unknown[]): string | undefined {
  return typeof value === 'string' ? closest(value, possible.map(String)) : undefined;
}

const KIND_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  object: 'a group of settings',
  array: 'a list',
};

function valueKind(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'an infinite one';
  if (typeof value === 'number') return Number.isInteger(value) ? 'a number' : 'a fraction';
  if (typeof value === 'boolean') return 'true or false';
  if (typeof value === 'string') return 'text';
  return Array.isArray(value) ? 'a list' : 'a group of settings';
}

/** Keeps only the first fault of each path, and sorts them by path. */
export function tidyFaults(faults: readonly ConfigFault[]): ConfigFault[] {
  const byPath = new Map<string, ConfigFault>();
  for (const fault of faults) if (!byPath.has(fault.path)) byPath.set(fault.path, fault);
  return [...byPath.values()].sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
}

function suggestKey(key: string, groupPath: string): string {
  const group = groupPath.replace(/\[\d+\]/g, '[]');
  const paths = [...readRemedies().keys()];
  const siblings = paths.filter((path) => parentOf(path) === group).map(lastOf);
  const suggestion = closest(key, siblings);
  if (suggestion !== undefined) return `Did you mean ${suggestion}?`;
  const elsewhere = paths.find((path) => lastOf(path) === key);
  if (elsewhere !== undefined) return `It belongs elsewhere: ${elsewhere}`;
  return `Remove it; the settings here are ${siblings.join(', ')}`;
}

function parentOf(path: string): string {
  return path.split('.').slice(0, -1).join('.');
}

function lastOf(path: string): string {
  return path.split('.').at(-1) ?? path;
}

/** Returns the remedy for the setting at a path such as `workspaces[0].cron`: its description in the schema. */
export function settingRemedy(path: string): string {
  const place = settingPlace(path);
  const known = readRemedies();
  const remedy = known.get(place) ?? known.get(place.replace(/\[\]$/, ''));
  return remedy ?? 'Compare it with the sample that `usage-ledger init` writes';
}

export function isSetting(path: string): boolean {
  return readRemedies().has(settingPlace(path));
}

/** Replaces list indexes by `[]`. */
function settingPlace(path: string): string {
  return path.replace(/\[\d+\]/g, '[]');
}

/** Returns the remedies of all settings and groups by their path, such as `workspaces[].signing.payload`. */
export function readRemedies(): Map<string, string | null> {
  return new Map(remediesWithin(fileSchema, ''));
}

function remediesWithin(schema: unknown, path: string): [path: string, remedy: string | null][] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return remediesWithin(schema.unwrap(), path);
  }
  if (schema instanceof z.ZodPipe) return remediesWithin(schema.in, path);
  if (schema instanceof z.ZodArray) return remediesWithin(schema.element, `${path}[]`);
  if (schema instanceof z.ZodDiscriminatedUnion) {
    return schema.options.flatMap((option) => remediesWithin(option, path));
  }
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([key, inner]) => {
    const own = path === '' ? key : `${path}.${key}`;
    return [[own, inner.description ?? null], ...remediesWithin(inner, own)];
  });
}
