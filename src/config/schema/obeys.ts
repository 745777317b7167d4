import { z } from 'zod';
import { word } from '../../core/text/setting-kinds.ts';
import { addressRule, cronRule, type Rule, secretRule } from '../rules.ts';

/** Text that a rule has nothing against. */
export function obeys<Schema extends z.ZodType<string>>(schema: Schema, rule: Rule) {
  return schema.superRefine((text, context) => {
    const mistake = rule(text);
    if (mistake !== null) context.addIssue({ code: 'custom', message: mistake });
  });
}

export const secret = obeys(z.string(), secretRule);
export const address = obeys(word, addressRule);
export const cron = obeys(word, cronRule);
