import { Argument, Command } from 'commander';
import { type CliContext, CONFIG_OPTION, examples, JSON_OPTION } from '../shared/cli-context.ts';
import { bashScript, fishScript, zshScript } from './scripts.ts';
import { type CompletedCommand, completedCommands } from './tree.ts';

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** What is needed of a command that is not loaded yet. */
interface Loadable {
  description: string;
  load: () => Promise<(cli: CliContext) => Command>;
}

export function completionCommand(cli: CliContext, commands: readonly Loadable[]): Command {
  return new Command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      examples(
        'source <(usage-ledger completion bash)       # in ~/.bashrc',
        'source <(usage-ledger completion zsh)        # in ~/.zshrc, after compinit',
        'usage-ledger completion fish > ~/.config/fish/completions/usage-ledger.fish',
      ),
    )
    .action(async (shell: keyof typeof SHELLS) => cli.printDocument(SHELLS[shell](await allCommands(cli, commands))));
}

/** Every command with what it takes; this is the one command that loads all the others. */
async function allCommands(cli: CliContext, commands: readonly Loadable[]): Promise<CompletedCommand[]> {
  const program = new Command('usage-ledger')
    .version('', '-v, --version', 'show the version')
    .option(...CONFIG_OPTION)
    .option(...JSON_OPTION);
  for (const { description, load } of commands) program.addCommand((await load())(cli).description(description));
  return completedCommands(program);
}
