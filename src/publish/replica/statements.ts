import { readFileSync } from 'node:fs';

/** A statement that makes something unless it is there. */
export interface NamedStatement {
  name: string;
  sql: string;
}

/** What the replica has beside the mirrors, from `drizzle/postgres`; views in the order in which they are made. */
export const OWN = readStatements('own.sql');
export const INDEXES = readStatements('indexes.sql');
export const VIEWS = readStatements('views.sql');
export const OWN_TABLES = OWN.map(({ name }) => name);

function readStatements(file: string): NamedStatement[] {
  const text = readFileSync(new URL(`../../../drizzle/postgres/${file}`, import.meta.url), 'utf8');
  return text.split('--> statement-breakpoint\n').map((sql) => {
    const [, name] = /^CREATE (?:TABLE IF NOT EXISTS|INDEX IF NOT EXISTS|OR REPLACE VIEW) (\w+)/m.exec(sql) ?? [];
    if (name === undefined) throw new Error(`${file} has a statement that makes nothing`);
    return { name, sql };
  });
}
