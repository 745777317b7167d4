import type { Argument, Command, Option } from 'commander';

/** What may follow an option or stand as an argument. */
export type CompletedValue = { kind: 'none' | 'word' | 'file' } | { kind: 'choice'; choices: readonly string[] };

export interface CompletedOption {
  /** Such as `-h` and `--help`. */
  flags: string[];
  description: string;
  value: CompletedValue;
}

/** One command of the tree, the program itself included. */
export interface CompletedCommand {
  /** The words that lead to it; empty for the program. */
  path: string[];
  description: string;
  subcommands: { name: string; description: string }[];
  options: CompletedOption[];
  /** Of the first argument. */
  argument: CompletedValue;
}

/** The program and all commands below it, each before its subcommands. */
export function completedCommands(command: Command, path: string[] = []): CompletedCommand[] {
  const help: CompletedOption = { flags: ['-h', '--help'], description: 'show help', value: { kind: 'none' } };
  return [
    {
      path,
      description: command.description(),
      subcommands: command.commands.map((child) => ({ name: child.name(), description: child.description() })),
      options: [...command.options.map(completedOption), help],
      argument: takenBy(command.registeredArguments[0]),
    },
    ...command.commands.flatMap((child) => completedCommands(child, [...path, child.name()])),
  ];
}

function completedOption(option: Option): CompletedOption {
  const flags = [option.short, option.long].filter((flag) => flag != null);
  const takesValue = option.required || option.optional;
  return { flags, description: option.description, value: takesValue ? takenBy(option) : { kind: 'none' } };
}

function takenBy(taker: Argument | Option | undefined): CompletedValue {
  if (taker === undefined) return { kind: 'none' };
  if (taker.argChoices !== undefined) return { kind: 'choice', choices: taker.argChoices };
  const name = 'flags' in taker ? taker.flags : taker.name();
  return { kind: /file|folder/i.test(name) ? 'file' : 'word' };
}
