import { PodloopError } from '#base/errors/errors.js';
import { findSimilarWord } from '#base/text/similar-word.js';
import { YamlValue } from '#base/text/yaml/yaml-value.js';
import { concernsPod, CRI_METHOD_NAMES, isList, isListOfPods, shortMethod } from './cri-method.js';
import { parseFault } from './parse-fault.js';
import { readDuration } from './chaos-duration.js';
import {
  EVENT_KINDS,
  type Fault,
  isEventFault,
  isListFault,
  type Rule,
  type RuleMatch,
} from './chaos-rule.js';

/**
 * Some 1,000 rules. A file is read in one piece, during which the proxy does nothing else: a third of a second for one
 * of this size.
 */
export const MAX_RULES_BYTES = 128 * 1024;

/**
 * Reads the rules of a file. `file` is for messages.
 *
 * Throws RULES_INVALID with file, line and path for whatever is wrong, unknown fields included, for rules that
 * could never hit anything, and for a text of more than {@link MAX_RULES_BYTES}.
 */
export function parseRules(text: string, file: string): Rule[] {
  if (Buffer.byteLength(text) > MAX_RULES_BYTES) {
    const most = `${MAX_RULES_BYTES / 1024} KiB`;
    throw new PodloopError('RULES_INVALID', `${file}:1: is larger than ${most}, the most that rules may be`);
  }
  const yaml = YamlValue.parse(text, {
    ...{ name: file, code: 'RULES_INVALID', insteadOfSecond: 'put all rules into the first' },
  });
  const names = new Set<string>();
  return yaml
    .fields('rules')
    .rules.items()
    .map((value) => {
      const { name, match, fault } = value.fields('name', 'match', 'fault');
      const ruleName = name.string();
      if (ruleName === '' || names.has(ruleName)) throw name.invalid('must be a name that no other rule has');
      names.add(ruleName);
      const what = parseFault(fault);
      return { name: ruleName, match: match.isAbsent ? {} : parseMatch(match, what), fault: what };
    });
}

const MATCH_FIELDS = [
  ...(['methods', 'pods', 'containers', 'events'] as const),
  ...(['share', 'after', 'until', 'nth', 'every'] as const),
] as const;

function parseMatch(value: YamlValue, fault: Fault): RuleMatch {
  const fields = value.fields(...MATCH_FIELDS);
  if (fault.type === 'outage') {
    for (const name of MATCH_FIELDS) {
      if (name !== 'after' && name !== 'until' && !fields[name].isAbsent) {
        throw fields[name].invalid('an outage is of all connections: it has after and until only');
      }
    }
  }
  const methods = parseMethods(fields.methods, fault);
  const pods = parseNames(fields.pods, /^[^/]+(\/[^/]+)?$/, 'namespace/name, a name, a uid or an id');
  const containers = parseNames(fields.containers, /^[^/]+$/, 'a name or an id');
  for (const field of [fields.pods, fields.containers]) {
    if (!field.isAbsent) assertNamesPods(field, methods, fault);
  }
  if (!fields.events.isAbsent && !isEventFault(fault.type)) {
    throw fields.events.invalid(`is for faults of events, not for ${fault.type}`);
  }
  const events = fields.events.isAbsent
    ? undefined
    : itemsOf(fields.events).map((item) => item.oneOf(EVENT_KINDS));
  const [afterMs, untilMs] = [durationOf(fields.after), durationOf(fields.until)];
  if (untilMs !== undefined && untilMs <= (afterMs ?? 0)) {
    throw fields.until.invalid(
      afterMs === undefined ? 'must be longer than nothing' : 'must be later than after',
    );
  }
  const nth = countOf(fields.nth);
  const every = countOf(fields.every);
  if (nth !== undefined && every !== undefined) throw fields.every.invalid('goes not together with nth');
  const match = {
    methods,
    pods,
    containers,
    events,
    share: shareOf(fields.share),
    afterMs,
    untilMs,
    nth,
    every,
  };
  return Object.fromEntries(Object.entries(match).filter(([, part]) => part !== undefined));
}

/** An empty list would match nothing, ever. */
function itemsOf(field: YamlValue): YamlValue[] {
  const items = field.items();
  if (items.length === 0) throw field.invalid('must name one at least; leave it out to mean all');
  return items;
}

function parseNames(field: YamlValue, pattern: RegExp, what: string): string[] | undefined {
  if (field.isAbsent) return undefined;
  return itemsOf(field).map((item) => {
    const name = item.string();
    if (!pattern.test(name)) throw item.invalid(`must be ${what}, not ${JSON.stringify(name)}`);
    return name;
  });
}

function parseMethods(field: YamlValue, fault: Fault): string[] | undefined {
  if (field.isAbsent) return undefined;
  if (isEventFault(fault.type)) {
    throw field.invalid(`${fault.type} is of GetContainerEvents always; leave methods out`);
  }
  if (fault.type === 'not-ready') throw field.invalid('not-ready is of Status always; leave methods out');
  return itemsOf(field).map((item) => {
    const method = item.string();
    const short = shortMethod(method);
    const isKnown = CRI_METHOD_NAMES.includes(short);
    // A method of another service is fine when it is named in full.
    if (!isKnown && !/^\/[^/]+\/[^/]+$/.test(method)) {
      const guess =
        CRI_METHOD_NAMES.find((name) => name.toLowerCase() === method.toLowerCase()) ??
        findSimilarWord(method, CRI_METHOD_NAMES);
      const hint =
        guess === undefined ? 'write others in full: /package.Service/Method' : `did you mean ${guess}?`;
      throw item.invalid(`CRI has no method ${JSON.stringify(method)}; ${hint}`);
    }
    if (isListFault(fault.type) && !isList(short)) throw item.invalid(`${short} gives no list`);
    return method;
  });
}

function assertNamesPods(field: YamlValue, methods: readonly string[] | undefined, fault: Fault): void {
  if (isEventFault(fault.type)) return;
  if (fault.type === 'not-ready') throw field.invalid('not-ready is of the runtime, and of no single pod');
  if (fault.type === 'stale-list' || fault.type === 'grow-list') {
    throw field.invalid(`${fault.type} is of whole lists; truncate-list can be of single pods`);
  }
  const canTell = fault.type === 'truncate-list' ? isListOfPods : concernsPod;
  const mute = methods?.map(shortMethod).find((method) => !canTell(method));
  if (mute === undefined) return;
  throw field.invalid(
    fault.type === 'truncate-list'
      ? `the items of ${mute} do not name a pod`
      : `a call of ${mute} is about no single pod; take the method out, or pods and containers`,
  );
}

function durationOf(field: YamlValue): number | undefined {
  if (field.isAbsent) return undefined;
  return readDuration(field, 0);
}

function countOf(field: YamlValue): number | undefined {
  if (field.isAbsent) return undefined;
  const count = field.integer();
  if (count < 1) throw field.invalid(`must be at least 1, not ${count}`);
  return count;
}

/** `0.3` or `30%`. */
function shareOf(field: YamlValue): number | undefined {
  if (field.isAbsent) return undefined;
  const value = field.scalar();
  const share =
    typeof value === 'string' && /^\d+(\.\d+)?%$/.test(value) ? Number(value.slice(0, -1)) / 100 : value;
  if (typeof share !== 'number' || !(share > 0 && share <= 1)) {
    throw field.invalid(`must be a share such as 0.3 or 30%, not ${JSON.stringify(value)}`);
  }
  return share;
}
