import { describe, expect, it } from 'vitest';
import { hasCode } from '#base/errors/errors.js';
import { FAULT_TYPES } from './parse-fault.js';
import { MAX_RULES_BYTES, parseRules } from './rules-file.js';

/** A file of one rule. */
function oneRule(match: string, fault = 'type: hang'): string {
  return `rules:\n  - name: r\n    match: {${match}}\n    fault: {${fault}}\n`;
}

function complaintAbout(text: string): string {
  try {
    parseRules(text, 'rules.yaml');
  } catch (error) {
    if (hasCode(error, 'RULES_INVALID')) return error.message;
    throw error;
  }
  throw new Error('nothing is wrong with it');
}

describe('a rules file', () => {
  it('says all that a rule can match', () => {
    const text = `
rules:
  - name: everything
    match:
      methods: [ContainerStatus, /runtime.v1.RuntimeService/StopContainer]
      pods: [default/web, web, 0a1b]
      containers: [app]
      share: 30%
      after: 1m30s
      until: 1h
      every: 3
    fault: {type: delay, for: 2s, jitter: 500ms, at: answer}
  - name: the least
    fault: {type: reset}
  - name: of events
    match: {events: [stopped], nth: 2, after: 0}
    fault: {type: drop-events}
`;
    expect(parseRules(text, 'rules.yaml')).toEqual([
      {
        name: 'everything',
        match: {
          methods: ['ContainerStatus', '/runtime.v1.RuntimeService/StopContainer'],
          pods: ['default/web', 'web', '0a1b'],
          containers: ['app'],
          share: 0.3,
          afterMs: 90_000,
          untilMs: 3_600_000,
          every: 3,
        },
        fault: { type: 'delay', forMs: 2_000, jitterMs: 500, at: 'answer' },
      },
      { name: 'the least', match: {}, fault: { type: 'reset' } },
      {
        name: 'of events',
        match: { events: ['stopped'], nth: 2, afterMs: 0 },
        fault: { type: 'drop-events' },
      },
    ]);
  });

  it.each([
    ['type: delay, for: 1s', { type: 'delay', forMs: 1_000, jitterMs: 0, at: 'request' }],
    ['type: error', { type: 'error', code: 14, message: 'injected by podloop chaos', at: 'request' }],
    [
      'type: error, code: NOT_FOUND, message: no, at: answer',
      { type: 'error', code: 5, message: 'no', at: 'answer' },
    ],
    ['type: hang', { type: 'hang', at: 'request' }],
    ['type: reset', { type: 'reset' }],
    ['type: outage', { type: 'outage' }],
    ['type: truncate-list', { type: 'truncate-list', keep: 0 }],
    ['type: truncate-list, keep: 10', { type: 'truncate-list', keep: 10 }],
    ['type: stale-list', { type: 'stale-list', behind: 1 }],
    ['type: grow-list, toMiB: 0.5', { type: 'grow-list', toBytes: 524_288 }],
    [
      'type: not-ready',
      { type: 'not-ready', condition: 'NetworkReady', message: 'injected by podloop chaos' },
    ],
    ['type: drop-events', { type: 'drop-events' }],
    ['type: duplicate-events', { type: 'duplicate-events', copies: 1 }],
    ['type: delay-events, for: 1s, jitter: 1s', { type: 'delay-events', forMs: 1_000, jitterMs: 1_000 }],
    ['type: reorder-events', { type: 'reorder-events', among: 5, waitMs: 1_000 }],
    ['type: end-stream', { type: 'end-stream', code: 0, openForMs: undefined }],
    ['type: end-stream, openFor: 5s, code: UNAVAILABLE', { type: 'end-stream', code: 14, openForMs: 5_000 }],
  ])('has the fault {%s}', (fault, expected) => {
    expect(parseRules(oneRule('', fault), 'rules.yaml')[0]!.fault).toEqual(expected);
  });

  it('may have thousands of rules', () => {
    const rules = Array.from({ length: 3_000 }, (_, at) => `  - {name: r${at}, fault: {type: hang}}\n`);
    expect(parseRules(`rules:\n${rules.join('')}`, 'rules.yaml')).toHaveLength(3_000);
  });

  it('may have no rules', () => {
    expect(parseRules('rules: []', 'rules.yaml')).toEqual([]);
    expect(() => parseRules('', 'rules.yaml')).toThrow('rules.yaml:1: the file is empty');
  });

  it.each([
    [
      oneRule('method: [Version]'),
      'rules.yaml:3: rules[0].match.method: unknown field, did you mean methods?',
    ],
    [oneRule('methods: [containerstatus]'), 'did you mean ContainerStatus?'],
    [oneRule('methods: [Frobnicate]'), 'write others in full: /package.Service/Method'],
    [oneRule('methods: Version'), 'rules.yaml:3: rules[0].match.methods: must be a list'],
    [
      oneRule('share: 1.5'),
      'rules.yaml:3: rules[0].match.share: must be a share such as 0.3 or 30%, not 1.5',
    ],
    [oneRule('share: 0'), 'must be a share'],
    [oneRule('after: 10'), 'must be a duration such as 500ms, 1s or 1m30s, not 10'],
    [oneRule('after: 10 s'), '"10 s" is not a duration, such as 500ms, 1s or 1m30s'],
    [oneRule('after: 10s, until: 5s'), 'rules[0].match.until: must be later than after'],
    [oneRule('until: 0s'), 'rules[0].match.until: must be longer than nothing'],
    [oneRule('after: 300h'), 'rules[0].match.after: must be at most 250h'],
    [oneRule('after: null'), 'must be a duration such as 500ms, 1s or 1m30s, not null'],
    [oneRule('methods: []'), 'rules[0].match.methods: must name one at least; leave it out to mean all'],
    [oneRule('pods: []'), 'rules[0].match.pods: must name one at least'],
    [oneRule('events: []', 'type: drop-events'), 'rules[0].match.events: must name one at least'],
    [
      oneRule('pods: [web, ""]'),
      'rules[0].match.pods[1]: must be namespace/name, a name, a uid or an id, not ""',
    ],
    [oneRule('pods: [a/b/c]'), 'not "a/b/c"'],
    [oneRule('pods: [12]'), 'rules[0].match.pods[0]: must be a string, not 12; put it in quotes'],
    [oneRule('containers: [""]'), 'rules[0].match.containers[0]: must be a name or an id, not ""'],
    [oneRule('methods: [ListContainer]'), 'did you mean ListContainers?'],
    [oneRule('share: 1, share: 0.5'), 'rules.yaml:3: Map keys must be unique'],
    [oneRule('', 'type: error, code: OK'), 'must be the code of an error, not OK'],
    ['# nothing but this\n', 'the file is empty'],
    ['rules: null', 'rules: must be a list'],
    ['rules: [hang]', 'rules[0]: must be a mapping'],
    [`rules: ${'['.repeat(5_000)}`, 'rules.yaml:1'],
    [oneRule('nth: 0'), 'rules[0].match.nth: must be at least 1, not 0'],
    [oneRule('nth: 1, every: 2'), 'rules[0].match.every: goes not together with nth'],
    [oneRule('events: [stopped]'), 'is for faults of events, not for hang'],
    [oneRule('events: [halted]', 'type: drop-events'), 'must be created or started or stopped or deleted'],
    [oneRule('methods: [ListContainers], pods: [web]'), 'a call of ListContainers is about no single pod'],
    [
      oneRule('methods: [Version]', 'type: drop-events'),
      'is of GetContainerEvents always; leave methods out',
    ],
    [oneRule('methods: [Version]', 'type: stale-list'), 'Version gives no list'],
    [oneRule('pods: [web]', 'type: stale-list'), 'stale-list is of whole lists'],
    [
      oneRule('methods: [ListImages], pods: [web]', 'type: truncate-list'),
      'the items of ListImages do not name a pod',
    ],
    [oneRule('share: 0.5', 'type: outage'), 'an outage is of all connections: it has after and until only'],
    [oneRule('', 'type: explode'), 'rules.yaml:4: rules[0].fault.type: must be delay or error or'],
    [oneRule('', 'for: 1s'), 'rules[0].fault.type: is missing'],
    [oneRule('', 'type: delay'), 'rules[0].fault.for: is missing'],
    [oneRule('', 'type: delay, for: 1s, at: end'), 'must be request or answer, not "end"'],
    [oneRule('', 'type: hang, for: 1s'), 'unknown field, there are type, at'],
    [oneRule('', 'type: error, code: 14'), 'rules[0].fault.code: must be a string, not 14'],
    [oneRule('', 'type: truncate-list, keep: -1'), 'must be at least 0'],
    [oneRule('', 'type: duplicate-events, copies: 5000'), 'must be 1 to 1000'],
    [oneRule('', 'type: grow-list, toMiB: 500'), 'must be more than 0 and at most 255'],
    [oneRule('', 'type: not-ready, condition: Ready'), 'rules[0].fault.condition'],
    [oneRule('methods: [Version]', 'type: not-ready'), 'not-ready is of Status always; leave methods out'],
    [oneRule('pods: [web]', 'type: not-ready'), 'not-ready is of the runtime, and of no single pod'],
    ['rules:\n  - fault: {type: hang}\n', 'rules[0].name: is missing'],
    ['rules:\n  - name: a\n', 'rules[0].fault: is missing'],
    [
      'rules:\n  - {name: a, fault: {type: hang}}\n  - {name: a, fault: {type: hang}}\n',
      'rules.yaml:3: rules[1].name: must be a name that no other rule has',
    ],
    ['rules: []\n---\nrules: []\n', 'a second document; put all rules into the first'],
    [
      `rules: []\n#${'ä'.repeat(MAX_RULES_BYTES / 2 - 5)}`,
      'is larger than 128 KiB, the most that rules may be',
    ],
  ])('is refused with file, line and path: %j', (text, complaint) => {
    const message = complaintAbout(text);
    expect(message).toMatch(/^rules\.yaml:\d+: /);
    expect(message).toContain(complaint);
  });

  it('may be as large as is said', () => {
    const text = 'rules: []\n#';
    expect(parseRules(text.padEnd(MAX_RULES_BYTES, 'x'), 'rules.yaml')).toEqual([]);
  });

  it('knows every type of fault that there is', () => {
    expect([...FAULT_TYPES].sort()).toMatchInlineSnapshot(`
      [
        "delay",
        "delay-events",
        "drop-events",
        "duplicate-events",
        "end-stream",
        "error",
        "grow-list",
        "hang",
        "not-ready",
        "outage",
        "reorder-events",
        "reset",
        "stale-list",
        "truncate-list",
      ]
    `);
  });
});
