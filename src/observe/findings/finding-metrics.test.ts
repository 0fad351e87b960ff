import { expect, it } from 'vitest';
import { Channels } from '#base/channels/publishing-channel.js';
import { type Finding } from '#doctor';
import { MetricsRegistry } from '#node/telemetry';
import { FakeClock } from '#testing/fake-clock.js';
import { addFindingMetrics } from './finding-metrics.js';
import { FindingTracker } from './finding-tracker.js';

async function pageOf(findings: readonly Finding[]): Promise<string> {
  const tracker = new FindingTracker();
  using registry = new MetricsRegistry({ clock: new FakeClock(), channels: new Channels() });
  const stats = { examinations: 1, lastExaminedAtMs: 1_000 };
  const count = addFindingMetrics(registry, () => ({ active: tracker.active, stats }));
  count(tracker.update(findings, 1_000));
  return String(await registry.page(new AbortController().signal));
}

const aFinding = (name: string, severity: Finding['severity'] = 'warning'): Finding => ({
  ...{ code: 'PodHung', severity, message: '', evidence: [], remedy: '', container: 'main' },
  pod: { uid: name, namespace: 'default', name },
});

it('a finding is a series with its pod and container, and counted by its code', async () => {
  const page = await pageOf([aFinding('web')]);
  const labels = 'code="PodHung",severity="warning",namespace="default",pod="web",container="main"';
  expect(page).toContain(`podloop_finding{${labels}} 1\n`);
  expect(page).toContain('podloop_findings{code="PodHung",severity="warning"} 1\n');
});

it('twenty of very many have series, and the critical ones are among them', async () => {
  const many = Array.from({ length: 500 }, (_, at) => aFinding(`pod-${at}`));
  const page = await pageOf([...many, aFinding('worst', 'critical')]);
  expect(page.match(/^podloop_finding\{/gm)).toHaveLength(20);
  expect(page).toContain('pod="worst"');
  expect(page).toContain('podloop_findings{code="PodHung",severity="warning"} 500\n');
});
