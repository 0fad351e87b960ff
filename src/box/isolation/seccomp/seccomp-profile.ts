/**
 * Seccomp profiles of one's own: from the file, as the runtime specification of OCI describes it, to the filter that a
 * container is started with.
 *
 * What is not of the specification is passed over, as elsewhere, and so are names of calls that this processor does
 * not have. What would make the filter another one than the file says is refused with its place in the file.
 *
 * @module
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import {
  type LinuxContainerSecurityContext,
  SecurityProfile_ProfileType as ProfileType,
} from '#watch/messages';
import { messageOf } from '#base/errors/errors.js';
import { refused } from '../../rpc-error.js';
import { type CallTable, findCallTable } from './seccomp-calls.js';
import {
  ANSWER,
  type ArgumentTest,
  type CallFilter,
  type CallRule,
  compileFilter,
  encodeFilter,
  MAX_STEPS,
} from './seccomp-filter.js';

/** Larger than any that people write: the longest with all calls in it has some 60 KiB. */
const MAX_BYTES = 1024 * 1024;
const EPERM = 1;
const ENOSYS = 38;
const MAX_ERRNO = 4095;

/** The file of a container's own profile; undefined where it has none. Of what is privileged it is passed over. */
export function findProfilePath(
  context: Pick<LinuxContainerSecurityContext, 'privileged' | 'seccomp' | 'seccompProfilePath'> | undefined,
): string | undefined {
  if (context === undefined || context.privileged) return undefined;
  // oxlint-disable-next-line typescript/no-deprecated -- some agents send a profile in this field alone
  const { seccomp, seccompProfilePath } = context;
  const path =
    seccomp === undefined
      ? seccompProfilePath
      : seccomp.profileType === ProfileType.Localhost
        ? `${PREFIX}${seccomp.localhostRef.replace(PREFIX, '')}`
        : '';
  return path.startsWith(PREFIX) ? path.slice(PREFIX.length) : undefined;
}

const PREFIX = 'localhost/';

/** A filter as the starter of programs takes it: see program-starter. Throws a refusal that names the file. */
export async function readSeccompFilter(path: string): Promise<{ flags: number; program: Buffer }> {
  try {
    if (!path.startsWith('/')) throw new Error('the path is not absolute');
    const profile = parseSeccompProfile(await readProfile(path), findCallTable(process.arch));
    const steps = compileFilter(profile.filter);
    if (steps.length > MAX_STEPS)
      throw new Error(`its filter has ${steps.length} steps, and the kernel takes ${MAX_STEPS}`);
    return { flags: profile.flags, program: encodeFilter(steps) };
  } catch (error) {
    throw refused(`cannot load seccomp profile "${path}": ${messageOf(error)}`);
  }
}

async function readProfile(path: string): Promise<string> {
  // Without O_NONBLOCK, a pipe in its place would hang the reader.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const facts = await file.stat();
  if (!facts.isFile()) throw new Error('it is no file');
  if (facts.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
  return await file.readFile('utf8');
}

/** Without the words of the parser, which quote what is in the file. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const at = /position (\d+)/.exec(messageOf(error))?.[1];
    throw new Error(`it is no JSON${at === undefined ? '' : `, at character ${at}`}`, { cause: error });
  }
}

/** See the module's description; pure. */
export function parseSeccompProfile(
  text: string,
  table: CallTable | undefined,
): { readonly filter: CallFilter; readonly flags: number } {
  if (table === undefined) throw new Error(`the system calls of ${process.arch} are not known here`);
  // Values have 64 bits, of which a number of JavaScript has 53.
  const quoted = text.replaceAll(/("value(?:Two)?"\s*:\s*)(\d+)(?=\s*[,}])/g, '$1"$2"');
  const profile = asObject('', parseJson(quoted));
  for (const name of ['listenerPath', 'listenerMetadata'])
    if (profile[name] !== undefined && profile[name] !== '')
      throw new Error(`${name} is not supported: nobody listens`);
  const otherwise = readAnswer('', profile, 'defaultAction', 'defaultErrnoRet');
  const rules = new Map<number, CallRule[]>();
  let youngest = -1;
  asList('syscalls', profile['syscalls'] ?? []).forEach((each, at) => {
    const place = `syscalls[${at}]`;
    const rule = asObject(place, each);
    const answer = readAnswer(`${place}.`, rule, 'action', 'errnoRet');
    const names = asList(`${place}.names`, rule['names']);
    if (names.length === 0) throw new Error(`${place}.names is empty`);
    const alternatives = toAlternatives(
      asList(`${place}.args`, rule['args'] ?? []).map((test, of) => readTest(`${place}.args[${of}]`, test)),
    );
    for (const [of, name] of names.entries()) {
      if (typeof name !== 'string') throw new Error(`${place}.names[${of}] is not a string`);
      const number = table.numbers.get(name);
      if (number === undefined) continue;
      youngest = Math.max(youngest, number);
      if (answer === otherwise) continue;
      const own = rules.get(number) ?? [];
      rules.set(number, [...own, ...alternatives.map((tests) => ({ answer, tests }))]);
    }
  });
  for (const [number, own] of rules) {
    // A rule for the whole call stands above those for some of its arguments.
    const whole = own.find(({ tests }) => tests.length === 0);
    if (whole !== undefined) rules.set(number, [whole]);
  }
  // Programs try calls that the profile's author could not know of, and do without them when they are not there.
  const isOpen =
    otherwise === ANSWER.ALLOW || otherwise === ANSWER.LOG || otherwise >> 16 === ANSWER.TRACE >> 16;
  const answer = isOpen || youngest < 0 ? otherwise : ANSWER.ERRNO + ENOSYS;
  const younger = { from: youngest + 1, answer };
  const { audit, end } = table;
  return { filter: { audit, end, rules, otherwise, younger }, flags: readFlags(profile['flags']) };
}

type Fields = Readonly<Record<string, unknown>>;

const ACTIONS: Readonly<Record<string, number>> = {
  SCMP_ACT_KILL: ANSWER.KILL_THREAD,
  SCMP_ACT_KILL_THREAD: ANSWER.KILL_THREAD,
  SCMP_ACT_KILL_PROCESS: ANSWER.KILL_PROCESS,
  SCMP_ACT_TRAP: ANSWER.TRAP,
  SCMP_ACT_ERRNO: ANSWER.ERRNO,
  SCMP_ACT_TRACE: ANSWER.TRACE,
  SCMP_ACT_LOG: ANSWER.LOG,
  SCMP_ACT_ALLOW: ANSWER.ALLOW,
};

function readAnswer(place: string, fields: Fields, name: string, errnoName: string): number {
  const action = choose(`${place}${name}`, fields[name], ACTIONS);
  if (action !== ANSWER.ERRNO && action !== ANSWER.TRACE) return action;
  const errno = fields[errnoName] ?? EPERM;
  if (typeof errno !== 'number' || !Number.isInteger(errno) || errno < 0 || errno > MAX_ERRNO)
    throw new Error(`${place}${errnoName} is not a number from 0 to ${MAX_ERRNO}`);
  return action + errno;
}

const TESTS: Readonly<Record<string, ArgumentTest['test']>> = {
  ...{ SCMP_CMP_EQ: 'equal', SCMP_CMP_NE: 'not equal', SCMP_CMP_MASKED_EQ: 'masked' },
  ...{ SCMP_CMP_LT: 'less', SCMP_CMP_LE: 'at most', SCMP_CMP_GT: 'greater', SCMP_CMP_GE: 'at least' },
};
/** A call has six. */
const LAST_ARGUMENT = 5;

function readTest(place: string, each: unknown): ArgumentTest {
  const fields = asObject(place, each);
  const { index } = fields;
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index > LAST_ARGUMENT)
    throw new Error(`${place}.index is not a number from 0 to ${LAST_ARGUMENT}`);
  const test = choose(`${place}.op`, fields['op'], TESTS);
  const value = readValue(`${place}.value`, fields['value']);
  if (test !== 'masked') return { index, test, value };
  return { index, test, mask: value, value: readValue(`${place}.valueTwo`, fields['valueTwo']) };
}

function readValue(place: string, value: unknown = '0'): bigint {
  const isNumber = typeof value === 'string' && /^\d{1,20}$/.test(value);
  if (!isNumber || BigInt(value) >= 2n ** 64n) throw new Error(`${place} is not a number of 64 bits`);
  return BigInt(value);
}

/** All tests together, unless two are of the same argument: then each of them is enough, as runc has it. */
function toAlternatives(tests: readonly ArgumentTest[]): readonly (readonly ArgumentTest[])[] {
  const isOnceEach = new Set(tests.map(({ index }) => index)).size === tests.length;
  return isOnceEach ? [tests] : tests.map((test) => [test]);
}

const FLAGS: Readonly<Record<string, number>> = {
  SECCOMP_FILTER_FLAG_TSYNC: 1,
  SECCOMP_FILTER_FLAG_LOG: 2,
  SECCOMP_FILTER_FLAG_SPEC_ALLOW: 4,
};

function readFlags(flags: unknown): number {
  if (flags === undefined || flags === null) return FLAGS['SECCOMP_FILTER_FLAG_SPEC_ALLOW']!;
  const own = asList('flags', flags).map((flag, at) => choose(`flags[${at}]`, flag, FLAGS));
  return own.reduce((all, flag) => all | flag, 0);
}

function choose<T>(place: string, value: unknown, choices: Readonly<Record<string, T>>): T {
  if (typeof value === 'string' && Object.hasOwn(choices, value)) return choices[value]!;
  const found = value === undefined ? 'missing' : JSON.stringify(value);
  throw new Error(`${place} is ${found}: use one of ${Object.keys(choices).join(', ')}`);
}

function asObject(place: string, value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`${place === '' ? 'it' : place} is no object`);
}

function asList(place: string, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(value === undefined ? `${place} is missing` : `${place} is no list`);
}
