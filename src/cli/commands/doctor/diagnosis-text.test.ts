import { describe, expect, it } from 'vitest';
import { aNode, anAgentReport } from '#support/builders/node-facts-builder.js';
import { type Finding } from '#node';
import { toDiagnosisLines } from './diagnosis-text.js';

const silent = { known: false, why: 'nobody listens' } as const;
const noKubelet = { health: silent, metrics: silent, waiting: silent };
const health = { known: true, value: { url: 'u', healthy: true, words: 'ok' } } as const;

function unknownOf(rest: object, runtime: object = {}): string {
  const facts = aNode({ rest, runtime });
  return toDiagnosisLines({ facts, findings: [] }, false)
    .filter((line) => line.includes('nobody listens'))
    .join('\n');
}

describe('what the doctor does not know', () => {
  it('is no kubelet where podloop’s agent, its runtime or a recording is', () => {
    const agent = { known: true, value: anAgentReport() };
    expect(unknownOf({ kubelet: noKubelet, agent })).toBe('');
    for (const name of ['podloop', 'podloop-replay']) {
      expect(unknownOf({ kubelet: noKubelet, agent: silent }, { name })).toBe(
        'Not seen: podloop’s agent (nobody listens)',
      );
    }
  });

  it('is the kubelet where there may be one', () => {
    expect(unknownOf({ kubelet: noKubelet, agent: silent })).toBe(
      'Not seen: the kubelet’s health, the kubelet’s metrics, the kubelet’s pods, podloop’s agent (nobody listens)',
    );
  });

  it('is no agent of podloop beside a kubelet', () => {
    expect(unknownOf({ kubelet: { health, metrics: silent, waiting: silent }, agent: silent })).toBe(
      'Not seen: the kubelet’s metrics, the kubelet’s pods (nobody listens)',
    );
  });
});

describe('the first line', () => {
  const agent = { known: true, value: anAgentReport() } as const;
  it.each<[object, Finding['severity'][], RegExp]>([
    [{}, [], /^HEALTHY: nothing is wrong\. containerd 2\.1\.9 at .*, examined in 3s$/],
    [{}, ['info'], /^HEALTHY/],
    [{}, ['warning', 'info'], /^WARNING: 1 warning\. /],
    [{}, ['critical', 'warning', 'warning'], /^CRITICAL: 1 critical, 2 warnings\. /],
    [{ population: silent }, [], /^NOT JUDGED: nothing was found, but not all that matters was seen\. /],
    [{ population: silent }, ['warning'], /^WARNING: 1 warning\. /],
  ])('is the verdict: %o %s', (runtime, severities, verdict) => {
    const findings = severities.map((severity): Finding => ({
      ...{ code: 'CrashLoops', severity, message: 'm', evidence: [], remedy: 'r' },
    }));
    const facts = aNode({ runtime, rest: { kubelet: noKubelet, agent } });
    expect(toDiagnosisLines({ facts, findings }, false)[0]).toMatch(verdict);
  });

  it('says of a healthy node that not all was seen, where that is so', () => {
    const facts = aNode({ rest: { kubelet: { health, metrics: silent, waiting: silent } } });
    expect(toDiagnosisLines({ facts, findings: [] }, false)[0]).toMatch(
      /^HEALTHY: nothing is wrong in what was seen\. containerd /,
    );
  });

  it('leaves ids to the wide form, and what is so by design', () => {
    const facts = aNode({
      runtime: { events: { known: false, why: 'gives each event to one reader alone' } },
    });
    const findings: Finding[] = [
      {
        ...{ code: 'OciRuntimeHangs', severity: 'critical', message: 'm', remedy: 'r' },
        ...{ evidence: [`task ${'0a1b2c3d'.repeat(8)} not found`], ids: ['container 0123'] },
      },
    ];
    const [short, wide] = [false, true].map((is) => toDiagnosisLines({ facts, findings }, is).join('\n'));
    expect(short).not.toMatch(/container 0123|one reader alone/);
    // In the words of the runtime they are as short as people need them.
    expect(short).toContain('task 0a1b2c3d0a1b… not found');
    expect(wide).toContain(`task ${'0a1b2c3d'.repeat(8)} not found`);
    expect(wide).toMatch(/container 0123[^]*Not seen: events \(gives each event to one reader alone\)/);
  });
});

describe('a finding', () => {
  it('says since when it is so, and what follows from it', () => {
    const follows: readonly Finding[] = [
      {
        ...{ code: 'ListHangs', severity: 'critical', message: 'ListContainers is never answered' },
        ...{ evidence: ['not shown'], remedy: 'not shown either' },
      },
    ];
    const lines = toDiagnosisLines(
      {
        facts: aNode({ rest: { agent: { known: true, value: anAgentReport() } } }),
        findings: [
          {
            ...{ code: 'OciRuntimeHangs', severity: 'critical', message: 'runc create has run for 25s' },
            ...{
              evidence: ['pid 30'],
              remedy: 'kill -9 30',
              sinceMs: Date.parse('2026-01-01T00:00:00Z'),
              follows,
            },
          },
        ],
      },
      false,
    );
    const at = lines.findIndex((line) => line.startsWith('CRITICAL OciRuntimeHangs'));
    expect(lines.slice(at, at + 5)).toEqual([
      'CRITICAL OciRuntimeHangs: runc create has run for 25s',
      '  since: 2026-01-01T00:00:00.000Z',
      '  evidence: pid 30',
      '  follows from it: ListHangs: ListContainers is never answered',
      '  what to do: kill -9 30',
    ]);
  });
});
