import { describe, expect, it } from 'vitest';
import { type Container, type ContainerRestartRule, type RestartPolicy } from './container.js';
import {
  asksToRestartAll,
  type ContainerKind,
  hasEndlessContainer,
  isRunOnce,
  mayRestart,
  mayRestartAll,
  mayRestartFailed,
  restartRuleOf,
  restartsAlways,
  runsOnce,
} from './restart-rule.js';

const POLICIES = ['Always', 'OnFailure', 'Never'] as const satisfies readonly RestartPolicy[];
const CONTAINER: Container = { name: 'main', image: 'i' };

function when(operator: 'In' | 'NotIn', ...values: number[]): ContainerRestartRule {
  return { action: 'Restart', exitCodes: { operator, values } };
}

function rule(kind: ContainerKind, policy: RestartPolicy, ...rules: ContainerRestartRule[]) {
  return restartRuleOf(
    kind,
    { ...CONTAINER, restartPolicyRules: rules },
    { containers: [], restartPolicy: policy },
  );
}

describe('a container that ended', () => {
  it.each<[ContainerKind, string[]]>([
    ['regular', ['0 1', '1', '']],
    ['init', ['1', '1', '']],
    ['sidecar', ['0 1', '0 1', '0 1']],
    ['ephemeral', ['', '', '']],
  ])('is restarted by the policy of its pod: %s', (kind, expected) => {
    const codes = POLICIES.map((policy) =>
      [0, 1].filter((code) => mayRestart(rule(kind, policy), code)).join(' '),
    );
    expect(codes).toEqual(expected);
  });

  it.each(POLICIES)('uses its own policy before that of its pod: %s', (own) => {
    for (const ofPod of POLICIES) {
      const container = { ...CONTAINER, restartPolicy: own };
      expect(restartRuleOf('regular', container, { containers: [], restartPolicy: ofPod }).policy).toBe(own);
    }
  });

  it.each<[ContainerRestartRule[], number[]]>([
    [[when('In', 42)], [42]],
    [[when('NotIn', 42)], [0, 1, 137]],
    [[when('NotIn')], [0, 1, 42, 137]],
    [[when('In')], []],
    [[{ action: 'Restart', exitCodes: { operator: 'In' } }], []],
    [[{ action: 'Restart', exitCodes: { operator: 'NotIn' } }], [0, 1, 42, 137]],
    [
      [when('In', 1), when('In', 137)],
      [1, 137],
    ],
  ])('is restarted after the exit codes of its rules: %j', (rules, expected) => {
    const codes = [0, 1, 42, 137].filter((code) => mayRestart(rule('regular', 'Never', ...rules), code));
    expect(codes).toEqual(expected);
  });

  it('is finished as an init container when it succeeded, whatever its rules say', () => {
    expect(mayRestart(rule('init', 'Never', when('In', 0, 1)), 0)).toBe(false);
    expect(mayRestart(rule('init', 'Never', when('In', 0, 1)), 1)).toBe(true);
  });

  it('without an exit code follows its policy alone', () => {
    expect(POLICIES.map((policy) => mayRestartFailed(rule('regular', policy)))).toEqual([true, true, false]);
    expect(mayRestartFailed(rule('regular', 'Never', when('NotIn')))).toBe(false);
    expect(runsOnce(rule('regular', 'Never', when('NotIn')))).toBe(false);
    expect(runsOnce(rule('regular', 'Never'))).toBe(true);
    expect(mayRestartFailed(rule('sidecar', 'Never'))).toBe(true);
    expect(mayRestartFailed(rule('ephemeral', 'Always'))).toBe(false);
  });
});

describe('a pod', () => {
  const podOf = (restartPolicy: RestartPolicy, ...own: (RestartPolicy | undefined)[]) => ({
    restartPolicy,
    containers: own.map((policy) =>
      policy === undefined ? CONTAINER : { ...CONTAINER, restartPolicy: policy },
    ),
  });

  it.each([
    [podOf('Never', undefined), { once: true, always: false, endless: false }],
    [podOf('Never', undefined, 'OnFailure'), { once: false, always: false, endless: false }],
    [podOf('Never', 'Always', undefined), { once: false, always: false, endless: true }],
    [podOf('Always', undefined), { once: false, always: true, endless: true }],
    [podOf('Always', 'Never'), { once: true, always: false, endless: false }],
    [podOf('Always', undefined, 'Never'), { once: false, always: false, endless: true }],
    [podOf('OnFailure', undefined), { once: false, always: false, endless: false }],
  ])('follows from its containers: %j', (spec, expected) => {
    expect({
      once: isRunOnce(spec),
      always: restartsAlways(spec),
      endless: hasEndlessContainer(spec),
    }).toEqual(expected);
  });
});

describe('the end of a container', () => {
  const all = (operator: 'In' | 'NotIn', ...values: number[]): ContainerRestartRule => ({
    action: 'RestartAllContainers',
    exitCodes: { operator, values },
  });
  const having = (...restartPolicyRules: ContainerRestartRule[]): Container => ({
    ...{ ...CONTAINER, restartPolicy: 'Never' as const, restartPolicyRules },
  });

  it('restarts the whole pod where the first rule that fits says so', () => {
    const codes = (container: Container) => [0, 1, 42].filter((code) => asksToRestartAll(container, code));
    expect(codes(CONTAINER)).toEqual([]);
    expect(codes(having(all('In', 42)))).toEqual([42]);
    expect(codes(having(all('NotIn', 42)))).toEqual([0, 1]);
    expect(codes(having(when('In', 1), all('NotIn')))).toEqual([0, 42]);
    expect(codes(having(all('In', 1), when('NotIn')))).toEqual([1]);
  });

  it('may restart the whole pod where any container, but an ephemeral one, has such a rule', () => {
    const plain = [having(when('In', 1))];
    const able = [having(when('In', 1), all('In', 42))];
    expect(mayRestartAll({ containers: plain, initContainers: plain })).toBe(false);
    expect(mayRestartAll({ containers: able })).toBe(true);
    expect(mayRestartAll({ containers: plain, initContainers: able })).toBe(true);
  });
});
