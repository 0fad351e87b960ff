import { afterEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { podPreempted, podRejected } from '#base/channels/admission-channels.js';
import { addAdmissionMetrics } from './admission-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const registry = new MetricsRegistry({ channels, clock: new FakeClock() });

afterEach(() => {
  registry[Symbol.dispose]();
});

it('count pods that were not let in, and those that had to go, with no end of labels', async () => {
  addAdmissionMetrics(registry);
  channels.publish(podRejected, { reason: 'NodeAffinity' });
  channels.publish(podRejected, { reason: 'NodeAffinity' });
  channels.publish(podPreempted, { resource: 'memory' });
  for (let index = 0; index < 200; index++)
    channels.publish(podRejected, { reason: `OutOfexample.com/${index}` });
  const read = await scrape(registry);
  expect(read('kubelet_admission_rejections_total', { reason: 'NodeAffinity' })).toBe(2);
  expect(read('kubelet_preemptions', { preemption_signal: 'memory' })).toBe(1);
  expect(read('kubelet_admission_rejections_total', { reason: 'other' })).toBe(137);
});
