import { readFileSync } from 'node:fs';
import { packageFile } from '../../core/process/package-file.ts';
import { viewInPostgres } from './views-in-postgres.ts';

/** A statement that makes something unless it is there. */
export interface NamedStatement {
  name: string;
  sql: string;
}

/** What the replica has beside the mirrors. */
export const OWN = readStatements('own.sql');
export const INDEXES = readStatements('indexes.sql');
export const OWN_TABLES = OWN.map(({ name }) => name);

/** In the order in which they are made: those that are written otherwise than in SQLite, and the same ones. */
export const VIEWS = ((own): NamedStatement[] => {
  const names = own.map(({ name }) => name);
  const same = readFile('../views.sql').matchAll(/^CREATE VIEW (\w+) AS\n[\s\S]*?;$/gm);
  const others = [...same].map(([sql, name = '']) => ({ name, sql })).filter(({ name }) => !names.includes(name));
  return [...own, ...others.map(({ name, sql }) => ({ name, sql: viewInPostgres(sql) }))];
})(readStatements('views.sql'));

function readStatements(file: string): NamedStatement[] {
  return readFile(file)
    .split('--> statement-breakpoint\n')
    .map((sql) => {
      const [, name] = /^CREATE (?:TABLE IF NOT EXISTS|INDEX IF NOT EXISTS|OR REPLACE VIEW) (\w+)/m.exec(sql) ?? [];
      if (name === undefined) throw new Error(`${file} has a statement that makes nothing`);
      return { name, sql };
    });
}

function readFile(file: string): string {
  return readFileSync(packageFile('drizzle', 'postgres', file), 'utf8');
}
