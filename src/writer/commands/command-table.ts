import { alertCommands } from './alert-commands.ts';
import { closeCommands } from './close-commands.ts';
import { deliveryCommands } from './delivery-commands.ts';
import type { Command, Desk } from './desk.ts';
import { ledgerCommands } from './ledger-commands.ts';
import { runCommands } from './run-commands.ts';

/** Everything that a writer can be asked for. A new command is one more entry in the table of its room. */
const COMMANDS = { ...runCommands, ...alertCommands, ...deliveryCommands, ...closeCommands, ...ledgerCommands };

type Commands = typeof COMMANDS;
export type CommandName = keyof Commands;
export type Args<Name extends CommandName> = Parameters<Commands[Name]>[1];
export type Result<Name extends CommandName> = ReturnType<Commands[Name]>;

export function carryOut<Name extends CommandName>(desk: Desk, name: Name, args: Args<Name>): Result<Name> {
  const command = COMMANDS[name] as Command<Args<Name>, Result<Name>>;
  return command(desk, args);
}
