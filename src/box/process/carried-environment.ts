import { quoteBytes } from '../isolation/script/shell-words.js';

/** An environment on its way to a program; see {@link carryEnvironment}. */
export interface CarriedEnvironment {
  /** Lines of a shell script: the values, under names of their own. */
  readonly exports: Buffer;
  /** Words of the command line that the shell then executes, quoted: `env`, and what names them as they should be. */
  readonly words: Buffer;
}

/** One word of a command line may have 128 KiB; see execve(2). */
const MAX_WORD_BYTES = 96 * 1024;
/** What shells export by themselves. */
const OF_THE_SHELL = ['PATH', 'PWD', 'OLDPWD', 'SHLVL', 'SHELL', '_'];
/** What a loader heeds: nothing but the program itself may be called with these. */
const OF_THE_LOADER = /^(LD_|GLIBC_|MALLOC_|GCONV_PATH=|LOCPATH=)/;

/**
 * Brings a program's environment to it through other programs, without a value in any command line: those of all
 * processes may be read by anybody, their environment by their own user alone.
 *
 * The values are exported under names that mean nothing to whoever is executed on the way, be it a loader with
 * privileges that heeds LD_PRELOAD. The last one is `env`, which gives them their own names by the `${NAME}` of its
 * `--split-string`: they are put in inside of that process. So any name and any bytes can be carried, also what a
 * shell cannot hold. Several `env` follow one another where the names alone are more than one word may be.
 *
 * @param environment `NAME=value` each.
 * @param env how `env` of coreutils (8.30 or later) is called.
 * @param options of the last `env`, such as a folder to go to.
 */
export function carryEnvironment(
  environment: readonly Buffer[],
  env: readonly string[],
  options: readonly string[] = [],
): CarriedEnvironment {
  const variables = nameCarriers(environment);
  const stages = toStages(variables);
  const words = stages.flatMap((stage, at) => {
    const cleared = stages.length === 1 ? ['-i'] : at === 0 ? OF_THE_SHELL.map((name) => `-u${name}`) : [];
    const last = at === stages.length - 1 ? options : [];
    const unset = stages.length === 1 ? [] : stage.map(({ carrier }) => Buffer.from(`-u${carrier} `));
    const text = Buffer.concat([...unset, Buffer.from('-- '), ...stage.map(renderAssignment)]);
    return [...env, ...cleared, ...last, Buffer.concat([Buffer.from('-S'), text])];
  });
  return {
    exports: renderExports(variables),
    words: Buffer.concat(words.flatMap((word) => [quoteBytes(word), Buffer.from(' ')])),
  };
}

interface Variable {
  readonly name: Buffer;
  readonly value: Buffer;
}

/** One with the name that it has on the way. */
export interface CarriedVariable extends Variable {
  readonly carrier: string;
}

function splitVariable(entry: Buffer): Variable {
  const at = entry.indexOf('=');
  return { name: entry.subarray(0, at), value: entry.subarray(at + 1) };
}

/** The longest values get the shortest names, so that none is longer on its way than it is in the end. */
export function nameCarriers(environment: readonly Buffer[]): CarriedVariable[] {
  const variables = environment.map(splitVariable);
  const taken = new Set(variables.map(({ name }) => name.toString('latin1')));
  const names = shortNames(taken);
  const carriers = new Map(
    [...variables]
      .sort((one, other) => other.value.length - one.value.length)
      .map((variable) => [variable, names.next().value]),
  );
  return variables.map((variable) => ({ ...variable, carrier: carriers.get(variable)! }));
}

/** Lines of a shell script that export values under the names that they have on the way. */
export function renderExports(variables: readonly CarriedVariable[]): Buffer {
  return Buffer.concat(
    variables.flatMap(({ carrier, value }) => [
      Buffer.from(`export ${carrier}=`),
      quoteBytes(value),
      Buffer.from('\n'),
    ]),
  );
}

/** Letters first. None that the environment has itself. */
function* shortNames(taken: ReadonlySet<string>): Generator<string, never> {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  for (const letter of letters + letters.toUpperCase()) if (!taken.has(letter)) yield letter;
  for (let number = 0; ; number++) if (!taken.has(`P${number}`)) yield `P${number}`;
}

/** As many variables as one word takes in each. */
function toStages(variables: readonly CarriedVariable[]): CarriedVariable[][] {
  const isDelicate = ({ name }: Variable) => OF_THE_LOADER.test(`${name.toString('latin1')}=`);
  const ordered = [...variables.filter((each) => !isDelicate(each)), ...variables.filter(isDelicate)];
  const stages: CarriedVariable[][] = [[]];
  let size = 0;
  for (const variable of ordered) {
    const bytes = renderAssignment(variable).length + variable.carrier.length + 3;
    if (size > 0 && size + bytes > MAX_WORD_BYTES) {
      stages.push([]);
      size = 0;
    }
    stages.at(-1)!.push(variable);
    size += bytes;
  }
  return stages;
}

/** For `env --split-string`: in its quotes the backslash and the quote itself need a backslash. */
function renderAssignment({ name, carrier }: CarriedVariable): Buffer {
  const text = name.toString('latin1');
  const quoted = /^\w+$/.test(text) ? text : `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  return Buffer.from(`${quoted}=\${${carrier}} `, 'latin1');
}
