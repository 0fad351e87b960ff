import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { scrape } from '#support/clients/metrics-reader.js';
import {
  certificatesRead,
  nodeCertificateFailed,
  nodeCertificateHeld,
} from '#base/channels/certificate-channels.js';
import { addCertificateMetrics, addNodeCertificateMetrics } from './certificate-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

it('the metrics of certificates show those that were read last, and none without a port that has some', async () => {
  const clock = new FakeClock();
  using registry = new MetricsRegistry({ channels, clock });
  addCertificateMetrics(registry, () => clock.now());
  const ttl = 'kubelet_certificate_manager_server_ttl_seconds';
  const end = 'podloop_certificate_end_time_seconds';
  let read = await scrape(registry);
  expect([read(ttl), read(end, { certificate: 'server' })]).toEqual([Infinity, undefined]);
  const endsAtMs = clock.now() + 60_000;
  channels.publish(certificatesRead, { serverEndsAtMs: endsAtMs, clientAuthorityEndsAtMs: undefined });
  await clock.advance(70_000);
  read = await scrape(registry);
  expect([read(ttl), read(end, { certificate: 'server' })]).toEqual([-10, endsAtMs / 1_000]);
  expect(read(end, { certificate: 'client_ca' })).toBeUndefined();
  channels.publish(certificatesRead, {
    serverEndsAtMs: endsAtMs + 90_000,
    clientAuthorityEndsAtMs: endsAtMs,
  });
  read = await scrape(registry);
  expect([read(ttl), read(end, { certificate: 'client_ca' })]).toEqual([80, endsAtMs / 1_000]);
});

it('the metrics of certificates show those that the cluster signs, and how it is to get them', async () => {
  const clock = new FakeClock();
  using registry = new MetricsRegistry({ channels, clock });
  addCertificateMetrics(registry, () => clock.now());
  addNodeCertificateMetrics(registry, () => clock.now());
  const [ttl, end, renewal] = [
    'kubelet_certificate_manager_client_ttl_seconds',
    'podloop_certificate_end_time_seconds',
    'podloop_certificate_renewal_time_seconds',
  ];
  let read = await scrape(registry);
  expect([read(ttl), read(end, { certificate: 'client' })]).toEqual([Infinity, undefined]);
  const [endsAtMs, renewedFromMs] = [clock.now() + 100_000, clock.now() + 80_000];
  channels.publish(nodeCertificateHeld, { use: 'client', endsAtMs, renewedFromMs });
  channels.publish(nodeCertificateHeld, { use: 'server', endsAtMs, renewedFromMs });
  channels.publish(nodeCertificateFailed, { use: 'client' });
  read = await scrape(registry);
  expect([read(ttl), read(end, { certificate: 'client' })]).toEqual([100, endsAtMs / 1_000]);
  for (const certificate of ['client', 'server']) {
    expect(read(renewal, { certificate })).toBe(renewedFromMs / 1_000);
  }
  expect(read('kubelet_certificate_manager_client_expiration_renew_errors')).toBe(1);
  expect(read('kubelet_server_expiration_renew_errors')).toBe(0);
  const ages = 'kubelet_certificate_manager_server_rotation_seconds';
  expect(read(`${ages}_count`)).toBe(0);
  channels.publish(nodeCertificateHeld, { use: 'server', endsAtMs, renewedFromMs, replacedAgeMs: 7_200_000 });
  read = await scrape(registry);
  expect([read(`${ages}_count`), read(`${ages}_sum`)]).toEqual([1, 7_200]);
});
