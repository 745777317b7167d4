import type { CompletedCommand, CompletedOption, CompletedValue } from './tree.ts';

/** For bash 3.2 and newer. The command is what the words before the cursor lead to. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const pathCases = commands.flatMap(({ path, subcommands }) =>
    subcommands.map(({ name }) => `      '${keyOf(path)} ${name}') path='${keyOf([...path, name])}' ;;`),
  );
  const words = commands.map(
    ({ path, subcommands, options, argument }) =>
      `    '${keyOf(path)}') words='${[
        ...subcommands.map(({ name }) => name),
        ...(argument.kind === 'choice' ? argument.choices : []),
        ...options.flatMap(({ flags }) => flags),
      ].join(' ')}'${argument.kind === 'file' ? ' files=1' : ''} ;;`,
  );
  return `# bash completion of usage-ledger
_usage_ledger() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='usage-ledger' words='' files='' index word
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$path $word" in
${pathCases.join('\n')}
    esac
  done
  case "$path $previous" in
${valueCases(commands, (value) => bashValue(value))}
  esac
  case "$path" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -F _usage_ledger usage-ledger
`;
}

function bashValue(value: CompletedValue): string {
  if (value.kind === 'choice') return `COMPREPLY=($(compgen -W '${value.choices.join(' ')}' -- "$current")); return`;
  if (value.kind === 'file') return `COMPREPLY=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null; return`;
  return 'COMPREPLY=(); return';
}

/** For zsh, with descriptions. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  const pathCases = commands.flatMap(({ path, subcommands }) =>
    subcommands.map(({ name }) => `      '${keyOf(path)} ${name}') route='${keyOf([...path, name])}' ;;`),
  );
  const offered = commands.map(({ path, subcommands, options, argument }) => {
    const entries = [
      ...subcommands.map(({ name, description }) => zshEntry(name, description)),
      ...(argument.kind === 'choice' ? argument.choices.map((choice) => zshEntry(choice, '')) : []),
      ...options.flatMap(({ flags, description }) => flags.map((flag) => zshEntry(flag, description))),
    ];
    const files = argument.kind === 'file' ? '; _files' : '';
    return `    '${keyOf(path)}') offered=(${entries.join(' ')})${files} ;;`;
  });
  return `#compdef usage-ledger
# zsh completion of usage-ledger
_usage_ledger() {
  local route='usage-ledger' word index
  local -a offered
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
    case "$route $word" in
${pathCases.join('\n')}
    esac
  done
  case "$route \${words[CURRENT-1]}" in
${valueCases(commands, (value) => zshValue(value))}
  esac
  case "$route" in
${offered.join('\n')}
  esac
  _describe 'usage-ledger' offered
}
compdef _usage_ledger usage-ledger
`;
}

function zshEntry(word: string, description: string): string {
  const words = shorten(description).replaceAll(':', '\\:');
  return quoted(words === '' ? word : `${word}:${words}`);
}

function zshValue(value: CompletedValue): string {
  if (value.kind === 'choice') return `compadd -- ${value.choices.join(' ')}; return`;
  return value.kind === 'file' ? '_files; return' : 'return';
}

/** For fish. Each line says under which command it holds; file names are offered where a file is wanted only. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, subcommands, options, argument }) => {
    const names = subcommands.map(({ name }) => name).join(' ');
    const at = path.length === 0 ? `__usage_ledger_at '' ${names}` : `__usage_ledger_at '${path.join(' ')}' ${names}`;
    const when = quoted(at.trimEnd());
    return [
      ...subcommands.map(
        ({ name, description }) =>
          `complete -c usage-ledger -n ${when} -f -a ${name} -d ${quoted(shorten(description))}`,
      ),
      ...(argument.kind === 'choice'
        ? [`complete -c usage-ledger -n ${when} -f -a ${quoted(argument.choices.join(' '))}`]
        : []),
      ...(argument.kind === 'file' ? [`complete -c usage-ledger -n ${when} -F`] : []),
      ...options.map((option) => `complete -c usage-ledger -n ${when} ${fishOption(option)}`),
    ];
  });
  return `# fish completion of usage-ledger
# True when the words so far lead to the command of this path and to none of the subcommands that follow.
function __usage_ledger_at
  set -l seen
  set -l before ''
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or test "$before" = --config; or set -a seen $word
    set before $word
  end
  set -l path (string split -n ' ' -- $argv[1])
  test (count $seen) -ge (count $path); or return 1
  set -l place 1
  for word in $path
    test "$seen[$place]" = "$word"; or return 1
    set place (math $place + 1)
  end
  test (count $seen) -ge $place; and contains -- $seen[$place] $argv[2..-1]; and return 1
  return 0
end
complete -c usage-ledger -f
${lines.join('\n')}
`;
}

function fishOption({ flags, description, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const takes =
    value.kind === 'choice'
      ? `-x -a ${quoted(value.choices.join(' '))}`
      : { none: '-f', word: '-x', file: '-r -F' }[value.kind];
  return `${names.join(' ')} ${takes} -d ${quoted(shorten(description))}`;
}

/** What to do behind an option that takes a value, in a \`case\` over command and option. */
function valueCases(commands: readonly CompletedCommand[], write: (value: CompletedValue) => string): string {
  return commands
    .flatMap(({ path, options }) =>
      options
        .filter(({ value }) => value.kind !== 'none')
        .flatMap(({ flags, value }) => flags.map((flag) => `    '${keyOf(path)} ${flag}') ${write(value)} ;;`)),
    )
    .join('\n');
}

function keyOf(path: readonly string[]): string {
  return ['usage-ledger', ...path].join(' ');
}

/** The first sentence, or the first clause. */
function shorten(description: string): string {
  return (description.split(/[.;:](?: |$)| \(/)[0] ?? '').trim();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
