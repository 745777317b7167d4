import { z } from 'zod';
import { asMapping, formatPath, type Path } from '../../core/text/path.ts';
import { nonEmptyString, setting, withDescription } from '../../core/text/setting-kinds.ts';
import { addressRule, cronRule, type Rule, secretRule, timezoneRule } from '../rules.ts';

/** Options for parsing with a schema that is used once: compiling it would take longer than interpreting it. */
export const READ_ONCE = { jitless: true } as const;

/** Adds a rule to a schema of a text. The rule's problem becomes the message. */
export function withRule<Schema extends z.ZodType<string>>(schema: Schema, rule: Rule) {
  return schema.superRefine((text, context) => {
    const mistake = rule(text);
    if (mistake !== null) context.addIssue({ code: 'custom', message: mistake });
  });
}

export const secret = withRule(z.string(), secretRule);
export const cron = withRule(nonEmptyString, cronRule);
export function cronRemedy(example: string): string {
  return `Give five fields: minute, hour, day, month, weekday, such as "${example}"`;
}

export const timezone = withRule(nonEmptyString, timezoneRule);
/** Returns the remedy for a time zone. `otherwise` names the zone that applies when the line is removed. */
export function timezoneRemedy(otherwise: string): string {
  return `Give the IANA name of a time zone, such as Europe/Berlin, or remove the line for ${otherwise}`;
}

/** An address without a trailing slash, because paths are appended to it. */
export const address = withRule(nonEmptyString, addressRule).transform((text) =>
  new URL(text).href.replace(/\/+$/, ''),
);

export const caFile = setting(
  nonEmptyString,
  'Give the path of a readable PEM file with the certificates of your authority, or remove the line',
);

/** A list with at least one item. */
export function nonEmptyList<Schema extends z.ZodType>(item: Schema) {
  return z.array(item).min(1);
}

/** Makes a setting optional; its value is null if absent. */
export function nullable<Schema extends z.ZodType>(schema: Schema, remedy: string) {
  return withDescription(
    schema.optional().transform((value) => value ?? null),
    remedy,
  );
}

/** A setting as it appears in a file: at any depth, each key of a group may be missing. */
export type AsWritten<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { [Key in keyof Value]?: AsWritten<Value[Key]> | undefined }
    : Value;

/** Returns the settings as they appear in a file: all of them optional and without a default, also inside groups. */
export function partial<Shape extends z.ZodRawShape>(shape: Shape) {
  const optional = Object.entries(shape).map(([key, schema]) => {
    return [key, setting(withoutDefault(schema), z.globalRegistry.get(schema)?.description ?? '')];
  });
  return Object.fromEntries(optional) as {
    [Key in keyof Shape]: z.ZodType<AsWritten<z.output<Shape[Key]>> | undefined>;
  };
}

function withoutDefault(schema: unknown): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
    return withoutDefault(schema.unwrap());
  }
  return schema instanceof z.ZodObject ? z.strictObject(partial(schema.shape)) : (schema as z.ZodType);
}

/**
 * Reports a fault at a path relative to the checked settings. If no hint is given, the remedy of the setting is the
 * hint.
 */
export type ReportFault = (path: Path, message: string, hint?: string) => void;

/**
 * Adds a check that spans several settings. It runs even if some of them are invalid, so their values can be of any
 * type.
 */
export function refineAll<Schema extends z.ZodType>(
  schema: Schema,
  judge: (settings: Record<PropertyKey, unknown>, report: ReportFault) => void,
): Schema {
  const reportTo =
    (context: z.RefinementCtx): ReportFault =>
    (path, message, hint) =>
      context.addIssue({ code: 'custom', path: [...path], message, params: { hint } });
  return schema.superRefine((settings, context) => judge(asMapping(settings), reportTo(context)), { when: () => true });
}

/** Reports every name that repeats an earlier one. Values that are not text are ignored. */
export function reportDuplicates(
  names: readonly unknown[],
  pathOf: (index: number) => Path,
  hint: string,
  report: ReportFault,
) {
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (typeof name !== 'string' || first === index) continue;
    report(pathOf(index), `is the same as ${formatPath(pathOf(first))}`, hint);
  }
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Merges each intersection of object types into one object type, at any depth, so that types can be compared. */
type MergedIntersections<T> = T extends (infer Item)[]
  ? MergedIntersections<Item>[]
  : T extends readonly (infer Item)[]
    ? readonly MergedIntersections<Item>[]
    : T extends object
      ? { [Key in keyof T]: MergedIntersections<T[Key]> }
      : T;

type SchemaField<Settings, Key> = Key extends keyof Settings ? MergedIntersections<Settings[Key]> : never;

/**
 * Resolves to `Interface` if the settings have exactly its properties at any depth, else to the properties that differ.
 */
export type Exactly<Interface, Settings> =
  Same<MergedIntersections<Interface>, MergedIntersections<Settings>> extends true
    ? Interface
    : {
        [Key in keyof Interface | keyof Settings as Same<
          SchemaField<Interface, Key>,
          SchemaField<Settings, Key>
        > extends true
          ? never
          : Key]: { differs: SchemaField<Interface, Key> };
      };

type CamelCase<Key> = Key extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Key;

/**
 * Settings with keys in camel case (`perPage` for `per_page`) at any depth. A value that may be undefined becomes
 * optional.
 */
type CamelCased<Settings> = Settings extends readonly (infer Item)[]
  ? readonly CamelCased<Item>[]
  : Settings extends object
    ? {
        [Key in keyof Settings as undefined extends Settings[Key] ? never : CamelCase<Key>]: CamelCased<Settings[Key]>;
      } & {
        [Key in keyof Settings as undefined extends Settings[Key] ? CamelCase<Key> : never]?: CamelCased<
          Exclude<Settings[Key], undefined>
        >;
      }
    : Settings;

export function camelCased<Settings>(settings: Settings): CamelCased<Settings> {
  return renamed(settings) as CamelCased<Settings>;
}

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (value === null || typeof value !== 'object') return value;
  const given = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(given.map(([key, inner]) => [camelCase(key), renamed(inner)]));
}

function camelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
