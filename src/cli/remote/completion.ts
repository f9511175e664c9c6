/** `sealpost completion`: scripts for shells that complete commands and options. They are made of the commands themselves. */
import type { Command, Option } from 'commander';
import { print } from '../core/output.js';
import { chosenOf } from './output.js';

/** `path`: the names of the command and of those above it; empty for the program. */
type Place = Readonly<{ path: readonly string[]; commands: readonly Command[]; options: readonly Option[] }>;

export const printCompletion = (program: Command, shell: string): void => {
  const places = placesOf(program, []);
  switch (chosenOf('the shell', shell, ['bash', 'zsh', 'fish'])) {
    case 'bash':
      return print(bashScript(places));
    case 'zsh':
      return print(zshScript(places));
    case 'fish':
      return print(fishScript(places));
  }
};

const placesOf = (command: Command, path: readonly string[]): readonly Place[] => [
  {
    path,
    commands: command.commands,
    options: command.options.filter(({ hidden, long }) => !hidden && long !== undefined),
  },
  ...command.commands.flatMap((one) => placesOf(one, [...path, one.name()])),
];

const takesValue = ({ required, optional }: Option): boolean => required || optional;

const flagsOf = (options: readonly Option[]): readonly string[] => [...options.map(({ long }) => long ?? ''), '--help'];

/** The part of a description before its details: a line of a menu. */
const shortOf = (description: string): string => description.split(/ \(|; |: /)[0] ?? '';

/** A text as one word of a shell of the family of sh. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const patternOf = (path: readonly string[]): string => quoted(path.join(' '));

/**
 * The words before the cursor are read from left to right: an option that takes a value takes the next word with it,
 * and a word that names a command leads to it.
 */
const bashScript = (places: readonly Place[]): string => `# bash completion of sealpost
_sealpost_at() {
  commands='' options='' valued=''
  case "$1" in
${places
  .map(
    ({ path, commands, options }) =>
      `    ${patternOf(path)}) commands=${quoted(commands.map((one) => one.name()).join(' '))} options=${quoted(flagsOf(options).join(' '))} valued=${quoted(
        options
          .filter(takesValue)
          .map(({ long }) => long)
          .join(' '),
      )} ;;`,
  )
  .join('\n')}
  esac
}
_sealpost() {
  local commands options valued place='' word at
  COMPREPLY=()
  _sealpost_at ''
  local program=" $valued "
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    if [[ $word == -* ]]; then
      if [[ "$program $valued " == *" $word "* ]]; then
        ((at += 1))
        [[ \${COMP_WORDS[at]} == '=' ]] && ((at += 1))
        # The value of an option is a file or a text of one's own.
        ((at >= COMP_CWORD)) && return
      fi
    elif [[ " $commands " == *" $word "* ]]; then
      place="\${place:+$place }$word"
      _sealpost_at "$place"
    fi
  done
  word=\${COMP_WORDS[COMP_CWORD]}
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
  fi
}
complete -o default -F _sealpost sealpost`;

/** A colon ends the word of a menu of zsh. */
const zshItem = (word: string, description: string): string =>
  quoted(`${word.replaceAll(':', '\\:')}:${shortOf(description)}`);

const zshScript = (places: readonly Place[]): string => `#compdef sealpost
_sealpost_at() {
  commands=() options=() valued=()
  case "$1" in
${places
  .map(
    ({ path, commands, options }) => `    ${patternOf(path)})
      commands=(${commands.map((one) => zshItem(one.name(), one.description())).join(' ')})
      options=(${[...options.map(({ long, description }) => zshItem(long ?? '', description)), zshItem('--help', 'help')].join(' ')})
      valued=(${options
        .filter(takesValue)
        .map(({ long }) => long)
        .join(' ')})
      ;;`,
  )
  .join('\n')}
  esac
}
_sealpost() {
  local -a commands options valued program
  local place='' word
  integer at
  _sealpost_at ''
  program=($valued)
  for ((at = 2; at < CURRENT; at++)); do
    word=$words[at]
    if [[ $word == -* ]]; then
      if (( $program[(Ie)$word] || $valued[(Ie)$word] )); then
        (( at += 1 ))
        if (( at >= CURRENT )); then _files; return; fi
      fi
    elif (( $commands[(I)$word:*] )); then
      place="\${place:+$place }$word"
      _sealpost_at "$place"
    fi
  done
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _sealpost "$@"; else compdef _sealpost sealpost; fi`;

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const fishScript = (places: readonly Place[]): string => {
  const [program, ...below] = places;
  const valuedIn = ({ options }: Place): string =>
    options
      .filter(takesValue)
      .map(({ long }) => long)
      .join(' ');
  const conditionOf = ({ path }: Place): string => fishQuoted(`__sealpost_at ${path.join(' ')}`.trimEnd());
  return `# fish completion of sealpost
function __sealpost_place
    set -l place
    set -l commands ${program?.commands.map((one) => one.name()).join(' ') ?? ''}
    set -l valued ${program === undefined ? '' : valuedIn(program)}
    set -l words (commandline -opc)
    set -l at 2
    while test $at -le (count $words)
        set -l word $words[$at]
        if string match -q -- '-*' $word
            contains -- $word $valued; and set at (math $at + 1)
        else if contains -- $word $commands
            set -a place $word
            set commands
            switch "$place"
${below
  .map(
    (place) => `                case ${fishQuoted(place.path.join(' '))}
                    set commands ${place.commands.map((one) => one.name()).join(' ')}
                    set -a valued ${valuedIn(place)}`,
  )
  .join('\n')}
            end
        end
        set at (math $at + 1)
    end
    echo "$place"
end
function __sealpost_at
    test (__sealpost_place) = "$argv"
end
${places
  .flatMap((place) => [
    ...place.commands.map(
      (one) =>
        `complete -c sealpost -f -n ${conditionOf(place)} -a ${one.name()} -d ${fishQuoted(shortOf(one.description()))}`,
    ),
    ...place.options.map(
      (one) =>
        `complete -c sealpost -n ${conditionOf(place)} -l ${(one.long ?? '').replace(/^--/, '')}${takesValue(one) ? ' -r' : ''} -d ${fishQuoted(shortOf(one.description))}`,
    ),
  ])
  .join('\n')}`;
};
