import { createHash } from 'node:crypto';
import { type StatementVerdict, verifyStatement } from '../../../src/verifier/verify-statement.ts';

export function verifyText(text: string): Promise<StatementVerdict> {
  return verifyStatement(text, (data) => createHash('sha256').update(data).digest());
}
