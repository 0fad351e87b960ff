import { type Command, type Option } from 'commander';
import { RESOURCE_TYPES, type ResourceType } from '../../shared/api/resource-type.js';
import { type KnownNames } from './known-names.js';
import { SHELLS } from './completion-script.js';

/** What may stand at the end of a line. */
export interface Candidates {
  readonly words: readonly string[];
  /** `files`: names of files are meant; `nospace`: more is to be written behind a word. */
  readonly then: '' | 'files' | 'nospace';
}

const FILES: Candidates = { words: [], then: 'files' };
const FORMATS = [
  'wide',
  'json',
  'yaml',
  'name',
  'jsonpath=',
  'jsonpath-file=',
  'custom-columns=',
  'custom-columns-file=',
];

/** What a line begins with, word by word, up to the one that is being written. */
export interface UnfinishedLine {
  readonly command: Command;
  /** Behind the command's name, without the last word. */
  readonly before: readonly string[];
  readonly last: string;
}

/** Everything that could be meant with the last word. */
export async function findCandidates(line: UnfinishedLine, names: KnownNames): Promise<Candidates> {
  const { command, before, last } = line;
  if (before.includes('--')) return FILES;
  const option = findOption(command, before.at(-1));
  if (option !== undefined && takesValue(option)) return completeValue(option, line, names);
  if (last.startsWith('-'))
    return only(
      command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''),
      last,
    );
  return completeOperand(line, operandsOf(command, before), names);
}

/** Those that begin with what is written already. */
function only(words: readonly string[], last: string, then: Candidates['then'] = ''): Candidates {
  return { words: words.filter((word) => word.startsWith(last)), then };
}

async function completeValue(option: Option, line: UnfinishedLine, names: KnownNames): Promise<Candidates> {
  const { last, command } = line;
  if (option.argChoices !== undefined) return only(option.argChoices, last);
  switch (option.long) {
    case '--namespace':
      return only(await names.namespaces(), last);
    case '--container':
    case '--target':
      return only(await names.containers(operandsOf(command, line.before)[0] ?? ''), last);
    case '--output':
      return only(FORMATS, last, 'nospace');
    case '--filename':
    case '--socket':
      return FILES;
    default:
      return { words: [], then: '' };
  }
}

async function completeOperand(
  { command, last }: UnfinishedLine,
  operands: readonly string[],
  names: KnownNames,
): Promise<Candidates> {
  const [first] = operands;
  switch (command.name()) {
    case 'get':
    case 'describe':
    case 'delete':
    case 'wait':
      return completeObject(first, last, names);
    case 'blame':
      return only(first === undefined ? await names.objects(podType()) : [], last);
    case 'stop':
    case 'restart':
    case 'stats':
      return only(await names.objects(podType()), last);
    case 'top':
      if (first === undefined) return only(['pods', 'node', 'pleg'], last);
      return only(/^po/.test(first) ? await names.objects(podType()) : [], last);
    case 'rollout':
      return only(first === undefined ? ['restart'] : await names.objects(podType()), last);
    case 'start':
      return only(await names.stoppedPods(), last);
    case 'logs':
      return only(first === undefined ? await names.objects(podType()) : await names.containers(first), last);
    case 'exec':
    case 'attach':
    case 'debug':
      return only(first === undefined ? await names.objects(podType()) : [], last);
    case 'port-forward':
      return only(first === undefined ? await names.objects(podType()) : await names.ports(first), last);
    case 'cp':
      if (/^[/.~]/.test(last) || last.includes(':')) return FILES;
      return only(
        (await names.objects(podType())).map((name) => `${name}:`),
        last,
        'nospace',
      );
    case 'completion':
      return only(SHELLS, last);
    default:
      return FILES;
  }
}

async function completeObject(
  kind: string | undefined,
  last: string,
  names: KnownNames,
): Promise<Candidates> {
  const [word, rest] = last.includes('/') ? last.split('/') : [kind, undefined];
  const type = RESOURCE_TYPES.find((one) => [one.plural, one.singular, ...one.aliases].includes(word ?? ''));
  if (rest !== undefined) {
    const found = type === undefined ? [] : await names.objects(type);
    return only(
      found.map((name) => `${word!}/${name}`),
      last,
    );
  }
  if (kind === undefined)
    return only(
      RESOURCE_TYPES.map(({ plural }) => plural),
      last,
    );
  return only(type === undefined ? [] : await names.objects(type), last);
}

function podType(): ResourceType {
  return RESOURCE_TYPES.find(({ plural }) => plural === 'pods')!;
}

/** The words that are neither flags nor their values. */
function operandsOf(command: Command, words: readonly string[]): string[] {
  return words.filter((word, at) => {
    if (word.startsWith('-')) return false;
    const option = findOption(command, words[at - 1]);
    return option === undefined || !takesValue(option);
  });
}

/** The option that a word is, also the last one of several short ones: `-it`. */
function findOption({ options }: Command, word: string | undefined): Option | undefined {
  if (word === undefined || !word.startsWith('-') || word.includes('=')) return undefined;
  if (word.startsWith('--')) return options.find(({ long }) => long === word);
  return options.find(({ short }) => short === `-${word.at(-1)!}`);
}

function takesValue(option: Option): boolean {
  return option.required || option.optional;
}
