import { execFileSync, type StdioOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The number of a group: by `/etc/group`, or by `getent`, which knows those of a directory service, too; undefined without one. */
export function groupId(name: string): number | undefined {
  return idOf(lines('/etc/group'), name) ?? idOf(askDirectory(name), name);
}

export function othersInGroup(gid: number, uid: number): string[] {
  const users = lines('/etc/passwd').map(([name = '', , id, primary]) => ({
    name,
    id: Number(id),
    primary: Number(primary),
  }));
  const listed =
    lines('/etc/group')
      .find(([, , id]) => Number(id) === gid)?.[3]
      ?.split(',') ?? [];
  const trusted = users.filter(({ id }) => id === uid || id === 0).map(({ name }) => name);
  const members = [...listed, ...users.filter(({ primary }) => primary === gid).map(({ name }) => name)];
  return [...new Set(members)].filter((name) => name !== '' && !trusted.includes(name));
}

function idOf(groups: readonly string[][], name: string): number | undefined {
  const id = groups.find(([known]) => known === name)?.[2];
  return id === undefined ? undefined : Number(id);
}

function askDirectory(group: string): string[][] {
  try {
    const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
    return fieldsOf(execFileSync('getent', ['group', '--', group], { encoding: 'utf8', stdio }));
  } catch {
    // There is no such group, or no getent.
    return [];
  }
}

/** Nothing where the system has no such file. */
function lines(file: string): string[][] {
  try {
    return fieldsOf(readFileSync(file, 'utf8'));
  } catch {
    return [];
  }
}

function fieldsOf(text: string): string[][] {
  return text.split('\n').map((line) => line.split(':'));
}
