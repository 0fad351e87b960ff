import { describe, expect, it } from 'vitest';
import { formatFieldProblem } from '../fields/field-problem.js';
import { readPod } from '../pod/read-pod.js';

const CONTAINER = { name: 'main', image: 'nginx' };

const podOf = (spec: object): object => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
  spec: { containers: [CONTAINER], ...spec },
});

function problemsOf(value: object): string[] {
  return readPod(value).problems.map(formatFieldProblem);
}

describe('a pod', () => {
  it.each(['Always', 'Never', 'OnFailure'])('may have containers with a policy of their own: %s', (own) => {
    const exitCodes = { operator: 'NotIn', values: [0, 42] };
    const rules = ['Restart', 'RestartAllContainers'].map((action) => ({ action, exitCodes }));
    const restartPolicyRules = Array(10).fill(rules).flat() as unknown;
    const container = { ...CONTAINER, restartPolicy: own, restartPolicyRules };
    const initContainers = [{ ...container, name: 'init' }];
    expect(problemsOf(podOf({ containers: [container], initContainers }))).toEqual([]);
  });

  it.each<[object, string]>([
    [
      { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] },
      'restartPolicy: Required value: a container with restartPolicyRules needs one of its own',
    ],
    [
      { restartPolicy: '' },
      'restartPolicy: Unsupported value: "": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      { restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart' }] },
      'restartPolicyRules[0].exitCodes: Required value',
    ],
    [
      { restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'in' } }] },
      'restartPolicyRules[0].exitCodes.operator: Unsupported value: "in": supported values: "In", "NotIn"',
    ],
    [
      {
        restartPolicy: 'Never',
        restartPolicyRules: Array(21).fill({ action: 'Restart', exitCodes: { operator: 'NotIn' } }),
      },
      'restartPolicyRules: Invalid value: 21: use at most 20 rules',
    ],
    [
      {
        restartPolicy: 'Never',
        restartPolicyRules: [
          {
            action: 'Restart',
            exitCodes: { operator: 'In', values: Array.from({ length: 256 }, (_, i) => i) },
          },
        ],
      },
      'restartPolicyRules[0].exitCodes.values: Invalid value: 256: use at most 255',
    ],
  ])('has no other restart policy in a container: %j', (fields, problem) => {
    for (const kind of ['containers', 'initContainers']) {
      const spec = { containers: [CONTAINER], [kind]: [{ ...CONTAINER, ...fields, name: 'x' }] };
      expect(problemsOf(podOf(spec))).toEqual([`spec.${kind}[0].${problem}`]);
    }
  });
});
