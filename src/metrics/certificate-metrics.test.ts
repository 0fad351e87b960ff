import { expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { scrape } from '../testing/metrics-reader.js';
import { certificatesRead } from '../util/certificate-channels.js';
import { addCertificateMetrics } from './certificate-metrics.js';
import { MetricsRegistry } from './metrics-registry.js';

it('the metrics of certificates tell of those that were read last, and of none without a port that has some', async () => {
  const clock = new FakeClock();
  using registry = new MetricsRegistry({ clock });
  addCertificateMetrics(registry, () => clock.now());
  const ttl = 'kubelet_certificate_manager_server_ttl_seconds';
  const end = 'podloop_certificate_end_time_seconds';
  let read = await scrape(registry);
  expect([read(ttl), read(end, { certificate: 'server' })]).toEqual([Infinity, undefined]);
  const endsAtMs = clock.now() + 60_000;
  certificatesRead.publish({ serverEndsAtMs: endsAtMs, clientAuthorityEndsAtMs: undefined });
  await clock.advance(70_000);
  read = await scrape(registry);
  expect([read(ttl), read(end, { certificate: 'server' })]).toEqual([-10, endsAtMs / 1_000]);
  expect(read(end, { certificate: 'client_ca' })).toBeUndefined();
  certificatesRead.publish({ serverEndsAtMs: endsAtMs + 90_000, clientAuthorityEndsAtMs: endsAtMs });
  read = await scrape(registry);
  expect([read(ttl), read(end, { certificate: 'client_ca' })]).toEqual([80, endsAtMs / 1_000]);
});
