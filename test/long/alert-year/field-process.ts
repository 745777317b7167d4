import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FieldOrder } from './field/field-world.ts';
import { playField } from './field/play-field.ts';
import type { OracleReport } from './oracle/findings.ts';
import { holdAgainstDocumentation } from './oracle/oracle.ts';
import { YEAR_ORACLE } from './play.ts';
import { readYear } from './reader/read-year.ts';
import type { Scorecard } from './score/scorecard.ts';
import { readNotified } from './told.ts';

/** A world like the field, as its process prints it. */
export interface FieldResult {
  scorecard: Scorecard;
  documentation: OracleReport;
  /** Sentences of messages that were read, and those that were false. */
  sentences: number;
  falseSentences: string[];
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), 'field-year-'));
  try {
    const result = await judgeField(JSON.parse(process.argv[2] ?? '') as FieldOrder, join(folder, 'ledger.db'));
    process.stdout.write(JSON.stringify(result));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function judgeField(order: FieldOrder, path: string): Promise<FieldResult> {
  const { world, readings, program } = await playField(order, path);
  const { sentences, wrong } = readYear(world, path, readings);
  return {
    scorecard: program,
    documentation: holdAgainstDocumentation(world, readNotified(path), readings, YEAR_ORACLE),
    sentences,
    falseSentences: wrong,
  };
}
