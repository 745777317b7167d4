import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { PRESETS, type Preset } from '../../billing/reconcile/presets.ts';
import type { DecimalMark } from '../../billing/reconcile/read-amount.ts';
import { UsageError } from '../../core/errors.ts';
import type { CliCommand, CliContext } from '../shared/cli-context.ts';
import { readGiven } from '../shared/given-file.ts';
import type { MappedColumns } from './reconcile-sides.ts';
import type { ListingOptions } from './sheet-output.ts';

export interface ReconcileOptions extends ListingOptions, MappedColumns {
  period: string;
  workspace?: string;
  preset?: Preset;
  mapping?: string;
  tolerance: string;
  service: boolean;
  record?: boolean;
  by?: string;
  note: string;
}

export const DECIMALS = ['point', 'comma'] as const satisfies readonly DecimalMark[];

const text = z.string().min(1).optional();
const mappingSchema = z.strictObject({
  tenant_column: text,
  credits_column: text,
  amount_column: text,
  currency_column: text,
  invoice_column: text,
  workspace_column: text,
  sign_column: text,
  minor_units: z.boolean().optional(),
  decimal: z.enum(DECIMALS).optional(),
  currency: z.string().optional(),
  tolerance: z.string().optional(),
});

/** The options, where those that nobody typed come from the mapping, and then from the preset. */
export function withMapping(cli: CliContext, command: CliCommand, options: ReconcileOptions): ReconcileOptions {
  const { mapping, preset } = options;
  const isTyped = ([option]: [string, unknown]) => command.getOptionValueSource(option) === 'cli';
  const typed = Object.fromEntries(Object.entries(options).filter(isTyped));
  const saved = mapping === undefined ? {} : readMapping(resolve(cli.io.cwd, mapping));
  return { ...options, ...(preset === undefined ? {} : PRESETS[preset]), ...saved, ...typed };
}

function readMapping(file: string): Partial<ReconcileOptions> {
  const parsed = mappingSchema.safeParse(readYaml(file));
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '));
    const known = Object.keys(mappingSchema.shape).join(', ');
    throw new UsageError(`${file} is no mapping: ${faults.join('; ')}`, `it may say ${known}`);
  }
  const optionOf = (key: string) => key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(parsed.data).map(([key, value]) => [optionOf(key), value]));
}

function readYaml(file: string): unknown {
  const text = readGiven(file).toString();
  try {
    return parse(text);
  } catch {
    throw new UsageError(`${file} cannot be read (it is not YAML)`, 'check what stands in it');
  }
}
