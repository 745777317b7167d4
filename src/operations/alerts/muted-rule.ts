import { isSystemRule, SYSTEM_RULES, systemKind } from '../../alerts/rules/rules.ts';
import { InputError, UsageError } from '../../core/errors.ts';
import { RULES } from '../../core/text/alert-words.ts';
import { matchesPattern } from '../../core/text/patterns.ts';

/**
 * Throws UsageError for a pattern that matches no rule. Throws InputError for a pattern that matches only system alerts
 * but does not name one of them in full, and for a rule about the whole ledger that is combined with a workspace.
 */
export function checkMutedRule(pattern: string, workspaceId: string | null): void {
  const quoted = JSON.stringify(pattern);
  // The cause may follow the name of a system rule, as in `job_failed:disk`.
  const [name = '', cause] = pattern.split(':');
  const known = RULES.find((rule) => rule === name);
  const systemRule = known === undefined ? null : systemKind(known);
  if (systemRule !== null) {
    const causes = Object.keys(systemRule.causes).filter((each) => each !== '');
    if (cause !== undefined && !causes.includes(cause)) {
      const named = causes.map((each) => `${name}:${each}`);
      throw new UsageError(`there is no rule ${quoted}`, `use one of ${[name, ...named].join(', ')}`);
    }
    if (systemRule.scope === 'ledger' && workspaceId !== null) {
      throw new InputError(
        (nameOf) => `${nameOf('rule')} ${quoted} is about the whole ledger`,
        (nameOf) => `remove ${nameOf('workspace')}`,
      );
    }
    return;
  }
  const matching = RULES.filter((rule) => matchesPattern(pattern, rule));
  if (matching.length === 0) throw new UsageError(`there is no rule ${quoted}`, `use one of ${RULES.join(', ')}`);
  if (matching.every(isSystemRule)) {
    throw new InputError(
      (nameOf) => `${nameOf('rule')} ${quoted} matches only system alerts, which must be named in full`,
      `use one of ${SYSTEM_RULES.join(', ')}`,
    );
  }
}
