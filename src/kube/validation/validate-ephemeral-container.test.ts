import { describe, expect, it } from 'vitest';
import { formatFieldProblem } from '../fields/field-problem.js';
import { readPod } from '../pod/read-pod.js';

const MAIN = { name: 'main', image: 'app:1' };

function problemsOf(...ephemeralContainers: readonly object[]): string[] {
  const spec = {
    containers: [MAIN],
    initContainers: [{ name: 'init', image: 'app:1' }],
    ephemeralContainers,
  };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
  return readPod(pod).problems.map(formatFieldProblem);
}

describe('an ephemeral container', () => {
  it('may target another container', () => {
    expect(problemsOf({ name: 'debug', image: 'tools:1', targetContainerName: 'main', tty: true })).toEqual(
      [],
    );
    expect(problemsOf({ name: 'debug', image: 'tools:1', targetContainerName: 'init' })).toEqual([]);
    // As kubectl writes it.
    expect(problemsOf({ name: 'debug', image: 'tools:1', resources: {} })).toEqual([]);
  });

  it('has no fields for long-running containers', () => {
    const fields = {
      ports: [{ containerPort: 80 }],
      resources: { limits: { cpu: '1' } },
      livenessProbe: { tcpSocket: { port: 80 } },
      lifecycle: { preStop: { sleep: { seconds: 1 } } },
    };
    const at = 'spec.ephemeralContainers[0]';
    expect(problemsOf({ name: 'debug', image: 'tools:1', ...fields })).toEqual(
      Object.keys(fields).map(
        (field) => `${at}.${field}: Forbidden: cannot be set for an Ephemeral Container`,
      ),
    );
  });

  it('has a unique name, and a target that exists and keeps running', () => {
    expect(
      problemsOf(
        { name: 'main', image: 'tools:1' },
        { name: 'debug', image: 'tools:1', targetContainerName: 'other' },
        { name: 'second', image: 'tools:1', targetContainerName: 'debug' },
      ),
    ).toEqual([
      'spec.ephemeralContainers[0].name: Duplicate value: "main"',
      'spec.ephemeralContainers[1].targetContainerName: Not found: "other"',
      'spec.ephemeralContainers[2].targetContainerName: Not found: "debug"',
    ]);
  });
});
